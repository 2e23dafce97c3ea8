"""What is wrong is said at every build, until it is mended, whoever found it."""

import pytest
from harness.books import cell

BROKEN = {
    "while reading": "{nosuchrole}`x`",
    "while writing": "{ref}`nowhere`",
    "in a nested cell": f"````{{note}}\n{cell('print(1)')}````",
    "a number": "So 0.14 of it.",
    "an output": cell("print('unheard-of')"),
    "a claim": cell("print(3)", ":verifies: unheard-of"),
}


@pytest.fixture
def book(new_book):
    book = new_book("prose-numbers", "recorded", "ledger")
    book.page("other", "# Other\n")
    return book


def test_warnings_come_back_until_they_are_mended(book) -> None:
    for number, prose in enumerate(BROKEN.values()):
        book.page(f"page{number}", f"# Page\n\n{prose}\n")
    builds = [book.build(), book.build(), book.build(jobs=2), book.build(jobs=2)]
    for damage in (b"{", b"\xff"):  # such a note says nothing
        next(book.built.rglob("warned.json")).write_bytes(damage)
        builds.append(book.build())
    assert [build.status for build in builds] == [1, 1, 1, 1, 1, 1]
    for number, what in enumerate(BROKEN):
        assert any(f"page{number}.md:" in one for one in builds[0].warnings), what
    assert len({tuple(sorted(build.warnings)) for build in builds}) == 1
    assert "other" not in builds[1].written
    for number in range(len(BROKEN)):
        book.page(f"page{number}", "# Page\n")
    assert book.build().status == 0
    assert book.build().written == []


def test_a_warning_about_settings_is_no_reason_to_read_pages(book) -> None:
    builds = [book.build(html_static_path=["not there"]) for _ in range(2)]
    for build in builds:
        assert build.status == 1
        assert "html_static_path entry 'not there' does not exist" in build.err
    assert builds[1].written == []


def test_our_own_warnings_come_back_where_nobody_judges_them_again(new_book) -> None:
    book = new_book()
    book.page("page", "# Page\n\n{math}`\\frac{1}{`\n")
    settings = {"html_math_renderer": "mathml"}
    builds = [book.build(**settings), book.build(**settings), book.build(jobs=2, **settings)]
    assert [build.status for build in builds] == [1, 1, 1]
    assert len({tuple(build.warnings) for build in builds}) == 1


def test_pages_are_read_again_when_a_check_changed(book) -> None:
    book.build()
    assert set(book.build(book_tools="another").written) == {"index", "other"}
