"""The command `check`: verdicts as they come, where help stands, and for teachers a table of many folders."""

import argparse
import csv
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from literate_attention.workshop._process import printable
from literate_attention.workshop._road import WorkshopError, find_pieces
from literate_attention.workshop.checking import (
    MARKS,
    WRONG,
    Checked,
    Result,
    by_chapter,
    hint,
    shown,
    verdicts_on,
)
from literate_attention.workshop.pieces import BY_NAME


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
                yield printable(str(error))
                continue
            for one in checked.results:
                in_short = first_sentence(one.says)
                row = [folder, one.piece.chapter, one.piece.name, one.state, in_short, one.says]
                writer.writerow(map(as_text, row))
                if one.state == WRONG:
                    mistakes[one.piece.name, in_short] += 1
            table.flush()  # nothing that comes can take away what is there
            counts = (f"{len(checked.named(state))} {state}" for state in MARKS)
            yield f"{printable(str(folder))}: {', '.join(counts)}"
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
