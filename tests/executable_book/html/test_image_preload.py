"""A picture above a page's first section is asked for at once, and no other."""

from types import SimpleNamespace
from typing import Any

import pytest

from executable_book.html.image_preload import find

BODY = '<p>Words</p><img alt="a" src="_images/a.svg" /><img alt="b" src="_images/b.svg" />'


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (BODY, {"first_picture": "_images/a.svg"}),
        (f"<h1>Title</h1>{BODY}<h2>Section</h2>", {"first_picture": "_images/a.svg"}),
        (f"<h1>Title</h1><h2>Section</h2>{BODY}", {}),
        ("<p>Words</p>", {}),
    ],
)
def test_the_layout_gets_its_address(body: str, found: dict[str, str]) -> None:
    context: dict[str, Any] = {"body": body}
    find(SimpleNamespace(), "page", "", context, None)  # type: ignore[arg-type]
    assert context == {"body": body, **found}


def test_a_page_of_no_text_has_none() -> None:
    context: dict[str, Any] = {}
    find(SimpleNamespace(), "search", "", context, None)  # type: ignore[arg-type]
    assert context == {}
