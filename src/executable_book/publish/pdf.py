"""The whole book as one PDF beside the output folder, when `book_pdf` is set.

The text of all pages, in the order of the contents, becomes one page. Its links lead within it, its figures
and equations keep their numbers, and Chromium prints it with page numbers and an outline. What is folded on
a screen is open on paper.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError

from executable_book.publish.zip_archive import file_name

TEXT = re.compile(r'(<article class="bd-article">)(.*?)(</article>)', re.DOTALL)
ID = re.compile(r'(?<=\sid=")([^"]*)(?=")')
LINK = re.compile(r'(?<=\shref=")([\w-]*)(?:\.html)?(?:#([^"]*))?(?=")')
NUMBER = (
    '<div style="width: 100%; font: 8pt sans-serif; text-align: center; color: #555">'
    '<span class="pageNumber"></span></div>'
)


def in_order(env: BuildEnvironment) -> Iterator[str]:
    """Yield the pages in the order of the contents."""
    following = {page: after for page, (_, _, after) in env.collect_relations().items()}
    page: str | None = env.config.root_doc
    while page is not None:
        yield page
        page = following.get(page)


def one_page(pages: dict[str, str], address: str) -> str:
    """Put the texts of pages into the first of them.

    Args:
        pages: the HTML of each page, by its name.
        address: where the book is on the web: there links to other pages lead.
    """

    def text_of(name: str) -> str:
        def link(found: re.Match[str]) -> str:
            page, fragment = found[1] or name, found[2] or ""
            return f"#{page}--{fragment}" if page in pages else urljoin(address, found[0])

        found = TEXT.search(pages[name])
        text = LINK.sub(link, ID.sub(lambda one: f"{name}--{one[0]}", found[2] if found else ""))
        return f'<div class="chapter" id="{name}--">{text}</div>'

    first = next(iter(pages.values()))
    whole = "".join(map(text_of, pages))
    return TEXT.sub(lambda found: found[1] + whole + found[3], first, count=1)


def print_page(page: Path, target: Path) -> None:
    """Print a page of HTML.

    Raises:
        SphinxError: There is no Chromium to print it.
    """
    from playwright.sync_api import sync_playwright

    names = (os.environ.get("CHROMIUM", ""), "chromium", "google-chrome", "chromium-browser")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        raise SphinxError("The PDF is printed by Chromium: install it, or name it by CHROMIUM.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        tab = browser.new_page(color_scheme="light")
        tab.goto(page.as_uri())
        tab.evaluate("document.fonts.ready")
        tab.pdf(
            path=target,
            format="A4",
            margin={"top": "18mm", "right": "20mm", "bottom": "20mm", "left": "20mm"},
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=NUMBER,
            outline=True,
            print_background=True,
            tagged=True,
        )
        browser.close()


def print_book(app: Sphinx, exception: Exception | None) -> None:
    """Print the book that was built."""
    if exception or app.builder.name != "html" or not app.config.book_pdf:
        return
    site = Path(app.outdir)
    pages = {
        name: (site / f"{name}.html").read_text(encoding="utf-8") for name in in_order(app.env)
    }
    whole = site / "_whole_book.html"
    try:
        whole.write_text(one_page(pages, app.config.html_baseurl), encoding="utf-8")
        print_page(whole, site.with_name(f"{file_name(app.config)}.pdf"))
    finally:
        whole.unlink(missing_ok=True)
