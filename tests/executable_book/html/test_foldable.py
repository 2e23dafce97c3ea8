"""Code and solutions are folded under a summary that is its visible text."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from docutils.writers import html5_polyglot
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx_exercise.nodes import solution_node

from executable_book.check import numbers_in_prose
from executable_book.html import foldable


def page_writer() -> Any:
    """Return what writes the nodes of a page."""
    writer = html5_polyglot.Writer()
    page = new_document("page", get_default_settings(writer))
    return writer.translator_class(page)


def test_code_is_folded_under_what_its_prompt_says() -> None:
    writer = page_writer()
    node = HideCodeCellNode(prompt_show="Show code & output", classes=["above-input"])
    foldable.visit(writer, node)
    foldable.depart(writer, node)
    assert "".join(writer.body) == (
        '<details class="above-input folded">\n'
        "<summary>Show code &amp; output</summary>\n</details>\n"
    )


def test_the_title_of_a_solution_is_its_summary_and_comes_once() -> None:
    writer = page_writer()
    title = nodes.title("", "Solution to ", nodes.emphasis("", "one"))
    node = solution_node("", title, nodes.paragraph("", "It is two."), ids=["answer"])
    foldable.visit(writer, node)
    assert "".join(writer.body).splitlines() == [
        '<details class="folded" id="answer">',
        "<summary>Solution to one</summary>",
    ]
    assert node.astext() == "It is two."


def test_an_admonition_is_folded_if_it_is_a_dropdown(new_book: Callable[..., Any]) -> None:
    book = new_book("folded")
    box = "```{{admonition}} {0}\n:class: {0}\n\nWhy.\n```\n"
    book.page("page", "# Page\n\n" + box.format("dropdown") + "\n" + box.format("note"))
    html = book.build().html("page")
    assert re.search(r'<details class="[^"]*folded">\s*<summary>dropdown</summary>', html)
    assert html.count("<details") == 1
    assert '<p class="admonition-title">note</p>' in html


def test_what_several_call_the_same_loses_its_id_and_no_other_does() -> None:
    page = new_document("page")
    page += [nodes.section(ids=[one]) for one in ("exercise-content", "solution-content", "own")]
    page += nodes.inline(ids=["id1"], classes=["bibtex-citation"])
    page += nodes.inline(ids=["id2"])
    foldable.prepare(None, page, "page")
    assert [one["ids"] for one in page] == [[], [], ["own"], [], ["id2"]]


def test_the_search_finds_no_section_by_an_id_that_is_taken_away(
    new_book: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def add_exercise(app: Sphinx, doctree: nodes.document) -> None:
        content = nodes.section("", nodes.paragraph("", "Why?"), ids=["exercise-content"])
        next(doctree.findall(nodes.section)).append(content)

    monkeypatch.setattr(numbers_in_prose, "collect", add_exercise)
    book = new_book(book_search=True)
    book.page("page", "# Page\n")
    found = (book.build().out / "sections.js").read_text(encoding="utf-8")
    assert "Why?" in found
    assert "exercise-content" not in found
