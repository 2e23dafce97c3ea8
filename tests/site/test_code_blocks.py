"""Code in a real browser: nothing of it is cut, on a desk or a phone, and what is copied is the original."""

from collections.abc import Iterator

import pytest
from harness.browser import SITE, chromium, pages, serve
from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

UNFOLD = "() => document.querySelectorAll('details').forEach(fold => fold.open = true)"
CUT = """() => [...document.querySelectorAll("article pre")].filter(e => e.checkVisibility())
    .filter(pre => pre.scrollWidth > pre.clientWidth || [...pre.querySelectorAll(".line")].some(
        line => line.getBoundingClientRect().right > pre.getBoundingClientRect().right))
    .map(pre => pre.textContent.slice(0, 60))"""
WRAPPED = """() => [...document.querySelectorAll("article :is(.cell_input, .literal-block-wrapper) pre")]
    .flatMap(pre => [...pre.querySelectorAll(".line")].filter(
        line => line.getBoundingClientRect().height > 1.5 * parseFloat(getComputedStyle(pre).lineHeight)))
    .filter(line => line.textContent.length <= 80 && !line.closest(".exercise, .solution"))
    .map(line => line.textContent)"""
SELECTED = """() => [...document.querySelectorAll("article .highlight pre:not(:has(.gp))")].filter(pre => {
    getSelection().selectAllChildren(pre);
    return getSelection().toString().trimEnd() !== pre.textContent.trimEnd();
}).map(pre => pre.textContent.slice(0, 60))"""
HANGS = """() => [...document.querySelectorAll("article pre .line")].filter(line => {
    const range = document.createRange();
    range.selectNodeContents(line);
    const lines = [...range.getClientRects()].filter(box => box.width > 0);
    const begins = Math.min(...lines.map(box => box.left));
    const goesOn = lines.filter(box => box.top > lines[0].bottom - 2);
    return goesOn.some(box => box.left < begins + 4);
}).map(line => line.textContent)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve(SITE) as served:
        yield served


def faults(browser: Browser, address: str, width: int, *questions: str) -> list[str]:
    """Return what a question finds on all pages, unfolded, in a window of a width."""
    found = []
    page = browser.new_page(viewport={"width": width, "height": 900})
    for name in pages(SITE):
        page.goto(address + name, wait_until="load")
        page.evaluate(UNFOLD)
        found += [f"{name}: {one}" for ask in questions for one in page.evaluate(ask)]
    page.close()
    return found


@pytest.mark.parametrize("width", [1280, 390, 360])
def test_no_block_of_code_is_cut(width: int, browser: Browser, address: str) -> None:
    assert faults(browser, address, width, CUT) == []


def test_lines_of_80_letters_fit_a_laptop(browser: Browser, address: str) -> None:
    assert faults(browser, address, 1280, WRAPPED) == []


def test_what_is_selected_on_a_phone_is_the_original(browser: Browser, address: str) -> None:
    assert faults(browser, address, 360, SELECTED) == []


def test_long_lines_go_on_further_in(browser: Browser, address: str) -> None:
    assert faults(browser, address, 360, HANGS) == []


@pytest.mark.parametrize("width", [1280, 900, 360])
def test_marks_stand_at_their_cells_and_unfold_by_keyboard(
    width: int, browser: Browser, address: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(address + "story/simple_attention.html", wait_until="load")
    mark = page.locator(".proof > summary").first
    box, cell = mark.bounding_box(), page.locator(".cell:has(+ .proof)").first.bounding_box()
    assert box is not None
    assert cell is not None
    assert min(box["width"], box["height"]) >= 24
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert abs(box["y"] + box["height"] - cell["y"] - cell["height"]) <= 16
    assert (box["x"] >= cell["x"] + cell["width"]) == (width >= 960)
    body = page.locator(".proof > div").first
    assert not body.is_visible()
    mark.focus()
    page.keyboard.press("Enter")
    assert body.is_visible()
    assert body.locator("a").first.get_attribute("href").startswith("../trust/sources.html#")
    page.close()
