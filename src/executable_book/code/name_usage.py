"""Finds where code uses the package's public names, without running it. Pure: no Sphinx, no import.

Cells of a page share their names, so they are read one after another with the same `Scope`.
"""

import ast
from collections.abc import Collection, Iterable
from functools import cache
from typing import NamedTuple

from executable_book.code.abridged import Positions
from executable_book.code.package_source import parsed

IMPORT = ast.Import | ast.ImportFrom


@cache
def beginnings(public: frozenset[str]) -> set[str]:
    """Return all dotted names with which one of some names begins, and those."""
    paths = (name.split(".") for name in public)
    return {".".join(path[:end]) for path in paths for end in range(len(path) + 1)}


class Use(NamedTuple):
    """A public name in a piece of code, and the character at which it begins there."""

    name: str
    start: int


class Scope:
    """What the names in some code mean, which is read from its beginning to its end.

    A name means a public name of the package, a module such as `figures`, or "", which is the package. What
    binds it anew takes its meaning away, even if that is the argument of a function.
    """

    def __init__(self, package: str, public: Collection[str]) -> None:
        self.package, self.public = package, public
        self.known = beginnings(frozenset(public))
        self.meaning: dict[str, str] = {}

    def uses(self, code: str) -> list[Use]:
        """Return the uses in some code, and remember what it imports and redefines."""
        return self._uses(code, ast.walk(parsed(code)))

    def read_imports(self, code: str) -> None:
        """Remember what a module imports at its top."""
        self._uses(code, (one for one in parsed(code).body if isinstance(one, IMPORT)))

    def _uses(self, code: str, found: Iterable[ast.AST]) -> list[Use]:
        positions = Positions(code)
        start, end = positions.start, positions.end
        placed = (one for one in found if isinstance(one, ast.expr | ast.stmt | ast.arg))
        uses = []
        for node in sorted(placed, key=lambda one: (one.lineno, one.col_offset)):
            match node:
                case ast.Import(names=names):
                    aliases = (alias for alias in names if alias.name == self.package)
                    self.meaning |= {alias.asname or alias.name: "" for alias in aliases}
                case ast.ImportFrom(module=str(module), names=names):
                    package, _, path = module.partition(".")
                    for alias in names:
                        self.meaning.pop(alias.asname or alias.name, None)
                        candidates = (f"{path}.{alias.name}".lstrip("."), alias.name)
                        known = [one for one in candidates if one in self.known]
                        if package == self.package and known:
                            self.meaning[alias.asname or alias.name] = known[0]
                            uses.append(Use(known[0], start(alias)))
                case ast.Attribute(attr=attr) if (name := self._meaning_of(node)) is not None:
                    uses.append(Use(name, end(node) - len(attr)))
                case ast.Name(id=name, ctx=ast.Load()):
                    uses.append(Use(self.meaning.get(name, ""), start(node)))
                case (
                    ast.Name(id=name)
                    | ast.arg(arg=name)
                    | ast.FunctionDef(name=name)
                    | ast.ClassDef(name=name)
                ):
                    self.meaning.pop(name, None)
        return sorted((use for use in uses if use.name in self.public), key=lambda use: use.start)

    def _meaning_of(self, node: ast.expr) -> str | None:
        """Return what a dotted name stands for, None if it is nothing of the package."""
        match node:
            case ast.Name(id=name):
                return self.meaning.get(name)
            case ast.Attribute(value=value, attr=attr):
                owner = self._meaning_of(value)
                meaning = f"{owner}.{attr}".lstrip(".")
                return meaning if owner is not None and meaning in self.known else None
        return None
