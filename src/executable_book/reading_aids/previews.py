"""What a reference leads to, cut out of the book so that readers can see it without leaving their place.

A preview is what a reader would find there, with its numbers and its formulas: it is cut out of the page as
it was written. A figure, a formula, a term, an exercise or an entry of a bibliography is shown whole; of a
section, the beginning; of an entry of an API reference, its signature and what it does. Links, names of
places and what is folded stay behind, for a preview has only one way out: to the place itself.

The pieces of each page to which some page refers end up in a script of their own, which a reader's browser
asks for when a preview is first wanted; a page that was opened from a disk may load that, but nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote, urldefrag

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.files_on_disk import write_atomically, write_if_changed
from executable_book.site_builds import is_site

FOLDER = "previews"
TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)([^>]*)>")
HEADING = re.compile(r"h[1-6]")
ATTRIBUTE = re.compile(r'\s([\w-]+)="([^"]*)"')
OF_ITS_PLACE = ("id", "role", "title", "tabindex")
"""Attributes that hold where something stands, and not in a preview of it."""
REFERENCE = {"internal", "api-link"}
LEFT = {"headerlink", "api-used-in"}
VOID = ("br", "col", "hr", "img", "input", "source", "wbr")
READ = ("p", "ul", "ol", "blockquote")
ENOUGH = 400
"""So many letters of a section or an entry are shown, and its first paragraph in any case."""
ENOUGH_ANNOUNCED = 1200
"""So many letters may have what a paragraph announces, as in "Take two scores:"."""
END_OF_SENTENCE = re.compile(r"[.?!\u2026][)\"'\u201d\u2019]*$")


# A page as a tree of its elements


@dataclass(slots=True)
class Element:
    """An element of a page, and where it stands in the page's text."""

    name: str
    attributes: dict[str, str]
    start: int
    inside: int
    end: int = 0
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        """The classes of the element."""
        return self.attributes.get("class", "").split()

    def all(self) -> Iterator[Element]:
        """Yield the element and all within it, in their order."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += reversed(one.children)


def tree(html: str) -> Element:
    """Return the elements of a text; Sphinx closes all that it opens."""
    here = root = Element("", {}, 0, 0, len(html))
    for tag in TAG.finditer(html):
        closing, name, rest = tag.groups()
        if closing:
            here.end = tag.end()
            here = here.parent or root
            continue
        found = {key: unescape(value) for key, value in ATTRIBUTE.findall(rest)}
        element = Element(name, found, tag.start(), tag.end(), tag.end(), here)
        here.children.append(element)
        if name not in VOID and not rest.endswith("/"):
            here = element
    return root


# What is cut out


def references_in(element: Element) -> Iterator[str]:
    """Yield where the references of a page lead; those of a list of contents are to be followed."""
    if "toctree-wrapper" in element.classes:
        return
    if element.name == "a" and not REFERENCE.isdisjoint(element.classes):
        yield element.attributes["href"]
    for child in element.children:
        yield from references_in(child)


def pieces_of(html: str, page: Element) -> dict[str, str]:
    """Return what a page has to show under each of its anchors; under none, its beginning."""
    found: dict[str, str] = {}
    for element in page.all():
        if element.name == "section" and "" not in found:
            found[""] = _piece(html, element)
        if anchor := element.attributes.get("id"):
            found[anchor] = _piece(html, element)
    return found


def _piece(html: str, element: Element) -> str:
    parent = element.parent
    if element.name == "span" and parent:  # a second name of what it stands in
        return _piece(html, parent)
    if element.name == "section":
        title = [one for one in element.children if HEADING.fullmatch(one.name)]
        blocks = [one for one in element.children if one not in title and one.name != "span"]
        return "".join(_clean(html, one) for one in (*title, *_beginning(html, blocks)))
    if element.name == "dt" and parent:
        after = parent.children[parent.children.index(element) + 1 :]
        says = next((one for one in after if one.name == "dd"), None)
        blocks = _beginning(html, says.children) if says else []
        explained = "".join(_clean(html, block) for block in blocks)
        opening = _without_place(html[parent.start : parent.inside])
        return f"{opening}{_clean(html, element)}<dd>{explained}</dd></dl>"
    return _clean(html, element)


def _beginning(html: str, blocks: Iterable[Element]) -> list[Element]:
    """Return the first blocks, as far as they can be read at a glance."""
    taken: list[Element] = []
    said = ""
    for block in blocks:
        if _stays_behind(block):
            continue
        is_read = block.name in READ or "math" in block.classes
        says = unescape(TAG.sub("", html[block.start : block.end])).strip()
        if block.name == "section":
            break
        if taken and not (
            len(says) <= ENOUGH_ANNOUNCED
            if _announces(taken[-1], said)
            else is_read and len(said + says) <= ENOUGH
        ):
            break
        taken.append(block)
        said += says
    if len(taken) > 1 and _announces(taken[-1], said):
        taken.pop()  # what it announces is not shown
    return taken


def _announces(block: Element, said: str) -> bool:
    """Tell whether a sentence goes on after a paragraph: in a list, a formula or a listing."""
    return block.name == "p" and not END_OF_SENTENCE.search(said)


def _stays_behind(element: Element) -> bool:
    return element.name in {"details", "script"} or not LEFT.isdisjoint(element.classes)


def _clean(html: str, element: Element) -> str:
    """Return an element without what belongs to its place."""
    kept, at = [], element.start
    for inner in element.all():
        if _stays_behind(inner) and inner.start >= at:
            kept.append(html[at : inner.start])
            at = inner.end
    return _without_place("".join([*kept, html[at : element.end]]))


def _without_place(html: str) -> str:
    return TAG.sub(_tag_without_place, html)


def _tag_without_place(tag: re.Match[str]) -> str:
    closing, name, rest = tag.groups()
    if name == "a":
        return ""
    if HEADING.fullmatch(name):
        return "</strong></p>" if closing else "<p><strong>"
    rest = ATTRIBUTE.sub(lambda one: "" if one[1] in OF_ITS_PLACE else one[0], rest)
    return f"<{closing}{name}{rest}>"


# When it is cut


def are_wanted(app: Sphinx) -> bool:
    """Tell whether a build shows previews."""
    return app.config.book_previews and is_site(app)


def keep_pieces(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write down what a page has to show, and where it leads, until the page is written again."""
    if not are_wanted(app) or page not in app.env.found_docs:
        return
    body = context["body"]
    whole = tree(body)
    here = app.builder.get_target_uri(page)
    links = {_target(here, link) for link in references_in(whole)}
    kept = {"pieces": pieces_of(body, whole), "links": sorted(links)}
    write_atomically(_of_page(app, page), json.dumps(kept, ensure_ascii=False))


