"""Recorded outputs: what our own cells printed when somebody last looked at it.

Sources vouch for what `:verifies:` claims. Every other text output is recorded in
`docs/recorded/<page>.txt`, and each build compares: a change in the library that changes a page fails, until
the records are rewritten, and then the diff shows what it did.

A record stands under the first line of its cell's code, so that cells may be moved and inserted: below
`>>> print(scores)` follows, indented, what the cell printed.

They are compared as values (see `printed_values`). A cell whose output cannot be the same twice says why:
`:nondeterministic: it measures time`.

`sphinx-build -D book_record=1` shows what changes and rewrites the records. It leaves alone what agrees.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from executable_book.book_domain import page_data, set_page_data
from executable_book.check.printed_values import difference, indented
from executable_book.check.repeated_warnings import Finding
from executable_book.files_on_disk import write_atomically
from executable_book.run.executed_cells import ExecutedCell, cells, executed_with, failed_pages

LOGGER = logging.getLogger(__name__)
RECORDS = "records"
WAY_OUT = "if that is right, record it (`nox -s docs -- --record`)"


class Record(NamedTuple):
    """A text output: the key that it is recorded under, its cell's line, and the text."""

    key: str
    line: int
    printed: str


class PageRecords(NamedTuple):
    """What a page prints, and what is wrong with its cells."""

    records: list[Record]
    flaws: list[tuple[int, str]]


# Pages -----------------------------------------------------------------------------------------


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Store what a page prints, but for what its sources or nobody can vouch for."""
    found = cells(app.env, doctree)
    keys: Counter[str] = Counter()
    records = []
    for cell in found:
        if cell.printed and not cell.options.keys() & {"verifies", "nondeterministic"}:
            keys[key := _first_line(cell)] += 1
            key = f"{key} ({keys[key]})" if keys[key] > 1 else key
            records.append(Record(key, cell.line, _tidy(cell.printed)))
    flaws = [(cell.line, flaw) for cell in found for flaw in _flaws(cell)]
    if records or flaws:
        set_page_data(app.env, RECORDS, app.env.docname, PageRecords(records, flaws))


def _first_line(cell: ExecutedCell) -> str:
    """Return the first line of code that is no comment."""
    lines = (line.strip() for line in cell.code.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "(hidden code)")


def _flaws(cell: ExecutedCell) -> Iterator[str]:
    if "nondeterministic" in cell.options:
        if not str(cell.options["nondeterministic"] or "").strip():
            yield "`:nondeterministic:` needs a reason"
        if "verifies" in cell.options:
            yield "a cell that verifies a source output cannot be nondeterministic"


def _tidy(text: str) -> str:
    """Drop what nobody sees: white space at the ends of lines and of the text."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()).rstrip()


# Files -----------------------------------------------------------------------------------------


def dump(records: Iterable[tuple[str, str]]) -> str:
    """Write records in the form of a file."""
    blocks = []
    for key, text in records:
        lines = [f"    {line}" if line else "" for line in text.splitlines()]
        blocks.append("\n".join([f">>> {key}", *lines]) + "\n")
    return "\n".join(blocks)


def read(text: str) -> dict[str, tuple[int, str]]:
    """Read a file of records: the line and the text of each key."""
    blocks: dict[str, tuple[int, list[str]]] = {}
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(">>> "):
            lines = []
            blocks[line.removeprefix(">>> ")] = (number, lines)
        else:
            lines.append(line.removeprefix("    "))
    return {key: (number, "\n".join(found).rstrip()) for key, (number, found) in blocks.items()}


def file_of(app: Sphinx, docname: str) -> Path:
    """Return where a page's outputs are recorded."""
    return folder_of(app) / f"{docname}.txt"


def folder_of(app: Sphinx) -> Path:
    """Return where outputs are recorded."""
    return Path(app.srcdir) / "recorded"


def judge_records(app: Sphinx) -> Iterator[Finding]:
    """Compare all pages with all records, or rewrite the records and then say what is wrong still."""
    if app.config.book_record:
        rewrite(app)
    pages: dict[str, PageRecords] = page_data(app.env, RECORDS)
    for docname, page in pages.items():
        yield from (Finding(docname, line, flaw) for line, flaw in page.flaws)
        if docname not in failed_pages(app.env):
            yield from _judge_page(app, docname, page)
    for path in _leftovers(app, pages):
        yield Finding(str(path), 0, f"no page prints what is recorded here; {WAY_OUT}")


def _judge_page(app: Sphinx, docname: str, page: PageRecords) -> Iterator[Finding]:
    path = file_of(app, docname)
    recorded = _recorded(path)
    device = executed_with(app.env, docname).get("device", "cpu")
    for record in page.records:
        if record.key not in recorded:
            message = f"the output of `{record.key}` is not recorded; {WAY_OUT}"
            yield Finding(docname, record.line, message)
        elif shown := difference(recorded[record.key][1], record.printed, device):
            message = f"the output of `{record.key}` is not the one recorded; {WAY_OUT}:\n{shown}"
            yield Finding(docname, record.line, message)
    for key in recorded.keys() - {record.key for record in page.records}:
        message = f"no cell of the page prints what is recorded of `{key}`; {WAY_OUT}"
        yield Finding(str(path), recorded[key][0], message)


def _recorded(path: Path) -> dict[str, tuple[int, str]]:
    return read(path.read_text(encoding="utf-8")) if path.exists() else {}


def _leftovers(app: Sphinx, pages: dict[str, PageRecords]) -> list[Path]:
    """Return the files of records that belong to no page."""
    wanted = {file_of(app, docname) for docname, page in pages.items() if page.records}
    wanted |= {file_of(app, docname) for docname in failed_pages(app.env)}
    return sorted(set(folder_of(app).rglob("*.txt")) - wanted)


# Recording -------------------------------------------------------------------------------------


def rewrite(app: Sphinx) -> None:
    """Show what changes, then rewrite the records of all pages that executed well."""
    pages: dict[str, PageRecords] = page_data(app.env, RECORDS)
    for docname in sorted(failed_pages(app.env)):
        LOGGER.info("records of %s stay as they are: mend its cells first", docname)
    for docname, page in pages.items():
        if docname not in failed_pages(app.env) and page.records:
            _rewrite_page(app, docname, page.records)
    for path in _leftovers(app, pages):
        LOGGER.info("- recorded/%s", path.relative_to(folder_of(app)).as_posix())
        path.unlink()


def _rewrite_page(app: Sphinx, docname: str, records: list[Record]) -> None:
    path = file_of(app, docname)
    old = {key: text for key, (_, text) in _recorded(path).items()}
    device = executed_with(app.env, docname).get("device", "cpu")
    new = {}
    for record in records:
        before = old.get(record.key)
        if before is None:
            sign, shown = "+", indented(record.printed)
        else:
            sign, shown = "~", difference(before, record.printed, device)
        new[record.key] = record.printed if before is None or shown else before
        if shown:
            LOGGER.info("%s recorded/%s.txt: %s\n%s", sign, docname, record.key, shown)
    for key in old.keys() - new.keys():
        LOGGER.info("- recorded/%s.txt: %s", docname, key)
    write_atomically(path, dump(new.items()))
