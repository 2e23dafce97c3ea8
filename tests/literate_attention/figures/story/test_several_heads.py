"""Arrows are as thick as weights are large, and vectors are split as the library splits them."""

from itertools import permutations

import numpy as np
import torch
from harness.drawings import as_tensor, meshes, written
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text
from torch.testing import assert_close

import literate_attention as la
from literate_attention import figures

WEIGHTS = torch.softmax(torch.linspace(-2, 3, 27).view(3, 3, 3) ** 2, dim=-1)


def test_arrows_are_as_thick_as_weights_are_large_and_each_head_has_its_colour() -> None:
    drawing = figures.draw_head_circles(WEIGHTS[:2], ["a", "b", "c"], alone=WEIGHTS[2])
    arrows = {arrow.get_label(): arrow for arrow in drawing.figure.findobj(FancyArrowPatch)}
    assert len(arrows) == 3 * 6
    for name, weights in zip(("head 1", "head 2", "a single head"), WEIGHTS, strict=True):
        own = {label[-2:]: arrow for label, arrow in arrows.items() if label.startswith(name)}
        for i, j in permutations(range(3), 2):
            assert_close(own[f"{i}{j}"].get_linewidth(), 0.5 + 4 * weights[i, j].item())
        assert len({arrow.get_edgecolor() for arrow in own.values()}) == 1
    assert len({arrow.get_edgecolor() for arrow in arrows.values()}) == 3


def test_an_arrow_leads_from_the_token_that_looks() -> None:
    onward = torch.eye(3).roll(1, 1)
    drawing = figures.draw_head_circles(onward[None], ["a", "b", "c"], alone=onward.T)
    tips = {arrow.get_label(): arrow for arrow in drawing.figure.findobj(FancyArrowPatch)}
    places = {
        text.get_text(): np.array(text.get_position()) for text in drawing.figure.findobj(Text)
    }
    (tail, tip) = tips["head 1: 01"]._posA_posB
    assert np.linalg.norm(places["a"] - tail) < np.linalg.norm(places["a"] - tip)
    assert np.linalg.norm(places["b"] - tip) < np.linalg.norm(places["b"] - tail)
    assert "Head 1: 'a' gives 'b' 1.00 and 'c' 0.00" in drawing.alt
    assert "A single head: 'a' gives 'b' 0.00 and 'c' 1.00" in drawing.alt


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
