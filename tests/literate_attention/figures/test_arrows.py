"""Arrows point where their vectors do, lead to the word that looks, and are as thick as its weight."""

from itertools import pairwise

import pytest
import torch
from harness.drawings import arrow_widths, ways
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.text import Text
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures

X = la.toy_embeddings()
WEIGHTS = la.softmax(la.score_all_queries(X))


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# Vectors


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


def test_turned_arrows_point_where_their_vectors_do_on_one_scale() -> None:
    pairs = random(3, 2, 2)
    drawing = figures.draw_turned_arrows({str(i): pair for i, pair in enumerate(pairs)})
    drawn = torch.stack([way for _, way in ways(drawing)])
    vectors = pairs.flatten(0, 1)
    assert_close(drawn, drawn[0].norm() / vectors[0].norm() * vectors)


def test_a_token_lies_beyond_the_lines_of_the_heads_that_attend_to_it() -> None:
    latents = torch.tensor([[1.0, 0.5], [-0.5, 2.0], [-1.0, -1.0], [-1.0, -1.0]])
    directions = torch.tensor([[1.0, 0.0], [0.5, -2.0], [-1.0, 1.0]])
    drawing = figures.draw_half_planes(latents, directions, 0.25, ["a", "b", "c", "d"])
    points = [torch.tensor(circle.center) for circle in drawing.figure.findobj(Circle)]
    seen = (latents[:3] @ directions.T >= 0.25).tolist()  # two have the same latent
    lines, arrows = drawing.figure.axes[0].lines, ways(drawing)[::2]
    for head, (line, (_, (right, up))) in enumerate(zip(lines, arrows, strict=True)):
        start, stop = torch.tensor(line.get_xydata())
        beyond = torch.stack([right, -up]).double()
        assert (stop - start) @ beyond == pytest.approx(0, abs=1e-3)
        for point, attending in zip(points, seen, strict=True):
            assert ((point - start) @ beyond > 0) == attending[head]


# Weights


def test_the_arrows_of_a_context_vector_are_as_thick_as_weights() -> None:
    drawing = figures.draw_context_vector(X, WEIGHTS[4], TOY_TOKENS, query=4)
    thickness = arrow_widths(drawing, "weight")
    assert_close(thickness / thickness.sum(), WEIGHTS[4], check_dtype=False)


def test_arcs_lead_to_the_word_that_looks_above_from_later_words_each_as_thick_as_its_weight() -> (
    None
):
    weights = torch.tensor([[0.04, 0.96, 0.0], [0.5, 0.0, 0.5], [0.25, 0.75, 0.0]])
    drawing = figures.draw_looks({"w": weights}, list("abc"))
    middles = {t.get_text(): t.get_position() for t in drawing.figure.findobj(Text)}
    columns, line = [middles[word][0] for word in "abc"], middles["b"][1]
    found = {}
    for arc in drawing.figure.findobj(FancyArrowPatch):
        origin, looks = (
            min(range(3), key=lambda i: abs(columns[i] - x)) for x, _ in arc._posA_posB
        )
        assert bool(arc.get_path().vertices[:, 1].mean() < line) == (origin > looks)
        found[looks, origin] = (arc.get_linewidth() - 0.5) / 4
    assert found == pytest.approx(
        {(0, 1): 0.96, (1, 0): 0.5, (1, 2): 0.5, (2, 0): 0.25, (2, 1): 0.75}
    )


def test_tips_land_apart_and_no_arrow_begins_where_another_ends() -> None:
    """There and back between two words is not taken for one arrow with two heads."""
    even = torch.full((3, 3), 1 / 3)
    kinds = {"one": even, "two": even}
    drawing = figures.draw_ladder([("Who?", "one small step", [0, 1, 2], kinds)])
    ends = [arrow._posA_posB for arrow in drawing.figure.findobj(FancyArrowPatch)]
    starts, tips = ({(round(x), round(y)) for x, y in which} for which in zip(*ends, strict=True))
    assert len(tips) == 2 * 9
    gaps = [
        b - a
        for (a, y), (b, other) in pairwise(sorted(tips, key=lambda tip: tip[::-1]))
        if y == other
    ]
    assert min(gaps) >= 5
    assert starts.isdisjoint(tips)


# Hands in coloured gloves

TURNS = torch.tensor([0.3, 2.4, 4.5]).repeat_interleave(4)
KEYS = torch.stack([TURNS.cos(), TURNS.sin()], dim=1)
QUERIES = 0.8 * KEYS.roll(4, dims=0)
VALUES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]).repeat(3, 1)
LOOKS = torch.tensor([[0.1, 0.1, 0.8], [0.7, 0.2, 0.1], [0.05, 0.9, 0.05]])


@pytest.fixture(scope="module")
def gloves():
    words, deal = la.gloves_task()[0].words, ("green-rock", "blue-paper", "red-scissors")
    return figures.draw_gloves(words, QUERIES, KEYS, VALUES, deal=deal, weights=LOOKS)


def test_arrows_of_gloves_are_the_queries(gloves) -> None:
    arrows = torch.stack([way for _, way in ways(gloves, "query")])
    unit = arrows.norm(dim=-1).max() / QUERIES.norm(dim=-1).max()
    assert_close(arrows, (unit * QUERIES).to(arrows))


def test_an_arrow_is_as_thick_as_its_weight_and_leads_to_the_hand_that_looks(gloves) -> None:
    off_diagonal = LOOKS[~torch.eye(3, dtype=torch.bool)]
    assert_close(arrow_widths(gloves, "weight"), 0.5 + 4 * off_diagonal)
    leads = dict(ways(gloves, "weight"))
    for i, j in ((0, 1), (1, 2), (2, 0)):  # both ways between two hands
        assert_close(leads[f"weight{i}{j}"], -leads[f"weight{j}{i}"])
    right_to_top, left_to_right = leads["weight01"], leads["weight12"]
    assert right_to_top[0] < 0 < right_to_top[1]
    assert left_to_right[0] > 0 == left_to_right[1]
