"""The package is read from its files, and its code is shown without docstrings: never a second copy."""

import ast
import inspect
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from harness.paths import ROOT

import literate_attention
from executable_book.code import package_source
from literate_attention import exercises, figures

PACKAGE = {
    "__init__.py": "from small.one import CONSTANT, Thing, act\n\n__all__ = ['CONSTANT', 'Thing', 'act']\n",
    "one.py": '''"""A module."""

import functools

CONSTANT: int = 3
"""What it is."""


@functools.cache
def act(x: int) -> int:
    """Do it.

    At length.
    """

    y = x  # a comment
    return _hidden(y)


def _hidden(x):
    return x


class Thing:
    """A thing."""

    def method(self):
        """Say it."""
        return "of a thing"

    def silent(self):
        """Have nothing but a docstring."""
''',
    "room/__init__.py": "from small.room.inner import draw\n",
    "room/inner.py": "def draw():\n    return 1\n",
    "alone.py": "__all__ = ['check']\n\n\ndef check():\n    return 2\n\n\ndef aside():\n    return 3\n",
}


@pytest.fixture
def small(tmp_path: Path) -> package_source.Library:
    for name, text in PACKAGE.items():
        path = tmp_path / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package_source.library_in(tmp_path / "small")


def test_public_names_are_found_with_their_entries_in_the_reference(
    small: package_source.Library,
) -> None:
    assert {name: item.full for name, item in small.public.items()} == {
        "CONSTANT": "small.one.CONSTANT",
        "Thing": "small.one.Thing",
        "act": "small.one.act",
        "room.draw": "small.room.draw",
        "alone.check": "small.alone.check",
    }
    assert small.public["room.draw"].file.name == "inner.py"


def test_code_comes_without_docstrings(small: package_source.Library) -> None:
    act = small.find("act")
    assert act.code == (
        "@functools.cache\ndef act(x: int) -> int:\n    y = x  # a comment\n    return _hidden(y)"
    )
    assert (act.first, act.last) == (9, 17)
    assert small.find("Thing").code == (
        'class Thing:\n    def method(self):\n        return "of a thing"\n\n    def silent(self):'
    )
    assert small.find("CONSTANT").code == "CONSTANT: int = 3"


def test_of_an_overloaded_function_it_is_the_last_definition(small: package_source.Library) -> None:
    path = small.folder / "alone.py"
    path.write_text("__all__ = ['f']\n\n\n@overload\ndef f(x: int): ...\ndef f(x):\n    return x\n")
    item = package_source.library_in(small.folder).find("alone.f")
    assert item.code == "def f(x):\n    return x"


def test_parts_and_private_names_are_found_too(small: package_source.Library) -> None:
    assert small.find("Thing.method").code == 'def method(self):\n    return "of a thing"'
    assert small.find("Thing.method").full == "small.one.Thing.method"
    assert small.find("one._hidden").code == "def _hidden(x):\n    return x"
    assert small.find("_hidden").own == "one._hidden"
    assert small.find("room.draw").code == "def draw():\n    return 1"


@pytest.mark.parametrize(
    "name", ["nothing", "one.nothing", "Thing.nothing", "nowhere.act", "Thing.method.x"]
)
def test_what_is_not_there_is_an_error(small: package_source.Library, name: str) -> None:
    with pytest.raises(LookupError, match=name.rpartition(".")[2]):
        small.find(name)


def test_a_change_of_a_file_is_seen(small: package_source.Library) -> None:
    path = small.folder / "alone.py"
    path.write_text(path.read_text() + "\n", encoding="utf-8")
    (small.folder / "alone.py").write_text("__all__ = ['other']\n\n\ndef other(): ...\n")
    assert "alone.other" in package_source.library_in(small.folder).public


# This package


def test_reading_finds_what_importing_finds() -> None:
    found = package_source.library_in(ROOT / "src" / "literate_attention").public
    assert set(found) == {
        *literate_attention.__all__,
        *(f"figures.{name}" for name in figures.__all__),
        *(f"exercises.{name}" for name in exercises.__all__),
    }


def test_what_is_shown_is_the_source() -> None:
    """Line by line, what is shown stands in the file, and what is left out are docstrings."""
    for name, item in package_source.library_in(ROOT / "src" / "literate_attention").public.items():
        owner = {"figures": figures, "exercises": exercises}.get(name.partition(".")[0])
        value = getattr(owner or literate_attention, name.rpartition(".")[2])
        if inspect.isfunction(value):
            shown = ast.unparse(ast.parse(item.code))
            original = ast.parse(inspect.getsource(value))
            definition = original.body[0]
            assert isinstance(definition, ast.FunctionDef)
            definition.body = definition.body[1:]
            assert shown == ast.unparse(original), name


# The directive


@pytest.fixture
def book(new_book: Callable[..., object], small: package_source.Library) -> object:
    return new_book()


def block(name: str, caption: str = "What it does.") -> str:
    return f"# Page\n\n```{{library}} {name}\n{caption}\n```\n"


def test_a_page_shows_code_under_its_name(book, small: package_source.Library) -> None:
    book.page("page", block("act", "It *acts*."))
    build = book.build(book_package=str(small.folder))
    html = build.html("page")
    assert build.warnings == []
    assert code_in(html) == [
        "@functools.cache\ndef act(x):\n    y = x  # a comment\n    return _hidden(y)"
    ]
    assert "act</span></code>: It <em>acts</em>." in html
    assert re.search(
        r"Without docstrings and types, which are in "
        r'<a [^>]*blob/HEAD/[^"]*small/one.py#L9-L17">the file</a>\.',
        html,
    )


