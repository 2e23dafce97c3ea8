"""A table of docutils from its cells."""

from collections.abc import Sequence

from docutils import nodes


def new_table(head: Sequence[str], lines: Sequence[Sequence[str]], style: str) -> nodes.table:
    """Return a table whose first column labels its rows."""
    columns = [nodes.colspec(colwidth=1, stub=int(number == 0)) for number in range(len(head))]
    body = [nodes.thead("", row(head)), nodes.tbody("", *map(row, lines))]
    return nodes.table("", nodes.tgroup("", *columns, *body, cols=len(head)), classes=[style])


def row(cells: Sequence[str]) -> nodes.row:
    """Return a row of a table."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in cells))
