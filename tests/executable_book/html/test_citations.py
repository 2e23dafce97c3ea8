"""A bibliography is a list whose entries are its items, and citations in a text are no place to go to."""

import re
from collections.abc import Callable
from importlib import metadata
from typing import Any

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from docutils.writers import html5_polyglot
from harness.books import Book
from pybtex import plugin

from executable_book.html import citations


def test_entries_are_items_of_one_list() -> None:
    """This can go when docutils gives its entries a role that is not deprecated."""
    writer = html5_polyglot.Writer()
    page = new_document("page", get_default_settings(writer))
    page += [nodes.citation(ids=["one"]), nodes.citation(ids=["two"])]
    translator = writer.translator_class(page)
    for entry in page:
        citations.visit(translator, entry)
        citations.depart(translator, entry)
    html = "".join(translator.body)
    assert re.findall('role="([^"]*)"', html) == ["list", "listitem", "listitem"]
    assert html.count("<div") == html.count("</div>") == 3


def test_citations_lose_their_anchors_and_nothing_else_does() -> None:
    page = new_document("page")
    cited = nodes.inline("", "[V17]", classes=["bibtex-citation"], ids=["id1"])
    page += nodes.paragraph("", "", cited, nodes.inline("", "a place", ids=["place"]))
    citations.drop_anchors(None, page, "page")
    assert [one["ids"] for one in page.findall(nodes.inline)] == [[], ["place"]]
    assert page.astext() == "[V17]a place"


# sphinxcontrib-bibtex still asks for what Sphinx 11 will remove.
@pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")
def test_all_packages_are_searched_once_not_for_each_citation(
    new_book: Callable[..., Book], monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []

    def entry_points(**wanted: str) -> Any:
        searched.append(wanted["name"])
        return metadata.entry_points(**wanted)

    monkeypatch.setattr(plugin, "_RUNTIME_PLUGINS", {})
    monkeypatch.setattr(plugin, "entry_points", entry_points)
    book = new_book(extensions=("sphinxcontrib.bibtex",), bibtex_bibfiles=["one.bib"])
    book.write("one.bib", "@misc{vaswani, author={Vaswani, A.}, title={Attention}, year={2017}}")
    book.page(
        "page",
        "# Page\n",
        "{cite:p}`vaswani` says so,\nand {cite:t}`vaswani` again.\n",
        "```{bibliography}\n```\n",
    )
    built = book.build()
    assert (built.err, "[Vas17]" in built.text("page")) == ("", True)
    assert searched.count("plaintext") == 1
