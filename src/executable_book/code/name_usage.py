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

    Args:
        package: the package's name.
        public: its public names, such as `softmax` and `figures.lines`.

    Attributes:
        meaning: what a name stands for now: a public name, a module such as `figures`, or "" for the package.
    """

    def __init__(self, package: str, public: Collection[str]) -> None:
        self.package, self.public = package, public
        paths = (name.split(".") for name in public)
        self.known = {".".join(path[:end]) for path in paths for end in range(len(path) + 1)}
        self.meaning: dict[str, str] = {}
        self._found: list[Use] = []
        self._positions = Positions("")

    def uses(self, code: str) -> list[Use]:
        """Return the uses in a piece of code, in order, and remember what it imports and redefines."""
        self._found, self._positions = [], Positions(code)
        self.visit(parsed(code))
        return sorted(self._found, key=lambda use: use.start)

    def names(self, part: ast.stmt, code: str) -> set[str]:
        """Return the public names that a part of some code uses, and remember nothing of it."""
        before = dict(self.meaning)
        self._found, self._positions = [], Positions(code)
        self.visit(part)
        self.meaning = before
        return {use.name for use in self._found}

    def read_imports(self, code: str) -> None:
        """Remember what a module imports at its top."""
        self._positions = Positions(code)
        for statement in parsed(code).body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self.visit(statement)

    def _note(self, meaning: str | None, node: ast.Name | ast.Attribute | ast.alias) -> None:
        """Note a use of a name, if it is public."""
        if meaning and meaning in self.public:
            start = self._positions.start(node)
            if isinstance(node, ast.Attribute):
                start = self._positions.end(node) - len(node.attr)
            self._found.append(Use(meaning, start))

    def visit_Import(self, node: ast.Import) -> None:
        """Learn what the package is called."""
        for alias in node.names:
            if alias.name == self.package:
                self.meaning[alias.asname or alias.name] = ""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Learn what names are called, and note those that are public."""
        package, _, path = (node.module or "").partition(".")
        for alias in node.names:
            self.meaning.pop(alias.asname or alias.name, None)
            candidates = (f"{path}.{alias.name}".lstrip("."), alias.name)
            known = [one for one in candidates if one in self.known]
            if package == self.package and known:
                self.meaning[alias.asname or alias.name] = known[0]
                self._note(known[0], alias)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note a public name, or else look for one in what it is an attribute of."""
        meaning = self._meaning_of(node)
        self._note(meaning, node)
        if meaning not in self.public:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Note a public name, or forget it if it is bound anew."""
        if isinstance(node.ctx, ast.Load):
            self._note(self.meaning.get(node.id), node)
        else:
            self.meaning.pop(node.id, None)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Visit what is assigned before the names that it gets."""
        for part in (node.value, *node.targets):
            self.visit(part)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit a function, whose arguments and names are its own."""
        self.meaning.pop(node.name, None)
        before = dict(self.meaning)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.meaning.pop(argument.arg, None)
        self.generic_visit(node)
        self.meaning = before

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit a class."""
        self.meaning.pop(node.name, None)
        self.generic_visit(node)

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
    uses = {name: scope.names(part, code) for name, part in parts.items()}
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
