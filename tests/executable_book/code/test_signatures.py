"""A signature is text, with a parameter on each line."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from sphinx import addnodes

from executable_book.code import signatures


def title_of(book: Any, signature: str, **settings: Any) -> str:
    """Return how a page writes a signature."""
    book.write("api.md", f"# R\n\n```{{eval-rst}}\n.. py:function:: {signature}\n\n   Act.\n```\n")
    html = book.build(**settings).html("api")
    return html.partition("<dt class")[2].partition("</dt>")[0]


def test_parameters_are_lines_and_no_list(new_book: Callable[..., Any]) -> None:
    signature = "act(first: int, *, second: str = 'x') -> int"
    title = title_of(new_book(), signature, python_maximum_signature_line_length=20)
    assert title.count('<span class="sig-line">') == 3
    assert not re.search("</?(dl|dd)", title)


def test_the_words_of_a_signature_have_no_boxes(new_book: Callable[..., Any]) -> None:
    title = title_of(new_book(), "act(first: int) -> Box[int]")
    assert '<em class="sig-param">first: int</em>' in title
    assert "Box[int]" in title


def test_a_long_name_may_end_a_line_behind_its_dots(new_book: Callable[..., Any]) -> None:
    title = title_of(new_book(), "some.package.act(first=0.5)")
    assert 'descclassname">some.<wbr />package.<wbr /></span>' in title
    assert title.count("<wbr />") == 2


def test_what_stands_before_a_signature_stays_as_it_is() -> None:
    before = ["<dl>", '<span class="pre">a list</span>', "</dl>"]
    writer: Any = SimpleNamespace(
        body=[*before], protect_literal_text=0, starttag=lambda node, tag: f"<{tag}>"
    )
    node = addnodes.desc_signature(is_multiline=True)
    signatures.visit(writer, node)
    writer.body += ["<dl>\n", "<dd>", '<span class="pre">x</span>', "</dd>\n", "</dl>\n"]
    signatures.depart(writer, node)
    written = '<dt><span class="sig-lines"><span class="sig-line">x</span></span></dt>\n'
    assert writer.body == [*before, written]
