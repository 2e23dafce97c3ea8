"""A number with a decimal point in prose is glued or quoted; the build fails on a bare one."""

from collections.abc import Callable

import pytest

from executable_book.check import source_ledger

WEIGHTS = "tensor([[0.5, -0.25], [1., inf]])"
GLUE = """```{code-cell}
from nbformat.v4 import new_output
def glued(name, text):
    prefix = "application/papermill.record/"
    about = {"scrapbook": {"name": name, "mime_prefix": prefix}}
    return new_output("display_data", {prefix + "text/plain": text}, metadata=about)
outputs = [glued("weight", "0.2379"), glued("text", "'0.24'")]
```

"""


@pytest.fixture
def book(new_book: Callable[..., object]) -> object:
    book = new_book("prose-numbers", book_ledger="sources.toml")
    entries = {"weights": WEIGHTS, "total": "1.0", "shape": "torch.Size([6, 2])"}
    book.write(
        "sources.toml",
        '[[source]]\nid = "000"\nkind = "x"\nwhat = "x"\nlines = 9\nsha256 = "0"\n'
        + "".join(
            f'[[output]]\nid = "{key}"\nprinted = "{text}"\nsha256 = "{source_ledger.seal(text)}"\n'
            'places = [{ source = "000", line = 1, section = "x" }]\n'
            for key, text in entries.items()
        ),
    )
    return book


def numbers_found(build) -> list[str]:
    found = (line for line in build.warnings if "[book.prose-numbers]" in line)
    return [line.partition("docs/")[2].partition(" [book")[0] for line in found]


def numbers_on_pages(book, texts: list[str]) -> list[list[str]]:
    """Build a book with a page for each text, and return what is found on each."""
    for number, text in enumerate(texts):
        book.page(f"page{number}", f"# Page {number}\n\n{text}\n")
    found = numbers_found(book.build())
    return [
        [line for line in found if line.startswith(f"page{number}.md:")]
        for number in range(len(texts))
    ]


BARE = [
    "A weight of 0.14 is small.",
    "Minus: -0.14.",
    "A model of 1.5B parameters, or 1.5 billion.",
    "*emphasis on 0.14*",
    "- a list with 0.14",
    "> a quotation of 0.14",
    "## A heading of 0.14",
    "| a | b |\n|---|---|\n| 0.14 | 2 |",
    "A note.[^note]\n\n[^note]: With 0.14.",
    "[a link with 0.14](https://example.org/)",
    "`0.14`",
    "`-0.14`",
    "$p = 0.14$",
    "$$\np = 0.14\n$$",
    "![a weight of 0.14](picture.png)",
    "```{note}\n0.14\n```",
    "```{figure} picture.png\nA caption of 0.14.\n```",
    "It ends with 0.14.",
    "From 0.14 to two.",
]


def test_a_bare_number_is_found(book) -> None:
    book.write("picture.png", "")
    found = numbers_on_pages(book, BARE)
    for prose, numbers in zip(BARE, found, strict=True):
        assert numbers, prose
        assert len(numbers) == prose.count("0.14") or "1.5" in prose


FREE = [
    "Six tokens, 12 heads, 1,600 numbers, 2/3, row 2: step 3. Next.",
    "`Dropout(p=0.5)` and `tensor([0.1, 0.2])`",
    "torch 2.13.0, `2.13.0`, GPT-3.5",
    "```python\nx = 0.5\n```",
    "```{code-cell}\nprint(0.5)\n```",
    "<https://arxiv.org/abs/1706.03762> and [1706.03762](https://arxiv.org/abs/1706.03762)",
    "% a comment of 0.5",
    "<!-- 0.5 -->",
    "$p = \\frac{1}{2}$",
    "```{doctest}\n>>> 0.5\n0.5\n```",
]


def test_what_is_free(book) -> None:
    assert numbers_on_pages(book, FREE) == [[]] * len(FREE)


