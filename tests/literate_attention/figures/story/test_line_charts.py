"""Lines go through the numbers that they are handed."""

import math

import torch
from torch.testing import assert_close

from literate_attention import figures


def test_lines() -> None:
    y = torch.tensor([3.0, math.nan, 5.0], requires_grad=True)
    drawing = figures.draw_lines([1, 10, 100], {"y": y}, x_label="n", y_label="ms")
    (line,) = drawing.figure.axes[1].lines
    assert line.get_xdata().tolist() == [1, 10, 100]
    assert_close(torch.from_numpy(line.get_ydata()), y.detach().double(), equal_nan=True)
