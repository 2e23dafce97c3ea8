"""Arcs are as thick as weights are large, and heads hand back what the library computes."""

import numpy as np
import pytest
import torch
from harness.drawings import as_tensor, meshes, written
from matplotlib.collections import QuadMesh
from matplotlib.lines import Line2D
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures

WEIGHTS = torch.softmax(torch.linspace(-2, 3, 18), dim=-1).view(3, 6) * 3
ROWS = {f"head {h + 1}": row for h, row in enumerate(WEIGHTS)}


@pytest.mark.parametrize("query", [0, 3, 5])
def test_arcs_are_as_thick_as_weights_are_large(query: int) -> None:
    drawing = figures.draw_head_arcs(ROWS, TOY_TOKENS, query=query, together=WEIGHTS.mean(dim=0))
    looks = [
        line for line in drawing.figure.findobj(Line2D) if line.get_label().startswith("look head")
    ]
    thickness = torch.tensor([line.get_linewidth() for line in looks]).view(3, 6)
    assert_close(thickness / thickness.sum(), WEIGHTS / WEIGHTS.sum())
    assert len({line.get_color() for line in looks}) == 3


def test_a_single_attention_comes_first_and_has_no_heads_colour() -> None:
    drawing = figures.draw_head_arcs(ROWS, TOY_TOKENS, query=5, together=WEIGHTS.mean(dim=0))
    first, *others = (line for line in drawing.figure.findobj(Line2D))
    assert first.get_label().startswith("look one row")
    assert first.get_color() not in {line.get_color() for line in others[5:]}
    assert drawing.alt.startswith("Where 'step' looks. one row of weights for everything: most to")


def test_heads_hand_back_their_context_vectors_and_they_are_joined() -> None:
    mask = la.causal_mask(6)
    weights, contexts = la.softmax(la.mask_scores(torch.randn(2, 6, 6), mask)), torch.randn(2, 6, 2)
    drawing = figures.draw_heads(weights, TOY_TOKENS, contexts=contexts, attn_mask=mask)
    found = meshes(drawing)
    for h in range(2):
        assert np.array_equal(np.ma.getmaskarray(found[f"weights{h}"]), ~mask.numpy())
        assert_close(as_tensor(found[f"weights{h}"]).nan_to_num(), weights[h])
        assert_close(as_tensor(found[f"contexts{h}"]), contexts[h])
        assert_close(as_tensor(found[f"joined{h}"]), contexts[h])
    (mesh,) = (m for m in drawing.figure.findobj(QuadMesh) if m.get_label() == "weights0")
    assert mesh.norm(1.0) == 1.0


def test_vectors_are_split_as_the_library_splits_them() -> None:
    x = torch.randn(2, 5, 6)
    found = meshes(figures.draw_weight_split(x, list("abcde"), num_heads=3))
    assert_close(as_tensor(found["x"]), x[0])
    for i, token in enumerate(x[0].view(5, 3, 2)):
        assert_close(as_tensor(np.vstack([found[f"view{i},{h}"] for h in range(3)])), token)
    for h, expected in enumerate(la.split_heads(x, 3)[0]):
        assert_close(as_tensor(found[f"head{h}"]), expected)


def test_whole_numbers_have_no_decimals() -> None:
    x = torch.arange(64).view(2, 4, 8)
    texts = written(figures.draw_weight_split(x, list("abcd"), num_heads=2))
    assert "63" not in texts  # of the second text
    assert texts.count("31") == 3
