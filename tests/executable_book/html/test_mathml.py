"""Formulas become MathML that a browser and an e-book can read."""

from xml.etree import ElementTree

import pytest
from docutils import nodes
from docutils.utils import new_document

from executable_book.html.mathml import keep_with_punctuation, to_mathml


@pytest.mark.parametrize("display", [True, False])
def test_formulas_are_xml(display) -> None:
    """HTML knows characters by names that XML, and so every e-book reader, stumbles over."""
    mathml = to_mathml(
        r"\max_k x_k < \log \left( 1 + \operatorname{Var}(y) \right)", nodes.math(), display=display
    )
    formula = ElementTree.fromstring(mathml)
    text = "".join(formula.itertext())
    assert "max" in text
    assert "<" in text
    assert "\u2061" in text  # the invisible sign for a function that is applied


def test_browsers_of_text_see_what_letters_in_a_row_lose() -> None:
    formula = ElementTree.fromstring(to_mathml(r"\frac{q}{2}", nodes.math(), display=False))
    assert [one.text for one in formula.iter("annotation")] == [r" \frac{q}{2}"]
    for latex, xml in [("x + 1", False), (r"\frac{q}{2}", True)]:
        assert "<annotation" not in to_mathml(latex, nodes.math(), display=False, xml=xml)


def test_a_formula_that_cannot_be_read_shows_as_it_was_typed() -> None:
    assert to_mathml(r"\frac{1}{<", nodes.math(), display=False) == r"<code>\frac{1}{&lt;</code>"


@pytest.mark.parametrize(
    ("after", "kept", "left"),
    [(", and so on", ",", " and so on"), (").", ").", ""), (" is", "", " is")],
)
def test_a_formula_keeps_the_comma_after_it(after, kept, left) -> None:
    page = new_document("page")
    page += nodes.paragraph("", "", nodes.Text("Let "), nodes.math("x", "x"), nodes.Text(after))
    keep_with_punctuation(None, page, "page")
    whole = [node.astext() for node in page.findall(nodes.inline)]
    assert whole == (["x" + kept] if kept else [])
    assert page[0][-1].astext() == left
    assert page.astext() == "Let x" + after


def test_the_same_words_elsewhere_keep_their_comma() -> None:
    page = new_document("page")
    page += (paragraph := nodes.paragraph())
    for node in (nodes.literal("view", "view"), nodes.math("x", "x")):
        paragraph += [node, nodes.Text(", then ")]
    keep_with_punctuation(None, page, "page")
    assert page.astext() == "view, then x, then "
