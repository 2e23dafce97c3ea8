"""The lines of a listing say which shapes they make: those of an execution, of the very statement."""

import re

import pytest
from harness.browser import chromium
from harness.paths import DOCS
from harness.reading.scripted_pages import opening

MODULE = '''"""Grids."""


class Grid:
    def __init__(self, *shape: int):
        self.shape = shape


class Maker:
    """Make grids.

    >>> _ = Maker().make(9, 9, False)
    >>> _ = Maker().make(2, 3)
    >>> _ = Maker().make(4, 3)
    """

    def make(self, rows: int, columns: int, whole: bool = True) -> tuple[Grid, Grid]:
        grid: Grid = Grid(rows, columns)
        if not whole:
            raise ValueError
        wide = Grid(1)
        wide = Grid(
            rows,
            2 * columns,
        )
        for one in (grid, wide):
            last = one
        if rows > 5:
            tall = Grid(9, 9)
        count = rows
        return grid, wide


class Other:
    def make(self, rows: int) -> Grid:
        """Make one.

        >>> _ = Other().make(7)
        >>> _ = Other().make(8)
        >>> _ = Maker().make(6, 1)
        """
        wide = Grid(1)
        wide = Grid(rows)
        return wide
'''
SHAPES = {
    "grid = Grid(rows, columns)": "grid (2, 3)",
    "wide = Grid(1)": "wide (1,)",
    "wide = Grid(": "wide (2, 6)",
    "last = one": "last (2, 3)",
    "return grid, wide": "returns (2, 3), returns (2, 6)",
}
LINE = re.compile(r'<span data-shapes="([^"]*)" class="line[^>]*>(.*?)</span>\n')


@pytest.fixture
def book(new_book):
    book = new_book(
        book_package="../src/small",
        book_line_shapes=True,
        html_static_path=[str(DOCS / "_static")],
        html_css_files=["book.css"],
        html_js_files=[("line_shapes.js", {"defer": "defer"})],
    )
    book.write("../src/small/__init__.py", "from small.grids import Maker, Other\n")
    book.write("../src/small/grids.py", MODULE)
    book.write("page.md", "# Page\n\n```{library} Maker\n```\n")
    return book


def shapes(html):
    """Return the lines that have shapes, and the shapes."""
    return {re.sub("<[^>]*>", "", line).strip(): said for said, line in LINE.findall(html)}


def test_each_line_has_the_shapes_of_one_execution(book) -> None:
    build = book.build()
    assert build.warnings == []
    assert shapes(build.html("page")) == SHAPES
    book.write("page.md", "# Page\n\n```{library} Other\n```\n")
    assert shapes(book.build().html("page")) == {
        "wide = Grid(1)": "wide (1,)",
        "wide = Grid(rows)": "wide (7,)",
        "return wide": "returns (7,)",
    }


def test_the_shapes_follow_the_library(book) -> None:
    book.build()
    # Of what is as long, Python does not see that it has changed within a second.
    book.change("../src/small/grids.py", "make(2, 3)", "make(12, 3)")
    build = book.build()
    assert "page" in build.written
    assert shapes(build.html("page"))["grid = Grid(rows, columns)"] == "grid (12, 3)"


def test_a_library_that_cannot_be_imported_is_said(book) -> None:
    book.change("../src/small/grids.py", '"""Grids."""', "import no_such_thing")
    for _ in range(3):
        build = book.build()
        assert [one for one in build.warnings if "the examples cannot be run" in one]
        assert any("No module named 'no_such_thing'" in one for one in build.warnings)


@pytest.mark.browser
def test_a_line_shows_its_shapes_by_mouse_touch_and_keyboard(book) -> None:
    address = (book.build().out / "page.html").as_uri()
    said = "line => getComputedStyle(line, '::after').content"
    behind = "line => getComputedStyle(line, '::after').backgroundColor"
    with chromium() as browser, opening(browser) as open_page:
        for size, options in (("desk", {}), ("phone", {"has_touch": True})):
            page = open_page(address, size, **options)
            page.add_style_tag(content=":root { --pst-color-background: white }")  # the theme's
            lines = page.locator("[data-shapes]")
            assert lines.nth(0).evaluate(said) == '"( )"'
            if options:
                lines.nth(0).tap()
                page.locator("[data-shapes]:focus").wait_for()  # it acts after it was sent
            else:
                lines.nth(0).hover()
            assert 'grid (2, 3)"' in lines.nth(0).evaluate(said)
            assert lines.nth(0).evaluate(behind) != "rgba(0, 0, 0, 0)"  # it may lie on code
            lines.nth(0).focus()
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowDown")
            page.mouse.move(0, 0)
            assert 'wide (2, 6)"' in lines.nth(2).evaluate(said)
            assert lines.nth(0).evaluate(said) == '"( )"'
            assert page.locator("pre [tabindex='0']").count() == 1
