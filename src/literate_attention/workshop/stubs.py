"""A folder to write in: one file for each chapter, with what is to be written, cut from this library."""

import argparse
import ast
import os
import shutil
import symtable
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from literate_attention.workshop._road import (
    CHAPTERS,
    TITLES,
    WorkshopError,
    command_line,
    documentation,
)
from literate_attention.workshop._stub_source import stub

README = "README.md"
MAY_DEFINE = {"*", "__getattr__", "exec", "globals", "locals"}
"""What gives a file names that cannot be read in it."""

WITHOUT_HINTS = "This folder was made without hints."
WITH_HINTS = "`check` takes `--hint PIECE`, too, and `--solution PIECE`, which leads to the page."
INTRODUCTION = """\
# Your own attention

Each file belongs to a chapter of [Literate Attention]({book}).
Read the chapter, then write your own code where `raise NotImplementedError` stands.
`Float[Tensor, "*batch num_tokens"]` is a tensor of real numbers whose axes have these names; `*batch`
stands for any number of axes, also for none. A file may use what you wrote in an earlier one:
`from causal_attention import causal_mask`. Ask for a verdict as often as you like:

    {check}

`pytest`, in this folder, asks the same. A real model speaks with what you have written so far:

    {talk}

What is missing here, `{start}` adds; it changes nothing else.
{hints}
"""
IMPORTS = """\
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
import torch
from jaxtyping import Bool, Float, Int
from literate_attention.exercises import check_piece
from torch import Tensor, nn
"""
ALWAYS = {"torch", "Tensor", "nn"}
"""What a solution needs, even if its stub does not."""

HEAD = '''\
"""Your own code for a chapter of Literate Attention: {title}. See README.md."""

'''
TEST_HEAD = '''\
"""What `pytest` asks of {stem}.py."""

'''
TEST = """\
def test_{name}() -> None:
    mine = {stem}.{name}
    verdict = check_piece(mine, "{name}")
    if not verdict.is_written:
        pytest.skip(verdict.says)
    if not verdict:
        pytest.fail(str(verdict), pytrace=False)
"""
PACKAGE = '''\
"""What stands here can be imported from outside, too."""

import sys
from pathlib import Path

# The files import each other by their names alone.
sys.path.append(str(Path(__file__).parent))
'''
PYTEST_SETTINGS = """\
[pytest]
pythonpath = .
"""


@dataclass
class Started:
    """What :func:`start` did. It prints as a few sentences.

    Args:
        folder: where.
        new: the files that were made.
        added: what was added to files that were there, by the name of the file.
        left_alone: why a file lacks something still, by its name.
    """

    folder: Path
    new: list[str]
    added: dict[str, list[str]]
    left_alone: dict[str, str]

    def __repr__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> Iterator[str]:
        """Yield what happened, line by line."""
        if README in self.new:
            first = self.folder / f"{next(iter(CHAPTERS))}.py"
            yield f"{self.folder} is ready: {len(CHAPTERS)} files to write in, and {README} on how to go on."
            yield f"Begin with {first}, and ask for a verdict whenever you like:"
            yield f"\n    {command_line('check', self.folder)}\n"
        elif self.new:
            yield f"New in {self.folder}: {', '.join(self.new)}."
        for name, parts in self.added.items():
            yield f"Added at the end of {self.folder / name}: {', '.join(parts)}."
        for name, why in self.left_alone.items():
            yield f"Left alone: {self.folder / name}, {why}."
        if not (self.new or self.added or self.left_alone):
            yield f"{self.folder} has everything already; nothing was changed."


def start(folder: str | os.PathLike[str], hints: bool = True) -> Started:
    """Make a folder with a file for each chapter, in which you write the book's code yourself.

    What is in the folder already stays as it is. If a file lacks a piece, that is added at its end.

    Args:
        folder: where; it is made if it does not exist.
        hints: whether the files show the equations and say where the book explains them. What was begun
            without stays without.

    Returns:
        What was done, which prints as a few sentences.

    Raises:
        ValueError: the folder cannot be written to.
    """
    folder = Path(folder)
    if folder.resolve().name == "literate_attention":
        raise WorkshopError(
            f"Beside a folder {folder.name}, Python would not find the book's; choose another name."
        )
    done = Started(folder, new=[], added={}, left_alone={})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        hints = hints and has_hints(folder)
        for stem, pieces in CHAPTERS.items():
            stubs = {piece.name: stub(piece, hints) for piece in pieces}
            title = TITLES[pieces[0].chapter]
            complete(done, f"{stem}.py", HEAD.format(title=title), stubs, ALWAYS)
            tests = {f"test_{name}": TEST.format(name=name, stem=stem) for name in stubs}
            complete(done, f"test_{stem}.py", TEST_HEAD.format(stem=stem), tests)
        others = {
            "__init__.py": PACKAGE,
            "pytest.ini": PYTEST_SETTINGS,
            README: INTRODUCTION.format(
                book=documentation(),
                check=command_line("check", folder),
                talk=command_line("talk", folder, '"Once upon a time"'),
                start=command_line("start", folder),
                hints=WITH_HINTS if hints else WITHOUT_HINTS,
            ),
        }
        for name, text in others.items():
            if not os.path.lexists(folder / name):
                write_whole(folder / name, os.fsencode(text))  # a folder's name may be no text
                done.new.append(name)
    except FileExistsError:
        raise WorkshopError(f"{folder} is a file; choose another name for the folder.") from None
    except OSError as error:
        raise WorkshopError(
            f"{folder} cannot be written to ({error.strerror or error}); choose another folder."
        ) from None
    return done


