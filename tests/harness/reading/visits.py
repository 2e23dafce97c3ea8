"""Pages that are open in a browser, or parsed, and what is wrong with them."""

from html.parser import HTMLParser

from playwright.sync_api import TimeoutError as TooLate

Found = dict[str, list[str]]
"""What is wrong on all pages, by what was asked."""
SIZES = {"phone": {"width": 360, "height": 740}, "desk": {"width": 1280, "height": 900}}
GENERATED = ("404", "genindex", "search")
UNFOLD = "() => document.querySelectorAll('details').forEach(fold => fold.open = true)"
CODE_CUT = """() => [...document.querySelectorAll("article pre")].filter(e => e.checkVisibility())
    .filter(pre => pre.scrollWidth > pre.clientWidth || [...pre.querySelectorAll(".line")].some(
        line => line.getBoundingClientRect().right > pre.getBoundingClientRect().right))
    .map(pre => pre.textContent.slice(0, 60))"""
NO_FOCUS_SEEN = """() => {
    const look = e => {
        const style = getComputedStyle(e);
        return [style.outlineStyle !== "none" && style.outlineWidth, style.outlineColor,
            style.boxShadow, style.borderColor, style.backgroundColor].join();
    };
    const reachable = [...document.querySelectorAll(
        "a[href], button, input, select, summary, [tabindex]:not([tabindex='-1'])")]
        .filter(e => e.checkVisibility({visibilityProperty: true}) && !e.disabled);
    document.activeElement.blur();
    const before = new Map(reachable.map(e => [e, look(e)]));
    return reachable.filter(e => {
        e.focus({preventScroll: true});
        return document.activeElement === e && look(e) === before.get(e);
    }).map(e => e.outerHTML.slice(0, 90));
}"""
# What is waited for is a function: the policy of a page lets no text be evaluated a second time.
ALL_PICTURES = "() => [...document.images].every(picture => picture.complete)"
# A figure begins when a reader comes near.
ALL_ALIVE = """() => {
    const next = document.querySelector(".live-figure:not(.lp-alive)");
    next?.scrollIntoView({behavior: "instant"});
    return !next;
}"""
# Fonts are asked for when something is laid out that needs them.
ALL_FONTS = (
    "() => { document.body.getClientRects(); return document.fonts.ready.then(() => true); }"
)
NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
SCROLLS = """() => [...document.querySelectorAll("article *")].filter(e => e.scrollWidth > e.clientWidth
    && ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.checkVisibility())"""
REACHED = f"""() => ({SCROLLS})().every(
    box => box.tabIndex >= 0 || box.querySelector("a[href], button, input, [tabindex='0']"))"""
HEAR = """selector => {
    const element = document.querySelector(selector);
    globalThis.heard = [];
    new MutationObserver(() => heard.push(element.textContent)).observe(element, {childList: true});
}"""
MENU_WORKS = ".copy-page[aria-live]"
"""What is there, seen or not, once the menu of a page has its script."""
PATIENCE = 60_000
"""Milliseconds: a busy machine may take long, and what never happens is found out all the same."""


STILL = "* {transition: none !important}"
LAID_OUT = "* {content-visibility: visible !important}"
"""What is far below too."""


class Visit:
    """A page that is open, and what went wrong on it: each complaint once."""

    def __init__(self, context, home):
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.home = home
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.page.on("requestfailed", self._failed)
        self.page.on("response", self._answered)

    def go(self, name) -> None:
        """Go to a page, whose requests and complaints are told from those of the page before."""
        self.page.goto("about:blank")  # after this, nothing is heard of that page any more
        self.requests, self.complaints = [], []
        self.page.goto(self.home + name, wait_until="load")

    def _heard(self, message) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((self.home, "data:", "blob:")):
            self.complaints.append(f"asked for {request.url}")

    def _failed(self, request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the reader went on, and it was still on its way
            self.complaints.append(f"failed: {request.url}")

    def _answered(self, response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")


class Html(HTMLParser):
    """The elements of a page, as far as they are looked at without a browser."""

    def __init__(self, path):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


def is_written(page):
    """Tell whether somebody wrote a page, which is not generated."""
    return page.removesuffix(".html") not in GENERATED


def add_style(page, *rules) -> None:
    page.evaluate(
        "css => { document.head.appendChild(document.createElement('style')).textContent = css; }",
        "\n".join(rules),
    )


def unfold(page) -> None:
    """Unfold all that is folded, until what stands there has its fonts."""
    page.evaluate(UNFOLD)
    page.evaluate(ALL_FONTS)


def read_to_the_end(page) -> None:
    """Unfold all that is folded, and go to the end, until every figure and every picture has come."""
    page.wait_for_function(ALL_ALIVE)
    unfold(page)
    page.keyboard.press("Control+End")
    page.wait_for_function(ALL_PICTURES)


def resize(page, width, height) -> None:
    """Give a page another size, until it has it."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function(
        "size => `${[innerWidth, innerHeight]}` === size", arg=f"{width},{height}"
    )


def emulate_print(page) -> None:
    """Show a page as on paper, until it is."""
    page.emulate_media(media="print")
    page.wait_for_function("() => matchMedia('print').matches")


def can_reach_wide_boxes(page):
    """Tell whether what scrolls can be reached by keyboard: the theme looks a while after a change."""
    try:
        page.wait_for_function(REACHED)
    except TooLate:
        return False
    return True


def fail_if_any(wrong) -> None:
    """Fail with all that is wrong, a fault a line."""
    assert not wrong, f"{len(wrong)} faults:\n" + "\n".join(wrong)
