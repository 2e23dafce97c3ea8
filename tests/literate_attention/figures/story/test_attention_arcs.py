"""Arrows and arcs are as thick as weights are large, and lead from the word that looks."""

from itertools import pairwise, permutations

import pytest
import torch
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text
from torch.testing import assert_close

from literate_attention import figures

WEIGHTS = torch.softmax(torch.linspace(-2, 3, 27).view(3, 3, 3) ** 2, dim=-1)


def test_arcs_lead_to_the_word_that_looks_above_from_later_words_each_as_thick_as_its_weight() -> (
    None
):
    weights = torch.tensor([[0.04, 0.96, 0.0], [0.5, 0.0, 0.5], [0.25, 0.75, 0.0]])
    drawing = figures.draw_looks({"w": weights}, list("abc"))
    middles = {t.get_text(): t.get_position() for t in drawing.figure.findobj(Text)}
    columns, line = [middles[word][0] for word in "abc"], middles["b"][1]
    found = {}
    for arc in drawing.figure.findobj(FancyArrowPatch):
        origin, looks = (
            min(range(3), key=lambda i: abs(columns[i] - x)) for x, _ in arc._posA_posB
        )
        assert bool(arc.get_path().vertices[:, 1].mean() < line) == (origin > looks)
        found[looks, origin] = (arc.get_linewidth() - 0.5) / 4
    assert found == pytest.approx(
        {(0, 1): 0.96, (1, 0): 0.5, (1, 2): 0.5, (2, 0): 0.25, (2, 1): 0.75}
    )


def test_tips_land_apart_and_no_arrow_begins_where_another_ends() -> None:
    """There and back between two words is not taken for one arrow with two heads."""
    even = torch.full((3, 3), 1 / 3)
    kinds = {"one": even, "two": even}
    drawing = figures.draw_ladder([("Who?", "one small step", [0, 1, 2], kinds)])
    ends = [arrow._posA_posB for arrow in drawing.figure.findobj(FancyArrowPatch)]
    starts, tips = ({(round(x), round(y)) for x, y in which} for which in zip(*ends, strict=True))
    assert len(tips) == 2 * 9
    gaps = [
        b - a
        for (a, y), (b, other) in pairwise(sorted(tips, key=lambda tip: tip[::-1]))
        if y == other
    ]
    assert min(gaps) >= 5
    assert starts.isdisjoint(tips)


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
