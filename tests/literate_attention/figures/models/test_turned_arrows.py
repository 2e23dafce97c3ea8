"""Turned arrows point where their vectors do."""

import torch
from harness.drawings import ways
from torch.testing import assert_close

from literate_attention import figures

PAIRS = torch.randn(3, 2, 2, generator=torch.Generator().manual_seed(0))


def test_arrows_point_where_their_vectors_do_on_one_scale() -> None:
    drawing = figures.draw_turned_arrows({str(i): pair for i, pair in enumerate(PAIRS)})
    drawn = torch.stack([way for _, way in ways(drawing)])
    vectors = PAIRS.flatten(0, 1)
    scale = drawn[0].norm() / vectors[0].norm()
    assert_close(drawn, scale * vectors)
