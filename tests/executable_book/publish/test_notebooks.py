"""Every page downloads as a notebook with outputs, which runs elsewhere and says from which commit it is."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jinja2
import nbformat
import pytest
from harness.books import Book, Build, make_book
from harness.git import git
from harness.kernels import KERNELS
from harness.paths import ROOT
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from packaging.requirements import Requirement

from executable_book.publish.notebooks import as_a_reader_has_it, further_packages, setup_cell
from executable_book.publish.plain_markdown import code_span, escape, fenced
from executable_book.publish.repository import commit_of, edition, release_of, repository_in

# sphinx-exercise and sphinxcontrib-bibtex still ask for what Sphinx 11 will remove.
pytestmark = pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")


COMMIT = "0123456789abcdef0123456789abcdef01234567"
SETTINGS = {
    "numfig": True,
    "math_numfig": True,
    "math_eqref_format": "({number})",
    "html_math_renderer": "mathml",
    "html_baseurl": "https://example.org/book/",
    "bibtex_bibfiles": ["references.bib"],
    "bibtex_reference_style": "author_year",
    "book_distribution": "literate-attention",
    "book_repository": "https://github.com/someone/book",
    "book_kernel_preload": [*KERNELS.preload],
    "book_kernel_startup": [*KERNELS.startup],
    "book_versions": [*KERNELS.versions],
}
PAGE = r"""
# A title with $x_i$

Plain words, *stress*, **weight**, `code`, a 2*3, a snake_case, and {doc}`other`. Not {doc}`here <page>`.

```{code-cell}
:tags: [remove-cell]
from myst_nb import glue
share = 5 / 8
glue("share", share, display=False)
```

The share is {glue:text}`share:.2f`, says {cite:t}`somebody2020`. Equation {eq}`eq-one` has a number:

$$
a = b
$$ (eq-one)

```{code-cell}
:tags: [hide-input]
import math
print("outside", math.pi)
```

```{code-cell}
---
mystnb:
  figure:
    name: fig-dot
    caption: A dot, see {numref}`fig-dot`.
---
from IPython.display import SVG, display
display(SVG('<svg xmlns="http://www.w3.org/2000/svg"></svg>'), metadata={"alt": "a dot"})
```

1. first
2. second, with a list
   - inner

> quoted

:::{note}
Mind the gap.
:::

| a | b |
| --- | --- |
| $x$ | `y` |

Term
: What it means.
: What it means as well, at 10{sup}`3`.

```{glossary}
word
  A meaning.
```

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

