"""Writes signatures as what they are: text, with a parameter on each line.

Sphinx writes a description list, of descriptions without a term, which a screen reader announces and HTML
forbids. It has done so since there are such signatures (sphinx-doc/sphinx#11011), and this can go when it no
longer does. It also puts each word into a box that keeps it whole and a box that says what kind of word it
is: a reference of long types would be made of them.
"""

from __future__ import annotations

import re

from sphinx import addnodes
from sphinx.writers.html5 import HTML5Translator

from executable_book.html.code_lines import PLAIN_WORD, without_boxes

AS_LINES = {
    "<dl>": '<span class="sig-lines">',
    "</dl>": "</span>",
    "<dd>": '<span class="sig-line">',
    "</dd>": "</span>",
}
MODULE = re.compile(r'(?<=<span class="sig-prename descclassname">)[^<]*')


def visit(self: HTML5Translator, node: addnodes.desc_signature) -> None:
    """Begin a signature, and remember where."""
    node["begins"] = len(self.body)
    HTML5Translator.visit_desc_signature(self, node)


def depart(self: HTML5Translator, node: addnodes.desc_signature) -> None:
    """End a signature: its parameters become lines, its boxes words, and its name may end a line at dots."""
    HTML5Translator.depart_desc_signature(self, node)
    written = "".join(AS_LINES.get(piece.strip(), piece) for piece in self.body[node["begins"] :])
    written = without_boxes(written, "pre", *PLAIN_WORD)
    # A long name goes on in the next line behind one of its dots, and not in the middle of a word.
    self.body[node["begins"] :] = [
        MODULE.sub(lambda name: name[0].replace(".", ".<wbr />"), written)
    ]
