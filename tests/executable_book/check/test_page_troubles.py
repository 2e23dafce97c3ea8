"""Of a page that is not as it should be, nobody is told that it is: neither there, nor elsewhere."""

import re
from html import unescape

import pytest
from harness.books import LEDGER, cell, unversioned

STOPPED = "did not run to its end"
WARNS = """
from nbformat.v4 import new_output
print("ours")
outputs = [new_output("stream", name="stderr", text="mind\\n")]
"""
CASES = {
    "stops": (
        "1 / 0",
        STOPPED,
        "1 page did not run to its end",
        "ZeroDivisionError: division by zero",
    ),
    "records": (
        "print('other')",
        "2 outputs differ",
        "2 outputs differ from what was printed or recorded before",
        "    - ours\n    + other",
    ),
}
"""What a cell does, what is then said of its page and of the book, and what we are told."""


@pytest.fixture
def book(new_book):
    book = new_book("execution", "ledger", "recorded", book_ledger="sources.toml")
    book.write("sources.toml", LEDGER)
    book.page("good", "# Good\n", cell("print(3)", ":verifies: three"))
    book.page("page", "# Page\n", cell("print('ours')"), cell("print('own')"))
    book.write("told.md", "# Told\n\n```{source-outputs-summary}\n```\n")
    book.build(book_record=True)
    return book


@pytest.mark.parametrize("case", CASES)
def test_what_went_wrong_is_told_until_it_is_mended(book, case) -> None:
    code, of_page, of_book, told = CASES[case]
    assert "Not as it should be" not in book.build().said
    before = book.published()
    assert b"1 of 1 source outputs verified.<" in before["told.html"]
    book.change("page.md", "print('ours')", code)
    if case == "records":
        book.change("recorded/page.txt", "    own", "    old")
        book.write(
            "recorded/page.txt", book.text("recorded/page.txt").replace("print('ours')", code)
        )
    for _ in range(2):
        build = book.build()
        assert build.status == 1
        assert f"1 of 1 source outputs verified; {of_book}." in unescape(build.text("told"))
        (note,) = re.findall(
            r'<div class="warning admonition">.*?</div>\s*</div>', build.html("page"), re.DOTALL
        )
        said = unescape(re.sub("<[^>]*>", "", note))
        assert re.search(f"(This|On this) page,? {of_page}", said), said
        assert told in said
        for name in ("processor", "system", "device", "torch", "python"):
            assert re.search(rf"\n{name}: \w", said), name
        assert build.said.count(f"Not as it should be: page ({of_page}).") == 1
        assert f"It lies in {book.html}" in build.said
        assert "admonition" not in build.html("good")
    book.put_back()
    assert book.build().status == 0
    after = book.published()
    for page in ("page.html", "told.html"):
        assert unversioned(after[page]) == unversioned(before[page])


def test_a_finding_is_no_failure(book) -> None:
    """Of a page that writes a line on stderr, all else is as of any: its foot, its notebook, its records."""
    book.change("page.md", "print('ours')", WARNS)
    for _ in range(2):
        build = book.build(nb_execution_mode="cache")
        assert "this cell wrote to stderr: mind" in build.err
        assert "is not recorded" in build.err  # which is no trouble of a reader
        assert "differ" not in build.text("page")
        assert "Executed on cpu with" in build.text("page")
        assert (build.out / "notebooks/page.ipynb").exists()
