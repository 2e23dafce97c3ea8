"""The built site in a real browser: self-sufficient, light, legible, usable by everybody.

Each test reads all pages, and says all that it finds wrong. The book has to be built first.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from itertools import pairwise
from os.path import normpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit
from zipfile import ZipFile

import pytest
from harness.browser import SITE, chromium, first_visit, pages, serve
from harness.places import DOCS
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Request, Response

from executable_book.check.measurements import read

pytestmark = pytest.mark.browser


CHAPTERS = re.findall(
    r"^(?:story|models)/\w+$", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE
)
FIRST = "story/simple_attention.html"
GENERATED = ("404", "genindex", "search")
SIZES = {"phone": (360, 740), "desk": (1280, 900)}
UNFOLD = "() => document.querySelectorAll('details').forEach(fold => fold.open = true)"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"
)


# The site, a browser, and pages in it --------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve(SITE) as served:
        yield served


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the archive of the site, unpacked."""
    folder = tmp_path_factory.mktemp("unpacked")
    with ZipFile(SITE.with_name("literate-attention.zip")) as archive:
        archive.extractall(folder)
    return folder / "literate-attention"


class Visit:
    """A page that is open, and what went wrong on it: each complaint once."""

    def __init__(self, context: BrowserContext, home: str):
        self.page = context.new_page()
        self.home = home
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.page.on("requestfailed", lambda one: self.complaints.append(f"failed: {one.url}"))
        self.page.on("response", self._answered)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((self.home, "data:", "blob:")):
            self.complaints.append(f"asked for {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Callable[..., Any]]:
    """Return a context manager that opens a page, and leaves it open for as long as it is entered."""

    contexts: dict[str, BrowserContext] = {}

    @contextmanager
    def open_one(
        name: str, size: str = "desk", *, home: str = address, **options: Any
    ) -> Iterator[Visit]:
        key = f"{size} {options}"
        if key not in contexts:
            width, height = SIZES[size]
            options["viewport"] = {"width": width, "height": height}
            contexts[key] = browser.new_context(**options)
            contexts[key].set_default_timeout(20_000)
        visit = Visit(contexts[key], home)
        visit.page.goto(home + name, wait_until="load")
        yield visit
        visit.page.close()

    yield open_one
    for context in contexts.values():
        context.close()


class Html(HTMLParser):
    """The elements of a page, as far as they are looked at without a browser."""

    def __init__(self, path: Path):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def meta(self, name: str) -> list[str]:
        named = (one for one in self.all("meta") if name in {one.get("name"), one.get("property")})
        return [one.get("content", "") for one in named]

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    @property
    def title(self) -> str:
        found = re.search(r"<title>(.*?)</title>", self.text, re.DOTALL)
        return found[1].strip() if found else ""


@pytest.fixture(scope="module")
def html() -> dict[str, Html]:
    """Return all pages, parsed."""
    parsed = {page: Html(SITE / page) for page in pages(SITE)}
    assert set(parsed) >= {
        f"{name}.html" for name in (*CHAPTERS, *GENERATED, "index", "playground")
    }
    return parsed


def book_pages(html: dict[str, Html]) -> dict[str, Html]:
    """Return the pages that were written, not generated."""
    return {page: one for page, one in html.items() if page.removesuffix(".html") not in GENERATED}


def fail_if_any(wrong: list[str]) -> None:
    assert not wrong, f"{len(wrong)} faults:\n" + "\n".join(wrong)


# Self-sufficient ------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["host", "disk"])
def test_no_page_asks_another_host_or_goes_without(
    source: str, opened: Callable[..., Any], html: dict[str, Html], unpacked: Path
) -> None:
    """A test opens every page and fails on a foreign request, a console error, a 404."""
    options = {"home": f"{unpacked.as_uri()}/"} if source == "disk" else {}
    wrong = []
    for page in html:
        if source == "disk" and page == "404.html":
            continue  # only a host can have it, and its links start at the host's root
        with opened(page, **options) as visit:
            visit.page.evaluate(UNFOLD)
            visit.page.keyboard.press("Control+End")
            visit.page.wait_for_load_state("networkidle")
            wrong += [f"{page}: {complaint}" for complaint in visit.complaints]
    fail_if_any(wrong)


def test_each_page_lets_nothing_in_from_elsewhere(html: dict[str, Html]) -> None:
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


def test_every_link_within_the_site_leads_somewhere(html: dict[str, Html]) -> None:
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


def test_every_id_is_there_once(html: dict[str, Html]) -> None:
    fail_if_any(
        [
            f"{page}: {name} {count} times"
            for page, one in html.items()
            for name, count in Counter(one.ids).items()
            if count > 1
        ]
    )


@pytest.mark.parametrize("source", ["host", "disk"])
def test_search_as_you_type(source: str, opened: Callable[..., Any], unpacked: Path) -> None:
    """The built folder, zipped, opens from `file://` with search working."""
    options = {"home": f"{unpacked.as_uri()}/"} if source == "disk" else {}
    with opened(FIRST, **options) as visit:
        visit.page.keyboard.press("Control+k")
        visit.page.keyboard.type("softmax", delay=20)
        found = visit.page.locator(
            "#search-results a", has_text="Attention without trainable weights"
        )
        found.first.wait_for()
        if source == "host":  # a page from the disk may not read its neighbours
            visit.page.locator("#search-results .context").first.wait_for()
        visit.page.wait_for_load_state("networkidle")
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_url("**/search.html?q=softmax")
        visit.page.wait_for_load_state("networkidle")  # what is left in the middle of a load fails
        visit.page.locator("#search-results a", has_text="Causal attention").first.click()
        visit.page.wait_for_url("**/causal_attention.html*")
        assert visit.complaints == []


def test_the_archive_holds_the_site(unpacked: Path) -> None:
    packed = {path.relative_to(unpacked) for path in unpacked.rglob("*") if path.is_file()}
    built = {path.relative_to(SITE) for path in SITE.rglob("*") if path.is_file()}
    assert packed == {path for path in built if path.name[0] != "."}


def test_what_is_not_there_says_so_in_the_style_of_the_book(opened: Callable[..., Any]) -> None:
    with opened("no/such/page.html") as visit:
        assert visit.page.locator("h1").inner_text().strip("#") == "Page not found"
        assert visit.page.locator("nav a", has_text="Causal attention").is_visible()
        colour = visit.page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily")
        assert "Times" not in colour
        assert [
            one for one in visit.complaints if not one.startswith(("404", "console: Failed"))
        ] == []


# Made for reading -----------------------------------------------------------------------------


def test_a_page_is_light(browser: Browser, address: str, html: dict[str, Html]) -> None:
    """A chapter transfers under 600 KB with everything it loads, compressed."""
    weights = {page: first_visit(browser, address + page)[0] for page in html}
    fail_if_any([f"{page}: {bytes_}" for page, bytes_ in weights.items() if bytes_ > 600_000])


def test_what_was_measured_is_about_every_page_and_met(html: dict[str, Html]) -> None:
    """The largest paint comes within a second on a throttled phone; kept under `docs/measurements/`."""
    measured = read(DOCS / "measurements" / "website.json")
    assert {row["page"] for row in measured["results"]} == set(html)
    assert [target for target in measured["targets"] if not target["met"]] == []


def test_text_is_readable_before_any_script_has_run(
    opened: Callable[..., Any], html: dict[str, Html]
) -> None:
    words = """() => {
        document.querySelectorAll(".copybtn, .step-controls, .lp-live").forEach(one => one.remove());
        document.querySelectorAll(".lp-alive").forEach(one => one.classList.remove("lp-alive"));
        return document.querySelector("article").innerText.replace(/\\s+/g, " ").trim();
    }"""
    wrong = []
    for page in book_pages(html):
        with opened(page, java_script_enabled=False) as without, opened(page) as with_scripts:
            bare, full = without.page.evaluate(words), with_scripts.page.evaluate(words)
            if page != "playground.html" and bare != full:
                wrong.append(f"{page}: {len(bare)} characters without scripts, {len(full)} with")
            if not without.page.locator("article p").first.is_visible():
                wrong.append(f"{page}: no paragraph can be seen")
    fail_if_any(wrong)


def test_nothing_scrolls_sideways_on_a_phone(
    opened: Callable[..., Any], html: dict[str, Html]
) -> None:
    """Nothing but wide boxes scrolls sideways at 360 px."""
    wide = """() => [...document.querySelectorAll("body *")]
        .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1)
        .filter(e => {
            for (let box = e.parentElement; box; box = box.parentElement)
                if (box !== document.body && getComputedStyle(box).overflowX !== "visible") return false;
            return true;
        })
        .map(e => `${e.tagName} ${e.className} ${e.id} ${e.innerText?.slice(0, 40)}`).slice(0, 3)"""
    wrong = []
    for page in html:
        with opened(page, "phone") as visit:
            visit.page.evaluate(UNFOLD)
            width = visit.page.evaluate("document.scrollingElement.scrollWidth")
            if width > 360:
                wrong.append(f"{page}: {width} px wide, by {visit.page.evaluate(wide)}")
    fail_if_any(wrong)


def test_six_columns_of_a_tensor_fit_a_phone(
    opened: Callable[..., Any], html: dict[str, Html]
) -> None:
    """Tensor output is set so that six columns fit a phone."""
    six = "tensor([[0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310],"
    hidden = """() => [...document.querySelectorAll(".highlight pre")].filter(pre => {
        for (let box = pre.parentElement; box; box = box.parentElement)
            if (getComputedStyle(box).overflowX !== "visible"
                && box.getBoundingClientRect().left > pre.getBoundingClientRect().left) return true;
    }).map(pre => `begins outside of its box: ${pre.innerText.slice(0, 40)}`)"""
    cut = f"""() => [...document.querySelectorAll(".cell_output pre")]
        .filter(pre => Math.max(...pre.innerText.split("\\n").map(line => line.length)) <= {len(six)})
        .filter(pre => pre.scrollWidth > pre.clientWidth).map(pre => pre.innerText)"""
    wrong, seen = [], ""
    for page in book_pages(html):
        with opened(page, "phone") as visit:
            visit.page.evaluate(UNFOLD)
            found = visit.page.evaluate(cut) + visit.page.evaluate(hidden)
            wrong += [f"{page}: {text}" for text in found]
            seen += " ".join(visit.page.locator(".cell_output pre").all_inner_texts())
    fail_if_any(wrong)
    assert six in seen


def test_what_is_wide_scrolls_in_its_box_by_keyboard(
    opened: Callable[..., Any], html: dict[str, Html]
) -> None:
    """Wide tensors scroll in their box and can be scrolled by keyboard."""
    wide = """() => [...document.querySelectorAll("article *")].filter(e => e.scrollWidth > e.clientWidth
        && ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.checkVisibility())"""
    wrong, found = [], 0
    for page in book_pages(html):
        with opened(page, "phone") as visit:
            visit.page.evaluate(UNFOLD)
            visit.page.evaluate("dispatchEvent(new Event('resize'))")
            visit.page.wait_for_timeout(
                500
            )  # the theme looks for wide boxes a while after a change
            boxes = visit.page.evaluate_handle(wide)
            count = visit.page.evaluate("boxes => boxes.length", boxes)
            found += count
            for number in range(count):
                box = boxes.get_property(str(number)).as_element()
                box.focus()
                if not box.evaluate("e => e === document.activeElement && e.tabIndex >= 0"):
                    wrong.append(f"{page}: cannot reach {box.inner_text()[:60]!r}")
            if count:
                visit.page.keyboard.press("ArrowRight")
                visit.page.wait_for_timeout(200)
                if box.evaluate("e => e.scrollLeft") == 0:
                    wrong.append(f"{page}: does not scroll: {box.inner_text()[:60]!r}")
    fail_if_any(wrong)
    assert found > 10


@pytest.mark.parametrize("size", SIZES)
def test_focus_is_visible_everywhere(
    size: str, opened: Callable[..., Any], html: dict[str, Html]
) -> None:
    unmarked = """() => {
        const look = e => {
            const style = getComputedStyle(e);
            return [style.outlineStyle !== "none" && style.outlineWidth, style.outlineColor,
                style.boxShadow, style.borderColor, style.backgroundColor].join();
        };
        const reachable = [...document.querySelectorAll(
            "a[href], button, input, select, summary, [tabindex]:not([tabindex='-1'])")]
            .filter(e => e.checkVisibility({visibilityProperty: true}) && !e.disabled);
        return reachable.filter(e => {
            document.activeElement.blur();
            const before = look(e);
            e.focus();
            return document.activeElement === e && look(e) === before;
        }).map(e => e.outerHTML.slice(0, 90));
    }"""
    wrong = []
    for page in html:
        with opened(page, size) as visit:
            visit.page.add_style_tag(content="* {transition: none !important}")
            visit.page.keyboard.press("Tab")
            wrong += [f"{page}: {one}" for one in visit.page.evaluate(unmarked)]
    fail_if_any(wrong)


def test_the_first_tab_leads_past_the_navigation(opened: Callable[..., Any]) -> None:
    with opened(FIRST) as visit:
        visit.page.keyboard.press("Tab")
        assert visit.page.evaluate("document.activeElement.innerText") == "Skip to main content"
        visit.page.keyboard.press("Enter")
        assert visit.page.url.endswith("#main-content")


def test_the_reader_chooses_the_colours(opened: Callable[..., Any]) -> None:
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


def test_code_can_be_copied_and_outputs_have_no_button(opened: Callable[..., Any]) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with opened(FIRST, permissions=permissions) as visit:
        cell = visit.page.locator(".cell_input", has_text="query = inputs[1]").first
        cell.hover()
        cell.locator("button.copybtn").click()
        assert (
            visit.page.evaluate("navigator.clipboard.readText()")
            == "query = inputs[1]\nprint(query)"
        )
        assert visit.page.locator(".cell_output pre button").count() == 0
        assert visit.complaints == []


@pytest.mark.parametrize("name", ["Toggle primary sidebar", "Toggle secondary sidebar"])
def test_a_phone_reaches_both_lists_of_contents(name: str, opened: Callable[..., Any]) -> None:
    link = {"Toggle primary sidebar": "Causal attention", "Toggle secondary sidebar": "Exercises"}
    with opened(FIRST, "phone") as visit:
        wanted = visit.page.get_by_role("dialog").get_by_role("link", name=link[name])
        assert not wanted.is_visible()
        visit.page.get_by_role("button", name=name).click()
        assert wanted.is_visible()
        visit.page.keyboard.press("Escape")
        assert not wanted.is_visible()
        assert visit.complaints == []


def test_solutions_are_hidden_until_asked_for(opened: Callable[..., Any]) -> None:
    with opened(FIRST, java_script_enabled=False) as visit:
        answer = visit.page.locator("details.solution p", has_text="hundredfold")
        assert not answer.is_visible()
        visit.page.locator("summary", has_text="Solution to Exercise").last.click()
        assert answer.is_visible()


def test_paper_shows_the_text_and_all_that_is_folded(
    opened: Callable[..., Any], html: dict[str, Html]
) -> None:
    """Each page prints well: nothing to click, nothing hidden, nothing cut off."""
    hidden = """() => [...document.querySelectorAll("details:not(.proof) > :not(summary)")]
        .filter(e => !e.checkVisibility({contentVisibilityAuto: true})).length"""
    clutter = """() => [".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article", ".headerlink",
        ".prev-next-footer", ".copybtn"].filter(name => document.querySelector(name)?.checkVisibility())"""
    wrong = []
    for page in book_pages(html):
        with opened(page) as visit:
            visit.page.set_viewport_size({"width": 640, "height": 900})  # the text of a sheet of A4
            visit.page.emulate_media(media="print")
            if not visit.page.locator("h1").first.is_visible():
                wrong.append(f"{page}: no title")
            if count := visit.page.evaluate(hidden):
                wrong.append(f"{page}: {count} folds are closed")
            wrong += [f"{page}: {one} is printed" for one in visit.page.evaluate(clutter)]
            if (width := visit.page.evaluate("document.scrollingElement.scrollWidth")) > 640:
                wrong.append(f"{page}: {width} px wide")
    fail_if_any(wrong)


def test_each_page_says_what_it_is(html: dict[str, Html]) -> None:
    """Page titles, descriptions, Open Graph."""
    wrong = []
    for page, one in book_pages(html).items():
        for name in ("description", "og:title", "og:description", "og:type", "og:url"):
            if len(one.meta(name)) != 1 or not one.meta(name)[0]:
                wrong.append(f"{page}: {name} is {one.meta(name)}")
        if not one.meta("og:url")[0].endswith(f"/{page}"):
            wrong.append(f"{page}: calls itself {one.meta('og:url')}")
    titles = Counter(one.title for one in html.values())
    wrong += [
        f"{count} pages have the title {title!r}" for title, count in titles.items() if count > 1
    ]
    fail_if_any(wrong)


def test_the_sitemap_lists_every_page(html: dict[str, Html]) -> None:
    listed = re.findall(r"<loc>(.*?)</loc>", (SITE / "sitemap.xml").read_text(encoding="utf-8"))
    home = "https://literate-attention.github.io/literate-attention/"
    assert {url.removeprefix(home) for url in listed} >= set(book_pages(html))


def test_pictures_have_alternative_texts_and_are_drawings(html: dict[str, Html]) -> None:
    """Figures crisp (SVG), with alt text computed from the data, never a file name."""
    wrong = [
        f"{page}: {image}"
        for page, one in html.items()
        for image in one.all("img")
        if not image.get("alt") or "/" in image["alt"] or not image["src"].endswith(".svg")
    ]
    fail_if_any(wrong)
    assert sum(len(one.all("img")) for one in html.values()) >= 20


def test_figures_and_equations_are_numbered_each_once(html: dict[str, Html]) -> None:
    for kind in (
        r'<span class="caption-number">Fig. (\d+) </span>',
        r'<span class="eqno">\((\d+)\)',
    ):
        numbers = sorted(int(n) for one in html.values() for n in re.findall(kind, one.text))
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) > 10


