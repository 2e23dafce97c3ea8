"""A page shows the package's code without docstrings: never a second copy."""

import re
from html import unescape

import pytest


@pytest.fixture
def book(new_book, small):
    return new_book()


def block(name, caption="What it does."):
    return f"# Page\n\n```{{library}} {name}\n{caption}\n```\n"


def test_a_page_shows_code_under_its_name(book, small) -> None:
    book.page("page", block("act", "It *acts*."))
    build = book.build(book_package=str(small.folder))
    html = build.html("page")
    assert build.warnings == []
    assert code_in(html) == [
        "@functools.cache\ndef act(x):\n    y = x  # a comment\n    return _hidden(y)"
    ]
    assert "act</span></code>: It <em>acts</em>." in html
    assert re.search(
        r"Without docstrings and types, which are in "
        r'<a [^>]*blob/HEAD/[^"]*small/one.py#L9-L17">the file</a>\.',
        html,
    )


def code_in(html):
    """Return the code of the listings on a page."""
    return [
        unescape(re.sub("<[^>]*>", "", block)).strip("\n")
        for block in re.findall(r'<div class="highlight"><pre>(.*?)</pre>', html, re.DOTALL)
    ]


def test_a_folded_listing_is_closed_and_takes_no_number_from_what_is_seen(book, small) -> None:
    folded = block("act", ":folded:\nHow it acts.")
    book.page("page", folded + block("Thing").removeprefix("# Page\n"))
    html = book.build(book_package=str(small.folder), numfig=True).html("page")
    closed = html.partition('<details class="folded')[2].partition("</details>")[0]
    assert "<summary>How it acts.</summary>" in closed
    assert "_hidden(y)" in code_in(closed)[0]
    assert html.count("How it acts.") == 1
    assert re.findall(r"Listing (\d+)", html) == ["1"]


LATER = """# {title}

```{{library}} Thing
:{option}: aside

What it does.
```
"""


@pytest.fixture
def growing(book, small):
    (small.folder / "one.py").write_text(
        "CONSTANT = 1\n\n\ndef act(): ...\n\n\nclass Thing:\n    def method(self):\n"
        "        if self.fast:\n            return aside()\n        return 1\n"
    )
    book.write("index.md", "# Index\n\n```{toctree}\nsecond\nfirst\n```\n")
    book.page("second", LATER.format(title="Early", option="until"))
    book.page("first", LATER.format(title="Late & more", option="new"))
    return book


def test_what_comes_later_is_left_out_and_marked_where_it_comes(growing, small) -> None:
    build = growing.build(book_package=str(small.folder))
    assert build.warnings == []
    early, late = build.html("second"), build.html("first")
    method = "class Thing:\n    def method(self):\n"
    assert code_in(early) == [f"{method}        return 1"]
    assert code_in(late) == [
        f"{method}        if self.fast:\n            return aside()\n        return 1"
    ]
    marked = " ".join(re.findall(r'<span class="line hll"[^>]*>(.*)</span>', late))
    assert re.sub("<[^>]*>", "", marked).split() == ["if", "self.fast:", "return", "aside()"]


@pytest.mark.parametrize("option", ["until", "new"])
def test_an_option_that_does_nothing_fails_the_build(option, book, small) -> None:
    book.page("page", block("act", f":{option}: nothing\n\nIt acts."))
    build = book.build(book_package=str(small.folder))
    assert any("nothing in the listing uses nothing" in line for line in build.warnings)
