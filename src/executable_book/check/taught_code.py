"""The library is read on the pages: whole, and in an order that can be followed.

Two checks, at every build:

* Every statement of a taught module stands on a page, in a listing. Docstrings, imports, `__all__`, types
  and refusals of bad input are no part of the story (see `abridged`). What waits for a later chapter counts
  where it is shown.
* A listing uses no name of the library that was not shown before, by an earlier page, earlier on its page, or
  by itself; or that a cell defined.

And the lines of listings that are not folded fit the page.
"""

import ast
from collections.abc import Iterable, Iterator

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
    taught = {
        name: module
        for name, module in library.modules.items()
        if name.partition(".")[0] in app.config.book_taught
    }
    places: dict[str, set[Place]] = {name: set() for name in taught}
    for page, found in pages.items():
        for shown in found:
            if isinstance(shown, Shown) and shown.module in taught:
                places[shown.module] |= shown.places
                if not shown.folded:
                    yield from too_long(page, shown)
    for name, module in taught.items():
        yield from unread(module, places[name])
    order = [(page, pages[page]) for page in in_order(app.env) if page in pages]
    for shown, finding in too_early(order, library):
        if shown.module in taught:
            yield finding


def too_long(page: str, shown: Shown) -> Iterator[Finding]:
    """Yield the lines of a listing that do not fit a page."""
    for line in shown.code.splitlines():
        if len(line) > LETTERS_ON_A_LINE:
            said = f"a line of {len(line)} letters is cut at {LETTERS_ON_A_LINE}"
            yield Finding(page, shown.line, f"{said}: {line.strip()}")


def unread(module: Module, shown: set[Place]) -> Iterator[Finding]:
    """Yield the statements of a module that stand on no page; what stands within one is not named again."""
    last = 0
    for place, one in sorted(taught_statements(module.text, module.tree).items()):
        if place not in shown and one.lineno > last:
            last = last_line(one)
            code = module.text.splitlines()[one.lineno - 1].strip()
            yield Finding(str(module.file), first_line(one), f"stands on no page: {code}")


def too_early(
    pages: Iterable[tuple[str, list[Shown | Defined]]], library: Library
) -> Iterator[tuple[Shown, Finding]]:
    """Yield the listings that use a name before a reader has seen it, and what to say of it."""
    seen: set[str] = set()
    for page, found in pages:
        for one in found:
            if not isinstance(one, Shown):
                seen |= {f".{name}" for name in one}
                continue
            seen |= {*one.names, *(owner_of(name, library) for name in one.names)}
            for name in sorted(used_by(one, library)):
                owner, _, last = name.rpartition(".")
                # itself, or all of what it is a part of, or a cell has defined one like it
                if not {name, f"{owner}.*", f".{last}"} & seen:
                    listing = f"the listing of {', '.join(one.names)}"
                    says = (
                        f"{listing} uses {name}, which no earlier page shows, nor this one before"
                    )
                    yield one, Finding(page, one.line, says)


def owner_of(name: str, library: Library) -> str:
    """Return the class that a method belongs to, `Class.*` for a class itself: all of it."""
    owner = name.rpartition(".")[0]
    return f"{name}.*" if owner in library.modules else owner


def used_by(listing: Shown, library: Library) -> set[str]:
    """Return the names of the library that a listing uses, its own parts and methods included.

    What asks that input be good is none of them: no page teaches it, though a listing may show its call.
    """
    module = library.modules[listing.module]
    scope = Scope(library.folder.name, library.definitions)
    scope.read_imports(module.text)
    scope.meaning |= {name: f"{module.name}.{name}" for name in module.defined}
    uses = {use.name for use in scope.uses(listing.code)}
    used = {name for name in uses if not requires(name.rpartition(".")[2])}
    owners = {name.removeprefix(f"{module.name}.").partition(".")[0] for name in listing.names}
    methods = {
        method: f"{module.name}.{owner.name}.{method}"
        for owner in module.tree.body
        if isinstance(owner, ast.ClassDef) and owner.name in owners
        for method in (one.name for one in owner.body if isinstance(one, ast.FunctionDef))
    }
    for node in ast.walk(parsed(listing.code)):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr in methods:
                used.add(methods[attr])
    return used
