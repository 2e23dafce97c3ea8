"""No number with a decimal point is typed by hand in prose.

Such a number is a result, and a result typed by hand is wrong after the next change. A cell prints it, and
the sentence says what it means. Inline code may hold one, as in `dropout=0.5`: there it is an argument that a
reader types. A number alone does not turn into code by being marked as code.

The rule holds for headings, captions, tables, alternative texts, and for mathematics too. Whole numbers are
free, and so are versions (`2.13.0`), names (GPT-3.5), links that contain the number, the reference of the
library, and bibliographies.
"""

from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from executable_book.check.compared_values import DECIMAL
from executable_book.repeated_warnings import warn

FREE = nodes.literal_block | nodes.doctest_block | nodes.raw | nodes.comment | nodes.citation
FREE |= nodes.system_message | addnodes.desc
WAY_OUT = "have a cell print it"


def typed_numbers(doctree: nodes.document) -> Iterator[tuple[nodes.Node, str, str]]:
    """Yield the node of each number that is typed by hand, the number, and what is wrong with it."""
    for node in doctree.findall(lambda one: isinstance(one, nodes.Text | nodes.image)):
        text = node.get("alt", "") if isinstance(node, nodes.image) else node.astext()
        for number in DECIMAL.findall(text):
            if message := _complaint(node, number):
                yield node, number, message


def _complaint(node: nodes.Node, number: str) -> str:
    """Say what is wrong with a number, nothing if it may stand where it does."""
    around = list(ancestors(node))
    if any(isinstance(one, FREE) or _is_output(one) or _links_to(one, number) for one in around):
        return ""
    if isinstance(node, nodes.image):
        return f"the number {number} in an alternative text: say it in words"
    if any(isinstance(one, nodes.math | nodes.math_block) for one in around):
        return f"the number {number} in mathematics, where no cell can check it: use a symbol"
    if isinstance(node.parent, nodes.literal):
        alone = node.astext().strip().lstrip("+-") == number
        return f"the number {number} is no code; {WAY_OUT}" if alone else ""
    return f"the number {number} is typed by hand; {WAY_OUT}"


def _is_output(node: nodes.Element) -> bool:
    """Tell whether a node was computed."""
    return node.get("nb_element") == "mime_bundle" or "output" in node.get("classes", ())


def _links_to(node: nodes.Element, number: str) -> bool:
    return isinstance(node, nodes.reference) and number in node.get("refuri", "")


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    """Yield what a node stands in, from near to far."""
    while node.parent is not None:
        node = node.parent
        yield node


def check(app: Sphinx, doctree: nodes.document) -> None:
    """Say what is wrong with a page's numbers."""
    page = app.env.docname
    lines = Path(app.env.doc2path(page)).read_text(encoding="utf-8").splitlines()
    for node, number, says in typed_numbers(doctree):
        warn(app, "prose-numbers", page, _line(node, number, lines), says)


def _line(node: nodes.Node, number: str, lines: list[str]) -> int:
    """Return the line on which a number is typed: docutils knows it only roughly."""
    near = next((one.line for one in (node, *ancestors(node)) if one.line), 0)
    typed = [place for place, line in enumerate(lines, start=1) if number in line]
    return min(typed, key=lambda place: abs(place - near), default=near)
