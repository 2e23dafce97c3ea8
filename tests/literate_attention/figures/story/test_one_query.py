"""The steps of one query are drawn as they are computed, and add up."""

import numpy as np
import torch
from matplotlib.collections import QuadMesh
from matplotlib.patches import Rectangle
from torch import Tensor
from torch.testing import assert_close

import literate_attention as la
from literate_attention import figures
from literate_attention.figures import Drawing

X = la.toy_embeddings()


def lengths(drawing: Drawing, name: str) -> Tensor:
    """Read the lengths of bars back, in the units of the data."""
    bars = drawing.figure.findobj(Rectangle)
    return torch.tensor(
        [float(bar.get_width()) for bar in bars if bar.get_label().startswith(name)]
    )


def meshes(drawing: Drawing) -> dict[str, Tensor]:
    found = drawing.figure.findobj(QuadMesh)
    return {mesh.get_label(): torch.from_numpy(np.asarray(mesh.get_array())) for mesh in found}


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_the_last_frame_adds_up() -> None:
    query, keys, values = random(3), random(5, 3, seed=1), random(5, 2, seed=2)
    drawing = figures.draw_query_steps(query, keys, values, list("abcde"), asks=2, scale=0.5)
    weights = la.softmax(keys @ query * 0.5)
    found = meshes(drawing)
    assert_close(lengths(drawing, "score3"), keys @ query)
    assert_close(lengths(drawing, "weight3"), weights)
    assert_close(found["value3"].float(), weights[:, None] * values)
    assert_close(found["context"][0].float(), weights @ values)
    assert_close(found["value2"].float(), values)


def test_each_frame_adds_one_thing() -> None:
    drawing = figures.draw_query_steps(X[1], X, X, la.TOY_TOKENS, asks=1)
    count = {name: len(lengths(drawing, name)) for name in ("score", "weight")}
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
