"""A small book of elements that scripts fill: its settings, its build, its pages opened from files."""

import runpy
from contextlib import ExitStack, contextmanager

from harness import forks
from harness.paths import DOCS
from harness.reading.visits import Visit

REAL = runpy.run_path(str(DOCS / "conf.py"))
SAME = tuple(REAL[f"book_{name}"] for name in ("kernel_preload", "variables", "versions"))
"""Settings without which numbers that the real book has would be stale here."""
WIDTHS = {"phone": 360, "desk": 1280}


def write_settings(folder, extension) -> None:
    """Write the settings that such a page needs of the real book's."""
    (folder / "conf.py").write_text(
        f"extensions = ['myst_nb', {extension!r}]\n"
        "copyright, version = 'nobody', '1'\n"
        "exclude_patterns = ['_build']\n"
        "html_theme = 'sphinx_book_theme'\n"
        "html_static_path = ['_static']\n"
        "html_context = {'default_mode': 'auto'}\n"
        "nb_execution_mode = 'off'\n"
        f"book_kernel_preload, book_variables, book_versions = {SAME!r}\n"
        f"book_depends = {[str(DOCS / path) for path in REAL['book_depends']]}\n"
        "book_cut_assets = False\n"
        "suppress_warnings = ['book.descriptions', 'book.prose-numbers']\n",
        encoding="utf-8",
    )


def build(folder, builder="html"):
    """Build the book in a process of its own, without a warning; return where it is."""
    out = folder / "_build" / builder
    doctrees = folder / "_build" / f"doctrees-{builder}"
    command = ["-q", "-W", "-b", builder, "-d", str(doctrees), str(folder), str(out)]
    status, _, complaints = forks.build(folder, command, {})
    assert status == 0, complaints
    return out


def heard(visit):
    """Return what went wrong, but for what was no longer wanted: its reader went on, or runs no scripts."""
    return [one for one in visit.complaints if not one.startswith("failed:")]


@contextmanager
def opening(browser):
    """Yield a function that opens pages; in the end no error, warning or foreign request was seen."""
    complaints: list[str] = []
    with ExitStack() as taken:

        def open_one(address, width="desk", **options):
            viewport = {"width": WIDTHS[width], "height": 900}
            context = taken.enter_context(browser.new_context(viewport=viewport, **options))
            visit = Visit(context, "file:")
            taken.callback(lambda: complaints.extend(heard(visit)))
            visit.page.goto(address)
            return visit.page

        yield open_one
    assert complaints == [], complaints


def press_in_place(page, key) -> None:
    """Press a key that the page would scroll by, and see that what has the focus takes it for itself."""
    page.evaluate(
        "addEventListener('keydown', ({defaultPrevented}) => (taken = defaultPrevented), {once: true})"
    )
    page.keyboard.press(key)
    assert page.evaluate("taken")


def percent(share):
    """Return a share as pages write it."""
    return f"{100 * share:.0f}\u00a0%"


def table_texts(table, rows, cells):
    """Return what is read in the cells of a table, row by row."""
    texts: list[list[str]] = table.locator(rows).evaluate_all(
        "(rows, cells) => rows.map(row => [...row.querySelectorAll(cells)].map(cell => cell.innerText))",
        cells,
    )
    return texts
