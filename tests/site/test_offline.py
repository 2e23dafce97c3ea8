"""A reader keeps the whole book in the browser: it is told how large it is, and stays the newest edition."""

import json
import re
import shutil
from types import SimpleNamespace

import pytest
from harness.books import wait_until
from harness.browser import SITE, compressed, serve
from harness.reading.visits import ALL_PICTURES, MENU_WORKS

from executable_book.reading_aids.offline_copy import LIST, write_worker

pytestmark = pytest.mark.browser

CHAPTER, ANOTHER = "story/simple_attention.html", "models/kv_cache.html"
EDITIONS = "async () => (await caches.keys()).length"
KEPT = """async (page) => {
    const newest = (await caches.keys()).at(-1);  // to open it could make it anew
    return (await caches.match(page, {cacheName: newest}))?.text() ?? "";
}"""
REGISTERED = "async () => (await navigator.serviceWorker.getRegistrations()).length"
NEW_TITLE = "A new title"


@pytest.fixture
def site(tmp_path):
    """Return a copy of the site that a test may change."""
    return shutil.copytree(SITE, tmp_path / "site", ignore=shutil.ignore_patterns("notebooks"))


def change_title(site) -> None:
    """Publish another edition."""
    page = site / ANOTHER
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub("<h1>.*?<", f"<h1>{NEW_TITLE}<", text), encoding="utf-8")
    app = SimpleNamespace(outdir=site, builder=SimpleNamespace(name="html"))
    write_worker(app)  # type: ignore[arg-type]
    compressed.cache_clear()


def offer(page, name):
    """Open the menu, and return what it offers."""
    page.get_by_role("button", name="Get page or book").click()
    return page.get_by_role("button", name=re.compile(name))


def test_a_kept_book_is_read_without_a_network_and_renewed(site, opened) -> None:
    with serve(site) as home, opened(CHAPTER, home=home) as visit:
        page = visit.page
        assert page.evaluate(EDITIONS) == 0
        size = json.loads((site / LIST).read_text(encoding="utf-8"))["bytes"] / 1e6
        offer(page, rf"^Keep it offline in this browser \({size:.1f} MB\)$").click()
        page.get_by_role("button", name="Stop keeping it").wait_for()
        page.get_by_text(f"Kept in this browser ({size:.1f} MB)").wait_for()
        devtools = page.context.new_cdp_session(page)
        devtools.send("Network.clearBrowserCache")  # what is read now is what was kept
        page.context.set_offline(True)
        page.goto(home + ANOTHER, wait_until="load")
        page.wait_for_function(ALL_PICTURES)
        pictures = "[...document.images].every(picture => picture.naturalWidth > 0)"
        assert page.evaluate(pictures)
        assert NEW_TITLE not in page.locator("h1").inner_text()
        page.goto(home, wait_until="load")
        assert page.locator("h1").inner_text().startswith("Literate Attention")
        assert visit.complaints == []
        page.context.set_offline(False)
        change_title(site)
        page.goto(home + ANOTHER, wait_until="load")
        assert page.locator("h1").inner_text().startswith(NEW_TITLE)  # the network comes first
        wait_until(lambda: NEW_TITLE in page.evaluate(KEPT, home + ANOTHER))
        wait_until(lambda: page.evaluate(EDITIONS) == 1)
        page.context.set_offline(True)
        page.goto(home + ANOTHER, wait_until="load")
        assert page.locator("h1").inner_text().startswith(NEW_TITLE)
        offer(page, "^Stop keeping it").click()
        page.get_by_text("It is kept no more").wait_for()
        assert (page.evaluate(EDITIONS), page.evaluate(REGISTERED)) == (0, 0)


def test_a_book_that_does_not_come_whole_is_not_kept(site, opened) -> None:
    (site / ANOTHER).unlink()
    with serve(site) as home, opened(CHAPTER, home=home) as visit:
        offer(visit.page, "^Keep it offline").click()
        visit.page.get_by_text("It could not be kept").wait_for()
        assert (visit.page.evaluate(EDITIONS), visit.page.evaluate(REGISTERED)) == (0, 0)


def test_a_page_on_a_disk_offers_no_more_than_it_can_do(unpacked, opened) -> None:
    with opened(CHAPTER, home=f"{unpacked.as_uri()}/") as visit:
        offered = offer(visit.page, "Keep it offline")
        visit.page.locator(MENU_WORKS).wait_for(state="attached")
        assert offered.count() == 0
        assert visit.page.get_by_role("button", name="Copy as Markdown").count() == 0
        assert visit.page.get_by_role("link", name="Read as Markdown").is_visible()
        assert visit.complaints == []
