"""Finds where code uses the package's public names, without running it. Pure: no Sphinx, no import.

Cells of a page share their names, so they are read one after another with the same `Scope`.
"""

import ast
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from executable_book.code.abridged import Positions
from executable_book.code.package_source import parsed


@cache
def beginnings(public: frozenset[str]) -> set[str]:
    """Return all dotted names with which one of some names begins, and those."""
    paths = (name.split(".") for name in public)
    return {".".join(path[:end]) for path in paths for end in range(len(path) + 1)}


class Use(NamedTuple):
    """A public name in a piece of code, and the character at which it begins there."""

    name: str
    start: int


class Scope(ast.NodeVisitor):
    """What the names in some code mean, which is visited in the order in which it runs.

    A name means a public name of the package, a module such as `figures`, or "", which is the package.
    """

    def __init__(self, package: str, public: Collection[str]) -> None:
        self.package, self.public = package, public
        self.known = beginnings(frozenset(public))
        self.meaning: dict[str, str] = {}
        self._found: list[Use] = []
        self._positions = Positions("")

    def uses(self, code: str) -> list[Use]:
        """Return the uses in some code, and remember what it imports and redefines."""
        self._found, self._positions = [], Positions(code)
        self.visit(parsed(code))
        return sorted(self._found, key=lambda use: use.start)

    def read_imports(self, code: str) -> None:
        """Remember what a module imports at its top."""
        self._positions = Positions(code)
        for statement in parsed(code).body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self.visit(statement)

    def visit(self, node: ast.AST) -> None:
        """Note the public names in some code, and what its names mean from then on."""
        start, end = self._positions.start, self._positions.end
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
                        self._note(known[0], start(alias))
            case ast.Attribute(attr=attr) if (name := self._meaning_of(node)) in self.public:
                self._note(name, end(node) - len(attr))
            case ast.Name(id=name, ctx=ast.Load()):
                self._note(self.meaning.get(name), start(node))
            case ast.Name(id=name):
                self.meaning.pop(name, None)
            case ast.Assign(targets=targets, value=value):  # which the targets do not mean yet
                for part in (value, *targets):
                    self.visit(part)
            case ast.FunctionDef(name=name, args=args):
                self.meaning.pop(name, None)
                outside = dict(self.meaning)
                for argument in (*args.posonlyargs, *args.args, *args.kwonlyargs):
                    self.meaning.pop(argument.arg, None)
                self.generic_visit(node)
                self.meaning = outside
            case ast.ClassDef(name=name):
                self.meaning.pop(name, None)
                self.generic_visit(node)
            case _:
                self.generic_visit(node)

    def _note(self, name: str | None, start: int) -> None:
        if name and name in self.public:
            self._found.append(Use(name, start))

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
