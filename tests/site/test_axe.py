"""axe-core finds nothing to complain about, on any page. The book has to be built first."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from harness.browser import SITE, chromium, pages, serve
from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

SIZES = {"phone": (360, 740), "desk": (1280, 900)}
UNFOLD = "() => document.querySelectorAll('details').forEach(fold => fold.open = true)"
# A long reference has tens of thousands of coloured words: three of each kind and place are read.
THIN_OUT = """() => {
    for (const round of ["words", "lines", "signatures"]) {
        const seen = new Map();
        for (const word of document.querySelectorAll("article :is(span, a, em, code):not([id], :has(*))")) {
            let kind = "";
            for (let e = word; e.tagName !== "ARTICLE"; e = e.parentElement)
                kind += `${e.tagName}.${e.className} `;
            seen.set(kind, (seen.get(kind) ?? 0) + 1);
            if (seen.get(kind) > 3) word.replaceWith(word.textContent);
        }
    }
}"""
LEAVE_OUT = "() => document.querySelector('article')?.replaceChildren(document.querySelector('h1'))"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.mark.parametrize(
    ("scheme", "size", "prepare"),
    [
        ("light", "phone", THIN_OUT),
        ("dark", "desk", THIN_OUT),
        ("dark", "phone", LEAVE_OUT),
        ("light", "desk", LEAVE_OUT),
    ],
    ids=["light phone", "dark desk", "dark phone around the text", "light desk around the text"],
)
def test_axe_finds_nothing(scheme: str, size: str, prepare: str, browser: Browser) -> None:
    """Light and dark, 360 and 1280 px. Colours in a text are the same at any width: two of four do."""
    width, height = SIZES[size]
    wrong = []
    with serve(SITE) as address:
        page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        for name in pages(SITE):
            page.goto(address + name, wait_until="load")
            assert page.evaluate("document.documentElement.dataset.theme") == scheme
            page.evaluate(UNFOLD)
            page.evaluate(prepare)
            found = Axe().run(page, options={"resultTypes": ["violations"]})
            for violation in found.response["violations"]:
                where = [node["target"][0] for node in violation["nodes"]]
                wrong.append(f"{name}: {violation['id']} at {len(where)} places: {where[:3]}")
        page.close()
    assert wrong == []
