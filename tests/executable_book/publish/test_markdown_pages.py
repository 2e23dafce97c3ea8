"""Every page is there as plain Markdown, with its outputs, and listed for programs that read."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness.books import Book, cell

# sphinx-exercise still asks for what Sphinx 11 will remove.
pytestmark = pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")

DASH = "\N{EN DASH}"
HOME = "https://example.org/book/"
HEAD = "---\nmyst:\n  html_meta:\n    description: {}\n{}---\n"
EXECUTED = "file_format: mystnb\nkernelspec:\n  name: python3\n"
DRAWING = """
from nbformat.v4 import new_output
picture = {"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'></svg>"}
outputs = [new_output("display_data", picture, metadata={"alt": "a dot"})]
"""
FIGURE = "---\nmystnb:\n  image:\n    alt: a dot\n  figure:\n    name: fig-dot\n    caption: One dot.\n---"
CHAPTER = r"""
# A chapter

So $x^2$ grows, see {doc}`/two` and {numref}`fig-dot`.

$$
a = b
$$ (eq-one)

```{code-block} python
:caption: What adds.

def add(a, b): ...
```

```{exercise} Square
:label: ex-one
Square it.
```

```{solution} ex-one
Multiply.
```

```{eval-rst}
.. py:function:: add(a, b=1) -> int

   Adds.

   :param a: one number.
```
"""


@pytest.fixture
def built(new_book: Callable[..., Book]) -> Book:
    """Return a book of three pages in two rooms."""
    settings = {"html_baseurl": HOME, "project": "A Book", "book_commit": "0123456789"}
    book = new_book(numfig=True, math_numfig=True, **settings)
    contents = "# Home\n\n```{toctree}\n:caption: The story\n\nstory/one\ntwo\n```\n"
    book.write("index.md", HEAD.format("All of it.", "") + contents)
    cells = (cell("print(6 * 7)"), cell(DRAWING, FIGURE))
    book.page("story/one", CHAPTER, *cells, head=HEAD.format("It begins.", EXECUTED))
    book.page("two", "# The second\n", head="")
    assert book.build().err == ""
    return book


def text_of(book: Book, name: str) -> str:
    return (book.html / name).read_text(encoding="utf-8")


def test_a_page_is_plain_markdown_with_its_outputs(built: Book) -> None:
    (drawn,) = Path(built.html, "_images").glob("*.svg")
    assert (
        text_of(built, "story/one.md")
        == rf"""# A chapter

So $x^2$ grows, see [The second]({HOME}two.html) and [Fig. 1]({HOME}story/one.html#fig-dot).

$$
a = b \tag{{1}}
$$

What adds.

```python
def add(a, b): ...
```

## Exercise 1 (Square)

Square it.

## Solution to Exercise 1 (Square)

Multiply.

## `add(a, b=1) -> int`

Adds.

- **Parameters**: **a** {DASH} one number.

```python
print(6 * 7)
```

```
42
```

```python
{DRAWING.strip()}
```

![a dot]({HOME}_images/{drawn.name})

*Figure 1.* One dot.

Not executed to its end.

From *A Book*, <{HOME}story/one.html>. Built from commit 0123456.
"""
    )


def test_a_list_says_what_each_page_is_about(built: Book) -> None:
    assert text_of(built, "llms.txt") == (
        "# A Book\n\n> All of it.\n\n"
        "Each page is listed as plain Markdown, with the outputs of its code. "
        f"The whole book is one file: [llms-full.txt]({HOME}llms-full.txt).\n\n"
        "## The story\n\n"
        f"- [A chapter]({HOME}story/one.md): It begins.\n"
        f"- [The second]({HOME}two.md)\n"
    )


def test_the_whole_book_is_one_file_in_the_order_of_its_contents(built: Book) -> None:
    pages = [text_of(built, f"{name}.md") for name in ("index", "story/one", "two")]
    assert text_of(built, "llms-full.txt") == "\n---\n\n".join(pages)


def test_a_build_that_writes_one_page_loses_none_and_a_lost_one_comes_back(built: Book) -> None:
    whole = text_of(built, "llms-full.txt")
    (built.html / "two.md").unlink()
    assert "story/one" not in built.build().written
    assert text_of(built, "llms-full.txt") == whole
