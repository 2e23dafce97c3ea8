"""What is folded away until a reader asks for it: the code of figures, solutions, admonitions.

All are `<details>`, which need no script, and whose `<summary>` is its visible text and nothing else: what
is heard is what is seen. An e-book cannot be unfolded everywhere, so its builder opens them; paper is seen to
by the style sheet.
"""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

SHARED_IDS = (["exercise-content"], ["solution-content"])


def folded(summary: str, *content: nodes.Node, kind: str = "folded") -> list[nodes.Node]:
    """Fold content away where the format can; show it where it cannot."""
    opening = f'<details class="{kind}"><summary>{escape(summary)}</summary>'
    closing = nodes.raw("", "</details>", format="html")
    return [nodes.raw("", opening, format="html"), *content, closing]


def visit(self: HTML5Translator, node: nodes.Element) -> None:
    """Open a fold around a cell's code or output, or else around what has a title, under this title.

    The code of a figure stands above it, and says whose it is.
    """
    summary = node.get("prompt_show") or node.pop(0).astext()
    if summary == getattr(self.config, "nb_code_prompt_show", None) and node.parent:
        summary += " for this figure" * any(node.parent.findall(nodes.figure))
    self.body.append(self.starttag(node, "details", CLASS="folded"))
    self.body.append(f"<summary>{self.encode(summary)}</summary>\n")


def depart(self: HTML5Translator, node: nodes.Element) -> None:
    """Close a fold."""
    self.body.append("</details>\n")


class Dropdown(nodes.admonition):
    """An admonition of the class `dropdown`."""


def prepare(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Know which admonitions are folded, and take away ids that are not unique, and that nothing leads to.

    sphinx-exercise gives the same id to the content of each exercise and solution, and the citations of each
    docstring are counted from one.
    """
    for node in [*doctree.findall(nodes.Element)]:
        if node["ids"] in SHARED_IDS or "bibtex-citation" in node["classes"]:
            node["ids"] = []
        if isinstance(node, nodes.admonition) and "dropdown" in node["classes"]:
            node.replace_self(Dropdown("", *node.children, **node.attributes))
