"""The drawings of what attention does are true: shadows are scores, and pulls add up."""

import numpy as np
import pytest
import torch
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Polygon, Rectangle
from torch import Tensor
from torch.testing import assert_close

import literate_attention as la
from literate_attention import figures
from literate_attention.figures import Drawing
from literate_attention.figures._card import BLUE

X = la.toy_embeddings()
WEIGHTS = la.softmax(X @ X.T)


def lengths(drawing: Drawing, name: str) -> Tensor:
    """Read the lengths of bars back, in the units of the data."""
    bars = drawing.figure.findobj(Rectangle)
    return torch.tensor(
        [float(bar.get_width()) for bar in bars if bar.get_label().startswith(name)]
    )


def ways(drawing: Drawing, name: str) -> dict[str, Tensor]:
    """Read back from where to where arrows lead, upwards being positive."""
    found = {}
    for arrow in drawing.figure.findobj(FancyArrowPatch):
        if arrow.get_label().startswith(name):
            (x, y), (to_x, to_y) = arrow._posA_posB
            found[arrow.get_label()] = torch.tensor([float(to_x - x), float(y - to_y)])
    return found


def meshes(drawing: Drawing) -> dict[str, Tensor]:
    found = drawing.figure.findobj(QuadMesh)
    return {mesh.get_label(): torch.from_numpy(np.asarray(mesh.get_array())) for mesh in found}


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class TestShadows:
    @pytest.mark.parametrize("width", [1, 2, 3, 7])
    def test_a_shadow_times_the_length_of_the_query_is_the_score(self, width: int) -> None:
        query, keys = random(width, seed=1), random(5, width)
        drawing = figures.draw_shadows(query, keys, list("abcde"))
        assert_close(lengths(drawing, "shadow") * query.norm(), keys @ query)

    @pytest.mark.parametrize("width", [2, 3, 7])
    def test_keys_keep_their_length_and_their_angle_to_the_query(self, width: int) -> None:
        query, keys = random(width, seed=1), random(5, width)
        drawing = figures.draw_shadows(query, keys, list("abcde"))
        arrows = torch.stack(list(ways(drawing, "key").values()))
        (direction,) = ways(drawing, "direction").values()
        ratios = arrows.norm(dim=-1) / keys.norm(dim=-1)
        assert_close(ratios, ratios[0].expand(5))
        cosine = torch.nn.functional.cosine_similarity
        assert_close(cosine(arrows, direction[None]), cosine(keys, query[None]))

    def test_vectors_of_two_numbers_are_only_turned(self) -> None:
        """Between any two of them there is the angle that there really is."""
        query, keys = random(2, seed=1), random(5, 2)
        drawing = figures.draw_shadows(query, keys, list("abcde"))
        arrows = torch.stack(list(ways(drawing, "key").values()))
        drawn, real = arrows @ arrows.T, keys @ keys.T
        assert_close(drawn / drawn[0, 0], real / real[0, 0])

    @pytest.mark.parametrize("width", [2, 3, 7])
    def test_the_query_is_drawn_to_the_scale_of_the_keys(self, width: int) -> None:
        query, keys = random(width, seed=1), random(5, width)
        drawing = figures.draw_shadows(query, keys, list("abcde"))
        (drawn,) = ways(drawing, "direction").values()
        key = ways(drawing, "key")["key0"]
        assert_close(drawn.norm() / key.norm(), query.norm() / keys[0].norm())

    def test_words(self) -> None:
        query = torch.tensor([2.0, 0.0])
        keys = torch.tensor([[1.0, 5.0], [-3.0, 0.0]])
        alt = figures.draw_shadows(query, keys, ["one", "step"]).alt
        assert "'one' 1.00 · 2.00 = 2.00" in alt
        assert "longest shadow is that of 'one'" in alt
        assert alt.endswith("Backwards, and so below zero, points that of 'step'.")
        assert "Backwards" not in figures.draw_shadows(query, -keys[1:], ["step"]).alt


class TestPulls:
    @pytest.mark.parametrize("query", [None, 3])
    def test_pulls_lead_from_the_start_to_the_context_vector(self, query: int | None) -> None:
        places, weights = random(5, 2), la.softmax(random(5, seed=1))
        drawing = figures.draw_pulls(places, weights, list("abcde"), query=query)
        start = places.mean(dim=0) if query is None else places[query]
        pulls = weights[:, None] * (places - start)
        drawn = ways(drawing, "pull")
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

    def test_words(self) -> None:
        alt = figures.draw_pulls(X[:, :2], WEIGHTS[1], la.TOY_TOKENS, query=1).alt
        assert "From (0.55, 0.87), the place of 'journey'" in alt
        assert "is pulled to (0.44, 0.65)" in alt
        assert "0.14 of the way to 'Your'" in alt
        assert "the plain average" in figures.draw_pulls(X[:, :2], WEIGHTS[1], la.TOY_TOKENS).alt


