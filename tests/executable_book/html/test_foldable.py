"""Code and solutions are folded under a summary that is its visible text."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes

from executable_book.html import foldable


def test_an_admonition_is_folded_if_it_is_a_dropdown(new_book) -> None:
    book = new_book("folded")
    box = "```{{admonition}} {0}\n:class: {0}\n\nWhy.\n```\n"
    book.page("page", "# Page\n\n" + box.format("dropdown") + "\n" + box.format("note"))
    html = book.build().html("page")
    assert re.search(r'<details class="[^"]*folded">\s*<summary>dropdown</summary>', html)
    assert html.count("<details") == 1
    assert '<p class="admonition-title">note</p>' in html


@pytest.mark.parametrize(
    ("prompt", "shown", "summary"),
    [
        ("Code", nodes.figure(), "Code for this figure"),
        ("Code", nodes.literal_block(), "Code"),
        ("Code: a game", nodes.figure(), "Code: a game"),
    ],
)
def test_code_that_draws_a_figure_says_so(prompt, shown, summary) -> None:
    fold = nodes.container(prompt_show=prompt)
    nodes.container("", fold, nodes.container("", shown))
    writer = SimpleNamespace(body=[], config=SimpleNamespace(nb_code_prompt_show="Code"))
    writer.starttag, writer.encode = (lambda *_, **__: ""), str
    foldable.visit(writer, fold)
    assert writer.body[-1] == f"<summary>{summary}</summary>\n"
