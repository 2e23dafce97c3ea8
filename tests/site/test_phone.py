"""Every page on a phone. To open a page takes longest, so each is opened once, and asked everything.

In the dark, a phone has no colours that a desk has not: see `test_desk.py`.
"""

from collections import defaultdict

import pytest
from harness.browser import SITE, pages
from harness.reading.axe import OF_EACH_KIND, ask_axe
from harness.reading.visits import (
    ALL_ALIVE,
    CODE_CUT,
    LAID_OUT,
    NO_FOCUS_SEEN,
    SCROLLS,
    SIZES,
    STILL,
    Found,
    add_style,
    can_reach_wide_boxes,
    fail_if_any,
    is_written,
    resize,
    unfold,
)
from playwright.sync_api import TimeoutError as TooLate

pytestmark = pytest.mark.browser

SIX_COLUMNS = "tensor([[0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310],"
SIDEWAYS = """() => document.scrollingElement.scrollWidth <= innerWidth ? []
    : [...document.querySelectorAll("body *")]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1)
    .filter(e => {
        for (let box = e.parentElement; box; box = box.parentElement)
            if (box !== document.body && getComputedStyle(box).overflowX !== "visible") return false;
        return true;
    })
    .map(e => `${e.tagName} ${e.className} ${e.id} ${e.innerText?.slice(0, 40)}`).slice(0, 3)"""
ONE_FOR_ALL = "reference/api/"
"""Pages that a program writes, the largest of all: axe reads one of them."""
LARGE_TEXT = "html { font-size: 200% !important; }"
CUT_HEADER = """() => {
    const header = document.querySelector(".bd-header-article");
    const { top, bottom } = header.getBoundingClientRect();
    return [...header.querySelectorAll("button")].filter(button => button.checkVisibility())
        .map(button => [button, button.getBoundingClientRect()])
        .filter(([, box]) => box.left < 0 || box.right > innerWidth
            || box.top < top - 1 || box.bottom > bottom + 1)
        .map(([button]) => `cut in the header: ${button.title || button.innerText}`);
}"""
OUT_OF_ITS_BOX = """() => [...document.querySelectorAll(".highlight pre")].filter(pre => {
    for (let box = pre.parentElement; box; box = box.parentElement)
        if (getComputedStyle(box).overflowX !== "visible"
            && box.getBoundingClientRect().left > pre.getBoundingClientRect().left) return true;
}).map(pre => `begins outside of its box: ${pre.innerText.slice(0, 40)}`)"""
NARROW_AND_CUT = f"""() => [...document.querySelectorAll(".cell_output pre")]
    .filter(pre => Math.max(...pre.innerText.split("\\n").map(line => line.length)) <= {len(SIX_COLUMNS)})
    .filter(pre => pre.scrollWidth > pre.clientWidth).map(pre => pre.innerText)"""
SIX_COLUMNS_SEEN = f"""() => [...document.querySelectorAll(".cell_output pre")]
    .filter(pre => pre.innerText.includes("{SIX_COLUMNS}")).map(() => "seen")"""
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

COLOURS = """() => [...new Set([...document.querySelectorAll("body *")]
    .filter(e => [...e.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
    .filter(e => e.checkVisibility())
    .map(e => {
        const { color, fontSize, fontWeight } = getComputedStyle(e);
        const size = parseFloat(fontSize) >= 24 || (fontWeight >= 700 && parseFloat(fontSize) >= 18.66);
        const on = [];
        let opacity = 1;
        for (let box = e; box; box = box.parentElement) {
            const look = getComputedStyle(box);
            opacity *= look.opacity;
            const covered = on.at(-1)?.startsWith("rgb(");
            if (!covered && look.backgroundColor !== "rgba(0, 0, 0, 0)") on.push(look.backgroundColor);
        }
        return `${size ? "large" : "small"} ${color}, ${opacity}, on ${on.join(" on ")}`;
    }))]"""


