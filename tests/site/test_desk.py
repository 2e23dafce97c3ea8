"""Every page on a desk, with scripts and without, from a host and from a disk.

To open a page takes longest, so each is opened once in each way, and asked everything.
"""

from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from harness.browser import SITE, compressed, pages
from harness.reading.axe import OF_EACH_KIND, ask_axe
from harness.reading.visits import (
    ALL_ALIVE,
    ALL_FONTS,
    CODE_CUT,
    LAID_OUT,
    NEXT_FRAME,
    NO_FOCUS_SEEN,
    SIZES,
    STILL,
    UNFOLD,
    Found,
    Visit,
    add_style,
    emulate_print,
    fail_if_any,
    is_written,
    read_to_the_end,
    resize,
)

pytestmark = pytest.mark.browser

WORDS = """() => {
    const style = document.head.appendChild(document.createElement("style"));
    style.textContent = `.copybtn, .step-controls, .lp-live, .solved, .reading-place, .checked-pieces {
            display: none !important} * {content-visibility: visible !important}`;
    const alive = [...document.querySelectorAll(".lp-alive")];
    for (const one of alive) one.classList.remove("lp-alive");
    const text = document.querySelector("article").innerText.replace(/\\s+/g, " ").trim();
    for (const one of alive) one.classList.add("lp-alive");
    style.remove();
    return text;
}"""
WRAPPED = """() => [...document.querySelectorAll("article :is(.cell_input, .literal-block-wrapper) pre")]
    .flatMap(pre => [...pre.querySelectorAll(".line")].filter(
        line => line.getBoundingClientRect().height > 1.5 * parseFloat(getComputedStyle(pre).lineHeight)))
    .filter(line => line.textContent.length <= 80 && !line.closest(".exercise, .solution"))
    .map(line => line.textContent)"""
CLOSED_ON_PAPER = """() => [
    ...document.querySelectorAll("article details:not(.proof, .lp-live *) > :not(summary, .shapes-note)")]
    .filter(e => !e.checkVisibility({contentVisibilityAuto: true})).map(e => `closed: ${e.className}`)"""
CLUTTER_ON_PAPER = """() => [".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article",
    ".headerlink", ".prev-next-footer", ".copybtn"]
    .filter(name => document.querySelector(name)?.checkVisibility()).map(name => `printed: ${name}`)"""


@pytest.fixture(scope="module")
def desk(browser):
    context = browser.new_context(viewport=SIZES["desk"], reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture(scope="module")
def found(desk, address):
    """Return what is wrong on all pages, by what was asked."""
    wrong: Found = defaultdict(list)
    visit = Visit(desk, address)
    for name in pages(SITE):
        on_a_screen(visit.page)
        visit.go(name)
        if (weight := transferred(visit)) > 600_000:
            wrong["weight"].append(f"{name}: {weight} bytes")
        for question, answers in ask(visit.page, name):
            wrong[question] += [f"{name}: {answer}" for answer in answers]
        wrong["complaints"] += [f"{name}: {complaint}" for complaint in visit.complaints]
        if name in OF_EACH_KIND:
            on_a_screen(visit.page)
            for question, answers in ask_axe(visit.page, colours=True):
                wrong[question] += [f"{name}: {answer}" for answer in answers]
    visit.page.close()
    return wrong


def on_a_screen(page) -> None:
    """Show a page no longer as on paper."""
    page.emulate_media(media="screen")
    resize(page, **SIZES["desk"])


def transferred(visit):
    """Return how many bytes a page takes, compressed, with all that it has asked for by now."""
    names = {urlsplit(url.removeprefix(visit.home)).path for url in visit.requests}
    return sum(len(compressed(SITE / name)) for name in names if (SITE / name).is_file())


def ask(page, name):
    """Ask a page all that is asked on a desk, and then how it looks on paper."""
    add_style(page, STILL, LAID_OUT)
    page.wait_for_function(ALL_ALIVE)
    page.keyboard.press("Tab")
    yield "focus", page.evaluate(NO_FOCUS_SEEN)
    read_to_the_end(page)
    yield "cut", page.evaluate(CODE_CUT)
    yield "wrapped", page.evaluate(WRAPPED)
    if is_written(name):
        yield "words", [page.evaluate(WORDS)]
        yield "glyphs", other_fonts(page)
        page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = false)")
        resize(page, 640, 900)  # the text of a sheet of A4
        emulate_print(page)
        page.evaluate(ALL_FONTS)
        page.evaluate(NEXT_FRAME)
        for asked in (CLOSED_ON_PAPER, CLUTTER_ON_PAPER):
            yield "paper", page.evaluate(asked)
        if not page.locator("h1").first.is_visible():
            yield "paper", ["no title"]
        if (width := page.evaluate("document.scrollingElement.scrollWidth")) > 640:
            yield "paper", [f"{width} px wide"]


LETTERS = "math :is(mi, mn, mo, mtext)"
"""A browser tells the fonts of what lies near to an element, and not of what lies deep in it."""


def other_fonts(page):
    """Return the fonts of formulas that are not the book's own."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("DOM.enable")
    devtools.send("CSS.enable")
    root = devtools.send("DOM.getDocument")["root"]["nodeId"]
    page.evaluate(ALL_FONTS)
    formulas = devtools.send("DOM.querySelectorAll", {"nodeId": root, "selector": LETTERS})
    fonts = [
        font
        for node in formulas["nodeIds"]
        for font in devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
    ]
    devtools.detach()
    if formulas["nodeIds"] and not fonts:
        return ["no formula has a font"]
    return sorted({font["familyName"] for font in fonts if not font["isCustomFont"]})


@pytest.mark.parametrize(
    "question",
    [
        *("complaints", "focus", "cut", "wrapped", "glyphs", "paper", "weight"),
        *("axe, light", "axe, dark"),
    ],
)
def test_every_page_on_a_desk(question, found) -> None:
    """No foreign request, no error, no code cut, every glyph, on paper all that is folded, and so on."""
    fail_if_any(found[question])


def test_text_is_readable_before_any_script_has_run(browser, found, address) -> None:
    page = browser.new_page(java_script_enabled=False, viewport=SIZES["desk"])
    wrong = []
    for name, full in (one.split(": ", 1) for one in found["words"]):
        page.goto(address + name, wait_until="load")
        page.evaluate(UNFOLD)
        bare = page.evaluate(WORDS)
        if bare != full:
            wrong.append(f"{name}: {len(bare)} characters without scripts, {len(full)} with")
        if not page.locator("article p").first.is_visible():
            wrong.append(f"{name}: no paragraph can be seen")
    page.close()
    fail_if_any(wrong)
    assert len(found["words"]) > 20


def test_no_page_goes_without_when_it_comes_from_a_disk(desk, unpacked) -> None:
    """The first page of each room, and those at the door: the others load nothing of another kind."""
    wrong = []
    names = [name for name in pages(SITE) if name != "404.html"]  # whose links start at the root
    first = {Path(name).parent: name for name in reversed(names)}
    visit = Visit(desk, f"{unpacked.as_uri()}/")
    for name in {*first.values(), "index.html", "playground.html", "search.html"}:
        visit.go(name)
        read_to_the_end(visit.page)
        wrong += [f"{name}: {complaint}" for complaint in visit.complaints]
    visit.page.close()
    fail_if_any(wrong)
