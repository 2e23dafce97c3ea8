"""Code stands in lines that can wrap one by one, and is the same text as before."""

import re
from html import unescape

import pytest
from sphinx.highlighting import PygmentsBridge

from executable_book.html.page_body import in_lines, with_width

CODE = '''def f(x):
    """Say <much>
    in lines.
    """

    return f"{x:>8}"  # é
'''


def text_of(html):
    return unescape(re.sub("<[^>]*>", "", html))


@pytest.mark.parametrize("emphasized", [[], [1, 6]])
@pytest.mark.parametrize("language", ["python", "text"])
def test_the_text_is_the_same(language, emphasized) -> None:
    html = PygmentsBridge("html").highlight_block(CODE, language, hl_lines=emphasized)
    found = in_lines(html, {})
    assert text_of(found) == text_of(html)
    assert found.count("<span") == found.count("</span>")


@pytest.mark.parametrize(("letters", "said"), [(0, 3), (55, 58), (56, None)])
def test_an_output_says_how_wide_it_is_unless_it_is_too_wide(letters, said) -> None:
    line = "x < " + "y" * (letters - 1) if letters else "a\nabc"
    html = with_width(in_lines(PygmentsBridge("html").highlight_block(line, "text"), {}))
    assert re.findall(r'<pre style="--columns:(\d+)">', html) == ([str(said)] if said else [])
