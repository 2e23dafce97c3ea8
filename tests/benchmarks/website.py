"""How much the pages of the book transfer, and how soon they show on a phone."""

from typing import Any

from harness.browser import SITE, chromium, first_visit, pages, serve
from measuring.timing import spread

QUESTION = (
    "How much does each page transfer, and how soon does a phone show the largest part of it?"
)
METHOD = """
Each page was opened in Chromium as by a reader who has never been here, on a screen of 360 pixels,
with a processor slowed down four times and a line of 1.6 Mbit/s on which each request waits for
150 ms, as Chromium's own tools slow it down. The pages came from this machine, compressed by gzip.
"""
PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2}
LINE = {"latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 0.75e6 / 8}
SLOWDOWN = 4
ROUNDS = 3
MOST_BYTES = 600_000
LATEST_PAINT_MS = 1000


def measure() -> dict[str, Any]:
    """Measure all pages of the built book."""
    with serve(SITE) as address, chromium() as browser:
        results = []
        names = pages(SITE)
        for number, page in enumerate(names, start=1):
            print(f"{number} of {len(names)}: {page}", flush=True)
            visits = [
                first_visit(browser, address + page, line=LINE, slowdown=SLOWDOWN, **PHONE)
                for _ in range(ROUNDS)
            ]
            results.append(
                {
                    "page": page,
                    "bytes": max(transferred for transferred, _ in visits),
                    "largest_paint_ms": spread([painted for _, painted in visits]),
                }
            )
        version = browser.version
    return {
        "name": "website",
        "question": QUESTION,
        "method": f"{METHOD} It was Chromium {version}.",
        "packages": ("sphinx", "sphinx-book-theme", "pydata-sphinx-theme"),
        "results": results,
        "targets": [target for row in results for target in targets(row)],
    }


def targets(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Hold a page against what was set out."""
    paint = row["largest_paint_ms"]["median"]
    return [
        {
            "target": f"at most {MOST_BYTES} bytes transferred",
            "where": row["page"],
            "measured": row["bytes"],
            "most": MOST_BYTES,
            "met": row["bytes"] <= MOST_BYTES,
        },
        {
            "target": f"the largest paint within {LATEST_PAINT_MS} ms",
            "where": row["page"],
            "measured": paint,
            "most": LATEST_PAINT_MS,
            "met": paint <= LATEST_PAINT_MS,
        },
    ]
