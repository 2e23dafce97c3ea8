"""What a reference leads to, cut out of the book so that readers can see it without leaving their place.

A preview is cut out of the page as it was written. A figure, a formula, a term, an exercise or an entry of a
bibliography is shown whole; of a section, the beginning; of an entry of an API reference, its signature and
what it does. Links, names of places and what is folded stay behind.

The pieces of each page to which some page refers end up in a script of their own, which a reader's browser
asks for when a preview is first wanted.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urldefrag

from lxml import html  # type: ignore[import-untyped]
from sphinx.application import Sphinx

from executable_book.files_on_disk import write_event

FOLDER = "previews"
ARTICLE = "//article[contains(@class, 'bd-article')]"
REFERENCES = ".//a[@href][contains(@class, 'internal') or contains(@class, 'api-link')]"
LEFT_OUT = (
    ".//details | .//script | .//annotation"
    " | .//*[contains(@class, 'headerlink') or contains(@class, 'api-used-in')]"
)
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
OF_ITS_PLACE = ("id", "role", "title", "tabindex")
"""Attributes that hold where something stands, and not in a preview of it."""
ENOUGH = 400
"""So many letters of a section or an entry are shown, and its first paragraph in any case."""
END_OF_SENTENCE = re.compile(r"[.?!\u2026][)\"'\u201d\u2019]*$")


def write_previews(app: Sphinx) -> None:
    """Write a script for each page, with the pieces to which some page refers."""
    articles: dict[str, html.HtmlElement] = {}
    wanted: dict[str, set[str]] = defaultdict(set)
    for docname in sorted(app.env.found_docs):
        written = html.parse(Path(app.outdir, f"{docname}.html")).getroot()
        articles[docname] = (written.xpath(ARTICLE) or [written])[0]
        for link in articles[docname].xpath(REFERENCES):
            page, anchor = urldefrag(link.get("href"))
            target = join(dirname(docname), page.removesuffix(".html")) if page else docname
            wanted[normpath(target)].add(unquote(anchor))
    for docname, article in articles.items():
        name, pieces = f"{docname}.js", pieces_of(article, wanted[docname])
        found = {"name": name, "title": app.env.titles[docname].astext(), "pieces": pieces}
        write_event(Path(app.outdir, FOLDER, name), "previews", found)


def pieces_of(article: html.HtmlElement, anchors: Iterable[str]) -> dict[str, str]:
    """Return what a page has to show under each of some anchors; under none, its beginning."""
    places = {element.get("id"): element for element in article.iter("*") if element.get("id")}
    places[""] = next(article.iter("section"), article)
    for left_out in article.xpath(LEFT_OUT):
        left_out.drop_tree()
    for link in article.xpath(".//a"):
        link.drop_tag()
    for element in article.iter("*"):
        for name in OF_ITS_PLACE:
            element.attrib.pop(name, None)
    return {anchor: _piece(places[anchor]) for anchor in sorted(places.keys() & set(anchors))}


def _piece(element: html.HtmlElement) -> str:
    parent = element.getparent()
    if element.tag == "span" and parent is not None:  # a second name of what it stands in
        return _piece(parent)
    if element.tag == "section":
        title = next((one for one in element if one.tag in HEADINGS), None)
        blocks = [one for one in element if one is not title and one.tag != "span"]
        heading = ""
        if title is not None:
            title.tag = "strong"
            heading = f"<p>{_written(title)}</p>"
        return heading + "".join(map(_written, _beginning(blocks)))
    if element.tag == "dt" and parent is not None:
        explained = "".join(map(_written, _beginning(next(element.itersiblings("dd"), ()))))
        style = escape(parent.get("class", ""))
        return f'<dl class="{style}">{_written(element)}<dd>{explained}</dd></dl>'
    return _written(element)


def _written(element: html.HtmlElement) -> str:
    return html.tostring(element, encoding="unicode", with_tail=False)


def _is_element(node: html.HtmlElement) -> bool:
    """Tell whether it is not a comment."""
    return isinstance(node.tag, str)


def _beginning(blocks: Iterable[html.HtmlElement]) -> list[html.HtmlElement]:
    """Return the first blocks, as far as they can be read at a glance, with what the last one announces."""
    taken: list[html.HtmlElement] = []
    text = ""
    for block in filter(_is_element, blocks):
        added = block.text_content().strip()
        announced = taken and taken[-1].tag == "p" and not END_OF_SENTENCE.search(text)
        is_long = taken and not announced and len(text + added) > ENOUGH
        if block.tag in ("section", "dl") or is_long:
            break
        taken.append(block)
        text += added
    return taken
