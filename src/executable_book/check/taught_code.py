"""The library is read on the pages: whole, and in an order that can be followed.

Two checks, at every build:

* Every statement of a taught module stands on a page, in a listing. Docstrings, imports, `__all__`, types
  and refusals of bad input are no part of the story (see `abridged`). What waits for a later chapter counts
  where it is shown.
* A listing uses no name of the library that was not shown before, by an earlier page, earlier on its page, or
  by itself; or that a cell defined.

And the lines of listings that are not folded fit the page.
"""

from collections.abc import Iterator

from sphinx.application import Sphinx

from executable_book.book_domain import page_data
from executable_book.check.repeated_warnings import Finding
from executable_book.code.abridged import (
    LETTERS_ON_A_LINE,
    Place,
    first_line,
    last_line,
    requires,
    taught_statements,
)
from executable_book.code.listings import LISTINGS, Defined, Shown, library_of
from executable_book.code.name_usage import Scope
from executable_book.code.package_source import Library, Module, parsed
from executable_book.site_builds import in_order


def judge_code(app: Sphinx) -> Iterator[Finding]:
    """Say what of the library cannot be read, or only too late."""
    library = library_of(app.config, app.srcdir)
    pages: dict[str, list[Shown | Defined]] = page_data(app.env, LISTINGS)
    places: dict[str, set[Place]] = {
        name: set() for name in library.modules if name.partition(".")[0] in app.config.book_taught
    }
    seen: set[str] = set()
    for page in in_order(app.env):
        for one in pages.get(page, ()):
            if not isinstance(one, Shown):
                seen |= {f".{name}" for name in one}
                continue
            seen |= {*one.names}
            if one.module in places:
                places[one.module] |= one.places
                yield from too_long(page, one)
                yield from too_early(page, one, seen, library)
    for name, shown in places.items():
        yield from unread(library.modules[name], shown)


def too_long(page: str, listing: Shown) -> Iterator[Finding]:
    """Yield the lines of a listing that do not fit a page, unless it is folded."""
    for line in listing.code.splitlines():
        if len(line) > LETTERS_ON_A_LINE and not listing.folded:
            said = f"a line of {len(line)} letters is cut at {LETTERS_ON_A_LINE}"
            yield Finding(page, listing.line, f"{said}: {line.strip()}")


def too_early(page: str, listing: Shown, seen: set[str], library: Library) -> Iterator[Finding]:
    """Yield the names that a listing uses before a reader has seen them."""
    for name in sorted(used_by(listing, library)):
        own = name.rpartition(".")[2]
        if name not in seen and f".{own}" not in seen:  # a cell has defined one like it
            uses = f"the listing of {', '.join(listing.names)} uses {name}"
            message = f"{uses}, which no earlier page shows, nor this one before"
            yield Finding(page, listing.line, message)


def unread(module: Module, shown: set[Place]) -> Iterator[Finding]:
    """Yield the statements of a module that stand on no page; what stands within one is not named again."""
    last = 0
    for place, one in sorted(taught_statements(module.text, parsed(module.text)).items()):
        if place not in shown and one.lineno > last:
            last = last_line(one)
            code = module.text.splitlines()[one.lineno - 1].strip()
            yield Finding(str(module.file), first_line(one), f"stands on no page: {code}")


def used_by(listing: Shown, library: Library) -> set[str]:
    """Return the names of the library that a listing uses, its own parts included.

    What asks that input be good is none of them: no page teaches it, though a listing may show its call.
    """
    module = library.modules[listing.module]
    scope = Scope(library.folder.name, library.definitions)
    scope.read_imports(module.text)
    scope.meaning |= {name: f"{module.name}.{name}" for name in module.defined}
    uses = {use.name for use in scope.uses(listing.code)}
    return {name for name in uses if not requires(name.rpartition(".")[2])}
