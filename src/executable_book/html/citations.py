"""Entries of a bibliography as items of a list: the role that docutils gives them is on its way out.

DPUB-ARIA 1.1 deprecates `doc-biblioentry` (w3c/dpub-aria#22). This can go when docutils writes another role.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def visit(self: HTML5Translator, node: nodes.citation) -> None:
    """Open an entry."""
    HTML5Translator.visit_citation(self, node)
    self.body[-1] = self.body[-1].replace('role="doc-biblioentry"', 'role="listitem"')


def depart(self: HTML5Translator, node: nodes.citation) -> None:
    """Close an entry."""
    HTML5Translator.depart_citation(self, node)


def drop_anchors(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take the anchors off citations: nothing leads there, and every docstring counts them from one."""
    for node in doctree.findall(nodes.inline):
        if "bibtex-citation" in node["classes"]:
            node["ids"] = []
