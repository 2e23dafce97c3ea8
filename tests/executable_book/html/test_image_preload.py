"""The picture of the front page is asked for at once."""

from types import SimpleNamespace
from typing import Any

import pytest

from executable_book.html.image_preload import find

BODY = '<p>Words</p><img alt="a" src="_images/a.svg" /><img alt="b" src="_images/b.svg" />'


@pytest.mark.parametrize(
    ("page", "body", "found"),
    [
        ("index", BODY, {"first_picture": "_images/a.svg"}),
        ("index", "<p>Words</p>", {}),
        ("chapter", BODY, {}),
    ],
)
def test_the_layout_gets_its_address(page: str, body: str, found: dict[str, str]) -> None:
    context: dict[str, Any] = {"body": body}
    find(SimpleNamespace(config=SimpleNamespace(root_doc="index")), page, "", context, None)
    assert context == {"body": body, **found}
