"""Arcs are as thick as weights are large, in the colour of their head."""

import pytest
import torch
from matplotlib.lines import Line2D

from literate_attention import TOY_TOKENS, figures

WEIGHTS = torch.softmax(torch.linspace(-2, 3, 18), dim=-1).view(3, 6) * 3
ROWS = {f"head {h + 1}": row for h, row in enumerate(WEIGHTS)}


@pytest.mark.parametrize("query", [0, 3, 5])
def test_arcs_are_as_thick_as_weights_are_large(query: int) -> None:
    drawing = figures.draw_head_arcs(ROWS, TOY_TOKENS, query=query)
    looks = [
        line for line in drawing.figure.findobj(Line2D) if line.get_label().startswith("look head")
    ]
    thickness = torch.tensor([line.get_linewidth() for line in looks]).view(3, 6)
    torch.testing.assert_close(thickness / thickness.sum(), WEIGHTS / WEIGHTS.sum())
    assert len({line.get_color() for line in looks}) == 3


def test_a_single_attention_comes_first_and_has_no_heads_colour() -> None:
    drawing = figures.draw_head_arcs(ROWS, TOY_TOKENS, query=5, together=WEIGHTS.mean(dim=0))
    first, *others = (line for line in drawing.figure.findobj(Line2D))
    assert first.get_label().startswith("look one row")
    assert first.get_color() not in {line.get_color() for line in others[5:]}
    assert drawing.alt.startswith("Where 'step' looks. one row of weights for everything: most to")


def test_refused() -> None:
    with pytest.raises(ValueError, match="the number of heads must be at least 1, got 0"):
        figures.draw_head_arcs({}, TOY_TOKENS, query=0)
    with pytest.raises(ValueError, match="query must lie between 0 and 5, got 6"):
        figures.draw_head_arcs(ROWS, TOY_TOKENS, query=6)
    with pytest.raises(ValueError, match="head 1 must not be negative to be drawn as arrows"):
        figures.draw_head_arcs({"head 1": -torch.ones(6)}, TOY_TOKENS, query=5)
