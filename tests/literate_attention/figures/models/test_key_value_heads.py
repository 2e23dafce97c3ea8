"""A token lies beyond the lines of those that attend."""

import pytest
import torch
from harness.drawings import ways
from matplotlib.patches import Circle

from literate_attention import figures

LATENTS = torch.tensor([[1.0, 0.5], [-0.5, 2.0], [-1.0, -1.0], [-1.0, -1.0]])
DIRECTIONS = torch.tensor([[1.0, 0.0], [0.5, -2.0], [-1.0, 1.0]])
LEAST = 0.25


def test_a_token_lies_beyond_the_lines_of_the_heads_that_attend_to_it() -> None:
    drawing = figures.draw_half_planes(LATENTS, DIRECTIONS, LEAST, ["a", "b", "c", "d"])
    points = [torch.tensor(circle.center) for circle in drawing.figure.findobj(Circle)]
    seen = (LATENTS[:3] @ DIRECTIONS.T >= LEAST).tolist()  # two have the same latent
    lines, arrows = drawing.figure.axes[0].lines, ways(drawing)[::2]
    for head, (line, (_, (right, up))) in enumerate(zip(lines, arrows, strict=True)):
        start, stop = torch.tensor(line.get_xydata())
        beyond = torch.stack([right, -up]).double()
        assert (stop - start) @ beyond == pytest.approx(0, abs=1e-3)
        for point, attending in zip(points, seen, strict=True):
            assert ((point - start) @ beyond > 0) == attending[head]
