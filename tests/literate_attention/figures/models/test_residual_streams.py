"""Residual streams are drawn as long as they are, and each part where it is."""

import pytest
import torch
from harness.drawings import written
from matplotlib.patches import FancyArrowPatch

from literate_attention import TOY_TOKENS, figures

STREAM = torch.arange(5 * 3 * 4.0).view(5, 3, 4)


def test_the_lengths_are_those_of_the_vectors() -> None:
    drawing = figures.draw_residual_streams(TOY_TOKENS[:3], STREAM)
    lengths = [text for text in written(drawing) if text.startswith("length")]
    expected = STREAM.norm(dim=-1).flatten().tolist()
    assert lengths == [f"length {length:.2f}" for length in expected]


@pytest.mark.parametrize(("tokens", "looks"), [(1, 0), (2, 1), (3, 3)])
def test_every_token_looks_at_each_before_it_in_attention_only(tokens, looks) -> None:
    drawing = figures.draw_residual_streams(TOY_TOKENS[:tokens], STREAM[:, :tokens])
    blue = [
        arrow for arrow in drawing.figure.findobj(FancyArrowPatch) if arrow.get_linewidth() == 1.6
    ]
    assert len(blue) == 2 * looks  # in each of two blocks
