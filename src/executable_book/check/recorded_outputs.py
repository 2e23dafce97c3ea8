"""What cells print is what they printed before: what a source prints, or else what somebody has recorded.

Sources vouch for what `:verifies:` claims (see `source_ledger`). Every other text output is recorded in
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

from executable_book.check.printed_values import difference
from executable_book.check.repeated_warnings import Finding
from executable_book.files_on_disk import write_if_changed
from executable_book.remembered import page_data, set_page_data
from executable_book.run.executed_cells import (
    ExecutedCell,
    cells,
    executed_with,
    failed_pages,
    figure_in_words,
)

RECORDS, CLAIMS = "records", "claims"
NEW = "is not recorded"
WAY_OUT = "if that is right, record it (`nox -s docs -- --record`)"


class Printed(NamedTuple):
    """What a cell printed: its line, the key that it is recorded under, and the text.

    If it claims to print what sources print, the key is the cell's anchor, and `ids` name those outputs.
    """

    line: int
    key: str
    text: str
    ids: tuple[str, ...] = ()


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Store what the cells of a page print, but for what nobody can vouch for."""
    keys: Counter[str] = Counter()
    found: dict[str, list[Printed]] = {RECORDS: [], CLAIMS: []}
    for cell in cells(app.env, doctree):
        if "verifies" in cell.options:
            ids = (*str(cell.options["verifies"] or "").split(),)
            keys[anchor := "-".join(["reproduces", *ids[:1]])] += 1
            anchor += f"--{keys[anchor]}" if keys[anchor] > 1 else ""
            cell.node["ids"].append(anchor)
            found[CLAIMS].append(Printed(cell.line, anchor, cell.printed, ids))
            continue
        said = [cell.printed, *(figure_in_words(svg) for _, svg in cell.drawings(app))]
        if any(said) and not cell.options.get("nondeterministic"):
            keys[key := _first_line(cell)] += 1
            key += f" ({keys[key]})" if keys[key] > 1 else ""
            # Nobody sees white space at the ends of lines and of the text.
            lines = "\n".join(filter(None, said)).strip("\n").splitlines()
            text = "\n".join(map(str.rstrip, lines)).rstrip()
            found[RECORDS].append(Printed(cell.line, key, text))
    for subject in (one for one in found if found[one]):
        set_page_data(app.env, subject, app.env.docname, found[subject])


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
    pages: dict[str, list[Printed]] = page_data(app.env, RECORDS)
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


def _judge_page(app: Sphinx, docname: str, records: list[Printed]) -> Iterator[Finding]:
    path = file_of(app, docname)
    old = read(path)
    device = executed_with(app.env, docname).get("device", "cpu")
    now = {one.key: one.text for one in records}
    changes = {key: difference(old[key], now[key], device) for key in now if key in old}
    if app.config.book_record:
        agree = {key for key, change in changes.items() if not change}
        new = [(key, old[key] if key in agree else text) for key, text in now.items()]
        write_if_changed(path, dump(new))
        return
    for line, key, *_ in records:
        if key not in old:
            yield Finding(docname, line, f"the output of `{key}` {NEW}; {WAY_OUT}")
        elif changes[key]:
            message = f"the output of `{key}` is not the one recorded; {WAY_OUT}:\n{changes[key]}"
            yield Finding(docname, line, message)
    for key in old.keys() - now.keys():
        message = f"no cell of the page prints what is recorded of `{key}`; {WAY_OUT}"
        yield Finding(str(path), 0, message)
