"""Arrows and arcs are as thick as weights are large, and lead from the word that looks."""

from itertools import pairwise

import pytest
import torch
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text

from literate_attention import figures


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
