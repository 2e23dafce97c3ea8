"""The state of the book, page by page: what was executed, verified and recorded, and how long it takes.

Times differ from build to build, and two builds of one commit are to be equal to the byte. So the times
are those that `nox -s bench -- build` measured.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

from executable_book.book_domain import book_data, page_data, replace_book_data
from executable_book.check import recorded_outputs
from executable_book.check.page_troubles import troubles_of
from executable_book.check.source_ledger import report_of
from executable_book.html.table_nodes import TableCell, new_table
from executable_book.placeholders import Placeholder
from executable_book.run.executed_cells import EXECUTIONS
from executable_book.site_builds import in_order

STATUS = "status"
"""The directive that shows the table, and the subject under which its rows are stored."""
HEAD = ("Page", "Cells", "Verified", "Recorded", "Run time")
MEASURED = "seconds that a page's cells took"


def rows_of(app: Sphinx) -> Iterator[tuple[str, ...]]:
    """Yield the name of each executed page and what its row says, in the order of the book."""
    records, times = page_data(app.env, recorded_outputs.RECORDS), run_times(Path(app.srcdir))
    pages, report = page_data(app.env, EXECUTIONS), report_of(app.env)
    troubles = troubles_of(app.env)
    for docname in in_order(app.env):
        if docname in pages:
            verified = {one.id for check, one in report.on_page(docname) if not check.problem}
            counts = pages[docname].cells, len(verified), len(records.get(docname, ()))
            seconds = times.get(docname, "not measured")
            said = f": {troubles[docname]}" if docname in troubles else ""
            title = app.env.titles[docname].astext()
            yield docname, title, said, *map(str, counts), seconds


def run_times(srcdir: Path) -> dict[str, str]:
    """Return for each page how many seconds its cells took, as far as that was measured."""
    path = srcdir / "measurements" / "build.json"
    results = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
    return {
        row["where"]: f"{row['seconds']['median']:.1f} s"
        for row in results
        if row["measured"] == MEASURED
    }


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages that show the state of the book, if that has changed."""
    now = [*rows_of(app)]
    before = replace_book_data(env, STATUS, now)
    return [] if before in (None, now) else list(page_data(env, STATUS))


def status_table(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Return the table, each line with a link to its page."""
    lines: list[list[TableCell]] = [
        [
            nodes.inline(
                "",
                "",
                make_refnode(app.builder, docname, page, "", nodes.inline("", title)),
                nodes.Text(said),
            ),
            *facts,
        ]
        for page, title, said, *facts in book_data(app.env, STATUS)
    ]
    return [new_table(HEAD, lines, "status")]
