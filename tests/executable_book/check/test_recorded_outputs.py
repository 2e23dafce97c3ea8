"""What our own cells print is recorded, and a build whose outputs differ from the records fails."""

import pytest
from harness.books import RAN_WITH

SCORES = "tensor([0.9544, 1.4950])"


def cell(code, option=""):
    return f"```{{code-cell}}\n{option}\n{code}\n```\n\n"


@pytest.fixture
def book(new_book):
    book = new_book("recorded")
    book.page(
        "page",
        "# Page\n\n" + cell(f"scores = 1\nprint('{SCORES}')") + cell("n = 6\nprint('six tokens')"),
    )
    return book


def record(book):
    return book.build(book_record=True)


def records(book, page="page"):
    return (book.folder / "recorded" / f"{page}.txt").read_text(encoding="utf-8")


def test_an_output_without_a_record_fails_every_build(book) -> None:
    for jobs in (1, 1, 2):
        build = book.build(jobs=jobs)
        assert build.status == 1
        assert "page.md:8: WARNING: the output of `scores = 1`" in build.warnings[0]
        assert "is not recorded" in build.warnings[0]
        assert "page.md:14: " in build.warnings[1]


def test_a_changed_output_fails_every_build_and_shows_the_change(book) -> None:
    record(book)
    book.write(
        "recorded/page.txt", records(book).replace("six", "five").replace("1.4950", "1.4951")
    )
    for jobs in (1, 1, 2):
        warnings = book.build(jobs=jobs).warnings
        assert "page.md:8: " in warnings[0]
        assert warnings[1:4] == [
            "    - tensor([0.9544, 1.4951])",
            "    ?                      ^",
            "    + tensor([0.9544, 1.4950])",
        ]
        assert "page.md:14: " in warnings[5]


def test_a_stale_record_fails_every_build(book) -> None:
    record(book)
    book.write("recorded/page.txt", records(book) + "\n>>> gone()\n    x\n")
    book.write("recorded/other.txt", ">>> gone()\n    x\n")
    for _ in range(2):
        first, second = sorted(book.build().warnings)
        assert (
            "page.md:1: WARNING: no cell of the page prints what is recorded of `gone()`" in first
        )
        assert "recorded/other.txt:1: WARNING: no page prints what is recorded here" in second
    build = record(book)
    assert build.warnings == []
    assert "gone" not in records(book)
    assert not (book.folder / "recorded" / "other.txt").exists()


def test_an_inserted_cell_leaves_the_other_records_alone(book) -> None:
    record(book)
    before = records(book)
    text = (book.folder / "page.md").read_text(encoding="utf-8")
    book.write("page.md", text.replace("# Page\n", "# Page\n\n" + cell("# first\nprint('new')")))
    (warning,) = book.build().warnings
    assert "`print('new')` is not recorded" in warning
    record(book)
    assert records(book) == ">>> print('new')\n    new\n\n" + before


def test_recording_leaves_alone_what_agrees(book, monkeypatch) -> None:
    """On another device the last of many digits may differ; that is no change."""
    monkeypatch.setitem(RAN_WITH, "device", "cuda")
    page = "# Page\n\n" + cell("scores = None\nprint('tensor([0.123456])')")
    book.page("page", page)
    record(book)
    before = records(book)
    book.page("page", page.replace("123456", "123460"))
    assert book.build().warnings == []
    assert record(book).warnings == []
    assert records(book) == before


def test_what_sources_or_nobody_vouch_for_is_not_recorded(book) -> None:
    book.page(
        "page",
        "# Page\n\n"
        + cell("print('a')", ":verifies: scores\n")
        + cell("print('b')", ":nondeterministic: it measures time\n")
        + cell("c = 1"),
    )
    assert book.build().warnings == []
    record(book)
    assert not (book.folder / "recorded").exists()


def test_equal_first_lines_are_numbered(book) -> None:
    book.page("page", "# Page\n\n" + cell("print('a')") + cell("print('a')"))
    record(book)
    assert records(book) == ">>> print('a')\n    a\n\n>>> print('a') (2)\n    a\n"
