"""What axe-core complains of on a page that is open."""

from functools import cache
from pathlib import Path
from typing import Any

import axe_playwright_python
from harness.reading.visits import STILL, add_style, can_reach_wide_boxes, unfold

RUN = """([where, options]) => axe.run(
    where ?? document, {preload: false, resultTypes: ["violations"], ...options})"""
"""To describe what is right as well, element by element, takes as long as to look for what is wrong."""
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
OF_EACH_KIND = (
    *("index.html", "playground.html", "search.html", "story/simple_attention.html"),
    *("story/fused_attention.html", "reference/using_this_book.html"),
    *("reference/api/story.html", "reference/notation.html", "trust/sources.html"),
    *("learned/induction.html", "learned/learning_to_write.html", "learned/trained_heads.html"),
    "models/kv_cache.html",
)
"""Pages that together have all colours, as `test_phone.py` proves, and all that is seen on a desk alone."""
SHOW_IN = "scheme => { document.documentElement.dataset.theme = scheme; }"


@cache
def source():
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def axe_finds(page, selector, **options):
    """Return what axe complains of in a part of a page: the rule, the element, and what to do."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(source())
    found = page.evaluate(RUN, [selector, options])
    assert found["passes"]
    return [
        (one["id"], node["target"], node["failureSummary"])
        for one in found["violations"]
        for node in one["nodes"]
    ]


def ask_axe(page, *, colours):
    """Ask what axe finds on a page, unfolded, and if asked, of its colours, by day and in the dark.

    To look at colours takes longest. The page loses some words.
    """
    add_style(page, STILL)
    page.evaluate(THIN_OUT)
    unfold(page)
    page.evaluate("document.activeElement.blur()")
    can_reach_wide_boxes(page)  # if not, axe finds them
    schemes: dict[str, Any] = {"light": {"rules": {"color-contrast": {"enabled": colours}}}}
    if colours:
        schemes["dark"] = {"runOnly": ["color-contrast"]}
    for scheme, options in schemes.items():
        page.evaluate(SHOW_IN, scheme)
        found = axe_finds(page, "html", **options)
        yield f"axe, {scheme}", [f"{rule} at {place}: {what}" for rule, place, what in found]
