"""What is kept of a page for later builds is the page alone."""

from collections.abc import Callable

import pytest
from harness.books import Book


def test_with_a_page_nothing_is_kept_of_the_book(new_book: Callable[..., Book]) -> None:
    """Also with one that describes an object in reStructuredText, which MyST reads as another document."""
    book = new_book()
    book.write("page.md", "# Page\n\n```{eval-rst}\n.. py:function:: act\n\n   It acts.\n```\n")
    assert "It acts" in book.build().html("page")
    kept = (book.built / "doctrees" / "page.doctree").read_bytes()
    assert b"It acts" in kept
    assert b"BuildEnvironment" not in kept


# sphinx-exercise still asks for what Sphinx 11 will remove.
@pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")
def test_with_an_exercise_nothing_is_kept_of_its_page(
    new_book: Callable[..., Book],
) -> None:
    book = new_book()
    exercise = "```{exercise}\n:label: ex-one\n\nCount.\n```\n\n```{solution} ex-one\nSix.\n```\n"
    book.write("page.md", f"# Page\n\nProse around it.\n\n{exercise}")
    assert "Six." in book.build().html("page")
    kept = (book.built / "doctrees" / "environment.pickle").read_bytes()
    assert b"Six." in kept
    assert b"Prose around it." not in kept
