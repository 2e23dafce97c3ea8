"""The built site: its files, and what a reader does on its pages in a real browser."""

import re
from collections import Counter
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
import tinycss2  # type: ignore[import-untyped]
from harness.browser import SITE
from harness.paths import DOCS
from harness.reading.visits import ALL_FONTS, HEAR, fail_if_any, is_written

pytestmark = pytest.mark.browser


FIRST = "story/simple_attention.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"
)


# Self-sufficient ------------------------------------------------------------------------------


def test_each_page_lets_nothing_in_from_elsewhere(html) -> None:
    """A strict Content-Security-Policy (no `unsafe-inline` for scripts) stands in every page."""
    wrong = []
    for page, one in html.items():
        policies = [m for m in one.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
        if [policy["content"] for policy in policies] != [POLICY]:
            wrong.append(f"{page}: policies {policies}")
        loads = [tag for tag, given in one.elements if tag in {"script", "link"} and given]
        before = [tag for tag, _ in one.elements[: one.elements.index(("meta", policies[0]))]]
        if set(before) & set(loads):
            wrong.append(f"{page}: something is loaded before the policy stands")
        wrong += [f"{page}: a script in the page" for s in one.all("script") if "src" not in s]
        for tag, attributes in one.elements:
            handlers = [name for name in attributes if name.startswith("on")]
            wrong += [f"{page}: <{tag}> has {handlers}"] if handlers else []
            if attributes.get("href", "").startswith("javascript:"):
                wrong.append(f"{page}: <{tag}> runs a script")
    fail_if_any(wrong)


def test_every_link_within_the_site_leads_somewhere(html) -> None:
    """Numbered figures and equations with references that resolve."""
    wrong = []
    for page, one in html.items():
        for tag, attributes in one.elements:
            for link in (attributes.get("href"), attributes.get("src")):
                parts = urlsplit(link or "")
                if link is None or parts.scheme or parts.netloc or page == "404.html":
                    continue
                path, fragment = urldefrag(unquote(link))
                path = path.partition("?")[0]
                target = normpath(Path(page).parent / path) if path else page
                if not (SITE / target).is_file():
                    wrong.append(f"{page}: <{tag}> leads to {link}")
                elif fragment and target in html and fragment not in html[target].ids:
                    wrong.append(f"{page}: no {fragment} in {target}")
    fail_if_any(wrong)


def test_every_id_is_there_once(html) -> None:
    ids = {page: Counter(one.ids) for page, one in html.items()}
    fail_if_any([f"{page}: {name}" for page in ids for name, n in ids[page].items() if n > 1])


def test_what_is_not_there_says_so_in_the_style_of_the_book(opened) -> None:
    with opened("no/such/page.html") as visit:
        assert visit.page.locator("h1").inner_text().strip("#") == "Page not found"
        visit.page.locator("nav summary", has_text="The story").click()
        assert visit.page.locator("nav a", has_text="Causal attention").is_visible()
        colour = visit.page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily")
        assert "Times" not in colour
        assert all(one.startswith(("404", "console: Failed")) for one in visit.complaints)


def test_every_page_leads_to_its_commit_and_to_the_releases(html) -> None:
    """And a page that verifies something leads to the ledger."""
    repository = "https://github.com/literate-attention/literate-attention/"
    for page, one in html.items():
        if not is_written(page):
            continue
        links = [link.get("href", "") for link in one.all("a")]
        assert f"{repository}releases" in links, page
        assert any(re.match(f"{repository}commit/[0-9a-f]{{40}}$", link) for link in links), page
        assert re.search(r"</a>, \d{4}-\d\d-\d\d", one.text), page
    foot = html[FIRST].text.partition('class="page-foot"')[2]
    assert 'href="../trust/sources.html"' in foot.partition("</p>")[0]


# Made for reading -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["learning_to_write", "training_lab", "parts"])
def test_no_class_of_a_live_figure_loses_its_looks(name) -> None:
    classes = [
        set(re.findall(r"\.((?:lw|tl|lp)-[\w-]+)", css.read_text("utf-8")))
        for css in (folder / "_static" / name / f"{name}.css" for folder in (DOCS, SITE))
    ]
    assert classes[0] == classes[1]


def test_the_reader_chooses_the_colours(opened) -> None:
    """The choice holds on the next page, and paper is white all the same."""
    theme = "document.documentElement.dataset.theme"
    with opened(FIRST, color_scheme="light") as visit:
        assert visit.page.evaluate(theme) == "light"
        visit.page.get_by_role("button", name="Color mode").click()
        visit.page.get_by_role("button", name="Dark").click()
        assert visit.page.evaluate(theme) == "dark"
        visit.page.goto(visit.home + "story/self_attention.html")
        assert visit.page.evaluate(theme) == "dark"
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert visit.page.evaluate(theme) == "light"
        visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert visit.page.evaluate(theme) == "dark"
        assert visit.complaints == []


def test_style_sheets_can_be_read() -> None:
    for path in SITE.rglob("*.css"):
        rules = tinycss2.parse_stylesheet(path.read_text(encoding="utf-8"))
        assert [rule for rule in rules if rule.type == "error"] == [], path


def test_code_and_the_whole_page_can_be_copied(opened) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with opened(FIRST, permissions=permissions) as visit:
        cell = visit.page.locator(".cell_input", has_text="query = inputs[1]").first
        cell.hover()
        cell.locator("button.copybtn").click()
        copied = visit.page.evaluate("navigator.clipboard.readText()")
        assert copied == "query = inputs[1]\nprint(query)"
        assert visit.page.locator(".cell_output .copybtn").count() == 0
        visit.page.get_by_role("button", name="Get page or book").click()
        visit.page.evaluate(HEAR, ".copy-page")
        visit.page.get_by_role("button", name="Copy as Markdown").click()
        # it says so for a while only
        visit.page.wait_for_function("() => heard.includes('Copied')")
        copied = visit.page.evaluate("navigator.clipboard.readText()")
        assert copied == (SITE / FIRST).with_suffix(".md").read_text(encoding="utf-8")
        assert visit.complaints == []


@pytest.mark.parametrize("name", ["Toggle primary sidebar", "Toggle secondary sidebar"])
def test_a_phone_reaches_both_lists_of_contents(name, opened) -> None:
    link = {"Toggle primary sidebar": "Causal attention", "Toggle secondary sidebar": "Exercises"}
    with opened(FIRST, "phone") as visit:
        wanted = visit.page.get_by_role("dialog").get_by_role("link", name=link[name])
        assert not wanted.is_visible()
        visit.page.get_by_role("button", name=name).click()
        wanted.wait_for()
        visit.page.keyboard.press("Escape")
        wanted.wait_for(state="hidden")
        assert visit.complaints == []


def test_solutions_are_hidden_until_asked_for(opened, html) -> None:
    folds = [fold for one in html.values() for fold in one.all("details")]
    solutions = [fold for fold in folds if "solution" in fold.get("class", "").split()]
    assert len(solutions) > 40
    assert [fold["id"] for fold in solutions if "open" in fold] == []
    with opened(FIRST, java_script_enabled=False) as visit:
        solution = visit.page.locator("details.solution", has_text="hundredfold")
        answer = solution.locator("p", has_text="hundredfold")
        assert not answer.is_visible()
        solution.locator("summary", has_text="Solution to Exercise").click()
        answer.wait_for()


def test_pictures_are_drawings(html) -> None:
    """Crisp (SVG), and with their size."""
    wrong = [
        f"{page}: {image}"
        for page, one in html.items()
        for image in one.all("img")
        if not image["src"].endswith(".svg") or not {"width", "height"} <= image.keys()
    ]
    fail_if_any(wrong)
    assert sum(len(one.all("img")) for one in html.values()) >= 20


def test_every_icon_has_a_glyph(opened, html) -> None:
    """The icon font was cut down to what is used, and no further."""
    empty = """() => {
        return [...document.querySelectorAll("[class*='fa-']")].filter(icon => {
            const style = getComputedStyle(icon, "::before");
            return !/^"[\\uf000-\\uf8ff]"/.test(style.content)
                || !document.fonts.check(`${style.fontWeight} 16px ${style.fontFamily}`);
        }).map(icon => icon.outerHTML);
    }"""
    with opened(FIRST, "phone") as visit:
        assert visit.page.locator("[class*='fa-']").count() > 5
        visit.page.evaluate(ALL_FONTS)
        assert visit.page.evaluate(empty) == []
        fonts = [url for url in visit.requests if url.endswith("fa-solid-900.woff2")]
        assert len(fonts) == 1
