"""The drawings of what attention does are true: shadows are scores, and pulls add up."""

import numpy as np
import pytest
import torch
from harness.drawings import lengths, ways
from matplotlib.patches import Circle, Polygon
from matplotlib.text import Text
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
        bold = {
            text.get_text() for text in drawing.figure.findobj(Text) if text.get_weight() == "bold"
        }
        assert bold == {"journey", "starts"}

    def test_no_two_points_look_much_closer_than_they_are(self) -> None:
        drawing = figures.draw_embedding_points(X, la.TOY_TOKENS)
        circles = [c.center for c in drawing.figure.findobj(Circle) if c.get_radius() == 4]
        ratios = torch.pdist(torch.tensor(circles)) / torch.pdist(X[[0, 3, 4, 5]].double())
        assert ratios.min() > 0.3 * ratios.max()
