"""Products of matrices are drawn with their shapes."""

from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch

import literate_attention as la
from literate_attention import figures

X = la.toy_embeddings()
WEIGHTS = la.softmax(X @ X.T)


def test_the_words_tell_the_shapes() -> None:
    alt = figures.draw_products([{"a": X, "b": X.T, "c": X @ X.T}]).alt
    assert alt == "Matrix products as shapes. a (6, 3) times b (3, 6) gives c (6, 6)."


def test_the_rules_of_a_matrix_are_not_drawn_in_the_colour_of_its_ground() -> None:
    drawing = figures.draw_products([{"inputs": X, "W_query": X.T, "queries": X @ X.T}])
    for sheet in drawing.figure.findobj(FancyBboxPatch):
        area = sheet.get_bbox()
        rules = [
            to_rgb(line.get_color())
            for line in drawing.figure.axes[0].lines
            if area.contains(*line.get_xydata().mean(axis=0))
        ]
        assert rules
        assert sheet.get_facecolor()[:3] not in rules


def test_a_product_of_several() -> None:
    alt = figures.draw_products([{"a": WEIGHTS, "b": X, "c": X.T, "d": WEIGHTS @ X @ X.T}]).alt
    assert "a (6, 6) times b (6, 3) times c (3, 6) gives d (6, 6)" in alt
