"""A verdict on each piece in a reader's folder, and on how far the road has been walked."""

import os
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from literate_attention.workshop import _process
from literate_attention.workshop._road import (
    CHAPTERS,
    TITLES,
    WIDTH,
    WorkshopError,
    command_line,
    explained,
    file_name,
    find_piece,
    find_pieces,
)
from literate_attention.workshop.judge.trials import NOT_WRITTEN as NOTHING_WRITTEN
from literate_attention.workshop.judge.verdict import Verdict
from literate_attention.workshop.pieces import BY_NAME, Piece
from literate_attention.workshop.stubs import has_hints

SECONDS = 10.0
"""How long the processor may work on a piece, or on the import of a file. What is right takes far less."""

RIGHT, WRONG, NOT_WRITTEN = "right", "wrong", "not written yet"
MARKS = {RIGHT: "✓", WRONG: "✗", NOT_WRITTEN: "·"}


@dataclass(frozen=True)
class Result:
    """The verdict on a piece.

    Args:
        piece: which.
        verdict: what the check says of it.
    """

    piece: Piece
    verdict: Verdict

    def __repr__(self) -> str:
        return f"{self.piece.name}: {self.says}"

    @property
    def state(self) -> str:
        """Whether it is right, wrong or not written yet."""
        if self.verdict.right:
            return RIGHT
        return WRONG if self.verdict.is_written else NOT_WRITTEN

    @property
    def says(self) -> str:
        """What is wrong, and the case that shows it, or what can be said of what is right."""
        if self.verdict == NOTHING_WRITTEN:
            return NOT_WRITTEN
        if self.verdict.right:
            return f"{RIGHT}. {self.verdict.says}" if self.verdict.says else RIGHT
        return "\n".join(filter(None, [self.verdict.says, self.verdict.case]))


@dataclass(frozen=True)
class Checked:
    """What :func:`check` found. It prints as the road through the chapters, and what comes next.

    Args:
        folder: what was checked.
        results: one for each piece, in the order of the book.
    """

    folder: Path
    results: tuple[Result, ...]

    def named(self, state: str) -> list[str]:
        """Return the names of the pieces in a state."""
        return [result.piece.name for result in self.results if result.state == state]

    def __repr__(self) -> str:
        by_chapter = groupby(self.results, lambda result: result.piece.chapter)
        lines = (line for _, results in by_chapter for line in lines_of_chapter(list(results)))
        return "\n".join([*lines, *self.summary()])

    def summary(self) -> Iterator[str]:
        """Yield how many pieces are right, and what comes next."""
        right, wrong, missing = map(self.named, (RIGHT, WRONG, NOT_WRITTEN))
        yield ""
        yield (
            f"Right: {len(right)} of {len(self.results)}. Wrong: {len(wrong)}. "
            f"Not written yet: {len(missing)}."
        )
        yield from self.what_comes_next([*wrong, *missing])
        if right:
            yield ""
            yield "For the page Write it yourself:"
            yield " ".join(right)

    def what_comes_next(self, undone: Sequence[str]) -> Iterator[str]:
        """Say what to do now: mend what is wrong, write what is missing, let a model speak."""
        first = {one.piece.name: one.verdict.first for one in self.results}
        if undone:
            name = first[undone[0]] or undone[0]
            name_or_place = first.get(name) or name
            before = f"Next: {name_or_place}"
            if name_or_place not in BY_NAME:
                yield before
                return
        elif others := [name for name in BY_NAME if name not in first]:
            road = list(BY_NAME)
            last = road.index(self.results[-1].piece.name)
            name = next(one for one in [*road[last:], *road] if one in others)
            before = f"All of this is right. Next: {name}"
        else:
            talk = command_line("talk", self.folder, '"Once upon a time"')
            yield f"All of it is right. Let a model speak with it: {talk}"
            return
        hints = has_hints(self.folder)
        yield explained(BY_NAME[name], f"{before}, explained under") if hints else before
        if hints and undone:
            yield f"A hint: {command_line('check', self.folder, '--hint', name)}"


def lines_of_chapter(results: Sequence[Result]) -> Iterator[str]:
    """Yield the verdicts on the pieces of a chapter, line by line."""
    chapter = results[0].piece.chapter
    yield f"{TITLES[chapter]} ({file_name(chapter)}.py)"
    for (state, says), alike in groupby(results, lambda one: (one.state, one.says)):
        names = ", ".join(result.piece.name for result in alike)
        first, *case = says.split("\n")
        text = f"{MARKS[state]} {names}" + (f": {first}" if says != RIGHT else "")
        yield textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent=" " * 4)
        yield from (f"      {line}" for line in case)


def check(folder: str | os.PathLike[str], *names: str, seconds: float = SECONDS) -> Checked:
    """Judge what you have written in a folder that :func:`start` has made.

    Your code runs in a process of its own: it may print, loop for ever or crash, and you still get a verdict.

    Args:
        folder: where your files are.
        *names: chapters or pieces, such as ``"simple_attention"`` or ``"softmax"``; by default all.
        seconds: how long the processor may work on one piece.

    Returns:
        A verdict on each piece, which prints as a list of the chapters.

    Raises:
        ValueError: there is no such folder, chapter or piece.
    """
    return Checked(Path(folder), tuple(verdicts_on(Path(folder), names, seconds)))


def verdicts_on(
    folder: Path, names: Sequence[str] = (), seconds: float = SECONDS
) -> Iterator[Result]:
    """Return the verdicts on chapters and pieces, each as soon as it is known."""
    pieces = find_pieces(names)
    require_folder(folder)
    if not any((folder / f"{stem}.py").exists() for stem in CHAPTERS):
        raise WorkshopError(
            f"{folder} has no file of a chapter in it; {command_line('start', folder)} makes them."
        )
    return results_of(folder, pieces, seconds)


def results_of(
    folder: Path, pieces: Sequence[Piece] = tuple(BY_NAME.values()), seconds: float = SECONDS
) -> Iterator[Result]:
    """Judge pieces in a process of its own."""
    for name, verdict in _process.verdicts(folder, [piece.name for piece in pieces], seconds):
        yield Result(BY_NAME[name], verdict)


def require_folder(folder: Path) -> None:
    """Refuse what is no folder."""
    if folder.is_file():
        raise WorkshopError(f"{folder} is a file; give the folder that it is in.")
    if not folder.is_dir():
        raise WorkshopError(
            f"There is no folder {folder}; {command_line('start', folder)} makes it."
        )
    if not os.access(folder, os.R_OK | os.X_OK):
        raise WorkshopError(f"{folder} cannot be read (Permission denied).")


class Said(str):
    """A text that a notebook shows as it is printed."""

    def __repr__(self) -> str:
        return str(self)


def require_hints(folder: Path) -> None:
    """Refuse to help in a folder that was made without hints."""
    if not has_hints(folder):
        raise WorkshopError(f"{folder} was made without hints; ask whoever gave it to you.")


def hint(folder: str | os.PathLike[str], name: str) -> str:
    """Give a hint for a piece.

    Args:
        folder: where your files are; it may have been made without hints.
        name: the piece.

    Returns:
        A sentence that helps, and where the book explains the piece.

    Raises:
        ValueError: there is no such piece, or there are to be no hints.
    """
    piece = find_piece(name)
    require_hints(Path(folder))
    return Said(f"{piece.hint}\n{explained(piece, 'It is explained under')}")
