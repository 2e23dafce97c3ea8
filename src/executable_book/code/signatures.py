"""Writes signatures with a parameter on each line as what they are: text, in lines.

Sphinx writes a description list, of descriptions without a term, which a screen reader announces and HTML
forbids. It has done so since there are such signatures (sphinx-doc/sphinx#11011), and this can go when it no
longer does.
"""

from __future__ import annotations

from sphinx import addnodes
from sphinx.writers.html5 import HTML5Translator

AS_LINES = {
    "<dl>": '<span class="sig-lines">',
    "</dl>": "</span>",
    "<dd>": '<span class="sig-line">',
    "</dd>": "</span>",
}


def visit(self: HTML5Translator, node: addnodes.desc_parameterlist) -> None:
    """Begin a list of parameters, and remember where."""
    node["begins"] = len(self.body)
    HTML5Translator.visit_desc_parameterlist(self, node)


def depart(self: HTML5Translator, node: addnodes.desc_parameterlist) -> None:
    """End a list of parameters, and make lines of its items."""
    HTML5Translator.depart_desc_parameterlist(self, node)
    self.body[node["begins"] :] = [
        AS_LINES.get(piece.strip(), piece) for piece in self.body[node["begins"] :]
    ]
