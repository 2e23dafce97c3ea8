"""What training does is drawn as it was measured."""

import torch
from harness.drawings import arrow_widths
from matplotlib.lines import Line2D
from torch.testing import assert_close

from literate_attention import figures

LOSSES = [2.0, 1.0, 0.5]
LOOKS = {0: torch.tensor([0.5, 0.5]), 3: torch.tensor([0.9, 0.1])}


def test_the_curve_is_as_high_as_the_loss_and_arcs_are_as_thick_as_weights() -> None:
    drawing = figures.draw_training(LOSSES, LOOKS, ["cherry", "fruit?"], query=1)
    lines = {
        str(line.get_label()): line
        for axes in drawing.figure.axes
        for line in axes.lines
        if isinstance(line, Line2D)
    }
    heights = torch.tensor(lines["loss"].get_ydata())
    falls = heights - heights[0]
    assert_close(falls / falls[-1], torch.tensor([0.0, 1.0, 1.5]).double() / 1.5)
    for title, weights in zip(("before training", "after 3 steps"), LOOKS.values(), strict=True):
        assert_close(arrow_widths(drawing, f"look {title}"), 0.5 + 4 * weights)
