"""A verdict on each piece in a reader's folder, and on how far the road has been walked."""

import argparse
import csv
import inspect
import io
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import literate_attention
from literate_attention.workshop._road import (
    CHAPTERS,
    TIME_IS_OVER,
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
from literate_attention.workshop.stubs import has_hints, write_whole

SECONDS = 10.0
"""How long the processor may work on a piece, or on the import of a file. What is right takes far less."""

PATIENCE = PATIENCE_TO_BEGIN = 600.0
"""How many seconds of the clock a busy computer may take for the same, and for the import of torch."""

WAITING = 0.01
"""The part of its patience below which a computer was not busy: it had nothing to do."""

PATIENCE_FOR_AN_ANSWER = 20.0
"""How many seconds a process may take to say where it is."""

ENDLESS = "does not end"
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
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the road, line by line."""
        for _, in_chapter in groupby(self.results, lambda result: result.piece.chapter):
            yield from lines_of_chapter(list(in_chapter))
        yield from self.summary()

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

    def what_comes_next(self, names: Sequence[str]) -> Iterator[str]:
        """Say what to do now: mend what is wrong, write what is missing, let a model speak."""
        if not names and len(self.results) < len(BY_NAME):
            road = list(BY_NAME)
            last = road.index(self.results[-1].piece.name)
            asked = {one.piece.name for one in self.results}
            following = next(n for n in [*road[last:], *road] if n not in asked)
            yield (
                explained(
                    BY_NAME[following], f"All of this is right. Next: {following}, explained under"
                )
                if has_hints(self.folder)
                else f"All of this is right. Next: {following}"
            )
            return
        if not names:
            talk = command_line("talk", self.folder, '"Once upon a time"')
            yield f"All of it is right. Let a model speak with it: {talk}"
            return
        name = self.first_needed(names[0])
        if place := self.where_it_stops(name):
            yield f"Next: {place}"
        elif has_hints(self.folder):
            yield explained(BY_NAME[name], f"Next: {name}, explained under")
            yield f"A hint: {command_line('check', self.folder, '--hint', name)}"
        else:
            yield f"Next: {name}"

    def first_needed(self, name: str) -> str:
        """Return the piece that another needs and that is not written yet or does not end, or itself."""
        found = re.match(r"It (?:needs|waits for) (\w+), which", self.said_of(name))
        return found[1] if found and found[1] in BY_NAME else name

    def where_it_stops(self, name: str) -> str | None:
        """Return the line that keeps a piece's file from being imported, if there is one."""
        stops = r"(.+?\.py, line \d+), (is no Python|cannot be imported)"
        found = re.match(stops, self.said_of(name))
        return found[1] if found else None

    def said_of(self, name: str) -> str:
        """Return the verdict on a piece, or nothing if it was not asked for."""
        return next((one.says for one in self.results if one.piece.name == name), "")


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
    return judged(folder, pieces, seconds)


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


def judged(folder: Path, pieces: Sequence[Piece], seconds: float) -> Iterator[Result]:
    """Judge pieces; whenever the process ends that does it, another goes on with the rest."""
    missing, endless = [piece.name for piece in pieces], list[str]()
    while missing:
        for name, verdict in verdicts_of_one_process(folder, tuple(missing), endless, seconds):
            missing.remove(name)
            yield Result(BY_NAME[name], verdict)


def verdicts_of_one_process(
    folder: Path, names: Sequence[str], endless: list[str], seconds: float
) -> Iterator[tuple[str, Verdict]]:
    """Judge pieces, until all are judged or one of them ends the process.

    What does not end is added to a list, so that the next process does not wait for it.
    """
    done: set[str] = set()
    step, running, at_stake, place = "", "", list(names), dict[str, Any]()
    with tempfile.TemporaryFile() as errors:
        process = worker(folder, names, endless, seconds, errors)
        lines = lines_of(process)
        try:
            while len(done) < len(names) and (
                line := lines.get(timeout=PATIENCE if step else PATIENCE_TO_BEGIN)
            ):
                match read_message(line):
                    case {"step": step, "of": running, "names": at_stake}:
                        pass
                    case {"place": _} as place:
                        pass
                    case {"name": name, "verdict": verdict} if name in names:
                        done.add(name)
                        yield name, plain(Verdict(**verdict))
            if len(done) == len(names):
                return
            code = process.wait(PATIENCE)
        except (queue.Empty, subprocess.TimeoutExpired):
            code, place = None, where_it_is(process, lines)
        finally:
            stop(process)
        if not step:
            if code is None:
                raise WorkshopError("The computer is too busy to begin; try again.")
            errors.seek(0)
            raise RuntimeError(f"no process could begin to check: {errors.read().decode()}")
    ended, is_busy = how_it_ended(code, place, seconds)
    if ended.startswith(ENDLESS):
        endless.append(running)
    at = f": it is in {place['place']}" if place.get("place") else ""
    says = Verdict(False, f"{step[0].upper()}{step[1:]} {ended}{at}.", is_written=not is_busy)
    yield from ((name, says) for name in at_stake if name not in done)


def read_message(line: bytes) -> dict[str, Any]:
    """Read what a process reports; a line of a reader's own, who has found the pipe, says nothing."""
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError):
        return {}


