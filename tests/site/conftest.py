"""The built site, a browser, and pages in it. The book has to be built first."""

import shutil
from contextlib import contextmanager

import pytest
from harness.browser import SITE, chromium, pages, serve
from harness.reading.visits import SIZES, Html, Visit
from playwright.sync_api import BrowserContext


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address():
    with serve(SITE) as served:
        yield served


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Return a copy of the site somewhere else, as its archive holds it."""
    folder = tmp_path_factory.mktemp("unpacked") / "literate-attention"
    return shutil.copytree(SITE, folder, ignore=shutil.ignore_patterns(".*"))


@pytest.fixture(scope="module")
def html():
    """Return all pages, parsed."""
    return {page: Html(SITE / page) for page in pages(SITE)}


@pytest.fixture
def opened(browser, address):
    """Return a context manager that opens a page, and leaves it open for as long as it is entered."""

    contexts: dict[str, BrowserContext] = {}

    @contextmanager
    def open_one(name, size="desk", *, home=address, **options):
        key = f"{size} {options}"
        if key not in contexts:
            contexts[key] = browser.new_context(viewport=SIZES[size], **options)
        visit = Visit(contexts[key], home)
        visit.page.goto(home + name, wait_until="load")
        yield visit
        visit.page.close()

    yield open_one
    for context in contexts.values():
        context.close()
