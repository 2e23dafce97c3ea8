"""Products of matrices are drawn with their numbers and shapes."""

import pytest
import torch
from harness.drawings import as_tensor, meshes
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures
from literate_attention.figures._roles import COLOURS

X = la.toy_embeddings()
W = torch.randn(3, 2, generator=torch.Generator().manual_seed(0))


def test_a_product_and_its_factors() -> None:
    drawing = figures.draw_matrix_product(X, W, row=1, column=1)
    for name, matrix in {"left": X, "right": W, "product": X @ W}.items():
        assert_close(as_tensor(meshes(drawing)[name]), matrix)


def test_projections_keep_their_numbers_and_their_colours() -> None:
    weights = {"query": W, "key": 2 * W, "value": -W}
    drawing = figures.draw_projections(X, weights, TOY_TOKENS)
    for name, matrix in weights.items():
        assert_close(as_tensor(meshes(drawing)[f"W_{name}"]), matrix)
        assert_close(as_tensor(meshes(drawing)[name]), X @ matrix)
        (mesh,) = (m for m in drawing.figure.axes[0].collections if m.get_label() == name)
        shown = mesh.to_rgba(mesh.get_array())[..., :3]
        assert (abs(shown - to_rgb(COLOURS[name].tint)) < 1e-6).all()


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


def test_a_product_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="must be the product of the others"):
        figures.draw_products([{"a": X, "b": X.T, "c": X @ X.T + 1}])
