"""Every page is there as plain Markdown, with its outputs, and listed for programs that read."""

from pathlib import Path

import nbformat
import pytest
from harness.books import cell
from nbformat.v4 import new_code_cell, new_notebook

from executable_book.publish.plain_markdown import escape

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

Plain words, *stress*, **weight**, `code`, a 2*3, a snake_case, and 10{sup}`3`.
{cite:t}`somebody2020` has {eq}`eq-one`.

$$
a = b
$$ (eq-one)

1. first
2. second, with a list
   - inner

:::{note}
Mind the gap.
:::

| a | b |
| --- | --- |
| $x$ | `y` |

Term
: What it means.
: What it means as well.

```{glossary}
word
  A meaning.
```

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
   :param b: another.
   :returns: their sum.
```
"""


@pytest.fixture
def built(new_book):
    """Return a book of three pages in two rooms."""
    book = new_book(
        extensions=("sphinxcontrib.bibtex",),
        html_baseurl=HOME,
        nb_execution_mode="cache",
        project="A Book",
        book_commit="0123456789",
        numfig=True,
        math_numfig=True,
        math_eqref_format="({number})",
        html_math_renderer="mathml",
        bibtex_bibfiles=["references.bib"],
        bibtex_reference_style="author_year",
    )
    article = "@article{somebody2020, author={Some Body}, title={On}, journal={X}, year={2020}}\n"
    book.write("references.bib", article)
    contents = "# Home\n\n```{toctree}\n:caption: The story\n\nstory/one\ntwo\n```\n"
    book.write("index.md", HEAD.format("All of it.", "") + contents)
    cells = (cell("print(6 * 7)"), cell(DRAWING, FIGURE))
    book.page("story/one", CHAPTER, *cells, head=HEAD.format("It begins.", EXECUTED))
    book.page("two", "# The second\n\n```{bibliography}\n```\n", head="")
    assert book.build().err == ""
    return book


def text_of(book, name):
    return (book.html / name).read_text(encoding="utf-8")


def test_a_page_is_plain_markdown_with_its_outputs(built) -> None:
    (drawn,) = Path(built.html, "_images").glob("*.svg")
    assert (
        text_of(built, "story/one.md")
        == rf"""# A chapter

So $x^2$ grows, see [The second]({HOME}two.html) and [Fig. 1]({HOME}story/one.html#fig-dot).

Plain words, *stress*, **weight**, `code`, a 2\*3, a snake_case, and 10<sup>3</sup>.
Body [[2020]({HOME}two.html#id2)] has [(1)]({HOME}story/one.html#equation-eq-one).

$$
a = b \tag{{1}}
$$

1. first
2. second, with a list

   - inner

> **Note**
>
> Mind the gap.

| a | b |
| --- | --- |
| $x$ | `y` |

- **Term**: What it means.

  What it means as well.

- **word**: A meaning.

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

- **Parameters**:
  - **a** {DASH} one number.
  - **b** {DASH} another.
- **Returns**: their sum.

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

Executed on cpu with torch 2.13.0 and Python 3.11.

From *A Book*, <{HOME}story/one.html>. Built from commit 0123456.
"""
    )


def test_a_list_says_what_each_page_is_about(built) -> None:
    assert text_of(built, "llms.txt") == (
        "# A Book\n\n> All of it.\n\n"
        "Each page is listed as plain Markdown, with the outputs of its code. "
        f"The whole book is one file: [llms-full.txt]({HOME}llms-full.txt).\n\n"
        "## The story\n\n"
        f"- [A chapter]({HOME}story/one.md): It begins.\n"
        f"- [The second]({HOME}two.md)\n"
    )


def test_a_build_that_writes_one_page_loses_no_other(built) -> None:
    built.add("two.md", "\nMore.\n")
    assert "story/one" not in built.build().written
    assert text_of(built, "story/one.md") in text_of(built, "llms-full.txt")


def test_a_page_without_a_description_is_named_at_every_build(new_book) -> None:
    book = new_book("descriptions")
    described = "---\nmyst: {html_meta: {description: Half}}\n---\n"
    book.write("index.md", described + book.text("index.md"))
    book.page("page", "# A page\n", head="")
    for _ in range(2):
        (warning,) = book.build().warnings
        assert "page.md" in warning
        assert "the page has no description" in warning


TABLE = """
from nbformat.v4 import new_output
html = "<style scoped>\\ntd {}\\n\\n</style><table>\\n\\n<tr><td>7</td></tr></table>"
outputs = [new_output("execute_result", {"text/html": html, "text/plain": "a table"})]
"""
FROM_ELSEWHERE = (
    "![a badge](https://example.org/x.svg), {download}`a file <one.csv>`, [it](one.csv)"
)


def test_what_a_page_shows_of_other_files_is_a_link_or_stands_there(new_book) -> None:
    book = new_book(html_baseurl=HOME)
    book.page("page", f"# Page\n\n{FROM_ELSEWHERE}\n", cell(TABLE))
    book.write("one.csv", "1,2")
    book.write(
        "notes.ipynb", nbformat.writes(new_notebook(cells=[new_code_cell("1 / 0")]))
    )  # no page
    assert book.build().err == ""
    (file,) = (book.html / "_downloads").rglob("*.csv")
    address = HOME + file.relative_to(book.html).as_posix()
    text = text_of(book, "page.md")
    assert f"[`a file`]({address}), [it]({address})" in text
    assert "\n\n<table>\n<tr><td>7</td></tr></table>\n" in text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a*b_c", r"a\*b_c"),
        ("_init_ and __all__", r"\_init\_ and \_\_all\_\_"),
        ("<b> costs $5", r"\<b> costs \$5"),
        ("In [82] it is", "In [82] it is"),
        ("[not](a link)", r"\[not](a link)"),
    ],
)
def test_text_stays_text(text, escaped) -> None:
    assert escape(text) == escaped
