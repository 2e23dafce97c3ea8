"""Finds where code uses the package's public names, without running it. Pure: no Sphinx, no import.

Cells of a page share their names, so they are read one after another with the same `Scope`.
"""

import ast
from collections.abc import Collection
from typing import NamedTuple

from executable_book.code.abridged import Positions, first_line, last_line
from executable_book.code.package_source import defined_by, parsed


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
        paths = (name.split(".") for name in public)
        self.known = {".".join(path[:end]) for path in paths for end in range(len(path) + 1)}
        self.meaning: dict[str, str] = {}
        self._found: list[Use] = []
        self._positions = Positions("")

    def uses(self, code: str, part: ast.stmt | None = None) -> list[Use]:
        """Return the uses in some code, or a part of it, and remember what it imports and redefines."""
        self._found, self._positions = [], Positions(code)
        self.visit(part or parsed(code))
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


class UnitTest(NamedTuple):
    """A test function, and its first and last line in its file."""

    name: str
    first: int
    last: int


def find_tests(code: str, package: str, public: Collection[str]) -> dict[str, list[UnitTest]]:
    """Return, for each public name, the tests in a module that use it.

    A test uses what its body and its decorators use, and what the module's own functions, fixtures and
    constants use that it names.
    """
    if package not in code:
        return {}
    scope = Scope(package, public)
    scope.read_imports(code)
    parts = {name: part for part in parsed(code).body for name in defined_by(part)}
    uses = {name: {use.name for use in scope.uses(code, part)} for name, part in parts.items()}
    needs = {name: _names_in(part) & parts.keys() for name, part in parts.items()}
    found: dict[str, list[UnitTest]] = {}
    for name, part in parts.items():
        if name.startswith("test_"):
            reached = {name}
            while more := set().union(*(needs[one] for one in reached)) - reached:
                reached |= more
            for used in sorted(set().union(*(uses[one] for one in reached))):
                test = UnitTest(name, first_line(part), last_line(part))
                found.setdefault(used, []).append(test)
    return found


def _names_in(part: ast.stmt) -> set[str]:
    """Return all names in a part of a module, and those of its arguments, which may be fixtures."""
    return {
        node.id if isinstance(node, ast.Name) else node.arg
        for node in ast.walk(part)
        if isinstance(node, ast.Name | ast.arg)
    }
