"""The whole book as one PDF beside the output folder, when `book_pdf` is set.

The text of all pages, in the order of the contents, becomes one page, behind the e-book's cover and a list of
contents. Its links lead within it, its figures and equations keep their numbers, and
Chromium prints it with an outline, in which chapters stand below their parts. It prints it twice, as only the
first print tells on which page a chapter begins.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError

from executable_book.publish import step_figures
from executable_book.remembered import in_order
from executable_book.repository import edition

TEXT = re.compile(r'(<article class="bd-article">)(.*?)(</article>)', re.DOTALL)
NAMES = re.compile(r'(?<=\s)(id|for|headers|aria-(?:labelled|described)by|href|src)="([^"]*)"')
"""What names an element, by its id, or a file, by its address."""
SAME = ("/Width", "/Height", "/ColorSpace", "/BitsPerComponent", "/Filter", "/DecodeParms")
"""What tells pictures of a PDF apart whose bytes are alike."""
HEADING = re.compile(r"<h([1-5])(?=[\s>])")
Print = Callable[[str, Path], None]


def parts_of(env: BuildEnvironment) -> dict[str, str]:
    """Return what the parts of the book are called, by the page that each begins with."""
    contents = env.get_doctree(env.config.root_doc).findall(addnodes.toctree)
    return {one["includefiles"][0]: one["caption"] for one in contents if one.get("caption")}


def front_of(config: Config, folder: Path) -> str:
    """Return what stands before the contents: the styles, the cover, and which edition it is.

    Styles and cover are taken from the folder of the sources: on the site, which uses neither, they are cut.
    """
    styles = (folder / config.book_pdf_style).read_text(encoding="utf-8")
    image = (folder / config.epub_cover[0]).as_uri()
    facts = (config.project, config.author, edition(config), config.epub_copyright)
    lines = "".join(f"<p>{escape(fact)}</p>" for fact in facts)
    address = f'<p><a href="{config.html_baseurl}">{config.html_baseurl}</a></p>'
    imprint = f'<div class="imprint">{lines}{address}</div>'
    return f'<style>{styles}</style><img class="cover" src="{image}" alt="" />{imprint}'


def running_heads(titles: Mapping[str, str]) -> str:
    """Return the styles that put a chapter's title and a number at the head of each of its pages."""
    return "".join(
        f'[id="{name}--"] {{ page: chapter-{number} }} '
        f"@page chapter-{number} {{ @top-left {{ content: {json.dumps(title, ensure_ascii=False)} }} "
        "@top-right { content: counter(page) } }\n"
        for number, (name, title) in enumerate(titles.items())
    )


def contents_of(
    titles: Mapping[str, str], parts: Mapping[str, str], numbers: Mapping[str, int]
) -> str:
    """Return the list of contents: all chapters below their parts, each with its page, once it is known."""
    lines = []
    for name, title in titles.items():
        if name in parts:
            lines.append(f"<h2>{escape(parts[name])}</h2>")
        number = f'<span class="number">{numbers.get(name, "")}</span>'
        lines.append(f'<p><a href="#{name}--">{escape(title)}</a> {number}</p>')
    return f'<nav class="book-contents"><h1>Contents</h1>{"".join(lines)}</nav>'


def one_page(pages: Mapping[str, str], address: str, parts: Mapping[str, str], front: str) -> str:
    """Put the texts of pages into the first; links to what is no page of these lead to the book's address."""
    texts = []
    in_parts = False
    for name, page in pages.items():

        def rename(found: re.Match[str], file: str = f"{name}.html", name: str = name) -> str:
            attribute, value = found.groups()
            if attribute == "src":
                value = urljoin(file, value)
            elif attribute == "href":
                target, _, fragment = urljoin(file, value).partition("#")
                inside = target.removesuffix(".html")
                is_inside = inside in pages and inside != target
                anchor = f"#{fragment}" if fragment else ""
                value = f"#{inside}--{fragment}" if is_inside else urljoin(address, target) + anchor
            else:
                value = " ".join(f"{name}--{one}" for one in value.split())
            return f'{attribute}="{value}"'

        found = TEXT.search(page)
        text = NAMES.sub(rename, found[2] if found else "")
        in_parts = in_parts or name in parts
        if in_parts:
            text = HEADING.sub(lambda one: f'{one[0]} aria-level="{int(one[1]) + 1}"', text)
        if name in parts:
            text = f'<p class="part" role="heading" aria-level="1">{escape(parts[name])}</p>{text}'
        texts.append(f'<div class="chapter" id="{name}--">{text}</div>')
    first = next(iter(pages.values()))
    first = first.replace("<html", '<html data-theme="light"', 1)  # which else a script says
    return TEXT.sub(lambda found: "".join([found[1], front, *texts, found[3]]), first, count=1)


