"""The drawing of the gloves is true: arrows are queries and weights, and its words follow the vectors."""

import torch
from harness.drawings import arrow_widths, ways
from torch.testing import assert_close

from literate_attention import figures, gloves_task

WORDS = gloves_task()[0].words
TURNS = torch.tensor([0.3, 2.4, 4.5]).repeat_interleave(4)
KEYS = torch.stack([TURNS.cos(), TURNS.sin()], dim=1)
QUERIES = 0.8 * KEYS.roll(4, dims=0)
VALUES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]).repeat(3, 1)
DEAL = ("green-rock", "blue-paper", "red-scissors")
WEIGHTS = torch.tensor([[0.1, 0.1, 0.8], [0.7, 0.2, 0.1], [0.05, 0.9, 0.05]])


def drawn(weights: torch.Tensor = WEIGHTS, values: torch.Tensor = VALUES) -> figures.Drawing:
    return figures.draw_gloves(WORDS, QUERIES, KEYS, values, deal=DEAL, weights=weights)


def test_arrows_are_the_queries() -> None:
    arrows = torch.stack([way for _, way in ways(drawn(), "query")])
    unit = arrows.norm(dim=-1).max() / QUERIES.norm(dim=-1).max()
    assert_close(arrows, (unit * QUERIES).to(arrows))


def test_an_arrow_is_as_thick_as_its_weight_and_leads_to_where_a_hand_looks() -> None:
    drawing = drawn()
    off_diagonal = WEIGHTS[~torch.eye(3, dtype=torch.bool)]
    assert_close(arrow_widths(drawing, "weight"), 0.5 + 4 * off_diagonal)
    leads = dict(ways(drawing, "weight"))
    for i, j in ((0, 1), (1, 2), (2, 0)):  # both ways between two hands
        assert_close(leads[f"weight{i}{j}"], -leads[f"weight{j}{i}"])
    top_to_right, right_to_left = leads["weight01"], leads["weight12"]
    assert top_to_right[0] > 0 > top_to_right[1]
    assert right_to_left[0] < 0 == right_to_left[1]


def test_words() -> None:
    alt = drawn().alt
    assert "'rock' of 'scissors', 'paper' of 'rock', 'scissors' of 'paper'" in alt
    assert "for 12 of 12 words the nearest is one of the same colour" in alt
    assert "'green-rock' attends most to 'red-scissors', 0.80" in alt
    assert "for 0 of 12 words" in drawn(values=KEYS + 0.01 * VALUES).alt
