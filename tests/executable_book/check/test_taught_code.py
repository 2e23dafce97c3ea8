"""All of the taught library stands on the pages, and in an order that can be followed."""

import pytest

LIBRARY = {
    "__init__.py": "from small.story.first import first\nfrom small.story.second import Second\n",
    "_argument_checks.py": "def require_it(x):\n    print(x)\n",
    "story/first.py": '''"""A module."""

from small._argument_checks import require_it

__all__ = ["first"]
LIMIT: int = 3


def first(x: int) -> int:
    """Do it."""
    require_it(x)
    if x > LIMIT:
        y = _helper(x)
        return y
    return x


def _helper(x):
    return x
''',
    "story/second.py": """from small.story.first import first


class Second:
    def forward(self, x):
        return self.part(first(x))

    def part(self, x):
        return x
""",
    "figures/drawn.py": "def draw():\n    return 1\n",
}
SETTINGS = {"book_package": "../small", "book_taught": ["story"]}
ALL = ("LIMIT", "_helper", "first", "Second")


@pytest.fixture
def book(new_book, tmp_path):
    for name, text in LIBRARY.items():
        path = tmp_path / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return new_book("taught-code")


def listings(*names, options=""):
    return "# Page\n\n" + "\n".join(
        f"```{{library}} {name}\n{options}\nIt.\n```\n" for name in names
    )


def complaints(build):
    return [
        line.partition("WARNING: ")[2].removesuffix(" [book.taught-code]")
        for line in build.warnings
    ]


def test_a_statement_that_stands_on_no_page_fails_every_build(book) -> None:
    book.page("page", listings("LIMIT", "first"))
    for build in (book.build(**SETTINGS), book.build(**SETTINGS)):
        assert build.status == 1
        assert [line for line in complaints(build) if "stands" in line] == [
            "stands on no page: def _helper(x):",
            "stands on no page: class Second:",
        ]
        assert any("first.py:18: WARNING" in line for line in build.warnings)


def test_what_is_left_for_later_counts_where_it_is_shown(book) -> None:
    early = listings("first", options=":until: LIMIT\n")
    book.page("page", early + listings("LIMIT", "_helper", "Second")[6:])
    assert [line for line in complaints(book.build(**SETTINGS)) if "stands" in line] == [
        "stands on no page: def first(x: int) -> int:",
    ]
    book.page("q", listings("first", options=":new: LIMIT\n"))
    assert complaints(book.build(**SETTINGS)) == []


@pytest.mark.parametrize(
    ("names", "late"),
    [
        (("_helper", "first", "LIMIT", "Second"), "story.first.first uses story.first.LIMIT"),
        (("LIMIT", "_helper", "Second", "first"), "story.second.Second uses story.first.first"),
    ],
)
def test_a_name_that_is_used_too_early_fails_every_build(names, late, book) -> None:
    book.page("page", listings(*names))
    for build in (book.build(**SETTINGS), book.build(**SETTINGS)):
        assert complaints(build) == [
            f"the listing of {late}, which no earlier page shows, nor this one before"
        ]


def test_the_order_is_that_of_the_table_of_contents(book) -> None:
    book.write("index.md", "# Index\n\n```{toctree}\nzebra\nant\n```\n")
    book.page("zebra", listings("LIMIT", "_helper", "first"))
    book.page("ant", listings("Second"))
    assert book.build(**SETTINGS).warnings == []
    book.write("index.md", "# Index\n\n```{toctree}\nant\nzebra\n```\n")
    assert any("Second uses" in line for line in complaints(book.build(**SETTINGS)))
