"""Code and solutions are folded under a summary that is its visible text."""

import re


def test_an_admonition_is_folded_if_it_is_a_dropdown(new_book) -> None:
    book = new_book("folded")
    box = "```{{admonition}} {0}\n:class: {0}\n\nWhy.\n```\n"
    book.page("page", "# Page\n\n" + box.format("dropdown") + "\n" + box.format("note"))
    html = book.build().html("page")
    assert re.search(r'<details class="[^"]*folded">\s*<summary>dropdown</summary>', html)
    assert html.count("<details") == 1
    assert '<p class="admonition-title">note</p>' in html
