"""What our own cells print is recorded, and a build whose outputs differ from the records fails."""

import pytest
from harness.books import RAN_WITH, cell

SCORES = "tensor([0.9544, 1.4950])"


@pytest.fixture
def book(new_book):
    book = new_book("recorded")
    book.page("page", "# Page\n", cell(f"scores = 1\nprint('{SCORES}')"), cell("print('six')"))
    return book


def record(book):
    return book.build(book_record=True)


def records(book):
    return book.text("recorded/page.txt")


def test_an_output_without_a_record_is_named(book) -> None:
    first, second = book.build().warnings
    assert "page.md:8: WARNING: the output of `scores = 1` is not recorded" in first
    assert "page.md:14: " in second


def test_a_changed_output_is_said_with_the_change(book) -> None:
    record(book)
    book.change("recorded/page.txt", "    six", "    five")
    book.change("recorded/page.txt", "1.4950", "1.4951")
    warnings = book.build().warnings
    assert "page.md:8: " in warnings[0]
    assert warnings[1:4] == [
        "    - tensor([0.9544, 1.4951])",
        "    ?                      ^",
        "    + tensor([0.9544, 1.4950])",
    ]
    assert "page.md:14: " in warnings[5]
    book.put_back()
    assert book.build().warnings == []


def test_a_stale_record_is_said(book) -> None:
    record(book)
    book.add("recorded/page.txt", "\n>>> gone()\n    x\n")
    book.write("recorded/other.txt", ">>> gone()\n    x\n")
    for _ in range(2):
        first, second = sorted(book.build().warnings)
        assert (
            "page.md:1: WARNING: no cell of the page prints what is recorded of `gone()`" in first
        )
        assert "recorded/other.txt:1: WARNING: no page prints what is recorded here" in second
    assert record(book).warnings == []
    assert "gone" not in records(book)
    assert not (book.folder / "recorded/other.txt").exists()


def test_a_record_of_a_page_that_prints_nothing_is_stale(book) -> None:
    """Even if it comes after the page was read, as by a merge."""
    book.page("silent", "# Silent\n", cell("x = 1"))
    record(book)
    book.write("recorded/silent.txt", ">>> gone()\n    x\n")
    for _ in range(2):
        (warning,) = book.build().warnings
        assert "recorded/silent.txt:1: WARNING: no page prints what is recorded here" in warning


def test_an_inserted_cell_leaves_the_other_records_alone(book) -> None:
    record(book)
    before = records(book)
    book.change("page.md", "# Page\n", "# Page\n\n" + cell("# first\nprint('new')"))
    (warning,) = book.build().warnings
    assert "`print('new')` is not recorded" in warning
    record(book)
    assert records(book) == ">>> print('new')\n    new\n\n" + before


def test_recording_leaves_alone_what_agrees(book, monkeypatch) -> None:
    """On another device the last of many digits may differ; that is no change."""
    monkeypatch.setitem(RAN_WITH, "device", "cuda")
    book.page("page", "# Page\n", cell("scores = None\nprint('tensor([0.123456])')"))
    record(book)
    before = records(book)
    book.change("page.md", "123456", "123460")
    assert book.build().warnings == []
    assert record(book).warnings == []
    assert records(book) == before


def test_what_sources_or_nobody_vouch_for_is_not_recorded(book) -> None:
    book.page(
        "page",
        "# Page\n",
        cell("print('a')", ":verifies: scores"),
        cell("print('b')", ":nondeterministic: it measures time"),
        cell("c = 1"),
    )
    assert book.build().warnings == []
    record(book)
    assert not (book.folder / "recorded").exists()


def test_equal_first_lines_are_numbered(book) -> None:
    book.page("page", "# Page\n", cell("print('a')"), cell("print('a')"))
    record(book)
    assert records(book) == ">>> print('a')\n    a\n\n>>> print('a') (2)\n    a\n"
