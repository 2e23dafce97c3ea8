"""The book remembers where a reader was: in the browser, and only there."""

import re
from pathlib import Path

import pytest
from harness.reading.axe import axe_finds
from harness.reading.scripted_pages import heard
from harness.reading.visits import NEXT_FRAME

from literate_attention.exercises import Verdict
from literate_attention.workshop import Checked, Result
from literate_attention.workshop.pieces import BY_NAME, PIECES

pytestmark = pytest.mark.browser

CHAPTER = "story/simple_attention.html"
CODE_PAGE = "teaching/write_it_yourself.html"
TITLE = "Attention without trainable weights"
MARK = "link => getComputedStyle(link, '::after').content"
AT_THE_SECTION = """name => {
    const section = document.querySelector(name);
    section.scrollIntoView({behavior: "instant"});
    return document.elementFromPoint(innerWidth / 2, innerHeight / 3)?.closest("section") === section;
}"""
AT_THE_END = """() => {
    scrollTo({top: document.documentElement.scrollHeight, behavior: "instant"});
    return document.querySelector(".prev-next-footer").getBoundingClientRect().top < innerHeight;
}"""
# Of what a frame shows, all observers are told together: once a new one knows, those of the book do.
OBSERVED = """() => new Promise(done => new IntersectionObserver((_, observer) => {
    observer.disconnect();
    setTimeout(done);
}).observe(document.body))"""
READ_SECTION_BY_SECTION = f"""async () => {{
    const observed = {OBSERVED};
    for (const one of document.querySelectorAll("article > section > section")) {{
        one.scrollIntoView({{behavior: "instant"}});
        await observed();
    }}
}}"""
IS_READ = "() => document.querySelector('.bd-links a.current.was-read') !== null"
KEPT = "Object.keys(localStorage).filter(key => key.startsWith('reading'))"
REFUSED = """Object.defineProperty(window, "localStorage", {
    configurable: true, get() { throw new DOMException("refused", "SecurityError") }})"""


def mark_of(visit, chapter):
    link = visit.page.locator(".bd-links a", has_text=chapter).first  # its part may be folded
    return str(link.evaluate(MARK))


def go_to(visit, name) -> None:
    visit.page.goto(visit.home + name, wait_until="load")


@pytest.mark.parametrize("place", ["host", "disk"])
def test_a_reader_goes_on_where_they_stopped(place, opened, address, unpacked) -> None:
    home = address if place == "host" else f"{unpacked.as_uri()}/"
    with opened(CHAPTER, home=home) as visit:
        page = visit.page
        ticks = page.get_by_role("checkbox", name="Solved: Exercise")
        page.evaluate(NEXT_FRAME)  # the book sees where a reader begins, and then how far they come
        ticks.last.check()
        page.evaluate(NEXT_FRAME)
        page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
        page.wait_for_function(AT_THE_SECTION, arg="#a-word-and-its-company")
        go_to(visit, "reference/notation.html")
        go_to(visit, "index.html")
        shown = page.get_by_role("group", name="Where you were")
        told = r"You have read 0 of \d+ chapters to the end\.\s+You have solved 1 exercise"
        assert re.search(told, shown.inner_text())
        shown.get_by_text("You have solved 1 exercise").click()
        solved = shown.get_by_role("link", name="Exercise")
        assert re.search(rf"{CHAPTER}#ex-", solved.get_attribute("href"))
        assert axe_finds(page, ".reading-place") == []
        shown.get_by_role("link", name=f"{TITLE}: A word and its company").click()
        page.wait_for_url(home + CHAPTER + "#a-word-and-its-company")
        ticks = page.get_by_role("checkbox", name="Solved: Exercise")
        assert [tick.is_checked() for tick in ticks.all()] == [*[False] * (ticks.count() - 1), True]
        page.wait_for_function(AT_THE_END)
        page.evaluate(OBSERVED)
        assert mark_of(visit, TITLE) == "none"  # whoever jumps to the end has not read it
        page.evaluate(READ_SECTION_BY_SECTION)
        page.wait_for_function(AT_THE_END)
        page.wait_for_function(IS_READ)
        assert "read" in mark_of(visit, TITLE)
        ticks.last.scroll_into_view_if_needed()
        page.get_by_role("link", name="What you have solved and read").click()
        page.wait_for_url(home + "index.html")
        go_to(visit, "index.html")
        assert "You have read 1 of" in shown.inner_text()
        assert "read" in mark_of(visit, TITLE)
        shown.get_by_role("button", name="Forget all of this").press("Enter")
        assert shown.inner_text() == "Forgotten."
        assert mark_of(visit, TITLE) == "none"
        assert page.evaluate(KEPT) == []
        go_to(visit, "index.html")
        assert shown.count() == 0
        assert heard(visit) == []


def test_a_look_at_a_chapter_is_no_reading_and_a_chapter_offers_to_go_on(opened) -> None:
    """Nor is a look at what is only looked up, or played with, however long."""
    with opened(CHAPTER) as visit:
        page = visit.page
        page.wait_for_function(AT_THE_SECTION, arg="#a-word-and-its-company")
        page.evaluate("() => { performance.now = () => 60_000; }")
        for name, seconds in (
            ("story/inputs.html", 2),
            ("playground.html", 60),
            ("index.html", 60),
        ):
            go_to(visit, name)
            page.evaluate(f"() => {{ performance.now = () => {seconds * 1000}; }}")
        go_to(visit, "index.html")
        assert TITLE in page.locator(".reading-place a").first.inner_text()
        go_to(visit, CHAPTER)
        offer = page.locator("article .go-on")
        assert axe_finds(page, ".go-on") == []
        offer.get_by_role("link", name="A word and its company").click()
        page.wait_for_url(visit.home + CHAPTER + "#a-word-and-its-company")
        go_to(visit, "story/inputs.html")
        assert offer.count() == 0
        page.evaluate("() => { performance.now = () => 60_000; }")
        go_to(visit, "index.html")
        assert TITLE not in page.locator(".reading-place a").first.inner_text()


