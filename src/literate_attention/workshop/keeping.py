"""From a notebook into the folder: what a cell defines takes the place of a stub."""

import ast
import builtins
import linecache
import os
import symtable
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from literate_attention.workshop._road import WorkshopError, command_line, file_name, find_piece
from literate_attention.workshop.pieces import BY_NAME, functions_of
from literate_attention.workshop.stubs import names_in, write_whole

Definition = ast.ClassDef | ast.FunctionDef


@dataclass(frozen=True)
class Kept:
    """What :func:`keep` did. It prints as a few sentences.

    Args:
        files: where each piece stands now, by its name.
        lacking: the names that a piece uses and its file does not know, by the name of the piece.
    """

    files: dict[str, Path]
    lacking: dict[str, list[str]]

    def __repr__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> Iterator[str]:
        """Yield what happened, line by line."""
        for name, file in self.files.items():
            yield f"{name} stands in {file} now."
            if self.lacking[name]:
                yield f"It uses {', '.join(self.lacking[name])}, which has to be written there, too."


def keep(folder: str | os.PathLike[str], *mine: object) -> Kept:
    """Put functions and classes that you have defined in a notebook into your files.

    Each takes the place of what its file has under its name: the stub, or what you kept before. The modules
    and the other pieces that it uses are imported there.

    Args:
        folder: where your files are.
        *mine: functions and classes that are called as the book calls its pieces.

    Returns:
        What was done, which prints as a few sentences.

    Raises:
        ValueError: there is no such piece or file, or the source of what you hand over cannot be found.
    """
    kept = Kept({}, {})
    for one in mine:
        piece = find_piece(getattr(one, "__name__", repr(one)))
        path = Path(folder) / f"{file_name(piece.chapter)}.py"
        code = code_of(one)
        source = source_of(piece.name, code)
        content, newline = read(path)
        content, lacking = put_into(content, piece.name, source, globals_of(one))
        write_whole(path, content.replace("\n", newline).encode())
        kept.files[piece.name], kept.lacking[piece.name] = path, lacking
    return kept


def code_of(mine: object) -> CodeType:
    """Return code whose place in a cell, or in a file, is known."""
    name = getattr(mine, "__qualname__", "")
    own = [one for one in functions_of(mine) if one.__qualname__.startswith(name)]
    if not own:
        raise WorkshopError(f"{mine!r} is no function or class that was defined in a cell.")
    return own[0].__code__


def globals_of(mine: object) -> Mapping[str, Any]:
    """Return what the names of a definition stand for."""
    return functions_of(mine)[0].__globals__


def source_of(name: str, code: CodeType) -> str:
    """Return the source of what a cell, or a file, has defined."""
    source = "".join(linecache.getlines(code.co_filename))
    for node in definitions(source, name):
        if node.lineno <= code.co_firstlineno <= (node.end_lineno or 0) or (
            first_line(node) == code.co_firstlineno
        ):
            return "\n".join(source.splitlines()[first_line(node) - 1 : node.end_lineno]) + "\n"
    raise WorkshopError(f"The source of {name} cannot be found; define it at the left of a cell.")


def definitions(source: str, name: str) -> list[Definition]:
    """List the functions and classes of a name that stand at the left."""
    nodes = ast.parse(source).body
    return [one for one in nodes if isinstance(one, Definition) and one.name == name]


def first_line(node: Definition) -> int:
    """Return the number of the line in which a definition begins, decorators included."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def read(path: Path) -> tuple[str, str]:
    """Read a file of the folder, with the newlines of Python, and tell which it has."""
    if not path.exists():
        start = command_line("start", path.parent)
        raise WorkshopError(f"There is no file {path}; {start} makes it.")
    content = path.read_text("utf-8-sig", errors="replace")
    try:
        ast.parse(content)
    except (SyntaxError, ValueError) as error:
        raise WorkshopError(
            f"{path} was left alone, since Python cannot read it: {error}"
        ) from None
    return content, "\r\n" if b"\r\n" in path.read_bytes() else "\n"


def put_into(
    content: str, name: str, source: str, known: Mapping[str, Any]
) -> tuple[str, list[str]]:
    """Put a definition in the place of another one, or behind all others, and import what it uses.

    Returns:
        The new content, and the names that cannot be imported.
    """
    lines = content.splitlines()
    earlier = definitions(content, name)
    if earlier:
        lines[first_line(earlier[-1]) - 1 : earlier[-1].end_lineno] = source.splitlines()
    else:
        lines += ["", "", *source.splitlines()]
    defined = {*names_in(content, name), name, *dir(builtins)}
    needed = [one for one in used_names(source) if one not in defined]
    imports = {one: import_line(one, known.get(one)) for one in needed}
    old_imports = [
        one for one in ast.parse(content).body if isinstance(one, ast.Import | ast.ImportFrom)
    ]
    end = max((one.end_lineno or 0 for one in old_imports), default=0)
    lines[end:end] = filter(None, imports.values())
    return "\n".join(lines) + "\n", [one for one, line in imports.items() if not line]


def used_names(source: str) -> list[str]:
    """List the names that a definition takes from around it."""

    def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
        yield table
        for child in table.get_children():
            yield from tables(child)

    symbols = (
        symbol
        for table in tables(symtable.symtable(source, "<cell>", "exec"))
        for symbol in table.get_symbols()
    )
    return sorted({one.get_name() for one in symbols if one.is_referenced() and one.is_global()})


def import_line(name: str, value: Any, own: Collection[str] = BY_NAME) -> str:
    """Write the import that gives a file a name that a cell has; nothing if there is none."""
    if name in own:
        return f"from {file_name(BY_NAME[name].chapter)} import {name}"
    if isinstance(value, ModuleType):
        alias = "" if value.__name__ == name else f" as {name}"
        return f"import {value.__name__}{alias}"
    module = getattr(value, "__module__", None) or ""
    if module != "__main__" and getattr(sys.modules.get(module), name, None) is not None:
        return f"from {module} import {name}"
    return ""
