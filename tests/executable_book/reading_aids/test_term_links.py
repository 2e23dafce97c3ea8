"""A word that the glossary explains is a link where a page first uses it, and nowhere in the way."""

import re

import pytest

WORDS = """# Words

A token, here.

```{glossary}
token
  What a text is cut into.

token id
  Its number.

window, sliding window
  The part that is seen.
```
"""
TEXT = """# Of tokens

`token` and {doc}`a token <words>` and a tokenizer and a sub-token.

- Two Tokens and a token, each with a token id. A sliding window.

A **window** is seen. So is the window.
"""


def links(html):
    """Return the terms that are linked, and what is linked."""
    found = re.findall(
        r'<a class="[^"]*\bterm\b[^"]*" href="words.html#term-([^"]*)">(.*?)</a>', html
    )
    assert len(found) == html.count("#term-")
    return found


@pytest.fixture
def book(new_book):
    book = new_book()
    book.write("words.md", WORDS)
    book.write("text.md", TEXT)
    return book


def test_the_first_use_of_each_term_is_a_link(book) -> None:
    build = book.build()
    assert build.warnings == []
    assert links(build.html("text")) == [
        ("token", "Tokens"),
        ("token-id", "token id"),
        ("window-sliding-window", "sliding window"),
    ]
    assert "#term-token" in build.html("words")  # the glossary's own anchors, and nothing else
    assert 'class="term' not in build.html("words")


def test_what_a_page_introduces_in_bold_is_no_link(book) -> None:
    book.write("text.md", "# Text\n\nA **token** is a piece. Each token is.\n")
    assert links(book.build().html("text")) == []


def test_pages_follow_the_glossary(book) -> None:
    book.build()
    book.change("words.md", "token id\n  Its number.\n", "")
    build = book.build()
    assert "text" in build.written
    assert [one for one, _ in links(build.html("text"))] == ["token", "window-sliding-window"]
