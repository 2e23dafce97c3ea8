"""What becomes of one query is drawn as it is computed, and adds up."""

import pytest
import torch
from harness.drawings import arrow_widths, as_tensor, lengths, meshes
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures

X = la.toy_embeddings()
SCORES = la.score_all_queries(X)
WEIGHTS = la.softmax(SCORES)


def test_a_context_vector_is_the_sum_of_inputs_along_arrows_as_thick_as_weights() -> None:
    drawing = figures.draw_context_vector(X, WEIGHTS[4], TOY_TOKENS, query=4)
    found, thickness = meshes(drawing), arrow_widths(drawing, "weight")
    assert_close(as_tensor(found["x3"])[:, 0], X[3])
    assert_close(as_tensor(found["context"])[0], la.context_vector(WEIGHTS[4], X))
    assert_close(thickness / thickness.sum(), WEIGHTS[4], check_dtype=False)


def test_no_arrow_is_as_thick_as_a_weight_below_zero() -> None:
    with pytest.raises(ValueError, match="is a weight below zero"):
        figures.draw_context_vector(X[:2], torch.tensor([1.5, -0.5]), ["a", "b"], query=0)


def test_the_last_frame_adds_up() -> None:
    query, keys, values = torch.randn(3), torch.randn(5, 3), torch.randn(5, 2)
    drawing = figures.draw_query_steps(query, keys, values, list("abcde"), asks=2, scale=0.5)
    weights = la.softmax(keys @ query * 0.5)
    found = meshes(drawing)
    assert_close(lengths(drawing, "score3.*"), keys @ query)
    assert_close(lengths(drawing, "weight3.*"), weights)
    assert_close(as_tensor(found["value3"]), weights[:, None] * values)
    assert_close(as_tensor(found["context"])[0], weights @ values)
    assert_close(as_tensor(found["value2"]), values)


def test_each_frame_adds_one_thing() -> None:
    drawing = figures.draw_query_steps(X[1], X, X, TOY_TOKENS, asks=1)
    count = {name: len(lengths(drawing, f"{name}.*")) for name in ("score", "weight")}
    assert count == {"score": 18, "weight": 12}
    assert set(meshes(drawing)) == {
        *(f"query{frame}" for frame in range(4)),
        *(f"input{frame}" for frame in range(4)),
        "context",
    }
