"""Pages ask for one style sheet, which says what several said, in their order."""

import re
from collections.abc import Callable

import pytest
from harness.books import Book
from sphinx.errors import SphinxError

from executable_book.html.joined_styles import moved

LAYOUT = """{% extends "!layout.html" %}
{% block css %}
<link rel="stylesheet" href="{{ pathto(joined_styles, 1) }}">
{% for css in css_files %}{{ css_tag(css) }}{% endfor %}
{% endblock %}"""


@pytest.fixture
def book(new_book: Callable[..., Book]) -> Book:
    book = new_book(
        html_static_path=["_static"],
        templates_path=["_templates"],
        html_css_files=["below/ours.css", "alone.css"],
        book_joined_styles=["basic.css", "below/ours.css"],
    )
    book.write("_static/below/ours.css", "p { color: red; background: url('../a.png') }")
    book.write("_static/alone.css", "p {}")
    book.write("_templates/layout.html", LAYOUT)
    book.page("two/deep", "# Deep\n", head="")
    return book


def test_pages_ask_for_one_sheet_and_for_those_that_are_not_joined(book: Book) -> None:
    build = book.build()
    joined = (build.out / "_static/joined.css").read_text(encoding="utf-8")
    basic = (build.out / "_static/basic.css").read_text(encoding="utf-8")
    assert joined == f"{basic}\np {{ color: red; background: url(a.png) }}"
    names = re.findall(r'href="(\S+?)\.css', build.html("two/deep"))
    assert (names[0], names[-1]) == ("../_static/joined", "../_static/alone")
    assert not {"../_static/basic", "../_static/below/ours"}.intersection(names)


def test_another_sheet_has_another_address(book: Book) -> None:
    before = re.findall(r"joined\.css\?v=\w+", book.build().html("index"))
    book.write("_static/below/ours.css", "p { color: blue }")
    book.add("index.md", "\nMore.\n")
    assert re.findall(r"joined\.css\?v=\w+", book.build().html("index")) != before


def test_sheets_are_joined_once_in_a_build_whatever_its_pages(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        "executable_book.html.joined_styles.moved", lambda css, name: asked.append(name) or css
    )
    assert len(book.build().written) == 2
    assert asked == ["basic.css", "below/ours.css"]
    book.write("_static/below/ours.css", "p { color: blue }")
    book.add("two/deep.md", "\nMore.\n")
    build = book.build()
    assert asked[2:] == asked[:2]
    assert (build.out / "_static/joined.css").read_text(encoding="utf-8").endswith("blue }")


def test_a_sheet_that_is_not_there_is_named(book: Book) -> None:
    book.add("conf.py", '\nbook_joined_styles = ["no.css"]\n')
    with pytest.raises(SphinxError, match=r"names no\.css, but _static has no such file"):
        book.build()


@pytest.mark.parametrize(
    ("name", "css", "expected"),
    [
        ("styles/a.css", "url(../x/f.woff2)", "url(x/f.woff2)"),
        ("styles/a.css", "url('b.png') url(\"c.png\")", "url(styles/b.png) url(styles/c.png)"),
        ("a.css", "url(f.woff2?v=1)", "url(f.woff2?v=1)"),
        ("styles/a.css", "url(data:x) url(#id) url(/r)", "url(data:x) url(#id) url(/r)"),
    ],
)
def test_addresses_are_moved(name: str, css: str, expected: str) -> None:
    assert moved(css, name) == expected
