"""A verdict on each piece in a reader's folder, on how far the road has been walked, and on many folders."""

import argparse
import csv
import os
import re
import textwrap
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

from literate_attention.workshop import _process
from literate_attention.workshop._chapters import (
    CHAPTERS,
    WIDTH,
    Said,
    WorkshopError,
    command_line,
    explained,
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
    """Give a hint for a piece, or one for each piece of a chapter.

    Args:
        folder: where your files are; it may have been made without hints.
        name: the piece, or the chapter.

    Returns:
        A sentence that helps, and where the book explains the piece.

    Raises:
        ValueError: there is no such piece, or there are to be no hints.
    """
    pieces = find_pieces([name])
    if not has_hints(Path(folder)):
        raise WorkshopError(f"{folder} was made without hints; ask whoever gave it to you.")
    return Said(
        "\n".join(f"{one.hint}\n{explained(one, 'It is explained under')}" for one in pieces)
    )


# The command, and for teachers a table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Judge what you have written: a verdict on each piece, what is wrong with it, and what comes next. "
        "The exit code is 0 if nothing is wrong, 1 if something is, 2 if the command is."
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder that `start` has made")
    parser.add_argument(
        "names",
        metavar="CHAPTER or PIECE",
        nargs="*",
        default=[],
        help="such as simple_attention, or softmax; by default all",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--hint", metavar="NAME", help="give a hint for a piece, or for all of a chapter"
    )
    instead.add_argument(
        "--report",
        metavar="FILE.csv",
        help="for teachers: write a table of the verdicts on all the folders that are given",
    )


def run(options: argparse.Namespace) -> int:
    """Do what the command line asks."""
    folder = Path(options.folder)
    if options.hint:
        print(hint(folder, options.hint))
    elif options.report:
        lines = report(Path(options.report), [folder, *map(Path, options.names)])
        try:
            for line in lines:
                print(line, flush=True)
        except BrokenPipeError:  # nobody reads on; the table is written all the same
            deque(lines, maxlen=0)
            raise
    else:
        results: list[Result] = []
        verdicts = verdicts_on(folder, options.names)
        for of_chapter in by_chapter(verdicts, find_pieces(options.names)):
            print(shown(of_chapter), flush=True)
            results += of_chapter
        checked = Checked(folder, tuple(results))
        print("\n".join(checked.summary()))
        return 1 if checked.named(WRONG) else 0
    return 0


HEADINGS = ["folder", "chapter", "piece", "state", "in short", "verdict"]


def report(file: Path, folders: Sequence[Path]) -> Iterator[str]:
    """Write the verdicts on many folders into a table, folder by folder, and say what is found."""
    if file.suffix != ".csv":
        raise WorkshopError(f"The table is written to a file that ends in .csv, not to {file}.")
    if file.is_file() and ",".join(HEADINGS) not in file.read_text("utf-8-sig", "replace"):
        raise WorkshopError(
            f"{file} is there already, and no table of verdicts; name another file."
        )
    try:
        table = file.open("w", encoding="utf-8-sig", newline="", errors="replace")
    except OSError as error:
        raise WorkshopError(f"{file} cannot be written ({error.strerror or error}).") from None
    mistakes = Counter[tuple[str, str]]()
    with table:
        writer = csv.writer(table)
        writer.writerow(HEADINGS)
        for folder in folders:
            try:
                checked = Checked(folder, tuple(verdicts_on(folder)))
            except WorkshopError as error:
                row = [folder, "", "", "not judged", error, error]
                writer.writerow(map(as_text, row))
                yield _process.printable(str(error))
                continue
            for one in checked.results:
                in_short = first_sentence(one.says)
                row = [folder, one.piece.chapter, one.piece.name, one.state, in_short, one.says]
                writer.writerow(map(as_text, row))
                if one.state == WRONG:
                    mistakes[one.piece.name, in_short] += 1
            table.flush()  # nothing that comes can take away what is there
            counts = (f"{len(checked.named(state))} {state}" for state in MARKS)
            yield f"{_process.printable(str(folder))}: {', '.join(counts)}"
    yield from commonest(mistakes)
    yield f"The verdicts are in {file}."


def as_text(value: object) -> str:
    """Write a cell that no spreadsheet takes for a formula."""
    return re.sub(r"^(?=[=+\-@\t\r])", "'", str(value))


def first_sentence(says: str) -> str:
    """Return the first sentence of a verdict, on one line."""
    return re.split(r"(?<=[.?]) (?=[A-Z])", says.partition("\n")[0])[0]


def commonest(mistakes: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yield for each piece how often it is wrong, and the mistake that most have made."""
    for name in BY_NAME:
        counts = {says: n for (piece, says), n in mistakes.items() if piece == name}
        if counts:
            says = max(counts, key=lambda one: counts[one])
            yield f"{name}: {sum(counts.values())} wrong, {counts[says]} of them: {says}"
