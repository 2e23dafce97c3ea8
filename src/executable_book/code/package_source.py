"""The package that the book teaches, read from its files: nothing is imported.

Its public names are what its `__init__` imports, and those of its parts: `figures.lines`. What is not
public is found by its name alone, or with its module: `reproducibility._mcg31_uniform`.
"""

import ast
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from executable_book.code.abridged import abridge, first_line, last_line


@cache
def parsed(text: str) -> ast.Module:
    """Return the syntax tree of some code, which is asked for by many: nobody may change it.

    What is no Python, as some cells are on purpose, is empty.
    """
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def defined_by(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [ast.unparse(target) for target in targets]
        case ast.AnnAssign(target=target):
            return [ast.unparse(target)]
    return []


def defined_in(code: str) -> dict[str, ast.stmt]:
    """Return what some code defines at its top, by name: of an overloaded function, the last definition."""
    return {name: one for one in parsed(code).body for name in defined_by(one)}


@dataclass(frozen=True)
class Module:
    """A file of the package, by its name within it, such as `part.module`."""

    name: str
    file: Path
    text: str = field(repr=False)

    @cached_property
    def defined(self) -> dict[str, ast.stmt]:
        """What the file defines at its top."""
        return defined_in(self.text)

    @cached_property
    def sources(self) -> dict[str, str]:
        """The code of all that it defines, as the API reference shows it: below docstrings and types."""
        code = abridge(self.text, [*dict.fromkeys(self.defined.values())], refusals=True).code
        found: dict[str, str] = {}
        lines, end = code.splitlines(), 0
        for node in parsed(code).body:  # a comment may stand above it
            start, end = end, last_line(node)
            found |= dict.fromkeys(defined_by(node), "\n".join(lines[start:end]).strip("\n"))
        return found


@dataclass(frozen=True)
class Item:
    """Something that the package defines.

    Attributes:
        name: how a page calls it, such as `softmax` or `figures.lines`.
        module: where it stands.
        own: its name where it is defined, such as `part.module.act`.
        full: how the API reference calls it, such as `package.part.module.act`.
    """

    name: str
    module: Module
    own: str
    full: str

    @property
    def node(self) -> ast.stmt:
        """Its definition."""
        return self.module.defined[self.own.rpartition(".")[2]]

    @property
    def lines(self) -> tuple[int, int]:
        """Its first line and its last."""
        return first_line(self.node), last_line(self.node)


@dataclass(frozen=True)
class Library:
    """A package: its modules, and its public names."""

    folder: Path
    modules: dict[str, Module] = field(default_factory=dict)
    public: dict[str, Item] = field(default_factory=dict)

    def path_of(self, module: Module) -> str:
        """Return the path of a module's file within the repository."""
        return module.file.relative_to(self.folder.parents[1]).as_posix()

    def find(self, name: str) -> Item:
        """Return what a name means: a public name, `module.name`, or a name that one module defines.

        Raises:
            LookupError: the package defines no such thing.
        """
        if name in self.public:
            return self.public[name]
        where, _, last = name.rpartition(".")
        found = [
            module
            for module in self.modules.values()
            if last in module.defined and where in ("", module.name)
        ]
        if len(found) != 1:
            raise LookupError(f"the package {self.folder.name} has no {name!r}")
        own = f"{found[0].name}.{last}"
        return Item(name, found[0], own, f"{self.folder.name}.{own}")


def library_in(folder: Path) -> Library:
    """Read a package; there is nothing in no folder."""
    files = sorted(folder.rglob("*.py"))
    found = [Module(_name(file, folder), file, file.read_text("utf-8")) for file in files]
    library = Library(folder, {one.name: one for one in found if one.name})
    for init in found:
        if init.file.stem == "__init__" and "." not in init.name:
            imported = [
                (alias.name, f"{one.module}".removeprefix(f"{folder.name}."))
                for one in parsed(init.text).body
                if isinstance(one, ast.ImportFrom)
                for alias in one.names
            ]
            named = [
                (library.modules[origin], name)
                for name, origin in imported
                if origin in library.modules
            ]
            for module, asked in named:
                for name in _offered(module, asked):
                    public, own = f"{init.name}.{name}".lstrip("."), f"{module.name}.{name}"
                    full = f"{folder.name}.{public if init.name else own}"
                    library.public[public] = Item(public, module, own, full)
    return library


def _offered(module: Module, asked: str) -> list[str]:
    """Return which of its names a module hands over: the one asked for, or for `*` its `__all__`."""
    listed = module.defined.get("__all__")
    names = ast.literal_eval(listed.value) if isinstance(listed, ast.Assign) else []
    return [name for name in (names if asked == "*" else [asked]) if name in module.defined]


def _name(file: Path, folder: Path) -> str:
    """Return the name of a module within its package; that of a part is the name of its `__init__`."""
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
