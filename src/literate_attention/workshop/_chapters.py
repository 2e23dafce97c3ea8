"""The pieces by chapter, and where the book explains each of them."""

import difflib
import io
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from literate_attention.workshop.pieces import BY_NAME, PIECES, Piece

WIDTH = 80
"""Of what is printed: most terminals show as many letters on a line."""


class WorkshopError(ValueError):
    """Something that a reader can mend; its message is a sentence that says how."""


class Said(str):
    """A text that a notebook shows as it is printed."""

    def __repr__(self) -> str:
        return str(self)


CHAPTERS = {
    stem: tuple(piece for piece in PIECES if piece.stem == stem)
    for stem in dict.fromkeys(piece.stem for piece in PIECES)
}
"""The pieces of each chapter, in the order of the book."""


@cache
def documentation() -> str:
    """Return the address of the book."""
    urls = metadata.metadata("literate-attention").get_all("Project-URL") or []
    return next(url.split(", ")[1] for url in urls if url.startswith("Documentation"))


def address(piece: Piece) -> str:
    """Return the address of the section that explains a piece."""
    heading = re.sub(r"[^a-z0-9]+", "-", piece.section.lower()).strip("-")
    return f"{documentation()}{piece.chapter}.html#{heading}"


def explained(piece: Piece, before: str) -> str:
    """Say where in the book a piece is explained, after some words and on lines of their own."""
    return f'{before} "{piece.section}":\n{address(piece)}'


def find_pieces(names: Iterable[str] = ()) -> tuple[Piece, ...]:
    """Return the pieces of some names, each that of a piece or of a chapter; by default all."""
    chosen: set[str] = set()
    for name in names:
        stem = re.split(r"[\\/]", name)[-1].removesuffix(".py")
        if stem in CHAPTERS:
            chosen.update(piece.name for piece in CHAPTERS[stem])
        elif name in BY_NAME:
            chosen.add(name)
        else:
            near = nearest(stem, [*CHAPTERS, *BY_NAME])
            raise WorkshopError(f"The book has no chapter or piece {name}{near}.")
    in_order = (piece for pieces in CHAPTERS.values() for piece in pieces)
    return tuple(piece for piece in in_order if piece.name in chosen or not chosen)


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which names are like a wrong one, or all of them."""
    known = list(known)
    alike = difflib.get_close_matches(name, known)
    return f"; the nearest is {alike[0]}" if alike else f"; there are {', '.join(known)}"


def command_line(command: str, folder: Path, *arguments: str) -> str:
    """Write a command as a reader types it."""
    place = f'"{folder}"' if " " in str(folder) else str(folder)
    return " ".join(["python -m literate_attention", command, place, *arguments])


def put_on_path(folder: Path) -> None:
    """Let a reader's files be imported before all others, but for Python's own: none of these is replaced."""
    standard = sysconfig.get_path("stdlib")
    others = [one for one in sys.path if one != str(folder)]
    python = [one for one in others if one.startswith(standard) and "-packages" not in one]
    sys.path[:] = [*python, str(folder), *(one for one in others if one not in python)]


def own_frames(stack: traceback.StackSummary, folder: Path) -> list[traceback.FrameSummary]:
    """List the frames of a reader's files."""
    return [frame for frame in stack if Path(frame.filename).parent == folder]


def line_of(frame: traceback.FrameSummary) -> str:
    """Name a file and a line."""
    return f"{Path(frame.filename).name}, line {frame.lineno}"


class FirstLines(io.StringIO):
    """The beginning of what code prints, and how many lines it prints."""

    MOST_LETTERS, MOST_LINES = 2000, 5
    lines = 0

    def write(self, text: str) -> int:
        """Keep what is printed first."""
        self.lines += text.count("\n")
        super().write(text[: max(self.MOST_LETTERS - self.tell(), 0)])
        return len(text)

    def shown(self) -> str:
        """Write the first lines under a heading, if there are any."""
        lines = self.getvalue().splitlines()
        more = ["..."] if len(lines) > self.MOST_LINES else []
        return "\n".join(["it printed:", *lines[: self.MOST_LINES], *more]) if lines else ""
