"""A folder to write in: one file for each chapter, with what is to be written, cut from this library."""

import argparse
import ast
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from literate_attention.workshop._chapters import (
    CHAPTERS,
    Said,
    WorkshopError,
    command_line,
    documentation,
)
from literate_attention.workshop._stub_source import stub
from literate_attention.workshop.pieces import PIECES

README = "README.md"
WITHOUT_HINTS = "This folder was made without hints."
WITH_HINTS = "`check` takes `--hint PIECE`, too, and says where the book explains it."
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

If a file is missing here, `{start}` makes it again; it changes no other.
{hints}
"""
IMPORTS = """\
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
"""

HEAD = '''\
"""Your own code for {chapter} in Literate Attention. See README.md."""

'''
TESTS = '''\
"""What `pytest` asks of each piece, as in `pytest -k softmax`."""

import pytest
from literate_attention.workshop.pieces import PIECES, check_piece


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_piece(piece) -> None:
    file = pytest.importorskip(piece.stem)
    verdict = check_piece(getattr(file, piece.name, None), piece.name)
    if not verdict.is_written:
        pytest.skip(verdict.says)
    if not verdict:
        pytest.fail(str(verdict), pytrace=False)
'''
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


def start(folder: str | os.PathLike[str], hints: bool = True) -> str:
    """Make a folder with a file for each chapter, in which you write the book's code yourself.

    A file that is in the folder already stays as it is.

    Args:
        folder: where; it is made if it does not exist.
        hints: whether the files show the equations and say where the book explains them. What was begun
            without stays without.

    Returns:
        What was done, in a few sentences.

    Raises:
        ValueError: the folder cannot be written to.
    """
    folder, new = Path(folder), []
    if folder.resolve().name == "literate_attention":
        raise WorkshopError(
            f"Beside a folder {folder.name}, Python would not find the book's; choose another name."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files(folder, hints and has_hints(folder)):
            if not os.path.lexists(folder / name):
                (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
                new.append(name)
    except FileExistsError:
        raise WorkshopError(f"{folder} is a file; choose another name for the folder.") from None
    except OSError as error:
        raise WorkshopError(
            f"{folder} cannot be written to ({error.strerror or error}); choose another folder."
        ) from None
    if {README, *(f"{stem}.py" for stem in CHAPTERS)} <= {*new}:
        first = folder / f"{next(iter(CHAPTERS))}.py"
        return Said(
            f"{folder} is ready: {len(CHAPTERS)} files to write in, and {README} on how to go on.\n"
            f"Begin with {first}, and ask for a verdict whenever you like:\n\n"
            f"    {command_line('check', folder)}\n"
        )
    has_all = f"{folder} has all files already; nothing was changed."
    done = f"New in {folder}: {', '.join(new)}." if new else has_all
    return Said("\n".join([done, *not_named(folder)]))


def not_named(folder: Path) -> Iterator[str]:
    """Say which pieces a chapter's file does not name, such as those that are new in the book."""
    for stem, pieces in CHAPTERS.items():
        with contextlib.suppress(OSError):  # a folder, or a link that leads nowhere
            content = (folder / f"{stem}.py").read_bytes().replace(b"\0", b"")  # of UTF-16
            if names := [one.name for one in pieces if one.name.encode() not in content]:
                yield f"{stem}.py does not name {', '.join(names)}; start another folder to copy from."


def files(folder: Path, hints: bool) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file that belongs into a folder."""
    for stem, pieces in CHAPTERS.items():
        code = "\n\n".join(stub(piece, hints) for piece in pieces)
        head = HEAD.format(chapter=pieces[0].chapter)
        yield f"{stem}.py", f"{head}{imports_for(code, stem)}\n\n{code}"
    yield "test_pieces.py", TESTS
    yield "__init__.py", PACKAGE
    yield "pytest.ini", PYTEST_SETTINGS
    yield (
        README,
        INTRODUCTION.format(
            book=documentation(),
            check=command_line("check", folder),
            talk=command_line("talk", folder, '"Once upon a time"'),
            start=command_line("start", folder),
            hints=WITH_HINTS if hints else WITHOUT_HINTS,
        ),
    )


def has_hints(folder: Path) -> bool:
    """Tell whether hints may be given in a folder."""
    readme = folder / README
    return not (readme.exists() and WITHOUT_HINTS in readme.read_text("utf-8", errors="replace"))


def imports_for(code: str, stem: str) -> str:
    """Write what the code of a chapter needs, in part from the reader's own files."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    others = [piece for piece in PIECES if piece.stem != stem and piece.name in used]
    own = "".join(f"from {piece.stem} import {piece.name}\n" for piece in others)
    return "\n".join(filter(None, [IMPORTS, own]))


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
