"""Every page downloads as a notebook with outputs, which runs elsewhere and says from which commit it is.

What its text looks like, `test_markdown_pages.py` tells; that the notebooks of this book run where nothing of
ours is, with the data that their pages read, `tests/book/test_downloads.py`.
"""

from types import SimpleNamespace
from typing import Any

import jinja2
import nbformat
import pytest
from harness.books import cell
from harness.paths import ROOT

from executable_book.publish.notebooks import OFFLINE, setup_cell
from executable_book.publish.plain_markdown import ANSWER

# sphinx-exercise still asks for what Sphinx 11 will remove.
pytestmark = pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
EXERCISE = """
## Exercises

```{exercise-start} With a subtitle
:label: ex-one
```
Compute.
```{exercise-end}
```

````{solution-start} ex-one
````
```{code-cell}
solved = 42
print(solved)
```
So easy.
````{solution-end}
````
"""


@pytest.fixture
def book(new_book):
    """Return a book of a page with an exercise, and one without code."""
    book = new_book(
        html_baseurl="https://example.org/book/",
        book_distribution="literate-attention",
        book_repository="https://github.com/someone/book",
        book_commit=COMMIT,
        nb_execution_mode="cache",
    )
    hidden = cell("print(1 + 1)", ":tags: [hide-input]", ":nondeterministic: it measures time")
    plain = cell("print(2 + 2)", ":name: a-name")
    book.page("page", "# A title\n\nWords.\n", hidden, EXERCISE, plain)
    book.page("papers", "# Papers\n", head="")
    return book


def notebook_of(book, name):
    notebook = nbformat.read(book.html / "notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    return notebook


def kinds(notebook):
    """Return the first line of each cell between the one that installs and the page's foot."""
    return [one.source.partition("\n")[0] for one in notebook.cells[1:-1]]


def test_a_cell_that_writes_text_of_the_page_is_followed_by_that_text(book) -> None:
    """Its links and roles are those of the book, which nothing else can follow."""
    code = """
from nbformat.v4 import new_output

outputs = [new_output("display_data", {"text/markdown": "See {doc}`/page`."})]
"""
    book.page("text", "# Text\n", cell(code, "---", "mystnb: {markdown_format: myst}", "---"))
    assert book.build().err == ""
    notebook = notebook_of(book, "text")
    link = "[A title](https://example.org/book/page.html)"
    title, wrote, text = notebook.cells[1:]
    assert (title.source, wrote.source, wrote.outputs) == ("# Text", code.strip(), [])
    assert text.source.startswith(f"See {link}.\n")


LEFT_OUT = {
    "remove-cell": {"source_hidden": True, "outputs_hidden": True},
    "remove-input": {"source_hidden": True},
    "hide-output": {"outputs_hidden": True},
}


@pytest.mark.parametrize("tag", LEFT_OUT)
def test_what_a_page_leaves_out_is_there_for_the_cells_that_follow(book, tag) -> None:
    hidden = cell("left_out = 1\nleft_out", f":tags: [{tag}]")
    answer = cell("print(solved)", ":tags: [remove-cell]") + "So easy."
    exercise = EXERCISE.replace("So easy.", answer)
    fails = cell("1 / 0", ":tags: [raises-exception, skip-execution]")
    book.page("page", "# A title\n", hidden, exercise, cell("print(left_out)"), fails)
    assert book.build().err == ""
    for end, sources in {
        "": ["left_out = 1", ANSWER, "print(left_out)"],
        "_with_solutions": ["left_out = 1", "solved = 42", "print(solved)", "print(left_out)"],
    }.items():
        sources.append("1 / 0")
        codes = [one for one in notebook_of(book, f"page{end}").cells if one.cell_type == "code"]
        assert [one.source.partition("\n")[0] for one in codes[1:]] == sources
        assert codes[1].metadata == {"jupyter": LEFT_OUT[tag]}
        assert codes[-1].metadata == {"tags": ["raises-exception", "skip-execution"]}


def test_a_page_that_stopped_has_no_notebook_any_more(book) -> None:
    book.build()
    book.page("page", "# A title\n", cell("1 / 0"))
    context = book.build().contexts["page"]
    assert context["notebooks"] == {}
    assert "colab" not in context
    assert not (book.html / "notebooks/page.ipynb").exists()


def test_a_page_is_a_notebook_for_students_and_one_with_solutions(book) -> None:
    built = book.build()
    assert built.err == ""
    students, instructors = (notebook_of(book, f"page{end}") for end in ("", "_with_solutions"))
    begin = ["# A title", "print(1 + 1)", "*≈ Yours may differ: it measures time.*"]
    end = ["print(2 + 2)"]
    exercise = ["## Exercises", "### Exercise 1 (With a subtitle)"]
    solution = ["### Solution to Exercise 1 (With a subtitle)", "solved = 42", "So easy."]
    assert kinds(students) == begin + exercise + [ANSWER] + end
    assert kinds(instructors) == begin + exercise + solution + end
    outputs = [output.text for one in instructors.cells for output in one.get("outputs", ())]
    assert outputs == ["2\n", "42\n", "4\n"]
    assert set(students.metadata) == {"kernelspec", "language_info"}
    metadata = [dict(one.metadata) for one in students.cells if one.metadata]
    look = {"jupyter": {"source_hidden": True}}
    assert metadata == [look | {"nondeterministic": "it measures time"}]
    assert [one.id for one in students.cells] == [f"cell-{n}" for n in range(len(students.cells))]
    files = (book.html / "notebooks").rglob("*.ipynb")
    assert sorted(path.stem for path in files) == ["page", "page_with_solutions"]

    header = built.contexts["page"]
    assert header["notebooks"] == {
        "Notebook": "notebooks/page.ipynb",
        "Notebook with solutions": "notebooks/page_with_solutions.ipynb",
    }
    branch = "someone/book/blob/notebooks/page.ipynb"
    assert header["colab"] == f"https://colab.research.google.com/github/{branch}"
    assert not {"notebooks", "colab"} & built.contexts["papers"].keys()
    template = (ROOT / "docs/_templates/page-links.html").read_text(encoding="utf-8")
    links = {name: header[name] for name in ("notebooks", "colab")}
    menu = jinja2.Template(template).render(markdown="page.md", **links)
    for address in (*header["notebooks"].values(), header["colab"]):
        assert f'href="{address}"' in menu


@pytest.mark.parametrize(
    ("commit", "release", "exactly"),
    [
        (COMMIT, "0.1.0", "==0.1.0"),
        (f"{COMMIT}+changes", "", f" @ git+https://example.org/x@{COMMIT}"),
        ("", "", " @ git+https://example.org/x"),
    ],
)
def test_a_notebook_installs_the_release_or_the_commit_and_what_its_code_needs(
    commit, release, exactly
) -> None:
    config: Any = SimpleNamespace(
        book_commit=commit,
        book_release=release,
        book_repository="https://example.org/x",
        book_distribution="literate-attention",
        book_notebook_installs={"solved": ["one", "--no-deps two==2"], "other": ["three"]},
    )
    assert setup_cell(
        config, "https://example.org/page.html", "solved = 42"
    ).source.splitlines() == [
        "# https://example.org/page.html",
        OFFLINE,
        f'%pip install --quiet "literate-attention{exactly}"',
        "%pip install --quiet one",
        "%pip install --quiet --no-deps two==2",
    ]
