"""An element that a script fills; what stands in it is for readers without scripts, and for paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

PARTS = ("numbers", "elements", "matrix", "reader", "stepper")
"""The scripts that all such elements share, each of which needs those before it."""


def add_element(
    app: Sphinx, element: type[nodes.Element], attributes_of: Callable[[HTML5Translator, Any], Any]
) -> None:
    """Register an element of pages, and what its attributes are in HTML."""

    def visit_html(self: HTML5Translator, node: nodes.Element) -> None:
        if self.builder.name != "epub":
            self.body.append(self.starttag(node, "div", **attributes_of(self, node)))

    # A visitor for "epub" by name would make Sphinx forget those that others have for HTML.
    visitors: dict[str, Any] = dict.fromkeys(("latex", "text"), (pass_by, pass_by))
    app.add_node(element, html=(visit_html, depart_html), **visitors)


def depart_html(self: HTML5Translator, node: nodes.Element) -> None:
    """Close the element."""
    if self.builder.name != "epub":
        self.body.append("</div>\n")


def pass_by(self: Any, node: nodes.Element) -> None:
    """On paper the children stand for themselves."""


def found_in(
    app: Sphinx, doctree: nodes.document | None, element: type[nodes.Element]
) -> list[Any]:
    """Return the elements of a page that scripts are going to fill."""
    if app.builder.name == "epub" or doctree is None:
        return []
    return list(doctree.findall(element))


def load(app: Sphinx, scripts: Iterable[str], *styles: str) -> None:
    """Load the shared parts, and then scripts and style sheets, on the page that is being written."""
    for script in (*(f"parts/{part}" for part in PARTS), *scripts):
        app.add_js_file(f"{script}.js", loading_method="defer")
    for style in ("parts/parts.css", *styles):
        app.add_css_file(style)