def has_hints(folder: Path) -> bool:
    """Tell whether hints may be given in a folder."""
    readme = folder / README
    return not (readme.exists() and WITHOUT_HINTS in readme.read_text("utf-8", errors="replace"))


def complete(
    done: Started, name: str, head: str, parts: Mapping[str, str], always: Collection[str] = ()
) -> None:
    """Make a file of parts by their names, or add what it lacks; leave it alone if that cannot be known."""
    path, content, defined = done.folder / name, head.encode(), set[str]()
    if path.is_symlink() and not path.resolve().is_relative_to(done.folder.resolve()):
        done.left_alone[name] = f"since it is a link to {path.resolve()}"
        return
    if path.is_dir():
        done.left_alone[name] = "since it is a folder"
        return
    if is_old := path.exists():
        content = path.read_bytes()
        try:
            defined = names_in(content, name)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            at = f", line {line}: {error.msg}" if isinstance(error, SyntaxError) and line else ""
            done.left_alone[name] = f"since Python cannot read it{at}"
            return
        if may := defined & MAY_DEFINE:
            done.left_alone[name] = f"since what it lacks may come from {min(may)}"
            return
    if missing := [one for one in parts if one not in defined]:
        code = "\n\n".join(parts[one] for one in missing)
        added = "\n\n".join(filter(None, [imports_for(code, path.stem, always, defined), code]))
        gap = "\n" * (2 if content.endswith(b"\n") or not content else 3) if is_old else ""
        newline = "\r\n" if b"\r\n" in content else "\n"
        write_whole(path, content + f"{gap}{added}".replace("\n", newline).encode())
        if is_old:
            done.added[name] = missing
        else:
            done.new.append(name)


def imports_for(code: str, stem: str, always: Collection[str], defined: Collection[str]) -> str:
    """Write what code needs and does not define, in part from the reader's own files."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    wanted = used.union(always).difference(defined)
    names = {piece.name for pieces in CHAPTERS.values() for piece in pieces}
    own = [f"import {file}\n" for file in CHAPTERS if file not in names] + [
        f"from {file} import {piece.name}\n"
        for file, pieces in CHAPTERS.items()
        for piece in pieces
        if file != stem
    ]
    blocks = []
    for block in [*IMPORTS.split("\n\n"), "".join(own)]:
        lines = (line.rpartition("import ") for line in block.splitlines())
        few = [(start, [n for n in names.split(", ") if n in wanted]) for start, _, names in lines]
        blocks.append(
            "".join(f"{start}import {', '.join(names)}\n" for start, names in few if names)
        )
    return "\n".join(filter(None, blocks))


def names_in(source: bytes, name: str) -> set[str]:
    """Return what a file defines or imports, and what may do so without a name."""
    symbols = symtable.symtable(source, name, "exec").get_symbols()  # type: ignore[arg-type]
    nodes = [*ast.walk(ast.parse(source))]
    imported = {
        one.name for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names
    }
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    from_inside = {one for node in nodes if isinstance(node, ast.Global) for one in node.names}
    return (
        (imported.union(used) & MAY_DEFINE)
        | from_inside
        | {one.get_name() for one in symbols if one.is_assigned() or one.is_imported()}
    )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file such that it is there whole or not at all."""
    path = path.resolve()
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Make a folder with a file for each chapter: what is to be written in it, and where the book "
        "explains it. Nothing that exists is overwritten; run again, the command adds what is missing."
    )
    parser.add_argument("folder", metavar="FOLDER", help="where, such as my_attention")
    parser.add_argument(
        "--without-hints",
        action="store_true",
        help="for a class: files without equations and sections, and `check` gives no hints",
    )


def run(options: argparse.Namespace) -> int:
    """Do what the command line asks."""
    print(start(options.folder, hints=not options.without_hints))
    return 0
