"""An overview shows a model as it computes."""

import numpy as np
from matplotlib.patches import Circle

from literate_attention import TOY_TOKENS, figures


def test_what_a_part_returns_is_added_where_a_circle_holds_a_plus() -> None:
    drawing = figures.draw_gpt(TOY_TOKENS[:-1], TOY_TOKENS[-1], num_layers=12)
    lines = np.array([line.get_xydata() for line in drawing.figure.axes[0].lines])
    circles = drawing.figure.findobj(Circle)
    assert len(circles) == 2  # after attention, after the feed-forward network
    for circle in circles:
        strokes = lines[np.isclose(lines.mean(axis=1), circle.center).all(axis=1)]
        across, down = np.ptp(strokes, axis=1)
        np.testing.assert_allclose([across, down], 6 * np.eye(2), atol=1e-9)
