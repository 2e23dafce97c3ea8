"""Entries of a bibliography as items of a list: the role that docutils gives them is on its way out."""

from __future__ import annotations

from typing import Any

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


def setup(app: Sphinx) -> dict[str, Any]:
    """Replace how entries are written."""
    app.add_node(nodes.citation, override=True, html=(visit, depart))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