def plain(verdict: Verdict) -> Verdict:
    """Write what no terminal should be sent as Python does, and a sentence on one line."""
    says, case = (
        "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)
        for text in (verdict.says, verdict.case)
    )
    return replace(verdict, says=" ".join(says.split()), case=case)


def worker(
    folder: Path,
    names: Sequence[str],
    endless: Sequence[str],
    seconds: float,
    errors: IO[bytes],
) -> subprocess.Popen[bytes]:
    """Start the process that runs a reader's code. It ends when its standard input does: with this one."""
    package = Path(literate_attention.__file__).parents[1]
    paths = [str(package), os.environ.get("PYTHONPATH", "")]
    module, place = f"{__package__}._worker", str(folder.resolve())
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, place, str(seconds), " ".join(endless), *names],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONIOENCODING": "utf-8",
            "MPLBACKEND": "agg",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process, and all that it has begun."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):  # Windows, or nothing is left
        process.kill()
    process.wait()
    if process.stdin:
        process.stdin.close()


def lines_of(process: subprocess.Popen[bytes]) -> "queue.SimpleQueue[bytes]":
    """Return what a process writes, line by line; an empty one says that it has ended."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    output = process.stdout

    def read() -> None:
        assert output is not None
        with output:
            for line in output:
                lines.put(line)
        lines.put(b"")

    threading.Thread(target=read, daemon=True).start()
    return lines


def where_it_is(
    process: subprocess.Popen[bytes], lines: "queue.SimpleQueue[bytes]"
) -> dict[str, Any]:
    """Ask a process that is not done which line of a reader's it is in; it ends then."""
    if process.stdin:
        process.stdin.close()
    try:
        while line := lines.get(timeout=PATIENCE_FOR_AN_ANSWER):
            if "place" in (message := read_message(line)):
                return message
    except queue.Empty:
        pass
    return {}


def how_it_ended(code: int | None, place: Mapping[str, Any], seconds: float) -> tuple[str, bool]:
    """Say how a process ended, by its exit code, and whether that says nothing of the code it ran."""
    if place.get("is_over") or code in (TIME_IS_OVER, -getattr(signal, "SIGXCPU", 0)):
        return f"{ENDLESS} within {seconds:g} seconds of processor time", False
    if code is None and place.get("worked", PATIENCE) < WAITING * PATIENCE:
        return f"{ENDLESS}: it waits, and does nothing for {PATIENCE:g} seconds", False
    if code is None:
        busy = f"within {PATIENCE:g} seconds, since the computer is busy; try again"
        return f"could not be judged {busy}", True
    if code == -getattr(signal, "SIGKILL", 0):
        return "is stopped by the system, as happens when it takes all memory", False
    if code < 0:
        return f"crashes Python ({signal.strsignal(-code)})", False
    return "ends the program", False


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


