"""The library is read on the pages: whole, and in an order that can be followed.

Every statement of a taught module stands on a page, in a listing, but for what `abridged` leaves out. A
listing uses no name of the library that was not shown before, by an earlier page, earlier on its page, or by
itself; or that a cell defined.
"""

from collections.abc import Iterator

from sphinx.application import Sphinx

from executable_book.code import abridged
from executable_book.code.listings import LISTINGS, Defined, Shown, library_of
from executable_book.code.name_usage import Scope
from executable_book.code.package_source import Library, Module, defined_by, parsed
from executable_book.remembered import in_order, page_data
from executable_book.repeated_warnings import Finding


def judge_code(app: Sphinx) -> Iterator[Finding]:
    """Say what of the library cannot be read, or only too late."""
    library = library_of(app.config, app.srcdir)
    pages: dict[str, list[Shown | Defined]] = page_data(app.env, LISTINGS)
    parts = app.config.book_taught
    taught = {name: it for name, it in library.modules.items() if name.partition(".")[0] in parts}
    modules = library.modules.values()
    definitions = frozenset(f"{one.name}.{name}" for one in modules for name in one.defined)
    seen: set[str] = set()
    whole: set[str] = set()
    for page in in_order(app.env):
        for one in pages.get(page, ()):
            if not isinstance(one, Shown):
                seen |= {f".{name}" for name in one}
                continue
            seen |= {*one.names}
            if one.is_whole:
                whole |= {*one.names}
            if one.module in taught:
                used = used_by(one, library, definitions)
                yield from too_early(page, one, used, seen)
    for module in taught.values():
        yield from unread(module, whole)


def too_early(page: str, listing: Shown, used: set[str], seen: set[str]) -> Iterator[Finding]:
    """Yield the names that a listing uses before a reader has seen them."""
    for name in sorted(used):
        own = name.rpartition(".")[2]
        if name not in seen and f".{own}" not in seen:  # a cell has defined one like it
            uses = f"the listing of {', '.join(listing.names)} uses {name}"
            message = f"{uses}, which no earlier page shows, nor this one before"
            yield Finding(page, listing.line, message)


def unread(module: Module, shown: set[str]) -> Iterator[Finding]:
    """Yield the statements of a module that stand on no page."""
    for one in parsed(module.text).body:
        names = {f"{module.name}.{name}" for name in defined_by(one)}
        if abridged.is_taught(one) and not names & shown:
            line = abridged.first_line(one)
            code = module.text.splitlines()[one.lineno - 1]
            yield Finding(str(module.file), line, f"stands on no page: {code}")


def used_by(listing: Shown, library: Library, definitions: frozenset[str]) -> set[str]:
    """Return which definitions of the library a listing uses, its own parts included.

    What asks that input be good is none of them: no page teaches it, though a listing may show its call.
    """
    module = library.modules[listing.module]
    scope = Scope(library.folder.name, definitions)
    scope.read_imports(module.text)
    scope.meaning |= {name: f"{module.name}.{name}" for name in module.defined}
    uses = {use.name for use in scope.uses(listing.code)}
    return {name for name in uses if not abridged.requires(name.rpartition(".")[2])}
