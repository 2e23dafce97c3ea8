"""The command `check`: verdicts as they come, where help stands, and for teachers a table of many folders."""

import argparse
import csv
import inspect
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from literate_attention.workshop._process import printable
from literate_attention.workshop._road import (
    WorkshopError,
    command_line,
    explained,
    find_piece,
    find_pieces,
)
from literate_attention.workshop.checking import (
    MARKS,
    WRONG,
    Checked,
    Result,
    hint,
    lines_of_chapter,
    require_folder,
    require_hints,
    results_of,
    verdicts_on,
)
from literate_attention.workshop.pieces import BY_NAME
from literate_attention.workshop.stubs import write_whole


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


HEADINGS = ["folder", "chapter", "piece", "state", "in short", "verdict"]


def require_table(file: Path) -> None:
    """Refuse to overwrite what is no table of verdicts."""
    if file.suffix != ".csv":
        raise WorkshopError(f"The table is written to a file that ends in .csv, not to {file}.")
    if file.is_file() and ",".join(HEADINGS) not in file.read_text("utf-8-sig", "replace"):
        raise WorkshopError(
            f"{file} is there already, and no table of verdicts; name another file."
        )


def report(file: Path, folders: Sequence[Path]) -> str:
    """Write the verdicts on many folders into a table."""
    require_table(file)
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(HEADINGS)
    said, mistakes = [], Counter[tuple[str, str]]()
    for folder in folders:
        write_table(file, table)  # nothing that comes can take away what is there
        try:
            require_folder(folder)
        except WorkshopError as error:
            writer.writerow(map(as_text, [folder, "", "", "no folder", error, error]))
            said.append(str(error))
            continue
        checked = Checked(folder, tuple(results_of(folder)))
        for one in checked.results:
            in_short = first_sentence(one.says)
            row = [folder, one.piece.chapter, one.piece.name, one.state, in_short, one.says]
            writer.writerow(map(as_text, row))
            if one.state == WRONG:
                mistakes[one.piece.name, in_short] += 1
        counts = {state: len(checked.named(state)) for state in MARKS}
        said.append(
            f"{printable(str(folder))}: " + ", ".join(f"{n} {state}" for state, n in counts.items())
        )
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