```{code-cell}
print(2 + 2)
```
"""


def make_project(root: Path) -> Book:
    book = make_book(root, "sphinxcontrib.bibtex", **SETTINGS)
    book.write("index.md", "# Index\n\n```{toctree}\npage\nother\npapers\n```\n")
    book.page("other", "# Other\n\n```{code-cell}\n6 * 7\n```\n")
    book.write("papers.md", "# Papers\n\n```{bibliography}\n```\n")
    book.page("page", PAGE)
    book.write(
        "references.bib",
        "@article{somebody2020, author={Some Body}, title={On}, journal={X}, year={2020}}\n",
    )
    return book


def build(book: Book, commit: str = COMMIT, **settings: Any) -> Build:
    return book.build(book_commit=commit, **settings)


def notebook_of(book: Book, name: str) -> NotebookNode:
    notebook = nbformat.read(book.html / "notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    return notebook


def published(book: Book) -> dict[str, bytes]:
    paths = sorted((book.html / "notebooks").rglob("*.ipynb"))
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, warm: None) -> tuple[Book, Build]:
    """Return a book that was built once, and its build. Tests leave it as it is."""
    book = make_project(tmp_path_factory.mktemp("notebooks"))
    return book, build(book)


@pytest.fixture
def project(built: tuple[Book, Build]) -> Book:
    assert built[1].warnings == []
    return built[0]


@pytest.fixture
def own(tmp_path: Path, warm: None) -> Book:
    """Return a book for one test to change."""
    return make_project(tmp_path)


def text_of(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def codes_of(notebook: NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


# What a reader downloads


def test_the_first_cell_installs_the_commit_that_built_the_page(project: Book) -> None:
    assert notebook_of(project, "page").cells[0].source == (
        "# https://example.org/book/page.html\n"
        f'%pip install --quiet "literate-attention @ git+https://github.com/someone/book@{COMMIT}"'
    )


def test_outputs_are_there(project: Book) -> None:
    notebook = notebook_of(project, "page")
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output.get("text") for output in outputs] == [
        "outside 3.141592653589793\n",
        None,
        "4\n",
    ]
    assert "<svg" in outputs[1].data["image/svg+xml"]
    assert notebook_of(project, "other").cells[2].outputs[0].data["text/plain"] == "42"


def test_prose_is_plain_markdown(project: Book) -> None:
    """No directive, role or label is left; numbers stand in their places."""
    text = text_of(notebook_of(project, "page"))
    for expected in (
        "# A title with $x_i$",
        "Plain words, *stress*, **weight**, `code`, a 2\\*3, a snake_case, and",
        "and [Other](https://example.org/book/other.html). Not",
        "Not [here](https://example.org/book/page.html).",
        "The share is 0.62, says Body [[2020](https://example.org/book/papers.html#id",
        "Equation [(1)](https://example.org/book/page.html#equation-eq-one) has a number:",
        "$$\na = b \\tag{1}\n$$",
        "*Figure 1.* A dot, see [Fig. 1](https://example.org/book/page.html#fig-dot).",
        "1. first\n2. second, with a list\n\n   - inner",
        "> quoted",
        "> **Note**\n>\n> Mind the gap.",
        "| a | b |\n| --- | --- |\n| $x$ | `y` |",
        "- **Term**: What it means.",
        "- **word**: A meaning.",
        "### Exercise 1 (With a subtitle)\n\nCompute.",
    ):
        assert expected in text
    assert not re.search(r"```\{|\{[a-z:]+\}`|\(eq-one\)", text)


def test_students_get_no_solutions_but_room_for_their_own(project: Book) -> None:
    students, instructors = (
        notebook_of(project, "page"),
        notebook_of(project, "page_with_solutions"),
    )
    assert "Solution" not in text_of(students)
    assert "So easy" not in text_of(students)
    assert "solved" not in "".join(codes_of(students))
    assert "# Your answer" in codes_of(students)
    assert "### Solution to Exercise 1 (With a subtitle)\n\n" in text_of(instructors) + "\n\n"
    assert "So easy." in text_of(instructors)
    assert "solved = 42\nprint(solved)" in codes_of(instructors)
    assert "# Your answer" not in codes_of(instructors)
    without = [code for code in codes_of(students) if code != "# Your answer"]
    assert without == [code for code in codes_of(instructors) if "solved" not in code]


def test_the_header_leads_to_the_notebooks_and_to_colab(built: tuple[Book, Build]) -> None:
    """Colab opens what the workflow puts on a branch of the repository."""
    header = built[1].contexts["page"]
    assert header["notebooks"] == {
        "Notebook": "notebooks/page.ipynb",
        "Notebook with solutions": "notebooks/page_with_solutions.ipynb",
    }
    branch = "someone/book/blob/notebooks/page.ipynb"
    assert header["colab"] == f"https://colab.research.google.com/github/{branch}"
    publish = (ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8")
    assert re.search(r"git push --force \S+ notebooks$", publish, re.MULTILINE)
    template = (ROOT / "docs" / "_templates" / "page-links.html").read_text(encoding="utf-8")
    for address in (*header["notebooks"].values(), header["colab"]):
        assert f'href="{address}"' in jinja2.Template(template).render(
            markdown="page.md", notebooks=header["notebooks"], colab=header["colab"]
        )


def test_a_plain_page_has_no_such_links(built: tuple[Book, Build]) -> None:
    assert not {"notebooks", "colab"} & built[1].contexts["papers"].keys()


def test_a_page_without_exercises_has_one_notebook(project: Book) -> None:
    assert set(published(project)) == {"other.ipynb", "page.ipynb", "page_with_solutions.ipynb"}


def test_a_notebook_holds_nothing_that_only_this_build_needs(project: Book) -> None:
    notebook = notebook_of(project, "page_with_solutions")
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert not [code for code in codes_of(notebook) if "glue" in code]
    metadata = [dict(cell.metadata) for cell in notebook.cells if cell.metadata]
    assert metadata == [{"tags": ["hide-input"], "jupyter": {"source_hidden": True}}]
    assert [cell.id for cell in notebook.cells] == [f"cell-{n}" for n in range(len(notebook.cells))]


def test_what_is_glued_and_what_prints_otherwise_each_time() -> None:
    """Of a cell that shows itself, a reader gets no note for this build; why it is not compared stays."""
    note = new_output("display_data", {"text/plain": "7"}, metadata={"scrapbook": {"name": "x"}})
    printed = new_output("stream", text="took 3 s\n")
    cell = new_code_cell("act()", outputs=[note, printed])
    cell.metadata = {"verifies": "some-id", "nondeterministic": "it measures time"}
    given = as_a_reader_has_it(cell)
    assert given.outputs == [printed]
    assert given.metadata == {"nondeterministic": "it measures time"}
    assert cell.outputs == [note, printed]


def test_what_cannot_be_said_is_reported_once(own: Book) -> None:
    own.page("page", "# P\n\n:::{sidebar} Beside\nText\n:::\n\n```{code-cell}\n1\n```\n")
    own.write("other.md", "# Other\n\n:::{sidebar} Beside\nText\n:::\n")
    assert sorted(re.findall(r"\w+\.md.*cannot say.*", build(own).err)) == [
        "other.md:3: WARNING: plain Markdown cannot say <sidebar> [book.markdown]",
        "page.md:8: WARNING: plain Markdown cannot say <sidebar> [book.markdown]",
    ]


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
def test_text_stays_text(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_backticks_stay_within_code() -> None:
    assert code_span("a`b") == "``a`b``"
    assert code_span("`") == "`` ` ``"
    assert fenced("```\nx\n```", "default") == "````python\n```\nx\n```\n````"


# Which commit, and how sure


class Settings:
    book_distribution = "literate-attention"
    book_repository = "https://github.com/someone/book"

    def __init__(self, commit: str, release: str = "") -> None:
        self.book_commit, self.book_release = commit, release


def said_of(commit: str, *needs: str) -> list[str]:
    return setup_cell(Settings(commit), "page.html", list(needs)).source.splitlines()  # type: ignore[arg-type]


def test_a_dirty_tree_and_an_unknown_commit_are_said() -> None:
    package = "literate-attention @ git+https://github.com/someone/book"
    address, dirty, install = said_of(f"{COMMIT}+changes")
    assert address == "# page.html"
    assert dirty == "# This page was built with changes that the commit below does not hold."
    assert install == f'%pip install --quiet "{package}@{COMMIT}"'
    address, unknown, install = said_of("", "numpy")
    assert unknown == "# No commit is known of which this page was built. The newest is installed."
    assert install == f'%pip install --quiet "{package}" "numpy"'


def test_a_notebook_of_a_release_installs_the_release() -> None:
    cell = setup_cell(Settings(COMMIT, "0.1.0"), "page.html", ["numpy"])  # type: ignore[arg-type]
    assert cell.source.splitlines()[1:] == [
        '%pip install --quiet "literate-attention==0.1.0" "numpy"'
    ]


@pytest.mark.parametrize(
    ("commit", "release", "said"),
    [
        (COMMIT, "0.1.0", "Edition 0.1.0"),
        (COMMIT, "", "Built from commit 0123456"),
        (f"{COMMIT}+changes", "", "Built from commit 0123456, and changes to it"),
        ("", "", "Built from files of no known commit"),
    ],
)
def test_a_page_says_of_which_edition_it_is(commit: str, release: str, said: str) -> None:
    assert edition(Settings(commit, release)) == said  # type: ignore[arg-type]


def test_what_a_page_imports_besides_is_installed_too() -> None:
    codes = [
        "import ast, numpy\nimport torch.nn as nn\nfrom literate_attention import softmax",
        "from markdown_it.token import Token\nimport some_thing",
        "!ls\nimport other_thing",
        "import no_python(",
    ]
    packages = ["markdown-it-py", "other-thing", "some-thing"]
    assert further_packages(codes, "literate-attention") == packages


def test_the_commit_comes_from_git_and_else_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SOURCE_COMMIT", "GITHUB_SHA", "READTHEDOCS_GIT_COMMIT_HASH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit_of(tmp_path) == ""
    monkeypatch.setenv("GITHUB_SHA", COMMIT)
    assert commit_of(tmp_path) == COMMIT
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert commit_of(tmp_path) == head
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file").touch()
    assert commit_of(tmp_path) == f"{head}+changes"
    assert commit_of(tmp_path / "new") == COMMIT  # an archive unpacked in the checkout of another


def test_a_release_is_a_tag_of_the_version_without_changes(tmp_path: Path) -> None:
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text('[project]\nversion = "1.2.3"\n')
    assert release_of(tmp_path) == ""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    git(tmp_path, "tag", "v1.2.2")
    assert release_of(tmp_path) == ""
    git(tmp_path, "tag", "v1.2.3")
    assert release_of(tmp_path) == "1.2.3"
    pyproject.write_text('[project]\nversion = "1.2.3" # changed\n')
    assert release_of(tmp_path) == ""


def test_the_repository_is_named_in_one_place(tmp_path: Path) -> None:
    assert repository_in(ROOT / "pyproject.toml").startswith("https://github.com/")
    assert repository_in(tmp_path / "pyproject.toml") == ""


def test_the_first_cell_works(tmp_path: Path) -> None:
    """pip installs from a commit of this checkout; only the address of the repository is another."""
    if not commit_of(ROOT):
        pytest.skip("this is no git checkout")
    commit = git(ROOT, "rev-parse", "HEAD")
    settings = Settings(commit)
    settings.book_repository = f"file://localhost{ROOT}"
    install = setup_cell(settings, "page.html", []).source.splitlines()[-1]  # type: ignore[arg-type]
    requirement = Requirement(re.search('"(.*)"', install)[1])  # type: ignore[index]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--no-index", "--no-build-isolation", "--target", str(tmp_path)]
    ran = subprocess.run([*pip, str(requirement)], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    installed = (tmp_path / "literate_attention" / "__init__.py").read_text(encoding="utf-8")
    assert installed.strip() == git(ROOT, "show", "HEAD:src/literate_attention/__init__.py")


# Builds


def test_a_new_commit_is_in_every_notebook_and_runs_nothing(own: Book) -> None:
    build(own)
    ended = build(own, commit="f" * 40)
    assert ended.executed == []
    for name, content in published(own).items():
        assert b"f" * 40 in content, name
        assert COMMIT.encode() not in content, name


def test_a_page_that_is_written_again_has_a_new_notebook_even_if_no_cell_is_new(own: Book) -> None:
    """A title of another page comes with it: Sphinx itself writes no page again for such a title."""
    build(own)
    own.write("other.md", own.text("other.md").replace("# Other", "# Another"))
    own.write("page.md", own.text("page.md") + "\nMore.\n")
    assert build(own).executed == []
    assert b"[Another](" in published(own)["page.ipynb"]


def test_notebooks_that_are_gone_come_back_and_run_nothing(own: Book) -> None:
    build(own)
    before = published(own)
    for path in own.html.rglob("*.ipynb"):
        path.unlink()
    ended = build(own)
    assert ended.executed == []
    assert published(own) == before


def test_solutions_go_when_the_exercises_go(own: Book) -> None:
    build(own)
    own.page("page", "# Page\n\n```{code-cell}\n1\n```\n")
    build(own)
    assert set(published(own)) == {"other.ipynb", "page.ipynb"}
