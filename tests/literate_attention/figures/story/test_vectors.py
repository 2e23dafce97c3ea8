"""The drawings of what attention does are true: shadows are scores, and pulls add up."""

import pytest
import torch
from harness.drawings import arrow_widths, ways
from torch.testing import assert_close

import literate_attention as la
from literate_attention import figures

WORDS = la.gloves_task()[0].words
TURNS = torch.tensor([0.3, 2.4, 4.5]).repeat_interleave(4)
KEYS = torch.stack([TURNS.cos(), TURNS.sin()], dim=1)
QUERIES = 0.8 * KEYS.roll(4, dims=0)
VALUES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]).repeat(3, 1)
DEAL = ("green-rock", "blue-paper", "red-scissors")
LOOKS = torch.tensor([[0.1, 0.1, 0.8], [0.7, 0.2, 0.1], [0.05, 0.9, 0.05]])


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("width", [2, 3, 7])
def test_keys_keep_their_length_and_their_angle_to_the_query(width) -> None:
    query, keys = random(width, seed=1), random(5, width)
    drawing = figures.draw_shadows(query, keys, list("abcde"))
    arrows = torch.stack([way for _, way in ways(drawing, "key")])
    ((_, direction),) = ways(drawing, "direction")
    ratios = arrows.norm(dim=-1) / keys.norm(dim=-1)
    assert_close(ratios, (direction.norm() / query.norm()).expand(5))
    cosine = torch.nn.functional.cosine_similarity
    assert_close(cosine(arrows, direction[None]), cosine(keys, query[None]))


def drawn_gloves(weights=LOOKS, values=VALUES):
    return figures.draw_gloves(WORDS, QUERIES, KEYS, values, deal=DEAL, weights=weights)


def test_arrows_of_gloves_are_the_queries() -> None:
    arrows = torch.stack([way for _, way in ways(drawn_gloves(), "query")])
    unit = arrows.norm(dim=-1).max() / QUERIES.norm(dim=-1).max()
    assert_close(arrows, (unit * QUERIES).to(arrows))


def test_an_arrow_is_as_thick_as_its_weight_and_leads_to_the_hand_that_looks() -> None:
    drawing = drawn_gloves()
    off_diagonal = LOOKS[~torch.eye(3, dtype=torch.bool)]
    assert_close(arrow_widths(drawing, "weight"), 0.5 + 4 * off_diagonal)
    leads = dict(ways(drawing, "weight"))
    for i, j in ((0, 1), (1, 2), (2, 0)):  # both ways between two hands
        assert_close(leads[f"weight{i}{j}"], -leads[f"weight{j}{i}"])
    right_to_top, left_to_right = leads["weight01"], leads["weight12"]
    assert right_to_top[0] < 0 < right_to_top[1]
    assert left_to_right[0] > 0 == left_to_right[1]
