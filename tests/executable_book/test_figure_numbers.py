"""Figures have the numbers that Sphinx gives them, though it opens no page for that."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sphinx.environment import BuildEnvironment

from executable_book import figure_numbers

pytestmark = pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")
"""sphinx-exercise asks for what Sphinx 11 will not have."""

FIGURE = "```{{figure}} {0}.png\n:name: {0}\n{0}\n```\n"
ONE = f"""# One

{FIGURE.format("first")}

> - {FIGURE.format("inner").replace(chr(10), chr(10) + ">   ")}

```{{figure}} nameless.png
```

## A section

```{{code-block}} python
:caption: A listing
:name: listing
print()
```

```{{code-block}} python
print("without a caption")
```

```{{math}}
:label: sum
1 + 1
```

See {{numref}}`last`, {{numref}}`listing`, {{numref}}`inner` and {{eq}}`sum`.
"""
TWO = f"""# Two

```{{table}} A table
:name: table

| a | b |
| - | - |
| 1 | 2 |
```

{FIGURE.format("last")}

```{{exercise}}
:label: task
What is the sum?
```

See {{numref}}`first`, {{numref}}`table` and {{ref}}`task`.
"""
CONTENTS = "# Index\n\n```{toctree}\n:numbered:\n\none\ntwo\n```\n"


@pytest.fixture
def book(new_book: Callable[..., Any], tmp_path: Path) -> Any:
    book = new_book(numfig=True, math_numfig=True)
    for name in ("first", "inner", "nameless", "last", "new"):
        (book.folder / f"{name}.png").write_bytes(b"a picture")
    book.write("index.md", CONTENTS)
    book.write("one.md", ONE)
    book.write("two.md", TWO)
    return book


def numbers(build: Any) -> list[str]:
    """Return the captions and the references that name a number, in their order."""
    pages = (re.sub("<[^>]*>", "", build.html(page)) for page in ("one", "two"))
    named = r"(?:Fig\.|Table|Listing|Exercise) \d\.\d|\(\d\.\d\)"
    return [one for page in pages for one in re.findall(named, page)]


NUMBERS = {"Fig. 1.1", "Fig. 1.2", "Fig. 2.1", "Listing 1.1", "Table 2.1", "Exercise 2.1", "(1.1)"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_they_are_those_of_sphinx(
    book: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    alone = book.copied(tmp_path / "alone")
    build = book.build(jobs)
    assert (build.warnings, set(numbers(build))) == ([], NUMBERS)
    monkeypatch.setattr(figure_numbers, "keep_outline", lambda *_: None)
    alone.build(jobs)
    assert book.published() == alone.published()


def test_they_follow_what_is_added_and_moved(book: Any) -> None:
    book.build()
    book.change("one.md", "# One\n", "# One\n\n" + FIGURE.format("new"))
    assert "Fig. 1.3" in numbers(book.build())
    book.write("index.md", CONTENTS.replace("one\ntwo", "two\none"))
    assert "Fig. 2.3" in numbers(book.build())


def test_no_page_is_opened_for_them(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    book.build()
    opened: list[str] = []
    open_page = BuildEnvironment.get_doctree

    def noted(env: BuildEnvironment, docname: str) -> Any:
        opened.append(docname)
        return open_page(env, docname)

    monkeypatch.setattr(BuildEnvironment, "get_doctree", noted)
    book.build()
    assert {*opened} <= {"index"}  # for the contents of the site


def test_what_is_kept_of_a_page_is_small(book: Any) -> None:
    book.add("one.md", "\nMany words.\n" * 1000)
    book.build()
    (pickled,) = book.built.rglob("environment.pickle")
    assert b"Many words" not in pickled.read_bytes()
