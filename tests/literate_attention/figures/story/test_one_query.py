"""The steps of one query are drawn as they are computed, and add up."""

import torch
from harness.drawings import as_tensor, lengths, meshes
from torch.testing import assert_close

import literate_attention as la
from literate_attention import figures

X = la.toy_embeddings()


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
    drawing = figures.draw_query_steps(X[1], X, X, la.TOY_TOKENS, asks=1)
    count = {name: len(lengths(drawing, f"{name}.*")) for name in ("score", "weight")}
    assert count == {"score": 18, "weight": 12}
    assert set(meshes(drawing)) == {
        *(f"query{frame}" for frame in range(4)),
        *(f"input{frame}" for frame in range(4)),
        "context",
    }


def test_the_words_tell_each_frame() -> None:
    alt = figures.draw_query_steps(X[1], X, X, la.TOY_TOKENS, asks=1).alt
    assert "1, the query of 'journey', (0.55, 0.87, 0.66), meets 6 vectors." in alt
    assert "3, the weights: 'Your' 0.14, 'journey' 0.24" in alt
    assert alt.endswith("the context vector (0.44, 0.65, 0.57).")