@pytest.fixture(scope="module")
def found(browser, address):
    """Return what is wrong on all pages, by what was asked."""
    wrong: Found = defaultdict(list)
    page = browser.new_page(viewport=SIZES["phone"], reduced_motion="reduce")
    for name in pages(SITE):
        resize(page, **SIZES["phone"])
        page.goto(address + name, wait_until="load")
        asked = [*ask(page, name)]
        if name in OF_EACH_KIND or not name.startswith(ONE_FOR_ALL):
            asked += ask_axe(page, colours=False)
        for question, answers in asked:
            wrong[question] += [f"{name}: {answer}" for answer in answers]
    page.close()
    assert wrong["six columns"]
    assert len(wrong["wide"]) > 10
    return wrong


def ask(page, name):
    """Ask a page all that is asked on a phone, and at last whether a larger phone cuts its code."""
    add_style(page, STILL, LAID_OUT)
    page.wait_for_function(ALL_ALIVE)
    page.keyboard.press("Tab")
    yield "focus", page.evaluate(NO_FOCUS_SEEN)
    unfold(page)
    yield "sideways", page.evaluate(SIDEWAYS)
    yield "cut", page.evaluate(CODE_CUT)
    yield "hangs", page.evaluate(HANGS)
    yield "colours", page.evaluate(COLOURS)
    yield "selected", page.evaluate(SELECTED)
    if is_written(name):
        yield "columns", page.evaluate(NARROW_AND_CUT) + page.evaluate(OUT_OF_ITS_BOX)
        yield "six columns", page.evaluate(SIX_COLUMNS_SEEN)
        yield from scroll_by_keyboard(page)
    resize(page, 390, 740)
    yield "cut", page.evaluate(CODE_CUT)
    add_style(page, LARGE_TEXT)
    yield "large text", page.evaluate(SIDEWAYS) + page.evaluate(CUT_HEADER)
    page.evaluate("document.head.lastElementChild.remove()")


def scroll_by_keyboard(page):
    """Go to each wide box, and scroll the last of them."""
    page.evaluate("dispatchEvent(new Event('resize'))")
    boxes = page.evaluate_handle(SCROLLS)
    count = page.evaluate("boxes => boxes.length", boxes)
    if not count:
        return
    if not can_reach_wide_boxes(page):
        yield "reach", ["not every wide box can be reached"]
    yield "wide", ["a box"] * count
    for number in range(count):
        box = boxes.get_property(str(number)).as_element()
        assert box is not None
        box.focus()
        if not box.evaluate("e => e === document.activeElement && e.tabIndex >= 0"):
            yield "reach", [f"cannot reach {box.inner_text()[:60]!r}"]
        if box.evaluate("e => e.matches('.formula:not([role=group][aria-label^=Formula])')"):
            yield "reach", [f"has no name: {box.inner_text()[:60]!r}"]
    page.keyboard.press("ArrowRight")
    try:
        page.wait_for_function("box => box.scrollLeft > 0", arg=box)
    except TooLate:
        yield "reach", [f"does not scroll: {box.inner_text()[:60]!r}"]


@pytest.mark.parametrize(
    "question",
    [
        *("focus", "sideways", "cut", "selected", "hangs", "columns", "reach"),
        *("large text", "axe, light"),
    ],
)
def test_every_page_on_a_phone(question, found) -> None:
    """Nothing but wide boxes scrolls sideways, no code is cut, axe finds nothing, and so on."""
    fail_if_any(found[question])


def test_no_page_has_colours_of_its_own(found) -> None:
    """In which axe looks for contrast on a desk: on pages of each kind."""
    pairs = [told.split(": ", 1) for told in found["colours"]]
    known = {pair for name, pair in pairs if name in OF_EACH_KIND}
    assert len(known) > 20
    fail_if_any([f"{name}: {pair}" for name, pair in pairs if pair not in known])
