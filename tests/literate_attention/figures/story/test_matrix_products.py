"""Products of matrices are drawn with their numbers and shapes."""

from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch

import literate_attention as la
from literate_attention import figures

X = la.toy_embeddings()


def test_products_as_shapes() -> None:
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
