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

from sphinx.application import Sphinx

from executable_book.check.compared_values import difference
from executable_book.files_on_disk import write_if_changed
from executable_book.remembered import page_data
from executable_book.repeated_warnings import Finding
from executable_book.run.executed_cells import (
    EXECUTIONS,
    ExecutedCell,
    Problem,
    executed_with,
    failed_pages,
    figure_in_words,
)

NEW = "is not recorded"
WAY_OUT = "if that is right, record it (`nox -s docs -- --record`)"


def compare_page(app: Sphinx, found: list[ExecutedCell]) -> Iterator[Problem]:
    """Compare what the cells of a page print with its records, or rewrite these if that is asked for."""
    path, now = file_of(app, app.env.docname), printed_by(app, found)
    device = executed_with(app.env, app.env.docname).get("device", "cpu")
    if app.config.book_record:
        rewrite(path, now, device)
    old = read(path)
    if path.exists():
        app.env.note_dependency(path)
    for key, (line, text) in now.items():
        if key not in old:
            yield line, f"the output of `{key}` {NEW}; {WAY_OUT}"
        elif change := difference(old[key], text, device):
            yield line, f"the output of `{key}` is not the one recorded; {WAY_OUT}:\n{change}"
    for key in old:
        if key not in now:
            yield 0, f"no cell of the page prints what is recorded of `{key}`; {WAY_OUT}"


def rewrite(path: Path, now: dict[str, Problem], device: str) -> None:
    """Record what a page prints, but leave alone what agrees."""
    new, old = {key: text for key, (_, text) in now.items()}, read(path)
    agree = {key for key in new if key in old and not difference(old[key], new[key], device)}
    if new:
        write_if_changed(path, dump((new | {key: old[key] for key in agree}).items()))
    else:
        path.unlink(missing_ok=True)


def printed_by(app: Sphinx, found: list[ExecutedCell]) -> dict[str, Problem]:
    """Return the lines of cells for which only a record can vouch, and their outputs, by its key."""
    keys: Counter[str] = Counter()
    now = {}
    for cell in found:
        if "verifies" in cell.options or cell.options.get("nondeterministic"):
            continue
        said = [cell.printed, *(figure_in_words(svg) for _, svg in cell.drawings(app))]
        # Nobody sees white space at the ends of lines and of the text.
        lines = "\n".join(filter(None, said)).strip("\n").splitlines()
        if text := "\n".join(map(str.rstrip, lines)).rstrip():
            keys[key := _first_line(cell)] += 1
            key += f" ({keys[key]})" if keys[key] > 1 else ""
            now[key] = cell.line, text
    return now


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


def judge_files(app: Sphinx) -> Iterator[Finding]:
    """Find the files that no page was compared with, or remove them if records are rewritten."""
    files = set(Path(app.srcdir, "recorded").rglob("*.txt"))
    executed = page_data(app.env, EXECUTIONS)
    compared = {Path(app.srcdir, one) for page in executed for one in app.env.dependencies[page]}
    failed = {file_of(app, page) for page in failed_pages(app.env)}
    for path in files - compared - failed:
        if app.config.book_record:
            path.unlink()
        else:
            yield Finding(str(path), 0, f"no page prints what is recorded here; {WAY_OUT}")
