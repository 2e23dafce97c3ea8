"""The drawings of what attention does are true: shadows are scores, and pulls add up."""

import numpy as np
import pytest
import torch
from harness.drawings import lengths, ways
from matplotlib.patches import Circle, FancyArrowPatch, Polygon
from torch import Tensor
from torch.testing import assert_close

import literate_attention as la
from literate_attention import figures
from literate_attention.figures._palette import BLUE

X = la.toy_embeddings()
WEIGHTS = la.softmax(X @ X.T)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class TestShadows:
    @pytest.mark.parametrize("width", [1, 2, 3, 7])
    def test_a_shadow_times_the_length_of_the_query_is_the_score(self, width: int) -> None:
        query, keys = random(width, seed=1), random(5, width)
        drawing = figures.draw_shadows(query, keys, list("abcde"))
        assert_close(lengths(drawing, "shadow.*") * query.norm(), keys @ query)

    @pytest.mark.parametrize("width", [2, 3, 7])
    def test_keys_keep_their_length_and_their_angle_to_the_query(self, width: int) -> None:
        query, keys = random(width, seed=1), random(5, width)
        drawing = figures.draw_shadows(query, keys, list("abcde"))
        arrows = torch.stack([way for _, way in ways(drawing, "key")])
        ((_, direction),) = ways(drawing, "direction")
        ratios = arrows.norm(dim=-1) / keys.norm(dim=-1)
        assert_close(ratios, (direction.norm() / query.norm()).expand(5))
        cosine = torch.nn.functional.cosine_similarity
        assert_close(cosine(arrows, direction[None]), cosine(keys, query[None]))

    def test_vectors_of_two_numbers_are_only_turned(self) -> None:
        """Between any two of them there is the angle that there really is."""
        query, keys = random(2, seed=1), random(5, 2)
        drawing = figures.draw_shadows(query, keys, list("abcde"))
        arrows = torch.stack([way for _, way in ways(drawing, "key")])
        drawn, real = arrows @ arrows.T, keys @ keys.T
        assert_close(drawn / drawn[0, 0], real / real[0, 0])

    def test_words(self) -> None:
        query = torch.tensor([2.0, 0.0])
        keys = torch.tensor([[1.0, 5.0], [-3.0, 0.0]])
        alt = figures.draw_shadows(query, keys, ["one", "step"]).alt
        assert alt.endswith("Backwards, and so below zero, points that of 'step'.")
        assert "Backwards" not in figures.draw_shadows(query, -keys[1:], ["step"]).alt


class TestPulls:
    @pytest.mark.parametrize("query", [None, 3])
    def test_pulls_lead_from_the_start_to_the_context_vector(self, query: int | None) -> None:
        places, weights = random(5, 2), la.softmax(random(5, seed=1))
        drawing = figures.draw_pulls(places, weights, list("abcde"), query=query)
        start = places.mean(dim=0) if query is None else places[query]
        pulls = weights[:, None] * (places - start)
        drawn = dict(ways(drawing, "pull"))
        names = sorted(drawn)
        expected = torch.stack([pulls[int(name.removeprefix("pull"))] for name in names])
        scale = drawn[names[0]].norm() / expected[0].norm()
        assert len(names) >= 4
        assert_close(torch.stack([drawn[name] for name in names]), scale * expected)
        assert_close(start + pulls.sum(dim=0), weights @ places)

    def test_diamonds_stand_where_the_pulls_begin_and_end(self) -> None:
        drawing = figures.draw_pulls(X[:, :2], WEIGHTS[1], la.TOY_TOKENS)
        diamonds = [patch.get_xy()[:4].mean(axis=0) for patch in drawing.figure.findobj(Polygon)]
        first, *_, last = drawing.figure.findobj(FancyArrowPatch)
        np.testing.assert_allclose(diamonds, [first._posA_posB[0], last._posA_posB[1]])

    def test_without_a_query_it_begins_at_the_plain_average(self) -> None:
        assert "the plain average" in figures.draw_pulls(X[:, :2], WEIGHTS[1], la.TOY_TOKENS).alt


class TestEmbeddingPoints:
    def test_points_are_seen_from_one_side_and_the_closest_are_set_off(self) -> None:
        """A picture of space is one linear map for all points."""
        drawing = figures.draw_embedding_points(X, la.TOY_TOKENS)
        circles = [c.center for c in drawing.figure.findobj(Circle) if c.get_radius() == 4]
        diamonds = [p.get_xy()[:4].mean(axis=0) for p in drawing.figure.findobj(Polygon)[1:]]
        positions = torch.from_numpy(np.vstack([diamonds, circles]))
        order = [1, 2, 0, 3, 4, 5]  # journey and starts are the closest
        augmented = torch.cat([X[order].double(), torch.ones(6, 1, dtype=torch.float64)], dim=1)
        solution = torch.linalg.lstsq(augmented, positions).solution
        assert_close(augmented @ solution, positions)
        stems = [line for line in drawing.figure.axes[0].lines if line.get_color() == BLUE]
        np.testing.assert_array_equal([stem.get_xydata()[1] for stem in stems], diamonds)

    def test_no_two_points_look_much_closer_than_they_are(self) -> None:
        drawing = figures.draw_embedding_points(X, la.TOY_TOKENS)
        circles = [c.center for c in drawing.figure.findobj(Circle) if c.get_radius() == 4]
        ratios = torch.pdist(torch.tensor(circles)) / torch.pdist(X[[0, 3, 4, 5]].double())
        assert ratios.min() > 0.3 * ratios.max()


def test_weights_that_make_no_average_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights must sum to 1 to make an average, got 1\.5"):
        figures.draw_pulls(torch.eye(2), torch.tensor([1.0, 0.5]), ["a", "b"])