def code_in(html: str) -> list[str]:
    """Return the code of the listings on a page."""
    return [
        unescape(re.sub("<[^>]*>", "", block)).strip("\n")
        for block in re.findall(r'<div class="highlight"><pre>(.*?)</pre>', html, re.DOTALL)
    ]


def test_a_listing_may_show_several_definitions(book, small: package_source.Library) -> None:
    book.page("page", block("CONSTANT _hidden"))
    build = book.build(book_package=str(small.folder))
    assert code_in(build.html("page")) == ["CONSTANT = 3\n\n\ndef _hidden(x):\n    return x"]
    assert build.warnings == []


def test_a_folded_listing_is_closed_under_its_caption(book, small: package_source.Library) -> None:
    book.page("page", block("act", ":folded:\nHow it acts."))
    html = book.build(book_package=str(small.folder)).html("page")
    closed = html.partition('<details class="folded')[2].partition("</details>")[0]
    assert "<summary>How it acts.</summary>" in closed
    assert "_hidden(y)" in code_in(closed)[0]
    assert html.count("How it acts.") == 1


def test_what_is_folded_takes_no_number_from_what_is_seen(
    book, small: package_source.Library
) -> None:
    folded = block("act", ":folded:\nHow it acts.")
    book.page("page", folded + block("Thing").removeprefix("# Page\n"))
    html = book.build(book_package=str(small.folder), numfig=True).html("page")
    assert re.findall(r"Listing (\d+)", html) == ["1"]


def test_a_listing_may_show_what_is_refused(book, small: package_source.Library) -> None:
    (small.folder / "alone.py").write_text(
        "__all__ = ['check']\n\n\ndef check(x):\n    if x:\n        raise ValueError(x)\n    return 2\n"
    )
    whole = block("alone.check", ":refusals:\nIt checks.").removeprefix("# Page\n")
    book.page("page", block("alone.check") + whole)
    without, whole = code_in(book.build(book_package=str(small.folder)).html("page"))
    assert without == "def check(x):\n    return 2"
    assert whole == "def check(x):\n    if x:\n        raise ValueError(x)\n    return 2"


LATER = """# {title}

```{{library}} Thing.method
:{option}: aside

What it does.
```
"""


@pytest.fixture
def growing(book, small: package_source.Library) -> object:
    (small.folder / "one.py").write_text(
        "CONSTANT = 1\n\n\ndef act(): ...\n\n\nclass Thing:\n    def method(self):\n"
        "        if self.fast:\n            return aside()\n        return 1\n"
    )
    book.write("index.md", "# Index\n\n```{toctree}\nsecond\nfirst\n```\n")
    book.page("second", LATER.format(title="Early", option="until"))
    book.page("first", LATER.format(title="Late & more", option="new"))
    return book


def test_what_comes_later_is_left_out_and_marked_where_it_comes(
    growing, small: package_source.Library
) -> None:
    build = growing.build(book_package=str(small.folder))
    assert build.warnings == []
    early, late = build.html("second"), build.html("first")
    assert code_in(early) == ["def method(self):\n    return 1"]
    assert re.search(
        r'aside</span></code> comes in <a [^>]*href="first.html"><span>Late &amp; more', early
    )
    assert code_in(late) == [
        "def method(self):\n    if self.fast:\n        return aside()\n    return 1"
    ]
    marked = " ".join(re.findall(r'<span class="line hll"[^>]*>(.*)</span>', late))
    assert re.sub("<[^>]*>", "", marked).split() == ["if", "self.fast:", "return", "aside()"]


def test_the_way_to_what_comes_later_is_kept_up_to_date(
    growing, small: package_source.Library
) -> None:
    settings = {"book_package": str(small.folder)}
    growing.build(**settings)
    growing.page("first", LATER.format(title="Later still", option="new"))
    build = growing.build(**settings)
    assert "second" in build.written
    assert "Later still" in build.html("second")
    assert growing.build(**settings).written == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("until", "nothing in the listing uses 'nothing', which it leaves out"),
        ("new", "nothing in the listing uses nothing, which is new"),
    ],
)
def test_an_option_that_does_nothing_fails_the_build(
    option: str, message: str, book, small: package_source.Library
) -> None:
    book.page("page", block("act", f":{option}: nothing\n\nIt acts."))
    build = book.build(book_package=str(small.folder))
    assert any(message in line for line in build.warnings)


def test_code_of_two_files_is_no_listing(book, small: package_source.Library) -> None:
    book.page("page", block("act alone.check"))
    build = book.build(book_package=str(small.folder))
    assert any("a listing shows code of one file" in line for line in build.warnings)


def test_a_page_follows_the_file(book, small: package_source.Library) -> None:
    book.page("page", block("alone.check"))
    settings = {"book_package": str(small.folder)}
    assert '<span class="mi">2</span>' in book.build(**settings).html("page")
    (small.folder / "alone.py").write_text("__all__ = ['check']\n\n\ndef check():\n    return 4\n")
    assert '<span class="mi">4</span>' in book.build(**settings).html("page")


def test_a_name_that_is_not_there_fails_the_build(book, small: package_source.Library) -> None:
    book.page("page", block("missing"))
    build = book.build(book_package=str(small.folder))
    assert any("the package small has no 'missing'" in line for line in build.warnings)
