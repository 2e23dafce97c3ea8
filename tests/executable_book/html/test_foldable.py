"""Code and solutions are folded on the site, open in an e-book, under a summary that is its visible text."""

from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from docutils.writers import html5_polyglot
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx_exercise.nodes import solution_node

from executable_book.html import foldable


def writer_of(builder: str) -> Any:
    """Return what writes the nodes of a page in a build."""
    writer = html5_polyglot.Writer()
    page = new_document("page", get_default_settings(writer))
    translator = writer.translator_class(page)
    translator.builder = SimpleNamespace(name=builder)
    return translator


@pytest.mark.parametrize(("builder", "is_open"), [("html", ""), ("epub", ' open="open"')])
def test_code_is_folded_on_the_site_and_open_in_an_e_book(builder: str, is_open: str) -> None:
    writer = writer_of(builder)
    node = HideCodeCellNode(prompt_show="Show code & output", classes=["above-input"])
    foldable.visit_code(writer, node)
    foldable.depart(writer, node)
    assert "".join(writer.body) == (
        f'<details class="above-input folded"{is_open}>\n'
        "<summary>Show code &amp; output</summary>\n</details>\n"
    )


def test_the_title_of_a_solution_is_its_summary_and_comes_once() -> None:
    writer = writer_of("html")
    title = nodes.title("", "Solution to ", nodes.emphasis("", "one"))
    node = solution_node("", title, nodes.paragraph("", "It is two."), ids=["answer"])
    foldable.visit_solution(writer, node)
    assert "".join(writer.body).splitlines() == [
        '<details class="folded" id="answer">',
        "<summary>Solution to one</summary>",
    ]
    assert node.astext() == "It is two."


def test_what_every_exercise_calls_the_same_loses_its_id_and_no_other_does() -> None:
    page = new_document("page")
    page += [nodes.section(ids=[one]) for one in ("exercise-content", "solution-content", "own")]
    foldable.UniqueIds(page).run()
    assert [section["ids"] for section in page] == [[], [], ["own"]]
