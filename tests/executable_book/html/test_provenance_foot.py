"""Each page says what executed it, and how many source outputs were verified on it."""

from collections.abc import Callable

import pytest


@pytest.fixture
def book(new_book: Callable[..., object]) -> object:
    book = new_book(book_ledger="sources.toml")
    book.write(
        "sources.toml",
        '[[source]]\nid = "000"\nkind = "x"\nwhat = "x"\nlines = 9\nsha256 = "0"\n'
        + "".join(
            f'[[output]]\nid = "{key}"\nprinted = "{text}"\n'
            'places = [{ source = "000", line = 1, section = "x" }]\n'
            for key, text in {"three": "3", "four": "4"}.items()
        ),
    )
    return book


def claims(ids: str, code: str) -> str:
    return f"# Page\n\n```{{code-cell}}\n:verifies: {ids}\n\n{code}\n```\n\n## End\n"


def foot(build, page: str = "page") -> str:
    return build.html(page).partition('<p class="page-foot">')[2].partition("</p>")[0]


def test_a_page_says_what_ran_it_and_how_much_it_verifies(book) -> None:
    book.page("page", claims("three four", "print('3')\nprint('4')"))
    assert foot(book.build()) == (
        "Executed on cpu with torch 2.13.0 and Python 3.11; 2 source outputs verified on this page."
    )


def test_only_what_agrees_counts_and_each_output_once(book) -> None:
    again = "```{code-cell}\n:verifies: three\n\nprint(3)\n```\n"
    book.page("page", claims("three four", "print('3')\nprint('5')") + "\n" + again)
    assert foot(book.build()) == (
        "Executed on cpu with torch 2.13.0 and Python 3.11; 1 source output verified on this page."
    )


def test_the_foot_follows_a_change_of_the_ledger(book) -> None:
    book.page("page", claims("three", "print('3')"))
    assert "1 source output verified" in foot(book.build())
    path = book.folder / "sources.toml"
    book.write("sources.toml", path.read_text().replace('printed = "3"', 'printed = "5"'))
    assert "0 source outputs verified" in foot(book.build())


def test_a_page_without_cells_has_no_such_line(book) -> None:
    book.page("page", "# Page\n\nWords.\n")
    assert foot(book.build()) == ""


def test_a_page_that_ended_early_says_so(book) -> None:
    book.page("page", "# Page\n\n```{code-cell}\n1 / 0\n```\n")
    assert foot(book.build()) == "Not executed to its end."


def test_a_page_that_claims_no_source_output_counts_none(book) -> None:
    book.page("page", claims("three", "print('3')").replace(":verifies: three\n\n", ""))
    assert foot(book.build()) == "Executed on cpu with torch 2.13.0 and Python 3.11."
