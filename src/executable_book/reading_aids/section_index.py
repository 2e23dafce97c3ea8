"""What the search of a book finds: each section, with its text, its code and its entries of the index.

A page's sections are written down as it is written, when all references and outputs are in their places, and
all of them end up in one script. The names that the glossary gives to one thing come along, so that readers
find it by the name that another text taught them.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_book.check.proof_marks import ProofMark
from executable_book.files_on_disk import write_event, write_if_changed
from executable_book.html.mathml import in_a_line
from executable_book.reading_aids.term_links import terms_of
from executable_book.remembered import in_order, is_site

NAME = "sections.js"
BLOCKS = nodes.paragraph | nodes.term | nodes.caption | nodes.rubric | nodes.line
SILENT = (
    nodes.Invisible
    | nodes.raw
    | nodes.image
    | nodes.math_block
    | nodes.footnote_reference
    | ProofMark
)
LETTER = re.compile(r"[^\W\d_]{2}")


class Section(NamedTuple):
    """What is found of a section, or of an entry of an API reference."""

    anchor: str
    title: str
    keys: str
    text: str
    code: str


def sections_of(page: nodes.document) -> Iterator[Section]:
    """Yield the sections of a page; the first is the page itself, up to its second heading."""
    for part in page.findall(_is_section):
        assert isinstance(part, nodes.Element)
        if isinstance(part, nodes.section):
            title = part.next_node(nodes.title)
            anchor = "" if isinstance(part.parent, nodes.document) else part["ids"][0]
            yield _section(anchor, title.astext() if title else "", part)
        elif anchor := next(
            (one["ids"][0] for one in part.findall(addnodes.desc_signature) if one["ids"]), ""
        ):
            yield _section(anchor, anchor.rpartition(".")[2], part)


def _is_section(node: nodes.Node) -> bool:
    """Tell whether a node has a place of its own; the content of an exercise is a section without."""
    return isinstance(node, addnodes.desc) or (
        isinstance(node, nodes.section) and bool(node["ids"])
    )


def _section(anchor: str, title: str, part: nodes.Element) -> Section:
    keys, text, code = [], [], []
    for node in _own(part):
        if isinstance(node, addnodes.index):
            keys += [entry[1] for entry in node["entries"] if entry[0] != "pair"]
        elif isinstance(node, nodes.literal_block):
            keys += node.get("library", [])
            code += [line for line in node.astext().splitlines() if LETTER.search(line)]
        elif words := " ".join(_words(node).split()):
            text.append(words)
    return Section(anchor, title, *("\n".join(lines) for lines in (keys, text, code)))


def _own(part: nodes.Element) -> Iterator[nodes.Element]:
    """Yield the blocks of a section, and not those of the sections within it."""
    for node in part.children:
        if isinstance(node, addnodes.index | nodes.literal_block | BLOCKS):
            yield node
        elif not (_is_section(node) or isinstance(node, nodes.title | nodes.Text | SILENT)):
            yield from _own(node)  # type: ignore[arg-type]


def _words(node: nodes.Node) -> str:
    """Return what a reader sees of a paragraph; a formula as one would type it in a line."""
    if isinstance(node, nodes.Text | nodes.math):
        return node.astext() if isinstance(node, nodes.Text) else in_a_line(node.astext())
    return "" if isinstance(node, SILENT) else "".join(map(_words, node.children))


def drop_other_search(app: Sphinx) -> None:
    """Have Sphinx make no index of its own, in a book that has our search."""
    if app.config.book_search and is_site(app):
        app.builder.search = False  # type: ignore[attr-defined]


def write_page(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write down the sections of a page, until the page is written again."""
    if app.config.book_search and is_site(app):
        found = json.dumps([*sections_of(doctree)], ensure_ascii=False)
        write_if_changed(_of_page(app, docname), found)


def search_page(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the page that shows what was found."""
    if app.config.book_search and is_site(app):
        yield "search", {}, "search.html"


def write_sections(app: Sphinx) -> None:
    """Write all sections of the book as a script, in the order of its contents."""
    if not app.config.book_search:
        return
    pages: list[tuple[str, str, float]] = []
    sections: list[tuple[int | str, ...]] = []
    for docname in in_order(app.env):
        last = any(f"{docname}/".startswith(f"{one}/") for one in app.config.book_search_last)
        written = json.loads(_of_page(app, docname).read_text(encoding="utf-8"))
        sections += [(len(pages), *section) for section in written]
        title = app.env.titles[docname].astext()
        pages.append((app.builder.get_target_uri(docname), title, 0.25 if last else 1.0))
    found = {"pages": pages, "sections": sections, "synonyms": synonyms(app.env)}
    write_event(Path(app.outdir, NAME), "sections", found)


def synonyms(env: BuildEnvironment) -> list[list[str]]:
    """Return the names of each term to which the glossary gives several."""
    names: dict[str, list[str]] = {}
    for name, place in terms_of(env).items():
        names.setdefault(str(place), []).append(name)
    return [several for several in names.values() if len(several) > 1]


def _of_page(app: Sphinx, docname: str) -> Path:
    return Path(app.doctreedir, "sections", f"{docname}.json")
