"""What axe-core complains of on a page that is open."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import axe_playwright_python
from harness.reading.visits import SIZES, can_reach_wide_boxes, resize, unfold
from playwright.sync_api import Page

Seen = dict[str, dict[str, bool]]
"""The looks of letters that were read so far, in each colour scheme."""
RUN = "([where, options]) => axe.run(where ?? document, {preload: false, ...options})"
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
# Whether letters can be read depends on their colour, size and weight, and on the ground: of all that look
# the same, in all the book, one is read.
MARK_NEW_LOOKS = """([where, mark, seen]) => {
    const behind = new Map([[null, ["none", 1]]]);  // the ground, and how much of what lies on it is seen
    const ground = e => {
        if (!behind.has(e)) {
            const style = getComputedStyle(e), [colour, opacity] = ground(e.parentElement);
            const own = style.backgroundColor;
            behind.set(e, [own.endsWith(", 0)") ? colour : own, opacity * style.opacity]);
        }
        return behind.get(e);
    };
    for (const e of document.querySelectorAll(`[${mark}]`)) e.removeAttribute(mark);
    const looks = {};
    for (const e of document.querySelectorAll(`:is(${where}) *, :is(${where})`)) {
        if (![...e.childNodes].some(one => one.nodeType === Node.TEXT_NODE && one.data.trim())) continue;
        if (!e.checkVisibility({visibilityProperty: true})) continue;
        const style = getComputedStyle(e);
        const look = [style.color, style.fontSize, style.fontWeight, ...ground(e)].join();
        if (seen[look] || looks[look]) continue;
        e.setAttribute(mark, "");
        looks[look] = true;
    }
    return looks;
}"""
# Every element keeps its place among its neighbours, by which it may have its colours.
EMPTY_ALL_BUT = """kept => {
    for (const e of document.querySelectorAll("article *"))
        if (e.isConnected && !e.closest(kept) && !e.querySelector(kept)) e.replaceChildren();
}"""
BUT_COLOURS = {"color-contrast": {"enabled": False}}
SHOW_IN = "scheme => { document.documentElement.dataset.theme = scheme; }"
LEAVE_OUT = "() => document.querySelector('article')?.replaceChildren(document.querySelector('h1'))"


@cache
def source() -> str:
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def run(page: Page, where: Any = None, **options: Any) -> dict[str, Any]:
    """Run axe on a page, or in a part of it."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(source())
    found: dict[str, Any] = page.evaluate(RUN, [where, options])
    return found


def axe_finds(page: Page, selector: str) -> list[Any]:
    """Return what axe complains of in a part of a page; contrast must have been among what it looked at."""
    page.evaluate(MARK_NEW_LOOKS, [selector, "data-read", {}])
    colours = run(page, [["[data-read]"]], runOnly=["color-contrast"])
    assert colours["passes"]
    rest = run(page, selector, rules=BUT_COLOURS)
    return [
        (one["id"], node["target"], node["failureSummary"])
        for one in colours["violations"] + rest["violations"]
        for node in one["nodes"]
    ]


def complaints(page: Page, where: Any = None, **options: Any) -> Iterator[str]:
    """Yield what axe complains of, a rule a line."""
    for violation in run(page, where, resultTypes=["violations"], **options)["violations"]:
        places = [node["target"][0] for node in violation["nodes"]]
        yield f"{violation['id']} at {len(places)} places: {places[:3]}"


def ask_axe(page: Page, size: str, seen: Seen) -> Iterator[tuple[str, list[str]]]:
    """Ask for what axe finds on a page: in light and dark colours, and in all else.

    On a phone in the whole page, on a desk around the text, which is the same at any width.
    The page is not what it was, afterwards.
    """
    page.evaluate(THIN_OUT)
    unfold(page)
    page.evaluate("document.activeElement.blur()")
    page.emulate_media(media="screen")
    resize(page, *SIZES[size])
    marks = {scheme: f"data-read-{scheme}" for scheme in ("light", "dark")}
    for scheme, mark in marks.items():
        page.evaluate(SHOW_IN, scheme)
        old = seen.setdefault(scheme, {})
        old |= page.evaluate(MARK_NEW_LOOKS, ["body", mark, old])
    if size == "phone":
        can_reach_wide_boxes(page)  # if not, axe finds them
        yield "all else", [*complaints(page, rules=BUT_COLOURS)]
    page.evaluate(EMPTY_ALL_BUT, ", ".join(["h1", *(f"[{mark}]" for mark in marks.values())]))
    for scheme, mark in marks.items():
        if page.locator(f"[{mark}]").count():
            page.evaluate(SHOW_IN, scheme)
            yield scheme, [*complaints(page, [[f"[{mark}]"]], runOnly=["color-contrast"])]
    if size == "desk":
        page.evaluate(LEAVE_OUT)
        yield "all else", [*complaints(page, rules=BUT_COLOURS)]
