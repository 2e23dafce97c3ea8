"""What vouches for a cell is a small mark beside it that unfolds; for a page, it is a line at its foot."""

import re
from html import unescape

import pytest

PRINTED = {"three": "3", "four": "4"}


def ledger(place='{ source = "000", line = 7, section = "Scores" }'):
    sources = "".join(
        f'[[source]]\nid = "{key}"\nkind = "x"\nwhat = "x"\nlines = 9\nsha256 = "0"\n'
        for key in ("000", "002")
    )
    outputs = "".join(
        f'[[output]]\nid = "{key}"\nprinted = "{text}"\nplaces = [{place}]\n'
        for key, text in PRINTED.items()
    )
    return sources + outputs


@pytest.fixture
def book(new_book):
    book = new_book("ledger", book_ledger="sources.toml")
    book.write("sources.toml", ledger())
    book.page("sources", "# Sources\n\n```{source-outputs}\n```\n")
    return book


def cell(code, option="verifies: three four"):
    return f"# Page\n\n```{{code-cell}}\n:{option}\n\n{code}\n```\n\nMore.\n"


BOTH = "print('3')\nprint('4')"


def marks(html):
    return re.findall(r'<details class="proof">(.*?)</details>', html, re.DOTALL)


def text_of(html):
    return " ".join(unescape(re.sub("<[^>]*>", " ", html)).split())


def test_a_mark_right_after_its_cell_says_who_prints_the_same_and_where(book) -> None:
    book.page("page", cell(BOTH))
    build = book.build()
    assert build.warnings == []
    html = build.html("page")
    (mark,) = marks(html)
    assert '<summary>✓<span class="says"> As printed in source 000</span></summary>' in mark
    assert text_of(mark.partition("</summary>")[2]) == (
        "As printed in source 000: three source 000, line 7: Scores four source 000, line 7: Scores"
    )
    assert re.search(r'<a [^>]*href="sources.html#source-output-three"', mark)
    before, _, after = html.partition('<details class="proof">')
    assert before.rstrip().endswith("</div>")
    assert '<span class="line">4</span>' in before
    assert "<p>More.</p>" in after


def test_a_mark_names_all_sources_and_misprints(book) -> None:
    places = (
        '{ source = "002", line = 3, section = "In [1]" }, '
        '{ source = "000", line = 7, section = "S", printed = "9", misprint = "a slip" }'
    )
    book.write("sources.toml", ledger(places))
    book.page("page", cell(BOTH))
    (mark,) = marks(book.build().html("page"))
    assert "As printed in sources 000, 002" in mark
    assert "source 000, line 7: S, with a misprint" in mark


def test_a_cell_that_cannot_print_the_same_twice_says_why(book) -> None:
    book.page("page", cell("print(3)", "nondeterministic: it measures time"))
    (mark,) = marks(book.build().html("page"))
    assert '≈<span class="says"> Yours may differ: it measures time</span>' in mark


# The foot of a page

RAN = "Executed on cpu with torch 2.13.0 and Python 3.11"


def foot(build):
    return build.html("page").partition('<p class="page-foot">')[2].partition("</p>")[0]


def test_a_page_says_what_ran_it_and_how_much_it_verifies(book) -> None:
    (book.folder / "sources.md").unlink()
    for page, says in {
        cell(BOTH): f"{RAN}; 2 source outputs verified on this page.",
        # only what agrees counts, and each output once
        cell("print('3')\nprint('5')") + cell("print(3)", "verifies: three")[6:]: (
            f"{RAN}; 1 source output verified on this page; 1 output differs."
        ),
        cell("print(3)", "tags: [x]"): f"{RAN}.",
        cell("1 / 0", "tags: [x]"): "Not executed to its end.",
        "# Page\n\nWords.\n": "",
    }.items():
        book.page("page", page)
        assert foot(book.build()) == says
