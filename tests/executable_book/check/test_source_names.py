"""A source is named with its title, as the ledger has it, and leads to what the ledger says of it."""

import re
from collections.abc import Callable

import pytest


def source(number: str, title: str = "") -> str:
    named = f'title = "{title}"\n' if title else ""
    return f'[[source]]\nid = "{number}"\n{named}kind = "excerpt"\nwhat = "x"\nlines = 9\nsha256 = "0"\n'


LEDGER = source("000", "Attention") + source("001") + source("003", "Attention")


@pytest.fixture
def book(new_book: Callable[..., object]) -> object:
    book = new_book(book_ledger="sources.toml")
    book.write("sources.toml", LEDGER)
    book.page("sources", "# Sources\n\n```{source-outputs}\n```\n")
    return book


def name_sources(book, named: str) -> None:
    book.page("page", f"# Page\n\n{{source}}`{named}`, line 3\n")


def link(number: str, text: str) -> str:
    address = f"sources.html#source-{number}"
    return f'<a class="reference internal" href="{address}"><span class="std std-ref">{text}</span></a>'


NAMED = {
    "001": f"{link('001', 'Source 001')} (excerpt), line 3",
    "000 003": f"{link('000', 'Sources 000')} and {link('003', '003')} (Attention), line 3",
    "000 001": f"{link('000', 'Sources 000')} (Attention) and {link('001', '001')} (excerpt), line 3",
}


def test_a_source_is_named_with_its_title_and_leads_to_the_ledger(book) -> None:
    for number, named in enumerate(NAMED):
        book.page(f"page{number}", f"# Page {number}\n\n{{source}}`{named}`, line 3\n")
    build = book.build()
    assert build.warnings == []
    for number, said in enumerate(NAMED.values()):
        assert f"<p><span>{said}</p>".replace(", line 3", "</span>, line 3") in build.html(
            f"page{number}"
        )
    for number in ("000", "001", "003"):
        assert build.html("sources").count(f'<dt id="source-{number}">') == 1


def test_a_name_follows_the_ledger(book) -> None:
    name_sources(book, "000")
    assert "(Attention)</span>, line 3" in book.build().html("page")
    book.write("sources.toml", LEDGER.replace("Attention", "Notes"))
    assert "(Notes)</span>, line 3" in book.build().html("page")


@pytest.mark.parametrize(("named", "unknown"), [("002", "002"), ("000 02", "02")])
def test_an_unknown_source_fails_every_build(book, named: str, unknown: str) -> None:
    name_sources(book, named)
    for jobs in (1, 1, 2):
        (warning,) = book.build(jobs=jobs).warnings
        assert re.search(rf"page.md:\d+: WARNING: undefined label: 'source-{unknown}'", warning)