# On the command line


def solution(folder: Path, name: str) -> str:
    """Say where the solution stands, unless there are to be no hints."""
    piece = find_piece(name)
    require_hints(folder)
    library = inspect.unwrap(piece.library)
    file, (_, line) = inspect.getsourcefile(library), inspect.getsourcelines(library)
    return (
        f"{explained(piece, f'{piece.name} is explained under')}\n"
        f"The library's own is in {file}, line {line}."
    )


def report(file: Path, folders: Sequence[Path]) -> str:
    """Write the verdicts on many folders into a table."""
    if file.suffix != ".csv":
        raise WorkshopError(f"The table is written to a file that ends in .csv, not to {file}.")
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(["folder", "chapter", "piece", "state", "in short", "verdict"])
    said, mistakes = [], Counter[tuple[str, str]]()
    for folder in folders:
        write_table(file, table)  # nothing that comes can take away what is there
        try:
            require_folder(folder)
        except WorkshopError as error:
            writer.writerow(map(as_text, [folder, "", "", "no folder", error, error]))
            said.append(str(error))
            continue
        checked = Checked(folder, tuple(judged(folder, find_pieces(), SECONDS)))
        for one in checked.results:
            in_short = first_sentence(one.says)
            row = [folder, one.piece.chapter, one.piece.name, one.state, in_short, one.says]
            writer.writerow(map(as_text, row))
            if one.state == WRONG:
                mistakes[one.piece.name, in_short] += 1
        counts = {state: len(checked.named(state)) for state in MARKS}
        said.append(f"{folder}: " + ", ".join(f"{n} {state}" for state, n in counts.items()))
    write_table(file, table)
    return "\n".join([*said, *commonest(mistakes), f"The verdicts are in {file}."])


def write_table(file: Path, table: io.StringIO) -> None:
    """Write a table as spreadsheets expect it."""
    try:
        write_whole(file, table.getvalue().encode("utf-8-sig", "replace"))
    except OSError as error:
        raise WorkshopError(f"{file} cannot be written ({error.strerror or error}).") from None


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
    instead.add_argument("--hint", metavar="PIECE", help="give a hint for a piece")
    instead.add_argument("--solution", metavar="PIECE", help="say where its solution stands")
    instead.add_argument(
        "--report",
        metavar="FILE.csv",
        help="for teachers: write a table of the verdicts on all the folders that are given",
    )


def require_quotes(folder: str, names: Sequence[str]) -> None:
    """Refuse the first word of a folder's name without the others."""
    for number in range(1, len(names) + 1):
        whole = Path(" ".join([folder, *names[:number]]))
        if whole.is_dir() and not Path(folder).exists():
            raise WorkshopError(
                f"There is no folder {folder}; a name with blanks needs quotes: "
                f"{command_line('check', whole, *names[number:])}"
            )


def shown(folder: Path, names: Sequence[str]) -> Checked:
    """Print the verdicts on each chapter as soon as they are known."""
    results: list[Result] = []
    numbers = Counter(piece.chapter for piece in find_pieces(names))
    for result in verdicts_on(folder, names):
        results.append(result)
        numbers[result.piece.chapter] -= 1
        if not numbers[result.piece.chapter]:
            chapter = [one for one in results if one.piece.chapter == result.piece.chapter]
            print("\n".join(lines_of_chapter(chapter)), flush=True)
    checked = Checked(folder, tuple(results))
    print("\n".join(checked.summary()))
    return checked


def run(options: argparse.Namespace) -> int:
    """Do what the command line asks."""
    folder = Path(options.folder)
    require_quotes(options.folder, options.names)
    if options.hint:
        print(hint(folder, options.hint))
    elif options.solution:
        print(solution(folder, options.solution))
    elif options.report:
        print(report(Path(options.report), [folder, *map(Path, options.names)]))
    else:
        checked = shown(folder, options.names)
        return 1 if checked.named(WRONG) else 0
    return 0