def _target(here: str, link: str) -> tuple[str, str]:
    """Return the page and the anchor to which a link of a page leads."""
    path, anchor = urldefrag(link)
    return normpath(join(dirname(here), path) if path else here), unquote(anchor)


def write_previews(app: Sphinx, exception: Exception | None) -> None:
    """Write a script for each page, with the pieces to which some page refers."""
    if exception or not are_wanted(app):
        return
    pages = {
        docname: json.loads(_of_page(app, docname).read_text(encoding="utf-8"))
        for docname in sorted(app.env.found_docs)
    }
    linked = {(page, anchor) for kept in pages.values() for page, anchor in kept["links"]}
    for docname, kept in pages.items():
        address = app.builder.get_target_uri(docname)
        pieces = {
            anchor: piece
            for anchor, piece in kept["pieces"].items()
            if (normpath(address), anchor) in linked
        }
        title = app.env.titles[docname].astext()
        name = f"{address.removesuffix('.html').removesuffix('/') or 'index'}.js"
        detail = json.dumps({"name": name, "title": title, "pieces": pieces}, ensure_ascii=False)
        script = f'dispatchEvent(new CustomEvent("previews", {{detail: {detail}}}));\n'
        write_if_changed(Path(app.outdir, FOLDER, name), script)


def _of_page(app: Sphinx, docname: str) -> Path:
    return Path(app.doctreedir, FOLDER, f"{docname}.json")
