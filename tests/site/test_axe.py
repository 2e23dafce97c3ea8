"""axe-core finds nothing to complain about, on any page. The book has to be built first."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from harness.browser import SITE, pages
from harness.visits import SIZES, UNFOLD
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

# Whether letters can be read depends on their colour, size and weight, and on the ground: of all that look
# the same, in all the book, one is read.
MARK_NEW_LOOKS = """seen => {
    const ground = e => {
        const colour = e ? getComputedStyle(e).backgroundColor : "none";
        return colour.endsWith(", 0)") ? ground(e.parentElement) : colour;
    };
    for (const e of document.body.querySelectorAll("*")) {
        delete e.dataset.toRead;
        if (![...e.childNodes].some(one => one.nodeType === Node.TEXT_NODE && one.data.trim())) continue;
        if (!e.checkVisibility({visibilityProperty: true})) continue;
        const style = getComputedStyle(e);
        const look = [style.color, style.fontSize, style.fontWeight, style.opacity, ground(e)].join();
        if (seen[look] === undefined) e.dataset.toRead = "";
        seen[look] = true;
    }
    return seen;
}"""
# Three words of each kind are enough in a text of thousands.
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
    seen: dict[str, dict[str, bool]] = {"light": {}, "dark": {}}
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
    for name in pages(SITE):
        page.goto(address + name, wait_until="load")
        page.add_style_tag(content="* {transition: none !important}")
        page.evaluate(UNFOLD)
        page.evaluate(THIN_OUT)
        for scheme in seen:
            page.evaluate("scheme => document.documentElement.dataset.theme = scheme", scheme)
            seen[scheme] = page.evaluate(MARK_NEW_LOOKS, seen[scheme])
            if page.locator("[data-to-read]").count():
                found = complaints(page, {"runOnly": ["color-contrast"]}, [["[data-to-read]"]])
                wrong[scheme] += [f"{name}: {one}" for one in found]
        if request.param == "desk":
            page.evaluate(LEAVE_OUT)
        found = complaints(page, {"rules": {"color-contrast": {"enabled": False}}})
        wrong["all else"] += [f"{name}: {one}" for one in found]
    page.close()
    assert len(seen["dark"]) > 20
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
