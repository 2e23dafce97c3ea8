"""axe-core finds nothing to complain about, on any page. The book has to be built first."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from harness.browser import SITE, pages
from harness.visits import SIZES, UNFOLD
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

# Colours follow from what an element is and stands in, so three of each kind are read in all the book: a kind
# is the names and classes from an element up to the page.
MARK_NEW_KINDS = """seen => {
    for (const e of document.body.querySelectorAll("*")) {
        if (![...e.childNodes].some(one => one.nodeType === Node.TEXT_NODE && one.data.trim())) continue;
        if (!e.checkVisibility({visibilityProperty: true})) continue;
        let kind = "";
        for (let up = e; up; up = up.parentElement) kind += `${up.tagName}.${up.className}#`;
        seen[kind] = (seen[kind] ?? 0) + 1;
        if (seen[kind] <= 3) e.dataset.toRead = "";
    }
    return seen;
}"""
# For all else, three words of each kind are enough in a text of thousands.
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


@pytest.fixture(scope="module", params=SIZES)
def found(request: pytest.FixtureRequest, browser: Browser, address: str) -> dict[str, list[str]]:
    """Return what axe finds on a screen: in colours, light and dark, and in all else."""
    width, height = SIZES[request.param]
    wrong: dict[str, list[str]] = {"light": [], "dark": [], "all else": []}
    seen: dict[str, int] = {}
    for name in pages(SITE):
        page = browser.new_page(
            viewport={"width": width, "height": height}, reduced_motion="reduce"
        )
        page.goto(address + name, wait_until="load")
        page.evaluate(UNFOLD)
        seen = page.evaluate(MARK_NEW_KINDS, seen)
        for scheme in ("light", "dark"):
            page.evaluate("scheme => document.documentElement.dataset.theme = scheme", scheme)
            if page.locator("[data-to-read]").count():
                found = complaints(page, {"runOnly": ["color-contrast"]}, [["[data-to-read]"]])
                wrong[scheme] += [f"{name}: {one}" for one in found]
        page.evaluate(THIN_OUT if request.param == "phone" else LEAVE_OUT)
        found = complaints(page, {"rules": {"color-contrast": {"enabled": False}}})
        wrong["all else"] += [f"{name}: {one}" for one in found]
        page.close()
    return wrong


def complaints(page: Page, options: dict[str, Any], context: Any = None) -> Iterator[str]:
    """Yield what axe finds on a page, or in parts of it."""
    found = Axe().run(page, context, {"resultTypes": ["violations"], **options})
    for violation in found.response["violations"]:
        where = [node["target"][0] for node in violation["nodes"]]
        yield f"{violation['id']} at {len(where)} places: {where[:3]}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_can_be_read(scheme: str, found: dict[str, list[str]]) -> None:
    assert found[scheme] == []


def test_axe_finds_nothing_else(found: dict[str, list[str]]) -> None:
    """On a phone in the whole page, on a desk around the text: that is the same at any width."""
    assert found["all else"] == []
