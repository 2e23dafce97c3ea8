"""Formulas as MathML, which browsers draw and screen readers speak: no script, no request to another site.

math-core turns LaTeX into MathML when the book is built. Brackets and roots grow with what they hold only in
a font that is made for mathematics, and not every machine has one. So the book brings STIX Two Math, which
comes with the package ziamath, cut down to the characters that formulas use.
"""

from __future__ import annotations

from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from docutils import nodes
from fontTools import subset
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)
FONT = "stix-two-math.woff2"
CHARACTERS = (
    *range(0x20, 0x7F),
    *range(0xA0, 0x100),
    *range(0x391, 0x3CA),  # Greek
    *range(0x2010, 0x2040),  # dashes, dots, primes
    *range(0x2190, 0x219A),  # arrows
    *range(0x21D0, 0x21D6),
    *range(0x2200, 0x22FF),  # operators
    *range(0x2308, 0x230C),  # floor and ceiling
    *(0x27E8, 0x27E9, 0x23DE, 0x23DF, 0x210E, 0x211D),  # angle brackets, braces, h, the reals
    *range(0x1D400, 0x1D468),  # bold and italic Latin
    *range(0x1D6FC, 0x1D71C),  # italic Greek
)
CONVERTER = LatexToMathML()


def to_mathml(latex: str, node: nodes.Node, *, display: bool) -> str:
    """Convert a formula; one that cannot be read becomes a warning and shows as it was typed."""
    try:
        return CONVERTER.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        LOGGER.warning("formula %r: %s", latex, error, location=node, type="literate", subtype="math")
        return f"<code>{escape(latex)}</code>"


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula that stands in a sentence."""
    self.body.append(to_mathml(node.astext(), node, display=False))
    raise nodes.SkipNode


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands alone, in a box that scrolls if the formula is wider than the page."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    mathml = to_mathml(node.astext(), node, display=True)
    self.body.append(f'<div class="formula" tabindex="0" role="group">{mathml}</div>')
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>")
    raise nodes.SkipNode


def write_font(app: Sphinx, exception: Exception | None) -> None:
    """Put the font beside the other static files of a site."""
    if exception or app.builder.format != "html":
        return
    target = Path(app.outdir, "_static", FONT)
    if target.exists():
        return
    options = subset.Options(flavor="woff2", layout_features=["*"], recalc_timestamp=False)
    with resources.as_file(resources.files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf") as path:
        font = subset.load_font(str(path), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=CHARACTERS)
    subsetter.subset(font)
    target.parent.mkdir(parents=True, exist_ok=True)
    subset.save_font(font, str(target), options)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; conf.py chooses it with `html_math_renderer = "mathml"`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    app.connect("build-finished", write_font)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
