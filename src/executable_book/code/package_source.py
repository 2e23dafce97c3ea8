"""The package that the book teaches, read from its files: nothing is imported.

Its public names are what its `__init__` imports, and those of its parts: `figures.lines`. What is not
public is found by its module: `reproducibility._mcg31_uniform`.
"""

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path

from executable_book.code.abridged import first_line, last_line


@cache
def parsed(text: str) -> ast.Module:
    """Return the syntax tree of some code, which is asked for by many: nobody may change it."""
    return ast.parse(text)


def defined_by(node: ast.AST) -> list[str]:
    """Return the names that a statement defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [ast.unparse(target) for target in targets]
        case ast.AnnAssign(target=target):
            return [ast.unparse(target)]
    return []


def defined_in(code: str) -> frozenset[str]:
    """Return the functions, classes and names that some code defines; none if it is no Python, on purpose."""
    try:
        return frozenset(name for one in parsed(code).body for name in defined_by(one))
    except SyntaxError:
        return frozenset()


@dataclass(frozen=True)
class Module:
    """A file of the package, by its name within it, such as `part.module`."""

    name: str
    file: Path
    text: str = field(repr=False)

    @cached_property
    def tree(self) -> ast.Module:
        """What stands in the file."""
        return parsed(self.text)

    @cached_property
    def defined(self) -> frozenset[str]:
        """The names that the file defines at its top."""
        return defined_in(self.text)

    def definition(self, path: str) -> ast.stmt:
        """Return a definition by its path, such as `Dropout.forward`."""
        node: ast.AST = self.tree
        for part in path.split("."):
            found = [each for each in ast.iter_child_nodes(node) if part in defined_by(each)]
            if not found:
                raise LookupError(f"{self.file.name} does not define {path!r}")
            node = found[-1]  # the first may be overloads
        assert isinstance(node, ast.stmt)
        return node


@dataclass(frozen=True)
class Item:
    """Something that the package defines.

    Attributes:
        name: how a page calls it, such as `softmax` or `figures.lines`.
        module: where it stands.
        path: its name within its module, such as `Dropout.forward`.
        node: its definition.
        full: how the API reference calls it, such as `package.part.module.act`.
    """

    name: str
    module: Module
    path: str
    node: ast.stmt = field(compare=False, repr=False)
    full: str

    @property
    def own(self) -> str:
        """Its name where it is defined, such as `part.module.act`."""
        return f"{self.module.name}.{self.path}"

    @property
    def lines(self) -> tuple[int, int]:
        """Its first line and its last."""
        return first_line(self.node), last_line(self.node)

    @property
    def code(self) -> str:
        """Its source, without docstrings."""
        lines = self.module.text.splitlines()
        first, last = self.lines
        shown = set(range(first, last + 1)) - {*_docstring_lines(self.node)}
        return textwrap.dedent("\n".join(lines[number - 1] for number in sorted(shown)))


@dataclass(frozen=True)
class Library:
    """A package: its modules, and its public names."""

    folder: Path
    modules: dict[str, Module] = field(default_factory=dict)
    public: dict[str, Item] = field(default_factory=dict)

    @cached_property
    def definitions(self) -> frozenset[str]:
        """The names of all definitions, such as `part.module.act`."""
        return frozenset(
            f"{one.name}.{name}" for one in self.modules.values() for name in one.defined
        )

    def find(self, name: str) -> Item:
        """Return what a name means: a public name, a part of one, `module.name`, or a name that is unique.

        Raises:
            LookupError: the package defines no such thing.
        """
        if name in self.public:
            return self.public[name]
        for owner, item in self.public.items():
            if name.startswith(f"{owner}."):
                rest = name.removeprefix(owner)
                return self.item(name, item.module, item.path + rest, item.full + rest)
        parts = name.split(".")
        for end in range(len(parts) - 1, 0, -1):
            if module := self.modules.get(".".join(parts[:end])):
                return self.item(name, module, ".".join(parts[end:]))
        found = [module for module in self.modules.values() if parts[0] in module.defined]
        if len(found) == 1:
            return self.item(name, found[0], name)
        raise LookupError(f"the package {self.folder.name} has no {name!r}")

    def item(self, name: str, module: Module, path: str, full: str = "") -> Item:
        """Return what stands at a path within a module."""
        full = full or f"{self.folder.name}.{module.name}.{path}"
        return Item(name, module, path, module.definition(path), full)


def library_in(folder: Path | None) -> Library:
    """Read a package, unless it is known and has not changed; there is nothing in none."""
    if folder is None:
        return Library(Path("no-package"))
    return _read(
        folder, tuple((one, one.stat().st_mtime_ns) for one in sorted(folder.rglob("*.py")))
    )


@lru_cache(maxsize=1)
def _read(folder: Path, state: tuple[tuple[Path, int], ...]) -> Library:
    found = [Module(_name(file, folder), file, file.read_text("utf-8")) for file, _ in state]
    library = Library(folder, {one.name: one for one in found if one.name})
    for init in found:
        if init.file.stem == "__init__" and "." not in init.name:
            package = f"{init.name}." if init.name else ""
            for name, origin in _imported(init):
                module = library.modules.get(origin.removeprefix(f"{folder.name}."))
                if module and name in module.defined:
                    full = f"{folder.name}.{package}{name}" if package else ""
                    item = library.item(package + name, module, name, full)
                    library.public[item.name] = item
    return library


def _name(file: Path, folder: Path) -> str:
    """Return the name of a module within its package; that of a part is the name of its `__init__`."""
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the names that a module imports, each with the module that it comes from."""
    for statement in module.tree.body:
        match statement:
            case ast.ImportFrom(module=str(origin), names=names):
                yield from ((alias.name, origin) for alias in names)


def _docstring_lines(node: ast.AST) -> Iterator[int]:
    """Yield the lines of a definition's docstrings, also of those within it, and blank lines below."""
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(each) is not None:
            docstring, *rest = each.body
            below = first_line(rest[0]) if rest else last_line(docstring) + 1
            yield from range(docstring.lineno, below)