def test_readers_go_on_and_back(html: dict[str, Html]) -> None:
    def linked(page: str, relation: str) -> list[str]:
        links = [link for link in html[page].all("link") if link.get("rel") == relation]
        return [normpath(Path(page).parent / link["href"]) for link in links]

    for page, following in pairwise(f"{name}.html" for name in ("index", *CHAPTERS)):
        assert linked(page, "next") == [following]
        assert linked(following, "prev") == [page]


def test_every_icon_has_a_glyph(opened: Callable[..., Any], html: dict[str, Html]) -> None:
    """The icon font was cut down to what is used, and no further."""
    empty = """async () => {
        await document.fonts.ready;
        return [...document.querySelectorAll("[class*='fa-']")].filter(icon => {
            const style = getComputedStyle(icon, "::before");
            return !/^"[\\uf000-\\uf8ff]"/.test(style.content)
                || !document.fonts.check(`${style.fontWeight} 16px ${style.fontFamily}`);
        }).map(icon => icon.outerHTML);
    }"""
    with opened(FIRST, "phone") as visit:
        assert visit.page.locator("[class*='fa-']").count() > 5
        assert visit.page.evaluate(empty) == []
        fonts = [url for url in visit.requests if url.endswith("fa-solid-900.woff2")]
        assert len(fonts) == 1


def test_formulas_find_all_their_glyphs_in_the_font_of_the_book(
    opened: Callable[..., Any], html: dict[str, Html]
) -> None:
    """The font for formulas was cut down to what is used, and no further."""
    wrong, formulas = [], 0
    for page in book_pages(html):
        with opened(page) as visit:
            if not visit.page.locator("math").count():
                continue
            devtools = visit.page.context.new_cdp_session(visit.page)
            devtools.send("DOM.enable")
            devtools.send("CSS.enable")
            root = devtools.send("DOM.getDocument")["root"]["nodeId"]
            visit.page.evaluate("document.fonts.ready")
            found = devtools.send("DOM.querySelectorAll", {"nodeId": root, "selector": "math"})
            for node in found["nodeIds"]:
                fonts = devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
                wrong += [f"{page}: {f['familyName']}" for f in fonts if not f["isCustomFont"]]
                formulas += 1
    fail_if_any(sorted(set(wrong)))
    assert formulas > 50
