"""Formulas as MathML, which browsers draw and screen readers speak: no script, no request to another site.

math-core turns LaTeX into MathML when the book is built; the font is STIX Two Math (see `unused_assets`).
Browsers of text alone write a formula's letters in a row; where that loses a fraction, a root or an index,
the formula carries its LaTeX, which they write after it.
"""

import re
from html import escape, unescape

from docutils import nodes
from lxml import etree  # type: ignore[import-untyped]
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)
CONVERTER = LatexToMathML()
WITH_LATEX = LatexToMathML(annotation=True)
FOR_XML = LatexToMathML(xml_namespace=True)
HAS_LAYOUT = re.compile(r"[_^]|\\(?:frac|sqrt|begin|over|under)")
MSTYLE = "{http://www.w3.org/1998/Math/MathML}mstyle"
STYLES = ("displaystyle", "scriptlevel")
ENTITY = re.compile(r"&(?!amp;|lt;|gt;|quot;|apos;)[A-Za-z]+;")
"""Characters by a name that HTML knows, and XML, of which e-books are made, does not."""
SEPARATOR = re.compile(r"\\qquad\b")
"""What stands between formulas that share a line: a page of an e-book may be too narrow, and not scroll."""
PUNCTUATION = re.compile(r"[.,;:!?)\u2019\u201d]+")
"""What must not begin a line: the marks that may follow a formula."""


def to_mathml(latex: str, node: nodes.Node, *, display: bool, xml: bool = False) -> str:
    """Convert a formula; one that cannot be read becomes a warning and shows as it was typed.

    As `xml` it is for an e-book, where a formula without its namespace is none.
    """
    converter = FOR_XML if xml else WITH_LATEX if HAS_LAYOUT.search(latex) else CONVERTER
    try:
        mathml = converter.convert_with_local_state(latex, displaystyle=display)
        mathml = ENTITY.sub(lambda name: unescape(name[0]), mathml).replace('tex">', 'tex"> ')
        return with_style_elements(mathml) if xml else mathml
    except LatexError as error:
        LOGGER.warning("formula %r: %s", latex, error, location=node, type="book", subtype="math")
        return f"<code>{escape(latex)}</code>"


def with_style_elements(mathml: str) -> str:
    """Put styles into `<mstyle>` around their elements: e-books hold MathML 3, which knows no other way."""
    formula = etree.fromstring(mathml)
    for element in list(formula.iterdescendants()):
        styles = {name: element.attrib.pop(name) for name in STYLES if name in element.attrib}
        if styles and (parent := element.getparent()) is not None:
            around = etree.Element(MSTYLE, styles)
            parent.replace(element, around)
            around.append(element)
    return str(etree.tostring(formula, encoding="unicode"))


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula that stands in a sentence."""
    xml = self.builder.name == "epub"
    self.body.append(to_mathml(node.astext(), node, display=False, xml=xml))
    raise nodes.SkipNode


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands alone, in a box that scrolls if the formula is wider than the page."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    is_xml = self.builder.name == "epub"
    parts = SEPARATOR.split(node.astext()) if is_xml else [node.astext()]
    written = [to_mathml(part, node, display=True, xml=is_xml) for part in parts]
    if len(written) > 1:
        written = [f'<span class="part">{part}</span>' for part in written]
    several = " several" * (len(written) > 1)
    self.body.append(f'<div class="formula{several}">{" ".join(written)}</div>')
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>")
    raise nodes.SkipNode


def keep_with_punctuation(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep each formula and the comma after it on one line: browsers may break between the two."""
    for formula in list(doctree.findall(nodes.math)):
        after = formula.next_node(descend=False, siblings=True)
        if isinstance(after, nodes.Text) and (marks := PUNCTUATION.match(after)):
            siblings = formula.parent  # their `replace` would take the first text that is equal
            siblings[siblings.index(formula) + 1] = nodes.Text(after[marks.end() :])
            whole = nodes.inline(classes=["whole"])
            formula.replace_self(whole)
            whole += [formula, nodes.Text(marks[0])]
