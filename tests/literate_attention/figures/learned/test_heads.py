"""The best head is framed, each draw is a dot on its ruler, bars are as long as their numbers."""

import numpy as np
import torch
from matplotlib.collections import QuadMesh
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from literate_attention import figures


def test_the_best_head_is_framed() -> None:
    scores = torch.rand(5, 3)
    drawing = figures.draw_head_scores({"Induction": scores})
    (cells,) = (m for m in drawing.figure.findobj(QuadMesh) if m.get_label() == "Induction")
    (frame,) = (b for b in drawing.figure.findobj(FancyBboxPatch) if b.get_zorder() == 4)
    layer, head = divmod(int(scores.argmax()), 3)
    corner = cells.get_coordinates()[head, layer]
    np.testing.assert_allclose([frame.get_x(), frame.get_y()], corner)


def test_each_draw_is_a_dot_and_the_interval_lies_on_the_same_ruler() -> None:
    values = torch.tensor([0.0, 0.25, 1.0, 0.75])
    drawing = figures.draw_claim(
        {"effect": (values, 0.5, 0.25, 0.75), "control": (values, 0.5, 0.0, 1.0)}, "share"
    )
    dots = [circle.center[0] for circle in drawing.figure.findobj(Circle)]
    intervals = {str(line.get_label()): line.get_xdata() for line in drawing.figure.findobj(Line2D)}
    assert len(dots) == 8
    zero, quarter, one, three_quarters = dots[:4]
    np.testing.assert_allclose((one - zero) / 4, quarter - zero)
    np.testing.assert_allclose(intervals["effect"], [quarter, three_quarters])
    np.testing.assert_allclose(intervals["control"], [zero, one])


def test_bars_of_wires_are_as_long_as_their_numbers() -> None:
    trials = {
        "cut": ("16/0", [False, True], torch.tensor([0.25, 1.0])),
        "whole": ("16/0", [True, True], torch.tensor([0.5, 0.75])),
    }
    drawing = figures.draw_wires(["a key", "the rest"], ["random", "words"], trials)
    bars = {str(bar.get_label()): bar.get_width() for bar in drawing.figure.findobj(Rectangle)}
    assert [bars[name] for name in ("cut0", "cut1", "whole0", "whole1")] == [0.25, 1.0, 0.5, 0.75]
