"""A book of live figures, one page each and nothing else on it, and a browser that complains aloud."""

import shutil

import pytest
from harness.browser import chromium
from harness.paths import DOCS
from harness.reading import scripted_pages

from executable_book.run import stored_prints
from interactive.live_figures import FIGURES

NUMBERS = DOCS / "_build" / stored_prints.FOLDER


@pytest.fixture(scope="session")
def figures_site(tmp_path_factory):
    """Return the built book of all live figures, with the real book's numbers where they are not stale."""
    folder = tmp_path_factory.mktemp("figures") / "docs"
    if NUMBERS.exists():
        shutil.copytree(NUMBERS, folder / "_build" / NUMBERS.name)
    for name in ("parts", *FIGURES):
        shutil.copytree(DOCS / "_static" / name, folder / "_static" / name)
    for name in FIGURES:
        text = f"# {name}\n\n```{{live-figure}} {name}\nWithout a script.\n```\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    contents = "\n".join(FIGURES)
    text = f"# Book\n\n```{{toctree}}\n{contents}\n```\n"
    (folder / "index.md").write_text(text, encoding="utf-8")
    scripted_pages.write_settings(folder, "interactive.live_figures")
    return scripted_pages.build(folder)


@pytest.fixture(scope="module")  # left open, it would be in the way of other event loops
def figures_browser():
    with chromium() as running:
        yield running


@pytest.fixture
def open_figure(figures_site, figures_browser):
    """Return a function that opens a figure from its file, and watch for errors and foreign requests."""
    with scripted_pages.opening(figures_browser) as open_page:

        def open_one(name, width="desk", fragment="", **options):
            address = (figures_site / f"{name}.html").as_uri()
            page = open_page(f"{address}#{fragment}", width, **options)
            if options.get("java_script_enabled", True):
                page.locator(".lp-alive").wait_for()
            return page

        yield open_one
