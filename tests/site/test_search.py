"""The search: 62 searches lead to the sections that answer them, from a host and from a disk."""

import json
import tomllib
from pathlib import Path

import pytest
from harness.browser import SITE
from harness.reading.axe import axe_finds
from harness.reading.visits import SIZES, STILL, Visit, add_style

pytestmark = pytest.mark.browser

SEARCHES = {
    query: answer
    for group in tomllib.loads(
        Path(__file__).with_name("searches.toml").read_text("utf-8")
    ).values()
    for query, answer in group.items()
}
HITS = """() => [...document.querySelectorAll("dialog .search-hits li")].map(hit => {
    const link = hit.querySelector("a");
    const home = new URL(document.documentElement.dataset.content_root, location).href;
    return `${link.href.slice(home.length).split(".html")[0]} | ${link.textContent}`;
})"""


CHAPTER = "story/simple_attention.html"


@pytest.fixture(scope="module", params=["host", "disk"])
def visit(request, browser, address, unpacked):
    """Return a page that comes from a host, or from an archive that was unpacked."""
    home = address if request.param == "host" else f"{unpacked.as_uri()}/"
    visit = Visit(browser.new_context(viewport=SIZES["desk"]), home)
    yield visit
    visit.page.context.close()


@pytest.fixture
def page(visit):
    """Return a chapter with its search open, as the test before has left it or anew."""
    if not visit.page.locator("dialog[open]").count():
        visit.go(CHAPTER)
        visit.page.keyboard.press("Control+k")
    yield visit.page
    assert visit.complaints == []


def ask(page, query):
    """Type into the search, and return where the hits lead."""
    page.locator("dialog input").fill(query)
    page.wait_for_function("() => document.querySelector('dialog .search-count').textContent")
    hits: list[str] = page.evaluate(HITS)
    return hits


def test_a_search_leads_to_the_section_that_answers(page) -> None:
    """The first hit for 58 of the 62, and among the first three for all."""
    found = {query: ask(page, query)[:3] for query in SEARCHES}
    assert len(SEARCHES) == 62
    assert {query: hits for query, hits in found.items() if SEARCHES[query] not in hits} == {}
    later = {query: hits for query, hits in found.items() if SEARCHES[query] != hits[0]}
    assert len(later) <= 4, later


@pytest.mark.parametrize("visit", ["host"], indirect=True)
def test_every_name_of_a_thing_leads_to_it(page) -> None:
    """The first hit for each name in the glossary is among the first three for the name that stands first."""
    script = (SITE / "sections.js").read_text("utf-8")
    glossary = json.loads(script.partition("{detail: ")[2].removesuffix("}));\n"))["synonyms"]
    assert len(glossary) > 20
    for names in glossary:
        expected = ask(page, names[0])[:3]
        assert {ask(page, name)[0] for name in names} <= set(expected), names


def test_a_hit_shows_the_sentence_that_answers(page) -> None:
    """Wherever in its section it stands, and in whatever form it has the words."""
    ask(page, "obvious remedies")
    context = page.locator("dialog .context").first
    assert "The obvious remedy is to divide" in context.inner_text()
    assert context.locator("mark").all_inner_texts() == ["obvious", "remedy"]


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("zymurgy", None),
        ("zymurgy of tokens", "Tokens"),  # that the book has tokens is no answer
        ("scaled dot-prodct atention", "dot_product_attention"),
    ],
)
def test_what_is_not_there_is_said_and_what_is_near(query, near, page) -> None:
    found = [hit.partition(" | ")[2] for hit in ask(page, query)]
    assert (
        f"Nothing in this book answers “{query}”"
        in page.locator("dialog [role=status]").inner_text()
    )
    assert found == [] if near is None else near in " ".join(found)
    assert len(found) <= 5


def test_the_keyboard_goes_to_hits_and_back(page) -> None:
    ask(page, "dropout")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.textContent") == "Dropout"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.tagName") == "INPUT"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/causal_attention.html#dropout")


def test_the_search_goes_away_when_it_has_done_its_work(page) -> None:
    """A hit on the page where one is already closes it; so do Escape, from anywhere, and a button."""
    dialog = page.locator("dialog[open]")
    ask(page, "a word and its company")
    page.locator("dialog .search-hits a", has_text="A word and its company").click()
    dialog.wait_for(state="detached")
    page.wait_for_url("**/simple_attention.html#a-word-and-its-company")
    page.keyboard.press("Control+k")
    page.locator("dialog .context").first.click()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.keyboard.press("Control+k")
    page.get_by_role("button", name="Close the search").click()
    dialog.wait_for(state="detached")


def test_all_hits_have_a_page_of_their_own(page) -> None:
    ask(page, "softmax")
    told = page.locator("dialog [role=status]").inner_text()
    page.get_by_role("link", name="Show all of them").click()
    page.wait_for_url("**/search.html?q=softmax")
    page.locator("#search-results a").nth(20).wait_for()
    count = page.locator("#search-results [role=status]").inner_text()
    assert told == f"The first 20 of {count}"
    page.locator("#search-results a", has_text="Step 2: weights").first.click()
    page.wait_for_url("**/simple_attention.html#step-2-weights")


@pytest.mark.parametrize("size", ["phone", "desk"])
def test_hits_can_be_read_by_everybody(size, opened) -> None:
    with opened(CHAPTER, size) as visit:
        visit.page.get_by_role("button", name="Search").first.click()
        assert ask(visit.page, "causal_mask")
        assert visit.page.evaluate("document.querySelector('dialog').scrollWidth <= innerWidth")
        add_style(visit.page, STILL)
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=scheme)
            visit.page.locator(f"html[data-theme={scheme}]").wait_for()
            assert axe_finds(visit.page, "dialog") == [], scheme
