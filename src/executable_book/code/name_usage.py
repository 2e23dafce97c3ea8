"""Finds where code uses the package's public names, without running it. Pure: no Sphinx, no import.

Cells of a page share their names, so they are read one after another with the same `Scope`.
"""

import ast
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from executable_book.code.abridged import first_line
from executable_book.code.package_source import parsed


class Use(NamedTuple):
    """A public name in a piece of code, and the characters that spell it there."""

    name: str
    start: int
    end: int


@dataclass
class Scope:
    """What the names in some code mean.

    Attributes:
        package: the package's name.
        public: its public names, such as `softmax` and `figures.lines`.
        meaning: what a name stands for now: a public name, a module such as `figures`, or "" for the package.
    """

    package: str
    public: frozenset[str]
    meaning: dict[str, str] = field(default_factory=dict)

    def uses(self, code: str) -> list[Use]:
        """Return the uses in a piece of code, in order, and remember what it imports and redefines."""
        finder = _Finder(self, code)
        finder.visit(parsed(code))
        return sorted(finder.found, key=lambda use: use.start)

    def read_imports(self, code: str) -> None:
        """Remember what a module imports at its top."""
        finder = _Finder(self, code)
        for statement in parsed(code).body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                finder.visit(statement)

    def is_known(self, meaning: str) -> bool:
        """Tell whether this is a public name, a module that has one, or the package."""
        return not meaning or meaning in _names_and_modules(self.public)

    def imported(self, module: str, name: str) -> str | None:
        """Return what an import brings, None if it is nothing public of the package."""
        package, _, path = module.partition(".")
        meanings = (f"{path}.{name}".lstrip("."), name) if package == self.package else ()
        return next(filter(self.is_known, meanings), None)


@lru_cache
def _names_and_modules(public: frozenset[str]) -> frozenset[str]:
    """Return names, and all that they lie in: `figures.lines` lies in `figures`."""
    parts = (name.split(".") for name in public)
    return frozenset(".".join(one[:end]) for one in parts for end in range(1, len(one) + 1))


class _Finder(ast.NodeVisitor):
    """Walks through code once, in the order in which it runs."""

    def __init__(self, scope: Scope, code: str) -> None:
        self.scope = scope
        self.found: list[Use] = []
        self.lines = code.splitlines(keepends=True)
        self.starts = [0, *accumulate(map(len, self.lines))]

    def note(self, meaning: str, line: int | None, column: int | None, spelt: str) -> None:
        """Note a use of a public name that ends in a column, as Python counts: in bytes."""
        if meaning in self.scope.public and line:
            end = self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())
            self.found.append(Use(meaning, end - len(spelt), end))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name == self.scope.package:
                self.scope.meaning[alias.asname or alias.name] = ""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            meaning = self.scope.imported(node.module or "", alias.name)
            self.scope.meaning.pop(alias.asname or alias.name, None)
            if meaning is not None:
                self.scope.meaning[alias.asname or alias.name] = meaning
                end = alias.col_offset + len(alias.name.encode())
                self.note(meaning, alias.lineno, end, alias.name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        meaning = self.meaning_of(node) or ""
        if meaning in self.scope.public:
            self.note(meaning, node.end_lineno, node.end_col_offset, node.attr)
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            meaning = self.scope.meaning.get(node.id, "")
            self.note(meaning, node.end_lineno, node.end_col_offset, node.id)
        else:
            self.scope.meaning.pop(node.id, None)

    def visit_Assign(self, node: ast.Assign) -> None:
        for part in (node.value, *node.targets):  # it is computed before it gets its name
            self.visit(part)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.scope.meaning.pop(node.name, None)
        before = dict(self.scope.meaning)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.scope.meaning.pop(argument.arg, None)
        self.generic_visit(node)
        self.scope.meaning = before

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.meaning.pop(node.name, None)
        self.generic_visit(node)

    def meaning_of(self, node: ast.expr) -> str | None:
        """Return what a dotted name stands for, None if it is nothing of the package."""
        match node:
            case ast.Name(id=name):
                return self.scope.meaning.get(name)
            case ast.Attribute(value=value, attr=attr):
                owner = self.meaning_of(value)
                meaning = f"{owner}.{attr}".lstrip(".")
                return meaning if owner is not None and self.scope.is_known(meaning) else None
        return None


class UnitTest(NamedTuple):
    """A test function, and its first and last line in its file."""

    name: str
    first: int
    last: int


def find_tests(code: str, package: str, public: frozenset[str]) -> dict[str, list[UnitTest]]:
    """Return, for each public name, the tests in a module that use it.

    A test uses what its body and its decorators use, and what the module's own functions, fixtures and
    constants use that it names.
    """
    if package not in code:
        return {}
    scope = Scope(package, public)
    scope.read_imports(code)
    parts: dict[str, ast.stmt] = {}
    for statement in parsed(code).body:
        match statement:
            case (
                ast.FunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.Assign(targets=[ast.Name(id=name)])
                | ast.AnnAssign(target=ast.Name(id=name))
            ):
                parts[name] = statement
    uses = {name: _uses_of(part, scope, code) for name, part in parts.items()}
    needs = {name: _names_in(part) & parts.keys() for name, part in parts.items()}
    found: dict[str, list[UnitTest]] = {}
    for name, statement in parts.items():
        if name.startswith("test_"):
            last = statement.end_lineno or statement.lineno
            test = UnitTest(name, first_line(statement), last)
            for used in sorted(set().union(*(uses[part] for part in _reached(name, needs)))):
                found.setdefault(used, []).append(test)
    return found


def _uses_of(part: ast.stmt, scope: Scope, code: str) -> set[str]:
    """Return the public names that a part of a module uses itself."""
    finder = _Finder(replace(scope, meaning=dict(scope.meaning)), code)
    finder.visit(part)
    return {use.name for use in finder.found}


def _names_in(part: ast.stmt) -> set[str]:
    """Return all names in a part of a module, and those of its arguments, which may be fixtures."""
    return {
        node.id if isinstance(node, ast.Name) else node.arg
        for node in ast.walk(part)
        if isinstance(node, ast.Name | ast.arg)
    }


def _reached(name: str, needs: dict[str, set[str]]) -> set[str]:
    """Return the parts of a module that one needs, also by way of others; it is one of them."""
    seen: set[str] = set()
    waiting = {name}
    while waiting:
        seen |= waiting
        waiting = set().union(*(needs[part] for part in waiting)) - seen
    return seen
