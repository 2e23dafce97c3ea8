"""Waiting in a ring is drawn for as long as it takes."""

import pytest
import torch
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

import literate_attention as la
from literate_attention import figures
from literate_attention.figures.models.ring import WAITS


@pytest.mark.parametrize("zigzag", [False, True])
def test_who_waits_is_drawn_for_as_long_as_it_waits(zigzag) -> None:
    shards = la.ring_shards(8, 4, zigzag=zigzag)
    drawing = figures.draw_ring_work({"order": shards})
    waits: list[Tensor] = []
    held = shards.flatten(1)
    for step in range(4):
        keys = held.roll(step, dims=0)
        scores = (keys[:, None, :] <= held[:, :, None]).sum(dim=(1, 2))
        waits.append(scores.max() - scores)
    boxes = drawing.figure.findobj(FancyBboxPatch)
    widths = sorted(box.get_width() for box in boxes if box.get_hatch() == WAITS)
    expected = sorted(wait for wait in torch.cat(waits).tolist() if wait)
    legend = 1
    assert len(widths) == len(expected) + legend
    assert bool(expected) != zigzag
    if expected:
        assert widths[-1] / widths[-2] == pytest.approx(expected[-1] / expected[-2])
