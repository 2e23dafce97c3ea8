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
from pathlib import Path

from sphinx.application import Sphinx

from executable_book.book_domain import page_data
from executable_book.check.repeated_warnings import Finding
from executable_book.code.abridged import (
    LETTERS_ON_A_LINE,
    Place,
    first_line,
    requires,
    taught_statements,
)
from executable_book.code.listings import (
    LISTINGS,
    Defined,
    Shown,
    library_of,
    reading_order,
)
from executable_book.code.name_usage import Scope
from executable_book.code.package_source import Library, PythonFile, parsed


def judge_code(app: Sphinx) -> Iterator[Finding]:
    """Say what of the library cannot be read, or only too late."""
    library = library_of(app.config, app.srcdir)
    pages: dict[str, list[Shown | Defined]] = page_data(app.env, LISTINGS)
    listings = [
        (page, one) for page, found in pages.items() for one in found if isinstance(one, Shown)
    ]
    places: dict[Path, set[Place]] = {}
    for _, shown in listings:
        places.setdefault(shown.file, set()).update(shown.places)
    for name, module in library.modules.items():
        if is_taught(name, app):
            yield from unread(module, places.get(module.file, set()))
    order = [(page, pages[page]) for page in reading_order(app.env) if page in pages]
    for shown, finding in too_early(order, library):
        if is_taught(shown.names[0], app):
            yield finding
    for page, shown in listings:
        if is_taught(shown.names[0], app) and not shown.folded:
            for line in shown.code.splitlines():
                if len(line) > LETTERS_ON_A_LINE:
                    said = f"a line of {len(line)} letters is cut at {LETTERS_ON_A_LINE}"
                    yield Finding(page, shown.line, f"{said}: {line.strip()}")


def is_taught(name: str, app: Sphinx) -> bool:
    """Tell whether a module, or what stands in one, is in a folder that the book teaches."""
    return name.partition(".")[0] in app.config.book_taught


def unread(module: PythonFile, shown: set[Place]) -> Iterator[Finding]:
    """Yield the statements of a module that stand on no page; what stands within one is not named again."""
    taught = taught_statements(module.text, module.tree)
    missing = [one for place, one in sorted(taught.items()) if place not in shown]
    last = 0
    for one in missing:
        if one.lineno > last:
            end = one.end_lineno or 0
            within = [other for other in missing if one.lineno < other.lineno <= end]
            last = max([one.lineno, *(other.end_lineno or 0 for other in within)])
            more = f" (and {len(within)} more statements in it)" if within else ""
            code = module.text.splitlines()[one.lineno - 1].strip()
            yield Finding(str(module.file), first_line(one), f"stands on no page: {code}{more}")


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
                if not is_seen(name, seen):
                    message = (
                        f"the listing of {', '.join(one.names)} uses {name}, which no earlier page shows, "
                        "nor this one before"
                    )
                    yield one, Finding(page, one.line, message)


def is_seen(name: str, seen: set[str]) -> bool:
    """Tell whether a name was shown, or all of what it is a part of, or a cell has defined one like it."""
    owner, _, last = name.rpartition(".")
    return bool({name, f"{owner}.*", f".{last}"} & seen)


def owner_of(name: str, library: Library) -> str:
    """Return the class that a method belongs to, `Class.*` for a class itself: all of it."""
    owner = name.rpartition(".")[0]
    return f"{name}.*" if owner in library.modules else owner


def used_by(listing: Shown, library: Library) -> set[str]:
    """Return the names of the library that a listing uses, its own parts and methods included.

    What asks that input be good is none of them: no page teaches it, though a listing may show its call.
    """
    module = next(one for one, part in library.modules.items() if part.file == listing.file)
    scope = Scope(library.folder.name, library.definitions)
    scope.read_imports(library.modules[module].text)
    scope.meaning |= {name: f"{module}.{name}" for name in library.modules[module].defined}
    uses = {use.name for use in scope.uses(listing.code)}
    used = {name for name in uses if not requires(name.rpartition(".")[2])}
    for name in listing.names:
        owner = name.removeprefix(f"{module}.").partition(".")[0]
        if methods := methods_of(library.modules[module].tree, owner):
            for node in ast.walk(parsed(listing.code)):
                match node:
                    case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr in methods:
                        used.add(f"{module}.{owner}.{attr}")
    return used


def methods_of(tree: ast.Module, name: str) -> set[str]:
    """Return the names of the methods of a class, nothing for any other name."""
    return {
        one.name
        for owner in tree.body
        if isinstance(owner, ast.ClassDef) and owner.name == name
        for one in owner.body
        if isinstance(one, ast.FunctionDef)
    }
