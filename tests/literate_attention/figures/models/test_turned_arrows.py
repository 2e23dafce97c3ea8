"""Turned arrows point where their vectors do."""

import math

import pytest
import torch
from harness.drawings import ways
from torch.testing import assert_close

from literate_attention import figures

PAIRS = torch.randn(3, 2, 2, generator=torch.Generator().manual_seed(0))


def turned(degrees):
    """Turn the vectors of one pair together."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return PAIRS[0] @ torch.tensor([[cosine, sine], [-sine, cosine]])


def test_arrows_point_where_their_vectors_do_on_one_scale() -> None:
    drawing = figures.draw_turned_arrows({str(i): pair for i, pair in enumerate(PAIRS)})
    drawn = torch.stack([way for _, way in ways(drawing)])
    vectors = PAIRS.flatten(0, 1)
    scale = drawn[0].norm() / vectors[0].norm()
    assert_close(drawn, scale * vectors)


@pytest.mark.parametrize("degrees", [10, 90, 200])
def test_what_is_turned_together_keeps_its_angle_and_its_score(degrees) -> None:
    before, after = (
        figures.draw_turned_arrows({"": pair}).alt.partition("the angle")[2]
        for pair in (turned(0), turned(degrees))
    )
    assert before == after
    cosine = torch.cosine_similarity(*PAIRS[0], dim=0)
    assert f"them {math.degrees(math.acos(cosine)):.0f}°" in before
