"""The package that the book teaches, read from its files: nothing is imported.

Its public names are what `__init__` imports, and what lies in a room of its own: `figures.lines` and
`exercises.check_mask`. What is not public is found by its module: `reproducibility._mcg31_uniform`.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True)
class Item:
    """Something that the package defines.

    Attributes:
        name: how a page calls it, such as `softmax` or `figures.lines`.
        full: how the API reference calls it, such as `literate_attention.story.simple_attention.softmax`.
        file: where it stands.
        first: its first line.
        last: its last line.
        code: its source, without docstrings.
    """

    name: str
    full: str
    file: Path
    first: int
    last: int
    code: str


@dataclass(frozen=True)
class Library:
    """A package and its public names."""

    folder: Path
    public: dict[str, Item]

    def find(self, name: str) -> Item:
        """Return what a name means: a public name, a part of one, or `module.name`.

        Raises:
            LookupError: the package defines no such thing.
        """
        if name in self.public:
            return self.public[name]
        for owner, item in self.public.items():
            if name.startswith(f"{owner}."):
                path = f"{owner.rpartition('.')[2]}{name.removeprefix(owner)}"
                return _item(name, item.full + name.removeprefix(owner), item.file, path)
        parts = name.split(".")
        for end in range(1, len(parts)):
            file = self.folder.joinpath(*parts[:end]).with_suffix(".py")
            if file.exists():
                return _item(name, f"{self.folder.name}.{name}", file, ".".join(parts[end:]))
        raise LookupError(f"the package {self.folder.name} has no {name!r}")


def library_in(folder: Path) -> Library:
    """Read a package, unless it is known and has not changed."""
    files = sorted(folder.rglob("*.py"))
    return _read(folder, tuple((file, file.stat().st_mtime_ns) for file in files))


@lru_cache(maxsize=1)
def _read(folder: Path, state: tuple[tuple[Path, int], ...]) -> Library:
    public = {}
    for file, _ in state:
        module = ".".join(file.relative_to(folder).with_suffix("").parts)
        room = module.removesuffix("__init__").rstrip(".")
        for name, origin in _names(folder, file):
            called = f"{room}.{name}" if room else name
            where = called if room else f"{_module(folder, origin)}.{name}"
            public[called] = _item(called, f"{folder.name}.{where}", origin, name)
    return Library(folder, public)


def _names(folder: Path, file: Path) -> Iterator[tuple[str, Path]]:
    """Yield the names that a file makes public, and the files that define them."""
    statements = _parse(file.read_text(encoding="utf-8")).body
    if file.name == "__init__.py":
        for statement in statements:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                origin = folder.parent.joinpath(*statement.module.split(".")).with_suffix(".py")
                yield from ((alias.name, origin) for alias in statement.names)
        return
    for statement in statements:
        if isinstance(statement, ast.Assign) and "__all__" in _defined_by(statement):
            yield from ((name, file) for name in ast.literal_eval(statement.value))


@lru_cache(maxsize=64)
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def _module(folder: Path, file: Path) -> str:
    return ".".join(file.relative_to(folder).with_suffix("").parts)


def _item(name: str, full: str, file: Path, path: str) -> Item:
    """Make an item of the definition at a path within a file, such as `Dropout.forward`."""
    text = file.read_text(encoding="utf-8")
    node: ast.AST = _parse(text)
    for part in path.split("."):
        found = (each for each in ast.iter_child_nodes(node) if part in _defined_by(each))
        try:
            node = next(found)
        except StopIteration:
            raise LookupError(f"{file.name} does not define {path!r}") from None
    assert isinstance(node, ast.stmt)
    first = _first_line(node)
    last = node.end_lineno or first
    lines = text.splitlines()
    hidden = set(_docstring_lines(node))
    code = "\n".join(lines[n - 1] for n in range(first, last + 1) if n not in hidden)
    return Item(name, full, file, first, last, textwrap.dedent(code))


def _defined_by(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [ast.unparse(target) for target in targets]
        case ast.AnnAssign(target=target):
            return [ast.unparse(target)]
    return []


def _docstring_lines(node: ast.AST) -> Iterator[int]:
    """Yield the lines of a definition's docstrings, also of those within it, and blank lines below."""
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(each) is not None:
            docstring, *rest = each.body
            below = _first_line(rest[0]) if rest else (docstring.end_lineno or docstring.lineno) + 1
            yield from range(docstring.lineno, below)


def _first_line(statement: ast.stmt) -> int:
    """Return where a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
