"""Recorded outputs: what our own cells printed when somebody last looked at it.

Sources vouch for what `:verifies:` claims. Every other text output is recorded in
`docs/recorded/<page>.txt`, with what its figures say, and each build compares: a change in the library that
changes a page fails, until the records are rewritten, and then the diff shows what it did.

A record stands under the first line of its cell's code, so that cells may be moved and inserted. A cell whose
output cannot be the same twice says why: `:nondeterministic: it measures time`. With `-D book_record=1`, a
build rewrites the records that disagree.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.book_domain import page_data, set_page_data
from executable_book.check.printed_values import difference
from executable_book.check.repeated_warnings import Finding
from executable_book.files_on_disk import write_if_changed
from executable_book.run.executed_cells import (
    ExecutedCell,
    cells,
    executed_with,
    failed_pages,
    figure_in_words,
)

RECORDS = "records"
NEW = "is not recorded"
WAY_OUT = "if that is right, record it (`nox -s docs -- --record`)"


class Record(NamedTuple):
    """A text output: the key that it is recorded under, its cell's line, and the text."""

    key: str
    line: int
    printed: str


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Store what a page prints, but for what its sources or nobody can vouch for."""
    keys: Counter[str] = Counter()
    records = []
    for cell in cells(app.env, doctree):
        is_vouched_for = "verifies" in cell.options or cell.options.get("nondeterministic")
        said = [cell.printed, *(figure_in_words(svg) for _, svg in cell.drawings(app))]
        if any(said) and not is_vouched_for:
            keys[key := _first_line(cell)] += 1
            key = f"{key} ({keys[key]})" if keys[key] > 1 else key
            # Nobody sees white space at the ends of lines and of the text.
            lines = "\n".join(filter(None, said)).strip("\n").splitlines()
            records.append(Record(key, cell.line, "\n".join(map(str.rstrip, lines)).rstrip()))
    if records:
        set_page_data(app.env, RECORDS, app.env.docname, records)


def _first_line(cell: ExecutedCell) -> str:
    """Return the first line of code that is no comment."""
    lines = (line.strip() for line in cell.code.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "(hidden code)")


def dump(records: Iterable[tuple[str, str]]) -> str:
    """Write records in the form of a file."""
    return "\n".join(f">>> {key}\n{indent(text, '    ')}\n" for key, text in records)


def read(path: Path) -> dict[str, str]:
    """Read the records of a page, if there are any."""
    blocks: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith(">>> "):
            lines = blocks[line.removeprefix(">>> ")] = []
        else:
            lines.append(line.removeprefix("    "))
    return {key: "\n".join(found).rstrip() for key, found in blocks.items()}


def file_of(app: Sphinx, docname: str) -> Path:
    """Return where a page's outputs are recorded."""
    return Path(app.srcdir, "recorded", f"{docname}.txt")


def judge_records(app: Sphinx) -> Iterator[Finding]:
    """Compare all pages with all records, or rewrite the records if that is asked for."""
    pages: dict[str, list[Record]] = page_data(app.env, RECORDS)
    failed = failed_pages(app.env)
    for docname, records in pages.items():
        if docname not in failed:
            yield from _judge_page(app, docname, records)
    files = set(Path(app.srcdir, "recorded").rglob("*.txt"))
    for path in files - {file_of(app, docname) for docname in (*pages, *failed)}:
        if app.config.book_record:
            path.unlink()
        else:
            yield Finding(str(path), 0, f"no page prints what is recorded here; {WAY_OUT}")


def _judge_page(app: Sphinx, docname: str, records: list[Record]) -> Iterator[Finding]:
    path = file_of(app, docname)
    old = read(path)
    device = executed_with(app.env, docname).get("device", "cpu")
    changes = {key: difference(old[key], now, device) for key, _, now in records if key in old}
    if app.config.book_record:
        agree = {key for key, change in changes.items() if not change}
        new = [(key, old[key] if key in agree else now) for key, _, now in records]
        write_if_changed(path, dump(new))
        return
    for key, line, _ in records:
        if key not in old:
            yield Finding(docname, line, f"the output of `{key}` {NEW}; {WAY_OUT}")
        elif changes[key]:
            message = f"the output of `{key}` is not the one recorded; {WAY_OUT}:\n{changes[key]}"
            yield Finding(docname, line, message)
    for key in old.keys() - {record.key for record in records}:
        message = f"no cell of the page prints what is recorded of `{key}`; {WAY_OUT}"
        yield Finding(str(path), 0, message)
