"""The sitemap lists every page of the book, also after a build that wrote one."""

from collections.abc import Callable

from harness.books import Book

from executable_book.publish.sitemap import NAME, sitemap


def test_it_lists_all_pages_whatever_a_build_wrote(new_book: Callable[..., Book]) -> None:
    book = new_book(html_baseurl="https://example.org/book/")
    for name in ("one", "deep/two"):
        book.page(name, f"# {name}\n", head="")
    book.build()
    whole = (book.html / NAME).read_text()
    for page in ("index", "one", "deep/two"):
        assert whole.count(f"<loc>https://example.org/book/{page}.html</loc>") == 1
    book.add("one.md", "\nMore.\n")
    assert "deep/two" not in book.build().written
    assert (book.html / NAME).read_text() == whole


def test_addresses_are_escaped() -> None:
    assert "<loc>https://example.org/?a=1&amp;b=2</loc>" in sitemap(
        ["https://example.org/?a=1&b=2"]
    )