@contextmanager
def chromium(folder: Path) -> Iterator[Print]:
    """Start a browser, and hand out a function that prints HTML whose files are in a folder."""
    from playwright.sync_api import sync_playwright

    names = (os.environ.get("CHROMIUM", ""), "chromium", "google-chrome", "chromium-browser")
    program = next((found for name in names if (found := shutil.which(name))), None)
    if program is None:
        raise SphinxError("The PDF is printed by Chromium: install it, or name it by CHROMIUM.")
    page = folder / "_whole_book.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(color_scheme="light", java_script_enabled=False)

        def print_page(html: str, target: Path) -> None:
            page.write_text(html, encoding="utf-8")
            tab.goto(page.as_uri())
            page.unlink()
            tab.pdf(
                path=target,
                prefer_css_page_size=True,
                print_background=True,
                tagged=True,
                outline=True,
            )

        yield print_page


def first_pages(pdf: Any) -> dict[str, int]:
    """Return the number of the page on which each chapter begins, by the chapter's name."""
    numbers = {page.obj.objgen: number for number, page in enumerate(pdf.pages, 1)}
    places: Any = pdf.Root.get("/Dests") or {}
    named = {unquote(key[1:].replace("#", "%")): place for key, place in places.items()}
    return {
        name.removesuffix("--"): numbers[place[0].objgen]
        for name, place in named.items()
        if name.endswith("--")
    }


def print_whole(
    print_page: Print,
    whole: Callable[[str], str],
    titles: Mapping[str, str],
    parts: Mapping[str, str],
    target: Path,
) -> None:
    """Print a book: `whole` puts a list of contents into its HTML."""
    import pikepdf  # which only this needs

    print_page(whole(contents_of(titles, parts, {})), target)
    with pikepdf.open(target) as pdf:
        numbers = first_pages(pdf)
    print_page(whole(contents_of(titles, parts, numbers)), target)
    with pikepdf.open(target, allow_overwriting_input=True) as pdf:
        store_pictures_once(pdf)
        # A hundred thousand tags, which Chromium leaves unpacked.
        pdf.save(target, object_stream_mode=pikepdf.ObjectStreamMode.generate)


def store_pictures_once(pdf: Any) -> None:
    """Store each picture once: Chromium draws each hatched cell anew, which makes 50 MB of 10."""
    import pikepdf

    first: dict[tuple[object, ...], Any] = {}
    kinds = pikepdf.Dictionary | pikepdf.Stream
    holders: list[Any] = [one for one in pdf.objects if isinstance(one, kinds)]
    for holder in holders:
        drawn = (holder.get("/Resources") or {}).get("/XObject") or {}
        for name, picture in drawn.items():
            if picture.get("/Subtype") == "/Image" and "/SMask" not in picture:
                kind = (str(picture.get(key)) for key in SAME)
                drawn[name] = first.setdefault((picture.read_raw_bytes(), *kind), picture)


def print_book(app: Sphinx) -> None:
    """Print the book that was built."""
    config = app.config
    if not config.book_pdf:
        return
    site = Path(app.outdir)
    names = [name for name in in_order(app.env) if name not in config.book_pdf_leaves_out]
    written = {name: (site / f"{name}.html").read_text(encoding="utf-8") for name in names}
    pages = {name: step_figures.split_frames(text) for name, text in written.items()}
    numbers = {name: app.env.toc_secnumbers.get(name, {}).get("", ()) for name in names}
    titles = {
        name: "".join(f"{number}. " for number in numbers[name]) + app.env.titles[name].astext()
        for name in names
    }
    parts = parts_of(app.env)
    front = f"{front_of(config, Path(app.confdir))}<style>{running_heads(titles)}</style>"

    def whole(contents: str) -> str:
        return one_page(pages, config.html_baseurl, parts, front + contents)

    frames = step_figures.draw_frames("".join(pages.values()), site / "_images")
    with chromium(site) as print_page:
        target = site.with_name(f"{nodes.make_id(config.project)}.pdf")
        print_whole(print_page, whole, titles, parts, target)
    for frame in frames:
        frame.unlink()
