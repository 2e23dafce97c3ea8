"""A reader's own tensors are drawn, or refused in words."""

from itertools import pairwise

import pytest
import torch
from harness.library.refusals import refusals

import literate_attention as la
from literate_attention import figures

EVEN = la.causal_mask(200) / torch.arange(1.0, 201)[:, None]
ABC = ["a", "b", "c", "d"]
NAN, EYE = torch.tensor([[0.5, torch.nan]]), torch.eye(2)


def many(count):
    return [f"token {i}" for i in range(count)]


def lines(y):
    return figures.draw_lines([1, 2], y, x_label="x", y_label="y")


def steps(count):
    ones = torch.ones(count, 2)
    return figures.draw_query_steps(ones[0], ones, ones, many(count), asks=0)


test_refuses = refusals(
    ("holds nothing to draw", lambda: figures.draw_attention_matrix(torch.eye(0), [])),
    ("(1, 2, 2): take one text", lambda: figures.draw_attention_matrix(EYE[None], ABC[:2])),
    ("1 of 4 numbers", lambda: figures.draw_masked_row(800 * EYE.flatten(), ABC, query=2)),
    ("4 of 4 numbers", lambda: figures.draw_masked_row(EYE.flatten() - 1e8, ABC, query=2)),
    ("(1, 2, 2): take one text", lambda: figures.draw_products([dict.fromkeys("abc", EYE[None])])),
    (
        "(1, 2, 2): take one text",
        lambda: figures.draw_attention_matrix(EYE, ABC[:2], attn_mask=EYE[None]),
    ),
    ("1 of 2 numbers", lambda: figures.draw_attention_matrix(NAN, ["a"], keys=["a", "b"])),
    ("6 things need as many", lambda: figures.draw_attention_matrix(torch.eye(6), ABC)),
    ("at most 37 do", lambda: figures.draw_looks({"w": EVEN[:60, :60]}, many(60))),
    ("229 inches high; draw fewer", lambda: steps(200)),
    (
        "a weight below zero",
        lambda: figures.draw_context_vector(EYE, EYE[0] - 0.5, ABC[:2], query=0),
    ),
    ("the product of the oth", lambda: figures.draw_products([{"a": EYE, "b": EYE, "c": EYE + 1}])),
    ("got 2 in both", lambda: figures.draw_mask_parts({"a": EYE >= 0, "b": EYE > 0}, ABC[:2])),
    ("no place for 0; pass log=False", lambda: lines({"a": [0, 1]})),
    ("b needs a finite number for", lambda: lines({"a": [1, 2], "b": [1, torch.inf]})),
    ("b needs a finite number for", lambda: lines({"a": [1, 2], "b": [torch.nan, torch.nan]})),
    ("b needs a finite number for", lambda: lines({"a": [1, 2], "b": [1, 2, 3]})),
    ("at most 6 series can", lambda: lines(dict.fromkeys("abcdefghi", (1, 2)))),
    ("at most 4 processes have a", lambda: figures.draw_ring(many(16), la.ring_shards(16, 8))),
)


@pytest.mark.parametrize("count", [60, 200])
def test_a_long_text_is_a_square_whose_labels_do_not_collide(count) -> None:
    drawing = figures.draw_attention_matrix(EVEN[:count, :count], many(count))
    width, height = drawing.figure.get_size_inches()
    assert height < 1.5 * width
    assert (
        len(drawing._repr_mimebundle_()[0]["image/svg+xml"]) < 250_000
    )  # bytes: pixels, not shapes
    rows = [t for t in drawing.figure.axes[0].texts if t.get_text().startswith("token")]
    down = sorted({round(t.get_position()[1], 3) for t in rows if t.get_ha() == "right"})
    assert len(down) > 10
    assert min(b - a for a, b in pairwise(down)) >= 9.5
