"""Finds where code uses the package's public names, without running it. Pure: no Sphinx, no import.

Cells of a page share their names, so they are read one after another with the same `Scope`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

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
        meaning: what a name stands for now: a public name, a room such as `figures`, or "" for the package.
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
        """Tell whether this is a public name, a room, or the package."""
        return not meaning or meaning in names_and_rooms(self.public)

    def imported(self, module: str, name: str) -> str | None:
        """Return what an import brings, None if it is nothing public of the package."""
        if module.partition(".")[0] != self.package:
            return None
        room = module.removeprefix(self.package).removeprefix(".")
        for meaning in (f"{room}.{name}".lstrip("."), name):
            if self.is_known(meaning):
                return meaning
        return None


@lru_cache
def names_and_rooms(public: frozenset[str]) -> frozenset[str]:
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

    def note(self, meaning: str, line: int, end_column: int, spelt: str) -> None:
        """Keep a use of a public name that ends in a column, as Python counts: in bytes."""
        if meaning in self.scope.public:
            text = self.lines[line - 1].encode()[:end_column].decode()
            end = self.starts[line - 1] + len(text)
            self.found.append(Use(meaning, end - len(spelt), end))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name == self.scope.package:
                self.scope.meaning[alias.asname or alias.name] = ""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            meaning = self.scope.imported(node.module or "", alias.name)
            if meaning is None:
                self.scope.meaning.pop(alias.asname or alias.name, None)
            else:
                self.scope.meaning[alias.asname or alias.name] = meaning
                start = alias.col_offset + len(alias.name.encode())
                self.note(meaning, alias.lineno, start, alias.name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        meaning = self.meaning_of(node)
        if meaning in self.scope.public:
            line, column = node.end_lineno or node.lineno, node.end_col_offset or 0
            self.note(meaning, line, column, node.attr)
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            meaning = self.scope.meaning.get(node.id, "")
            self.note(meaning, node.lineno, node.end_col_offset or 0, node.id)
        else:
            self.scope.meaning.pop(node.id, None)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)  # it is computed before it gets its name
        for target in node.targets:
            self.visit(target)

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
        if isinstance(node, ast.Name):
            return self.scope.meaning.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.meaning_of(node.value)
            if owner is not None:
                meaning = f"{owner}.{node.attr}".lstrip(".")
                return meaning if self.scope.is_known(meaning) else None
        return None


@dataclass(frozen=True)
class Proof:
    """A test function, and where it stands in its file."""

    name: str
    first: int
    last: int


def proofs_by_name(code: str, package: str, public: frozenset[str]) -> dict[str, list[Proof]]:
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
    found: dict[str, list[Proof]] = {}
    for name, statement in parts.items():
        if name.startswith("test_"):
            proof = Proof(name, _first_line(statement), statement.end_lineno or statement.lineno)
            for used in sorted(set().union(*(uses[part] for part in _reached(name, needs)))):
                found.setdefault(used, []).append(proof)
    return found


def _uses_of(part: ast.stmt, scope: Scope, code: str) -> set[str]:
    """Return the public names that a part of a module uses itself."""
    finder = _Finder(replace(scope, meaning=dict(scope.meaning)), code)
    finder.visit(part)
    return {use.name for use in finder.found}


def _names_in(part: ast.stmt) -> set[str]:
    """Return all names in a part of a module, and those of its arguments, which may be fixtures."""
    names = (
        node.id if isinstance(node, ast.Name) else node.arg
        for node in ast.walk(part)
        if isinstance(node, ast.Name | ast.arg)
    )
    return set(names)


def _reached(name: str, needs: dict[str, set[str]]) -> set[str]:
    """Return the parts of a module that one needs, also by way of others; it is one of them."""
    seen: set[str] = set()
    waiting = {name}
    while waiting:
        seen |= waiting
        waiting = set().union(*(needs[part] for part in waiting)) - seen
    return seen


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
