"""A page that has been read knows its code cells, what they printed, and what ran them."""

from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from docutils.utils import new_document

from executable_book.book_domain import replace_book_data, set_page_data
from executable_book.run.executed_cells import (
    EXECUTED_WITH,
    EXECUTIONS,
    ExecutedPage,
    cells,
    executed_with,
    failed_pages,
)


def env_of(**metadata: Any) -> Any:
    data = {"book": {"pages": {}, "book": {}}}
    return SimpleNamespace(docname="page", metadata={"page": metadata}, domaindata=data)


def part(element: str, *children: nodes.Node, **attributes: Any) -> nodes.container:
    """Return a part of a page as myst-nb marks it."""
    return nodes.container("", *children, nb_element=element, **attributes)


def text(content: str) -> nodes.literal_block:
    return nodes.literal_block(content, content)


def bundle(**offers: str) -> nodes.container:
    """Return an output that is offered in several types: `image_png` for image/png."""
    found = [
        nodes.container("", text(offer), mime_type=mime.replace("_", "/"))
        for mime, offer in offers.items()
    ]
    return part("mime_bundle", *found)


def page_of(*outputs: nodes.Node, **options: Any) -> nodes.document:
    """Return a page with a line of prose, and a cell that has these outputs."""
    page = new_document("page")
    code = part("cell_code_source", text("act()"))
    shown = part("cell_code_output", *outputs)
    page += part("cell_markdown", nodes.paragraph("", "Words."), cell_index=0)
    page += part("cell_code", code, shown, cell_index=1, cell_metadata=options)
    return page


def test_a_cell_knows_its_line_its_code_and_what_it_printed() -> None:
    page = page_of(text("one\n"), text(" \n"), text("two"), verifies="x")
    (cell,) = cells(env_of(source_map=[3, 7]), page)
    assert (cell.line, cell.code, cell.printed) == (7, "act()", "one\ntwo")
    assert cell.options["verifies"] == "x"


@pytest.mark.parametrize(
    ("offers", "printed"),
    [
        ({"text_plain": "<Figure>", "image_png": "figure.png"}, ""),
        ({"text_plain": "plain", "text_html": "html"}, "html"),
        ({"text_html": "html", "text_markdown": "markdown"}, "markdown"),
        ({"application_json": "{}"}, ""),
    ],
)
def test_of_what_a_cell_offers_the_text_counts_that_readers_see(
    offers: dict[str, str], printed: str
) -> None:
    (cell,) = cells(env_of(source_map=[3, 7]), page_of(bundle(**offers)))
    assert cell.printed == printed


def test_a_page_says_what_ran_it_if_it_ran_to_its_end() -> None:
    env = env_of()
    assert executed_with(env, "good") == {}
    replace_book_data(env, EXECUTED_WITH, {"device": "cpu"})
    set_page_data(env, EXECUTIONS, "good", ExecutedPage(2))
    set_page_data(env, EXECUTIONS, "bad", ExecutedPage(2, failed=True))
    assert executed_with(env, "good") == {"device": "cpu"}
    assert executed_with(env, "bad") == {}
    assert failed_pages(env) == {"bad"}
