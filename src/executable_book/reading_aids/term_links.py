"""The words that the glossary explains lead there.

A page links a term where its text first uses it, unless it has introduced the term itself, in bold.
Notebooks, Markdown and e-books are without such links, so they come late.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

from executable_book.check.proof_marks import ProofMark
from executable_book.remembered import is_site, replace_book_data

TERMS = "glossary-terms"
PROSE = nodes.paragraph | nodes.strong
ELSEWHERE = (
    nodes.Text | nodes.table | nodes.citation | addnodes.desc | addnodes.glossary | ProofMark
)
Terms: TypeAlias = dict[str, tuple[str, str]]
"""Where each term is explained, by its name in small letters: the page, and the anchor."""


def terms_of(env: BuildEnvironment) -> Terms:
    """Return the terms of the book; one that has several names, as in "window, sliding window", by each."""
    return {
        name.lower(): (docname, anchor)
        for (kind, names), (docname, anchor) in env.domains.standard_domain.objects.items()
        if kind == "term"
        for name in names.split(", ")
    }


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Have all pages written again once the glossary explains other terms."""
    now = terms_of(env)
    before = replace_book_data(env, TERMS, now)
    return [] if before in (None, now) or not is_site(app) else sorted(env.found_docs)


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link each term where a page first uses it."""
    terms = terms_of(app.env)
    if not terms or not is_site(app):
        return
    names = "|".join(re.escape(name) for name in sorted(terms, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w-])({names})s?(?![\w-])", re.IGNORECASE)
    met = {anchor for page, anchor in terms.values() if page == docname}
    for text in list(_prose(doctree)):
        pieces: list[nodes.Node] = []
        end = 0
        for found in pattern.finditer(text):
            page, anchor = terms[found[1].lower()]
            if anchor not in met and isinstance(text.parent, nodes.paragraph):
                link = make_refnode(app.builder, docname, page, anchor, nodes.Text(found[0]))
                link["classes"].append("term")
                pieces += [nodes.Text(text[end : found.start()]), link]
                end = found.end()
            met.add(anchor)
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


def _prose(node: nodes.Element) -> Iterator[nodes.Text]:
    """Yield the text of paragraphs, and what is bold in them; not what is code, or a link already."""
    for child in node.children:
        if isinstance(child, nodes.Text) and isinstance(node, PROSE):
            yield child
        elif isinstance(child, PROSE) or not isinstance(child, nodes.TextElement | ELSEWHERE):
            assert isinstance(child, nodes.Element)
            yield from _prose(child)