def test_a_finding_names_page_line_number_and_way_out_at_every_build(book) -> None:
    book.page("page", "# Page\n\nOne.\n\n- two\n- a *long* line\n  and then 0.14 of it\n")
    for settings in ({}, {}, {"jobs": 2}, {"jobs": 2, "html_title": "other"}):
        build = book.build(**settings)
        assert build.status == 1
        (found,) = numbers_found(build)
        assert found.startswith("page.md:12: WARNING: the number 0.14 is typed by hand; glue it")


def test_a_number_in_mathematics_has_another_way_out(book) -> None:
    book.page("page", "# Page\n\n$p = 0.14$\n")
    (found,) = numbers_found(book.build())
    assert "0.14 in mathematics, where no cell can check it: use a symbol" in found


def test_a_mended_page_passes(book) -> None:
    book.page("page", "# Page\n\n0.14\n")
    assert numbers_found(book.build())
    book.page("page", "# Page\n\nsmall\n")
    assert not numbers_found(book.build())


GLUED = ["{glue:text}`weight:.2f`", "{glue:text}`text`", "{glue}`weight`", "{glue:text}`weight`"]


def test_a_glued_number_is_free(book) -> None:
    for number, glue in enumerate(GLUED):
        book.page(f"page{number}", f"# Page {number}\n\nIt is {glue}.\n\n{GLUE}")
    build = book.build()
    assert numbers_found(build) == []
    for number in range(len(GLUED)):
        page = build.html(f"page{number}")
        assert "0.24" in page or "0.2379" in page


def test_a_number_glued_from_another_page_is_free(book) -> None:
    book.page("page", "# Page\n\n" + GLUE)
    book.page("reader", "# Reader\n\nIt is {glue:text}`page.md::weight:.2f`.\n\n" + GLUE)
    build = book.build()
    assert numbers_found(build) == []
    assert "0.24" in build.html("reader")


QUOTED = [
    ("weights[0, 0]", "0.5"),
    ("weights[0,1]", "-0.25"),
    ("weights[1, 0]", "1."),
    ("weights[1, 1]", "inf"),
    ("total", "1.0"),
    ("shape[0]", "6"),
]


def test_a_quoted_number_is_printed_as_the_source_prints_it(book) -> None:
    for number, (quotation, _) in enumerate(QUOTED):
        book.page(f"page{number}", f"# Page {number}\n\nIt was {{quoted}}`{quotation}`.\n")
    build = book.build()
    assert numbers_found(build) == []
    for number, (_, shown) in enumerate(QUOTED):
        quoted = f'<span class="quoted">{shown}</span>'
        assert quoted in build.html(f"page{number}")


WRONGLY_QUOTED = [
    ("wages[0, 0]", "the ledger has no entry 'wages'"),
    ("weights[0]", "no number at [0] in a tensor of shape (2, 2)"),
    ("weights[2, 0]", "no number at [2, 0] in a tensor of shape (2, 2)"),
    ("weights", "no number at [] in a tensor of shape (2, 2)"),
    ("weights[-1, 0]", "expected an entry and perhaps an index"),
]


def test_a_wrong_quotation_fails_every_build(book) -> None:
    for number, (quotation, _) in enumerate(WRONGLY_QUOTED):
        book.page(f"page{number}", f"# Page {number}\n\nIt was {{quoted}}`{quotation}`.\n")
    for jobs in (1, 1, 2):
        found = sorted(numbers_found(book.build(jobs=jobs)))
        for number, (line, (_, message)) in enumerate(zip(found, WRONGLY_QUOTED, strict=True)):
            assert line.startswith(f"page{number}.md:8: WARNING: {{quoted}}: {message}")


def test_a_quotation_follows_the_ledger_and_links_to_it(book) -> None:
    book.page("page", "# Page\n\nIt was {quoted}`total`.\n")
    book.page("sources", "# Sources\n\n```{source-outputs}\n```\n")
    assert 'href="sources.html#source-output-total"><span>1.0</span></a>' in book.build().html(
        "page"
    )
    path = book.folder / "sources.toml"
    changed = (
        path.read_text()
        .replace('"1.0"', '"2.0"')
        .replace(source_ledger.seal("1.0"), source_ledger.seal("2.0"))
    )
    book.write("sources.toml", changed)
    assert "<span>2.0</span></a>" in book.build().html("page")
