"""A verdict on each piece in a reader's folder, and on how far the road has been walked."""

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

from literate_attention.workshop import _process
from literate_attention.workshop._road import (
    CHAPTERS,
    WIDTH,
    Said,
    WorkshopError,
    command_line,
    explained,
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
        chapters = by_chapter(self.results, [one.piece for one in self.results])
        return "\n".join([*map(shown, chapters), *self.summary()])

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
        road = list(BY_NAME)
        last = road.index(self.results[-1].piece.name)
        following = [name for name in [*road[last:], *road] if name not in first]
        if undone:
            before, name = "Next: ", first[undone[0]] or undone[0]
            name = first.get(name) or name
        elif following:
            before, name = "All of this is right. Next: ", following[0]
        else:
            talk = command_line("talk", self.folder, '"Once upon a time"')
            yield f"All of it is right. Let a model speak with it: {talk}"
            return
        if name not in BY_NAME or not has_hints(self.folder):
            yield before + name
            return
        yield explained(BY_NAME[name], f"{before}{name}, explained under")
        if undone:
            yield f"A hint: {command_line('check', self.folder, '--hint', name)}"


def by_chapter(results: Iterable[Result], pieces: Iterable[Piece]) -> Iterator[list[Result]]:
    """Yield the verdicts on pieces chapter by chapter, as soon as they are known."""
    coming = iter(results)
    for number in Counter(piece.chapter for piece in pieces).values():
        yield list(islice(coming, number))


def shown(results: Sequence[Result]) -> str:
    """Write the verdicts on the pieces of a chapter."""
    lines = [f"{results[0].piece.stem}.py"]
    for (state, says), alike in groupby(results, lambda one: (one.state, one.says)):
        names = ", ".join(result.piece.name for result in alike)
        first, *case = says.split("\n")
        text = f"{MARKS[state]} {names}" + (f": {first}" if says != RIGHT else "")
        lines.append(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent=" " * 4))
        lines += [f"      {line}" for line in case]
    return "\n".join(lines)


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
    """Yield the verdicts on chapters and pieces, each as soon as it is known."""
    pieces = [piece.name for piece in find_pieces(names)]
    if folder.is_file():
        raise WorkshopError(f"{folder} is a file; give the folder that it is in.")
    if not folder.is_dir():
        raise WorkshopError(
            f"There is no folder {folder}; {command_line('start', folder)} makes it."
        )
    if not os.access(folder, os.R_OK | os.X_OK):
        raise WorkshopError(f"{folder} cannot be read (Permission denied).")
    if not any(os.path.exists(folder / f"{stem}.py") for stem in CHAPTERS):
        raise WorkshopError(
            f"{folder} has no file of a chapter in it; {command_line('start', folder)} makes them."
        )
    for name, verdict in _process.verdicts(folder, pieces, seconds):
        yield Result(BY_NAME[name], verdict)


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
    if not has_hints(Path(folder)):
        raise WorkshopError(f"{folder} was made without hints; ask whoever gave it to you.")
    return Said(f"{piece.hint}\n{explained(piece, 'It is explained under')}")
