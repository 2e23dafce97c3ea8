"""The package that the book teaches, read from its files: nothing is imported.

Its public names are what `__init__` imports, and what a module of its own offers: `figures.lines` and
`exercises.check_mask`. What is not public is found by its module: `reproducibility._mcg31_uniform`.
"""

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path

from executable_book.code.abridged import first_line


@dataclass(frozen=True)
class Item:
    """Something that the package defines.

    Attributes:
        name: how a page calls it, such as `softmax` or `figures.lines`.
        full: how the API reference calls it, such as `package.part.module.act`.
        file: where it stands.
        first: its first line.
        last: its last line.
        code: its source, without docstrings.
        own: its name where it is defined, such as `part.module.act`.
        node: its definition, as `ast` found it in the file.
    """

    name: str
    full: str
    file: Path
    first: int
    last: int
    code: str
    own: str
    node: ast.stmt = field(compare=False, repr=False)


@dataclass(frozen=True)
class PythonFile:
    """A file of the package, and what it defines at its top."""

    file: Path
    text: str
    tree: ast.Module
    defined: frozenset[str]


@dataclass(frozen=True)
class Library:
    """A package, its public names, and all that its modules define at their top, public or not."""

    folder: Path
    public: dict[str, Item]
    modules: dict[str, PythonFile] = field(compare=False, repr=False)

    @cached_property
    def definitions(self) -> frozenset[str]:
        """The names of all definitions, such as `part.module.act`."""
        return frozenset(
            f"{name}.{one}" for name, part in self.modules.items() for one in part.defined
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
                path = owner.rpartition(".")[2] + rest
                return _item(self.folder, name, item.file, path, item.full + rest)
        parts = name.split(".")
        for end in range(1, len(parts)):
            file = self.folder.joinpath(*parts[:end]).with_suffix(".py")
            if file.exists():
                return _item(self.folder, name, file, ".".join(parts[end:]))
        found = [module.file for module in self.modules.values() if parts[0] in module.defined]
        if len(found) == 1:
            return _item(self.folder, name, found[0], name)
        raise LookupError(f"the package {self.folder.name} has no {name!r}")


def library_in(folder: Path | None) -> Library:
    """Read a package, unless it is known and has not changed; there is nothing in none."""
    if folder is None:
        return Library(Path("no-package"), {}, {})
    files = sorted(folder.rglob("*.py"))
    return _read(folder, tuple((file, file.stat().st_mtime_ns) for file in files))


@lru_cache(maxsize=1)
def _read(folder: Path, state: tuple[tuple[Path, int], ...]) -> Library:
    public, modules = {}, {}
    for file, _ in state:
        module = _module(folder, file)
        text = file.read_text(encoding="utf-8")
        if file.name != "__init__.py":
            modules[module] = PythonFile(file, text, parsed(text), defined_in(text))
        offered_by = module.removesuffix("__init__").rstrip(".")
        for name, origin in _names(folder, file):
            called = f"{offered_by}.{name}" if offered_by else name
            full = f"{folder.name}.{called}" if offered_by else ""
            public[called] = _item(folder, called, origin, name, full)
    return Library(folder, public, modules)


def _names(folder: Path, file: Path) -> Iterator[tuple[str, Path]]:
    """Yield the names that a file makes public, and the files that define them."""
    for statement in parsed(file.read_text(encoding="utf-8")).body:
        match statement:
            case ast.ImportFrom(module=str(module), names=names) if file.name == "__init__.py":
                origin = folder.parent.joinpath(*module.split(".")).with_suffix(".py")
                yield from ((alias.name, origin) for alias in names)
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                if file.name != "__init__.py":
                    yield from ((name, file) for name in ast.literal_eval(value))


@cache
def parsed(text: str) -> ast.Module:
    """Return the syntax tree of some code, which is asked for by many: nobody may change it."""
    return ast.parse(text)


def _module(folder: Path, file: Path) -> str:
    return ".".join(file.relative_to(folder).with_suffix("").parts)


def _item(folder: Path, name: str, file: Path, path: str, full: str = "") -> Item:
    """Make an item of the definition at a path within a file, such as `Dropout.forward`."""
    text = file.read_text(encoding="utf-8")
    node: ast.AST = parsed(text)
    for part in path.split("."):
        found = [each for each in ast.iter_child_nodes(node) if part in _defined_by(each)]
        if not found:
            raise LookupError(f"{file.name} does not define {path!r}")
        node = found[-1]  # the first may be overloads
    assert isinstance(node, ast.stmt)
    first, last = first_line(node), node.end_lineno or node.lineno
    hidden = {*_docstring_lines(node)}
    lines = text.splitlines()
    code = "\n".join(lines[n - 1] for n in range(first, last + 1) if n not in hidden)
    own = f"{_module(folder, file)}.{path}"
    full = full or f"{folder.name}.{own}"
    return Item(name, full, file, first, last, textwrap.dedent(code), own, node)


def _defined_by(node: ast.AST) -> list[str]:
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
        statements = parsed(code).body
    except SyntaxError:
        return frozenset()
    return frozenset(name for one in statements for name in _defined_by(one))


def _docstring_lines(node: ast.AST) -> Iterator[int]:
    """Yield the lines of a definition's docstrings, also of those within it, and blank lines below."""
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(each) is not None:
            docstring, *rest = each.body
            below = first_line(rest[0]) if rest else (docstring.end_lineno or docstring.lineno) + 1
            yield from range(docstring.lineno, below)