class TestEmbeddingPoints:
    def test_the_closest_pair_stands_on_stems_of_its_own_colour(self) -> None:
        lines = figures.draw_embedding_points(X, la.TOY_TOKENS).figure.axes[0].lines
        (closest,) = (line for line in lines if line.get_label() == "closest")
        stems = [line for line in lines if line.get_color() == BLUE and line is not closest]
        tops = [stem.get_xydata()[1] for stem in stems]
        np.testing.assert_array_equal(tops, closest.get_xydata())


class TestQuerySteps:
    def test_the_last_frame_adds_up(self) -> None:
        query, keys, values = random(3), random(5, 3, seed=1), random(5, 2, seed=2)
        drawing = figures.draw_query_steps(query, keys, values, list("abcde"), asks=2, scale=0.5)
        weights = la.softmax(keys @ query * 0.5)
        found = meshes(drawing)
        assert_close(lengths(drawing, "score3"), keys @ query)
        assert_close(lengths(drawing, "weight3"), weights)
        assert_close(found["value3"].float(), weights[:, None] * values)
        assert_close(found["context"][0].float(), weights @ values)
        assert_close(found["value2"].float(), values)

    def test_each_frame_adds_one_thing(self) -> None:
        drawing = figures.draw_query_steps(X[1], X, X, la.TOY_TOKENS, asks=1)
        count = {name: len(lengths(drawing, name)) for name in ("score", "weight")}
        assert count == {"score": 18, "weight": 12}
        assert set(meshes(drawing)) == {
            *(f"query{frame}" for frame in range(4)),
            *(f"input{frame}" for frame in range(4)),
            "context",
        }

    def test_words(self) -> None:
        alt = figures.draw_query_steps(X[1], X, X, la.TOY_TOKENS, asks=1).alt
        assert "1, the query of 'journey', (0.55, 0.87, 0.66), meets 6 vectors." in alt
        assert "3, the weights: 'Your' 0.14, 'journey' 0.24" in alt
        assert alt.endswith("the context vector (0.44, 0.65, 0.57).")


class TestShapes:
    def test_words(self) -> None:
        alt = figures.draw_products([{"a": X, "b": X.T, "c": X @ X.T}]).alt
        assert alt == "Matrix products as shapes. a (6, 3) times b (3, 6) gives c (6, 6)."

    def test_the_rules_of_a_matrix_are_not_drawn_in_the_colour_of_its_ground(self) -> None:
        drawing = figures.draw_products([{"inputs": X, "W_query": X.T, "queries": X @ X.T}])
        for sheet in drawing.figure.findobj(FancyBboxPatch):
            area = sheet.get_bbox()
            rules = [
                to_rgb(line.get_color())
                for line in drawing.figure.axes[0].lines
                if area.contains(*line.get_xydata().mean(axis=0))
            ]
            assert rules
            assert sheet.get_facecolor()[:3] not in rules

    def test_a_product_of_several(self) -> None:
        alt = figures.draw_products([{"a": WEIGHTS, "b": X, "c": X.T, "d": WEIGHTS @ X @ X.T}]).alt
        assert "a (6, 6) times b (6, 3) times c (3, 6) gives d (6, 6)" in alt


@pytest.mark.usefixtures("unchecked")
class TestRefused:
    def test_a_query_without_direction(self) -> None:
        with pytest.raises(ValueError, match="query must have a direction"):
            figures.draw_shadows(torch.zeros(2), torch.ones(1, 2), ["a"])

    def test_weights_that_make_no_average(self) -> None:
        with pytest.raises(ValueError, match=r"weights must sum to 1 to make an average, got 1\.5"):
            figures.draw_pulls(torch.eye(2), torch.tensor([1.0, 0.5]), ["a", "b"])

    def test_a_token_that_is_not_there(self) -> None:
        with pytest.raises(ValueError, match="query must lie between 0 and 1, got 2"):
            figures.draw_pulls(torch.eye(2), torch.tensor([0.5, 0.5]), ["a", "b"], query=2)
        with pytest.raises(ValueError, match="asks must lie between 0 and 1, got 2"):
            figures.draw_query_steps(torch.ones(2), torch.eye(2), torch.eye(2), ["a", "b"], asks=2)

    def test_no_products(self) -> None:
        with pytest.raises(ValueError, match="the number of products must be at least 1, got 0"):
            figures.draw_products([])
        with pytest.raises(ValueError, match="the number of factors must be at least 1, got 0"):
            figures.draw_products([{"a": X}])

    def test_matrices_that_do_not_fit(self) -> None:
        with pytest.raises(ValueError, match="a has 3 columns, but b has 6 rows"):
            figures.draw_products([{"a": X, "b": X, "c": X}])

    def test_a_product_that_is_none(self) -> None:
        with pytest.raises(ValueError, match="c must be a times b, but its numbers are others"):
            figures.draw_products([{"a": X, "b": X.T, "c": X @ X.T + 1}])
