"""A reader's own tensors are drawn, or refused in words."""

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from harness.drawings import lengths, written

import literate_attention as la
from literate_attention import figures
from literate_attention.figures import Drawing

EVEN = la.causal_mask(200) / torch.arange(1.0, 201)[:, None]
HUGE = 1e8 * torch.tensor([1.0, 3.0, 2.0, 4.0])
ABC = ["a", "b", "c", "d"]
NAN = torch.tensor([[0.5, torch.nan]])


def many(count):
    return [f"token {i}" for i in range(count)]


REFUSED: dict[str, tuple[Callable[[], Drawing], str]] = {
    "a batch": (
        lambda: figures.draw_attention_matrix(torch.ones(1, 2, 2), ["a", "b"]),
        r"has 2 dimensions, got one of shape \(1, 2, 2\): take one text",
    ),
    "nan": (lambda: figures.draw_attention_matrix(NAN, ["a"], keys=["a", "b"]), "1 of 2 numbers"),
    "nothing": (lambda: figures.draw_attention_matrix(torch.eye(0), []), "holds nothing to draw"),
    "labels for others": (
        lambda: figures.draw_attention_matrix(torch.eye(6), ["a", "b"]),
        "6 things need as many labels, got 2",
    ),
    "words without room": (
        lambda: figures.draw_looks({"w": EVEN[:60, :60]}, many(60)),
        "60 things do not fit side by side, at most 37 do",
    ),
    "200 rows in four frames": (
        lambda: figures.draw_query_steps(
            torch.ones(2), torch.ones(200, 2), torch.ones(200, 2), many(200), asks=0
        ),
        "229 inches high; draw fewer rows",
    ),
    "weights below zero": (
        lambda: figures.draw_context_vector(torch.eye(2), torch.tensor([1.5, -0.5]), ABC[:2], query=0),
        "is a weight below zero",
    ),
    "no product": (
        lambda: figures.draw_products([{"a": torch.eye(2), "b": torch.eye(2), "c": torch.ones(2, 2)}]),
        "must be the product of the others",
    ),
    "parts that overlap": (
        lambda: figures.draw_mask_parts({"a": torch.ones(2, 2) > 0, "b": torch.eye(2) > 0}, ABC[:2]),
        "each pair must be in one part, got 2 in both",
    ),
    "zero on a logarithmic axis": (
        lambda: figures.draw_lines([1, 2], {"a": [0, 1]}, x_label="x", y_label="y"),
        "no place for 0; pass log=False",
    ),
    "nine series": (
        lambda: figures.draw_lines([1], {name: [1] for name in "abcdefghi"}, x_label="", y_label=""),
        "at most 6 series can be told apart, got 9",
    ),
    "eight processes": (
        lambda: figures.draw_ring(many(16), la.ring_shards(16, 8)),
        "at most 4 processes have a colour, got 8",
    ),
}  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_drawn_is_refused_in_words(case) -> None:
    draw, says = REFUSED[case]
    with pytest.raises(ValueError, match=says):
        draw()


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


def test_huge_scores_lose_their_largest_before_the_exponential() -> None:
    drawing = figures.draw_masked_row(HUGE, ABC, query=2)
    assert lengths(drawing, "÷ sum.*").tolist() == [0.0, 1.0, 0.0, 0.0]
    assert "exp(s \N{MINUS SIGN} max)" in written(drawing)


@pytest.mark.parametrize("query", [0, 2])
def test_no_word_is_said_to_attend_most_to_a_hidden_one(query) -> None:
    """Also where numbers stand beyond the mask, as they do in scores before it is applied."""
    scores = la.causal_mask(4).logical_not() * 9.0 + torch.eye(4)
    alt = figures.draw_attention_matrix(scores, ABC, attn_mask=la.causal_mask(4)).alt
    how = "only" if query == 0 else "most"
    assert f"'{ABC[query]}', attends {how} to '{ABC[query]}', 1.00." in alt
    assert "Numbers of 6 pairs stand beyond the mask." in alt
