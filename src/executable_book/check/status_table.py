"""The state of the book, page by page: what was executed, verified and recorded."""

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

from executable_book.book_domain import (
    Placeholder,
    book_data,
    in_order,
    page_data,
    replace_book_data,
)
from executable_book.check import recorded_outputs
from executable_book.check.page_troubles import troubles_of
from executable_book.check.source_ledger import report_of
from executable_book.html.table_nodes import TableCell, new_table
from executable_book.run.executed_cells import EXECUTIONS

STATUS = "status"
"""The directive that shows the table, and the subject under which its rows are stored."""
HEAD = ("Page", "Cells", "Verified", "Recorded")


def rows_of(app: Sphinx) -> Iterator[tuple[str, ...]]:
    """Yield the name of each executed page and what its row says, in the order of the book."""
    records = page_data(app.env, recorded_outputs.RECORDS)
    pages, report = page_data(app.env, EXECUTIONS), report_of(app.env)
    troubles = troubles_of(app.env)
    for docname in in_order(app.env):
        if docname in pages:
            verified = {one.id for check, one in report.on_page(docname) if not check.problem}
            counts = pages[docname].cells, len(verified), len(records.get(docname, ()))
            said = f": {troubles[docname]}" if docname in troubles else ""
            title = app.env.titles[docname].astext()
            yield docname, title, said, *map(str, counts)


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
