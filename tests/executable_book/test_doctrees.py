"""What is kept of a page for later builds is the page alone."""

from collections.abc import Callable

from harness.books import Book


def test_with_a_page_nothing_is_kept_of_the_book(new_book: Callable[..., Book]) -> None:
    """Also with one that describes an object in reStructuredText, which MyST reads as another document."""
    book = new_book()
    book.write("page.md", "# Page\n\n```{eval-rst}\n.. py:function:: act\n\n   It acts.\n```\n")
    assert "It acts" in book.build().html("page")
    kept = (book.built / "doctrees" / "page.doctree").read_bytes()
    assert b"It acts" in kept
    assert b"BuildEnvironment" not in kept
