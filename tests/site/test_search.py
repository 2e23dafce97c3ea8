"""The search: forty searches lead to the sections that answer them, from a host and from a disk."""

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

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


@pytest.fixture(params=["host", "disk"])
def page(
    request: pytest.FixtureRequest, opened: Callable[..., Any], address: str, unpacked: Path
) -> Iterator[Page]:
    """Open a chapter and its search, from a host and from an archive that was unpacked."""
    home = address if request.param == "host" else f"{unpacked.as_uri()}/"
    with opened("story/simple_attention.html", home=home) as visit:
        visit.page.keyboard.press("Control+k")
        yield visit.page
        assert visit.complaints == []


def ask(page: Page, query: str) -> list[str]:
    """Type into the search, and return where the hits lead."""
    page.locator("dialog input").fill(query)
    page.wait_for_function("document.querySelector('dialog .search-count').textContent")
    hits: list[str] = page.evaluate(HITS)
    return hits


def test_a_search_leads_to_the_section_that_answers(page: Page) -> None:
    """The first hit for 36 of the forty, and among the first three for all."""
    found = {query: ask(page, query)[:3] for query in SEARCHES}
    assert len(SEARCHES) == 40
    assert {query: hits for query, hits in found.items() if SEARCHES[query] not in hits} == {}
    later = {query: hits for query, hits in found.items() if SEARCHES[query] != hits[0]}
    assert len(later) <= 4, later


def test_a_hit_shows_the_sentence_that_answers(page: Page) -> None:
    ask(page, "divide by the square root")
    assert "square root" in page.locator("dialog .context").first.inner_text()
    assert page.locator("dialog .context mark").count()


def test_chapters_come_before_the_reference(page: Page) -> None:
    rooms = [hit.partition("/")[0] for hit in ask(page, "softmax")]
    assert rooms[0] == "story"
    assert "reference" not in rooms[:5]


def test_what_is_not_there_is_said(page: Page) -> None:
    assert ask(page, "zymurgy") == []
    assert "zymurgy" in page.locator("dialog [role=status]").inner_text()


def test_the_keyboard_goes_to_hits_and_back(page: Page) -> None:
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


def test_all_hits_have_a_page_of_their_own(page: Page) -> None:
    ask(page, "softmax")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=softmax")
    page.locator("#search-results a", has_text="Step 2: weights").first.click()
    page.wait_for_url("**/simple_attention.html#step-2-weights")


@pytest.mark.parametrize("size", ["phone", "desk"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hits_can_be_read_by_everybody(scheme: str, size: str, opened: Callable[..., Any]) -> None:
    with opened("story/simple_attention.html", size, color_scheme=scheme) as visit:
        visit.page.get_by_role("button", name="Search").first.click()
        assert ask(visit.page, "causal_mask")
        assert visit.page.evaluate("document.querySelector('dialog').scrollWidth <= innerWidth")
        found = Axe().run(visit.page, "dialog", {"resultTypes": ["violations"]})
        assert [one["id"] for one in found.response["violations"]] == []
