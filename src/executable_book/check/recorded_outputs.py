"""Recorded outputs: what our own cells printed when somebody last looked at it.

Sources vouch for what `:verifies:` claims. Every other text output is recorded in
`docs/recorded/<page>.txt`, and each build compares: a change in the library that changes a page fails, until
the records are rewritten, and then the diff shows what it did.

A record stands under the first line of its cell's code, so that cells may be moved and inserted: below
`>>> print(scores)` follows, indented, what the cell printed.

They are compared as values (see `printed_values`). A cell whose output cannot be the same twice says why:
`:nondeterministic: it measures time`.

`sphinx-build -D book_record=1` rewrites the records, of which it leaves alone what agrees.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.book_domain import page_data, set_page_data
from executable_book.check.printed_values import difference
from executable_book.check.repeated_warnings import Finding
from executable_book.files_on_disk import write_if_changed
from executable_book.run.executed_cells import ExecutedCell, cells, executed_with, failed_pages

RECORDS = "records"
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
        if cell.printed and not is_vouched_for:
            keys[key := _first_line(cell)] += 1
            key = f"{key} ({keys[key]})" if keys[key] > 1 else key
            records.append(Record(key, cell.line, _tidy(cell.printed)))
    if records:
        set_page_data(app.env, RECORDS, app.env.docname, records)


def _first_line(cell: ExecutedCell) -> str:
    """Return the first line of code that is no comment."""
    lines = (line.strip() for line in cell.code.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "(hidden code)")


def _tidy(text: str) -> str:
    """Drop what nobody sees: white space at the ends of lines and of the text."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()).rstrip()


# Files


def dump(records: Iterable[tuple[str, str]]) -> str:
    """Write records in the form of a file."""
    blocks = []
    for key, text in records:
        lines = [f"    {line}" if line else "" for line in text.splitlines()]
        blocks.append("\n".join([f">>> {key}", *lines]) + "\n")
    return "\n".join(blocks)


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
    """Compare all pages with all records; before that, rewrite the records if that is asked for."""
    pages: dict[str, list[Record]] = page_data(app.env, RECORDS)
    failed = failed_pages(app.env)
    sound = {docname: records for docname, records in pages.items() if docname not in failed}
    files = set(Path(app.srcdir, "recorded").rglob("*.txt"))
    leftovers = sorted(files - {file_of(app, docname) for docname in (*sound, *failed)})
    if app.config.book_record:
        for docname, records in sound.items():
            _rewrite(app, docname, records)
        while leftovers:
            leftovers.pop().unlink()
    for docname, records in sound.items():
        yield from _judge_page(app, docname, records)
    for path in leftovers:
        yield Finding(str(path), 0, f"no page prints what is recorded here; {WAY_OUT}")


def _judge_page(app: Sphinx, docname: str, records: list[Record]) -> Iterator[Finding]:
    path = file_of(app, docname)
    recorded = read(path)
    device = executed_with(app.env, docname).get("device", "cpu")
    for key, line, printed in records:
        if key not in recorded:
            yield Finding(docname, line, f"the output of `{key}` is not recorded; {WAY_OUT}")
        elif shown := difference(recorded[key], printed, device):
            message = f"the output of `{key}` is not the one recorded; {WAY_OUT}:\n{shown}"
            yield Finding(docname, line, message)
    for key in recorded.keys() - {record.key for record in records}:
        message = f"no cell of the page prints what is recorded of `{key}`; {WAY_OUT}"
        yield Finding(str(path), 0, message)


def _rewrite(app: Sphinx, docname: str, records: list[Record]) -> None:
    """Record what a page prints, but as it was where it agrees."""
    old = read(file_of(app, docname))
    device = executed_with(app.env, docname).get("device", "cpu")
    new = {
        key: old[key] if key in old and not difference(old[key], printed, device) else printed
        for key, _, printed in records
    }
    write_if_changed(file_of(app, docname), dump(new.items()))
