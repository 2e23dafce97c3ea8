"""Each page says what it is about, to search engines and to messengers."""

import pytest

HEAD = """---
myst:
  html_meta:
    description: Half < whole
---
"""


@pytest.fixture
def book(new_book):
    made = new_book("descriptions", project="A book", html_baseurl="https://example.org/")
    made.write("index.md", HEAD + made.text("index.md"))
    made.page("page", "# A page\n", head=HEAD)
    return made


def test_a_page_carries_its_title_address_and_description(book) -> None:
    build = book.build()
    assert build.warnings == []
    tags = {"title": "A page", "description": "Half &lt; whole", "type": "article"}
    for name, content in (tags | {"url": "https://example.org/page.html"}).items():
        assert f'<meta property="og:{name}" content="{content}" />' in build.html("page")
    assert '<meta property="og:type" content="website" />' in build.html("index")


def test_a_page_without_a_description_is_named_at_every_build(book) -> None:
    book.page("page", "# A page\n", head="")
    for _ in range(2):
        build = book.build()
        assert build.status == 1
        (warning,) = build.warnings
        assert "page.md" in warning
        assert "the page has no description" in warning
