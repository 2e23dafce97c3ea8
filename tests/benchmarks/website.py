"""How much the pages of the book transfer, and how soon they show on a phone."""

from typing import Any

from harness.browser import SITE, chromium, pages, serve
from measuring.targets import target
from measuring.timing import spread
from playwright.sync_api import Browser

QUESTION = (
    "How much does each page transfer, and how soon does a phone show the largest part of it?"
)
METHOD = """
Each page was opened in Chromium as by a reader who has never been here, on a screen of 360 pixels,
with a processor slowed down four times and a line of 1.6 Mbit/s on which each request waits for
150 ms, as Chromium's own tools slow it down. The pages came from this machine, compressed by gzip.
"""
PACKAGES = ("sphinx", "sphinx-book-theme", "pydata-sphinx-theme")
PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2}
LINE = {"latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 0.75e6 / 8}
SLOWDOWN = 4
ROUNDS = 5
MOST_BYTES = 600_000
LATEST_PAINT_MS = 1000
LARGEST_PAINT = """
    () => new Promise(done => new PerformanceObserver(list => done(list.getEntries().at(-1).startTime))
        .observe({type: "largest-contentful-paint", buffered: true}))
"""


def measure() -> list[dict[str, Any]]:
    """Measure all pages of the built book."""
    with serve(SITE) as address, chromium() as browser:
        results = []
        names = pages(SITE)
        for number, page in enumerate(names, start=1):
            print(f"{number} of {len(names)}: {page}", flush=True)
            visits = [first_visit(browser, address + page) for _ in range(ROUNDS)]
            results.append(
                {
                    "page": page,
                    "chromium": browser.version,
                    "bytes": max(transferred for transferred, _ in visits),
                    "largest_paint_ms": spread([painted for _, painted in visits]),
                }
            )
        return results


def first_visit(browser: Browser, url: str) -> tuple[int, float]:
    """Open a page; return how many bytes were transferred, and when its largest part was painted, in ms."""
    context = browser.new_context(**PHONE)
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.send("Network.emulateNetworkConditions", {"offline": False, **LINE})
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    received: list[float] = []
    devtools.on(
        "Network.loadingFinished", lambda event: received.append(event["encodedDataLength"])
    )
    page.goto(url, wait_until="networkidle")
    painted = page.evaluate(LARGEST_PAINT)
    context.close()
    return round(sum(received)), painted


def targets(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hold the pages against what was promised."""
    light, soon = f"at most {MOST_BYTES} bytes", f"the largest paint within {LATEST_PAINT_MS} ms"
    return [
        judged
        for row in results
        for judged in (
            target(light, row["page"], row["bytes"], MOST_BYTES),
            target(soon, row["page"], row["largest_paint_ms"]["median"], LATEST_PAINT_MS),
        )
    ]
