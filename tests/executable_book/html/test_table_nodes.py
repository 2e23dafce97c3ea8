"""A table is made of its cells: texts, or whatever else stands on pages."""

from docutils import nodes

from executable_book.html.table_nodes import new_table

HEAD = ("Page", "Cells")


def test_the_first_column_labels_the_rows_and_each_is_as_wide_as_it_needs() -> None:
    table = new_table(HEAD, [["another", "2"], ["one", ""]], "status")
    columns = [(one["stub"], one["colwidth"]) for one in table.findall(nodes.colspec)]
    assert columns == [(1, len("another")), (0, len("Cells"))]
    assert table["classes"] == ["status"]
    assert new_table([""], [], "x")[0][0]["colwidth"] == 1  # an empty column is one too


def test_a_cell_may_be_more_than_text() -> None:
    link = nodes.reference("", "a page", refuri="page.html")
    table = new_table(HEAD, [[link, "2"]], "status")
    head, body = ([row.astext() for row in part] for part in table[0][-2:])
    assert (head, body) == (["Page\n\nCells"], ["a page\n\n2"])
    assert list(table.findall(nodes.reference)) == [link]
    assert table[0][0]["colwidth"] == len("a page")
