"""The whole book as one PDF beside the output folder, when `book_pdf` is set.

The text of all pages, in the order of the contents, becomes one page, behind the e-book's cover, if there is
one. Its links lead within it, its figures and equations keep their numbers, and Chromium prints it with page
numbers and an outline, in which chapters stand below their parts. What is folded on a screen is open here.

What no page of the site has, such as a cover, has a style sheet of its own, as its rules are cut from the
site's.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import urljoin, urlsplit

from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError

from executable_book.publish.repository import edition
from executable_book.publish.zip_archive import file_name

TEXT = re.compile(r'(<article class="bd-article">)(.*?)(</article>)', re.DOTALL)
NAMES = re.compile(r'(?<=\s)(id|for|headers|aria-(?:labelled|described)by|href|src)="([^"]*)"')
"""What names an element, by its id, or a file, by its address."""
SAME = ("/Width", "/Height", "/ColorSpace", "/BitsPerComponent", "/Filter", "/DecodeParms")
"""What tells pictures of a PDF apart whose bytes are alike."""
HEADING = re.compile(r"<h([1-5])(?=[\s>])")
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


def parts_of(env: BuildEnvironment) -> dict[str, str]:
    """Return what the parts of the book are called, by the page that each begins with."""
    contents = env.get_doctree(env.config.root_doc).findall(addnodes.toctree)
    return {one["includefiles"][0]: one["caption"] for one in contents if one.get("caption")}


def front_of(config: Config, folder: Path) -> str:
    """Return what stands before the first page: its styles, the cover, and which edition it is.

    Styles and cover are taken from the folder of the sources: on the site, which uses neither, they are cut.
    """
    sheet = config.book_pdf_style
    styles = f"<style>{(folder / sheet).read_text(encoding='utf-8')}</style>" if sheet else ""
    images = [(folder / name).as_uri() for name in config.epub_cover[:1]]
    cover = "".join(f'<img class="cover" src="{image}" alt="" />' for image in images)
    facts = (config.project, config.author, edition(config), config.epub_copyright)
    lines = "".join(f"<p>{escape(fact)}</p>" for fact in facts if fact)
    address = f'<p><a href="{config.html_baseurl}">{config.html_baseurl}</a></p>'
    return f'{styles}{cover}<div class="imprint">{lines}{address}</div>'


def one_page(
    pages: Mapping[str, str], address: str, parts: Mapping[str, str] | None = None, front: str = ""
) -> str:
    """Put the texts of pages into the first of them.

    Args:
        pages: the HTML of each page, by its name.
        address: where the book is on the web: there links to other pages lead.
        parts: what parts are called, by the page that each begins with.
        front: what stands before all pages.
    """
    parts = parts or {}
    in_parts = False

    def moved(target: str, name: str) -> str:
        if urlsplit(target).scheme:
            return target
        path, _, fragment = target.partition("#")
        file = normpath(join(dirname(name), path)) if path else f"{name}.html"
        page = file.removesuffix(".html")
        if page in pages and page != file:
            return f"#{page}--{fragment}"
        return urljoin(address, file) + target[len(path) :]

    def text_of(name: str) -> str:
        def rename(found: re.Match[str]) -> str:
            attribute, value = found.groups()
            if attribute == "href":
                value = moved(value, name)
            elif attribute == "src" and not urlsplit(value).scheme:
                value = normpath(join(dirname(name), value))
            elif attribute != "src":
                value = " ".join(f"{name}--{one}" for one in value.split())
            return f'{attribute}="{value}"'

        found = TEXT.search(pages[name])
        text = NAMES.sub(rename, found[2] if found else "")
        nonlocal in_parts
        in_parts = in_parts or name in parts
        if in_parts:
            text = HEADING.sub(lambda one: f'{one[0]} aria-level="{int(one[1]) + 1}"', text)
        if name in parts:
            text = f'<p class="part" role="heading" aria-level="1">{escape(parts[name])}</p>{text}'
        return f'<div class="chapter" id="{name}--">{text}</div>'

    first = next(iter(pages.values()))
    whole = front + "".join(map(text_of, pages))
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


def about(config: Config) -> dict[str, Any]:
    """Return what the PDF says of itself, by its names in XMP."""
    facts = {
        "dc:title": config.project,
        "dc:creator": [config.author] if config.author else [],
        "dc:description": config.epub_description,
        "dc:language": {config.language},
    }
    return {name: said for name, said in facts.items() if said}


def complete(target: Path, facts: Mapping[str, Any]) -> None:
    """Write a PDF again: it says what it is, each picture in it is there once, and its tags are packed.

    Chromium knows a title alone, draws each hatched cell as a picture of its own, and leaves a hundred
    thousand tags unpacked.
    """
    import pikepdf

    first: dict[tuple[object, ...], pikepdf.Object] = {}
    with pikepdf.open(target, allow_overwriting_input=True) as pdf:
        for holder in pdf.objects:
            if not isinstance(holder, pikepdf.Dictionary | pikepdf.Stream):
                continue
            resources: Any = holder.get("/Resources") or {}
            drawn = resources.get("/XObject") or {}
            for name, picture in drawn.items():
                if picture.get("/Subtype") == "/Image" and "/SMask" not in picture:
                    kind = (str(picture.get(key)) for key in SAME)
                    drawn[name] = first.setdefault((picture.read_raw_bytes(), *kind), picture)
        with pdf.open_metadata(set_pikepdf_as_editor=False) as metadata:
            metadata.load_from_docinfo(pdf.docinfo)  # or what Chromium says of itself is lost
            metadata.update(facts)
        pdf.save(target, object_stream_mode=pikepdf.ObjectStreamMode.generate)


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
        front = front_of(app.config, Path(app.confdir))
        text = one_page(pages, app.config.html_baseurl, parts_of(app.env), front)
        whole.write_text(text, encoding="utf-8")
        target = site.with_name(f"{file_name(app.config)}.pdf")
        print_page(whole, target)
        complete(target, about(app.config))
    finally:
        whole.unlink(missing_ok=True)
