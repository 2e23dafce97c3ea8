"""Lengths of residual streams are those of the vectors."""

import torch
from harness.drawings import written

from literate_attention import TOY_TOKENS, figures

STREAM = torch.arange(5 * 3 * 4.0).view(5, 3, 4)


def test_the_lengths_are_those_of_the_vectors() -> None:
    drawing = figures.draw_residual_streams(TOY_TOKENS[:3], STREAM)
    lengths = [text for text in written(drawing) if text.startswith("length")]
    expected = STREAM.norm(dim=-1).flatten().tolist()
    assert lengths == [f"length {length:.2f}" for length in expected]
