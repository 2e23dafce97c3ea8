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


def test_the_words_tell_where_a_series_was_measured() -> None:
    series = {"long": [1, 2, 3], "short": [0.4, 2, math.nan]}
    alt = figures.draw_lines([1, 10, 100], series, x_label="tokens", y_label="ms").alt
    assert "ms over tokens, on logarithmic axes, from 1 to 100." in alt
    assert alt.endswith("long: from 1 to 3. short: from 0.4 to 2, measured from 1 to 10.")