def printed(*right):
    """Return what `check` prints, below it the beginning of the next line in a terminal."""
    verdicts = {"softmax": "x", "dot_product_attention": "The softmax is missing.", "KVCache": "x"}
    results = [
        Result(BY_NAME[name], Verdict(name in right, says)) for name, says in verdicts.items()
    ]
    return f"{Checked(Path('my_attention'), (*results,))}\n$ "


TICKED = "[...document.querySelectorAll('a.was-written')].map(link => link.textContent)"


@pytest.mark.parametrize(("size", "scheme"), [("desk", "light"), ("phone", "dark")])
def test_what_check_prints_marks_pieces_and_their_exercises(size, scheme, opened) -> None:
    """What is no code is told so, and marks nothing; so is all that was printed, where nothing is right."""
    with opened(CODE_PAGE, size, color_scheme=scheme) as visit:
        page = visit.page
        field = page.get_by_role("textbox", name="What check has printed")
        said = page.get_by_role("status").filter(visible=True)

        def hand_in(text):
            field.fill(text)
            field.press("Tab")
            page.keyboard.press("Enter")
            return str(said.inner_text())

        for text in ("", "hunter2", printed(), "softmax is wrong"):
            assert hand_in(text).startswith("This is not what check prints for this page")
            assert page.evaluate(TICKED) == []
        assert axe_finds(page, ".checked-pieces") == []
        told = rf"Marked: softmax, KVCache\. You have written 2 of {len(PIECES)} pieces\."
        assert re.fullmatch(told, hand_in(printed("softmax", "KVCache")))
        assert re.search(r"Marked: RMSNorm\. You have written 3 ", hand_in("RMSNorm"))
        assert page.evaluate("innerWidth >= document.documentElement.scrollWidth")
        go_to(visit, CODE_PAGE)
        assert page.evaluate(TICKED) == ["softmax", "RMSNorm", "KVCache"]
        go_to(visit, CHAPTER)
        softmax = page.locator("#ex-simple-softmax").get_by_role("checkbox")
        assert softmax.is_checked()
        assert page.locator(".solved input:checked").count() == 1
        go_to(visit, "index.html")
        shown = page.get_by_role("group", name="Where you were")
        assert "You have written 3 pieces of the code yourself." in shown.inner_text()
        shown.get_by_role("button", name="Forget all of this").press("Enter")
        go_to(visit, CODE_PAGE)
        assert page.evaluate(TICKED) == []
        assert heard(visit) == []


def test_where_nothing_can_be_kept_nothing_is_offered(opened) -> None:
    with opened("index.html", color_scheme="dark") as visit:
        visit.page.add_init_script(REFUSED)
        go_to(visit, CODE_PAGE)
        assert visit.page.get_by_role("textbox", name="What check has printed").count() == 0
        go_to(visit, CHAPTER)
        assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert visit.page.get_by_role("checkbox").count() == 0
        go_to(visit, "index.html")
        assert visit.page.get_by_role("group", name="Where you were").count() == 0
        assert heard(visit) == []


AS_PATH = "() => `reading ${new URL(document.documentElement.dataset.content_root, location.href).pathname}`"
DAMAGED = (
    *("", "{", "null", "5", '"text"', "[1, 2]", "{}", '{"constructor": 1}'),
    '{"read": [null, {}], "solved": 5, "written": {}, "begun": "a", "place": {"toString": 1}}',
    '{"solved": {"javascript:alert(1)": "x", "//elsewhere/": 5}}',
    '{"solved": "a", "begun": {"__proto__": {"anchor": 1}}, "place": "__proto__"}',
    '{"begun": {"story/gone.html": {}}, "place": "story/gone.html"}',
    f'{{"read": ["{300_000 * "x"}"]}}',  # far more than anybody reads
    f'{{"begun": {{"{CHAPTER}": {{"passed": {{}}, "anchor": []}}}}, "place": "{CHAPTER}"}}',
)


READS_NO_MORE = """const parse = JSON.parse; JSON.parse = (text, ...more) => {
    if (text.length > 250_000) throw console.error("so much is read");
    return parse(text, ...more) }"""


@pytest.mark.parametrize("page", ["index.html", CHAPTER, CODE_PAGE])
def test_whatever_is_stored_a_page_works(page, opened) -> None:
    """What is not ours is left out, and mended when something is kept; so is a mode that is none."""
    with opened(page) as visit:
        name = visit.page.evaluate(AS_PATH)
        visit.page.add_init_script(READS_NO_MORE)
        for stored in DAMAGED:
            visit.page.evaluate("entry => localStorage.setItem(...entry)", [name, stored])
            visit.page.evaluate("mode => localStorage.setItem('mode', mode)", stored)
            visit.page.evaluate(
                "addEventListener('pagehide', e => e.stopImmediatePropagation(), true)"
            )
            go_to(visit, page)
            assert heard(visit) == [], stored
            assert visit.page.evaluate("document.documentElement.dataset.mode") == "auto"
            foreign = visit.page.locator(".reading-place a:not([href^='http://127'])")
            assert foreign.count() == 0, stored
            kept = visit.page.evaluate("name => JSON.parse(localStorage.getItem(name))", name)
            assert set(kept) == {"read", "solved", "written", "begun", "place"}, stored
            assert len(str(kept)) < 10_000
