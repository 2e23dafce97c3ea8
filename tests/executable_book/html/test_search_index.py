"""The search knows as much after a build of one page as after a build of all."""

from collections.abc import Callable

from harness.books import Book

from executable_book.html.search_index import entries_in


def test_entries_of_pages_that_are_not_written_stay(new_book: Callable[..., Book]) -> None:
    book = new_book()
    book.page("one", "# One\n\n```{index} apple\n```\n", head="")
    book.page("two", "# Two\n\n```{index} pear\n```\n", head="")
    book.build()
    index = book.html / "searchindex.js"
    assert "apple" in index.read_text()
    book.add("two.md", "\nMore.\n")
    assert "one" not in book.build().written
    assert "apple" in index.read_text()
    assert "pear" in index.read_text()


def test_entries_are_found_by_page() -> None:
    frozen = {
        "docnames": ["kept", "gone"],
        "indexentries": {"apple": [[0, "a", True], [1, "b", False]], "pear": [[0, "p", False]]},
    }
    assert entries_in(frozen, {"kept"}) == {"kept": [("apple", "a", "main"), ("pear", "p", "")]}
