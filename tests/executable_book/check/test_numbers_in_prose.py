"""A number with a decimal point in prose fails the build."""

import pytest


@pytest.fixture
def book(new_book):
    return new_book("prose-numbers")


def numbers_found(build):
    found = (line for line in build.warnings if "[book.prose-numbers]" in line)
    return [line.partition("docs/")[2].partition(" [book")[0] for line in found]


def numbers_on_pages(book, texts):
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
    "A model of 1.5B parameters, or 1.5 billion.",
    "- a list with 0.14",
    "## A heading of 0.14",
    "| a | b |\n|---|---|\n| 0.14 | 2 |",
    "A note.[^note]\n\n[^note]: With 0.14.",
    "[a link with 0.14](https://example.org/)",
    "`0.14`",
    "$p = 0.14$",
    "$$\np = 0.14\n$$",
    "![a weight of 0.14](picture.png)",
    "```{note}\n0.14\n```",
    "```{figure} picture.png\nA caption of 0.14.\n```",
    "An error of 6e-17.",
]


def test_a_bare_number_is_found(book) -> None:
    book.write("picture.png", "")
    found = numbers_on_pages(book, BARE)
    for prose, numbers in zip(BARE, found, strict=True):
        assert numbers, prose
        assert len(numbers) == prose.count("0.14") or "0.14" not in prose


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


def test_a_finding_names_page_line_number_and_way_out(book) -> None:
    book.page("page", "# Page\n\nOne.\n\n- two\n- a *long* line\n  and then 0.14 of it\n")
    book.page("symbols", "# Page\n\n$p = 0.14$\n")
    typed, in_mathematics = numbers_found(book.build())
    assert typed.startswith(
        "page.md:12: WARNING: the number 0.14 is typed by hand; have a cell print it"
    )
    assert "0.14 in mathematics, where no cell can check it: use a symbol" in in_mathematics
