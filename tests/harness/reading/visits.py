"""Pages that are open in a browser, or parsed, and what is wrong with them."""

import re
from html.parser import HTMLParser
from pathlib import Path

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response

Found = dict[str, list[str]]
"""What is wrong on all pages, by what was asked."""
SIZES = {"phone": (360, 740), "desk": (1280, 900)}
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
ALL_PICTURES = "() => [...document.images].every(picture => picture.complete)"


STILL = "* {transition: none !important}"
LAID_OUT = "* {content-visibility: visible !important}"
"""What is far below too."""


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
        self.page.on("requestfailed", self._failed)
        self.page.on("response", self._answered)

    def go(self, name: str) -> None:
        """Go to a page, whose requests and complaints are told from those of the page before."""
        self.requests, self.complaints = [], []
        self.page.goto(self.home + name, wait_until="load")

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((self.home, "data:", "blob:")):
            self.complaints.append(f"asked for {request.url}")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the reader went on, and it was still on its way
            self.complaints.append(f"failed: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")


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


def is_written(page: str) -> bool:
    """Tell whether somebody wrote a page, which is not generated."""
    return page.removesuffix(".html") not in GENERATED


def add_style(page: Page, *rules: str) -> None:
    page.evaluate(
        "css => { document.head.appendChild(document.createElement('style')).textContent = css; }",
        "\n".join(rules),
    )


def read_to_the_end(page: Page) -> None:
    """Unfold all that is folded, and go to the end, until every picture has come."""
    page.evaluate(UNFOLD)
    page.keyboard.press("Control+End")
    page.wait_for_function(ALL_PICTURES)


def fail_if_any(wrong: list[str]) -> None:
    """Fail with all that is wrong, a fault a line."""
    assert not wrong, f"{len(wrong)} faults:\n" + "\n".join(wrong)
