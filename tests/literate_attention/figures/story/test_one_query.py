"""What becomes of one query is drawn as it is computed, and adds up."""

from harness.drawings import lengths, meshes

import literate_attention as la
from literate_attention import TOY_TOKENS, figures

X = la.toy_embeddings()


def test_each_frame_adds_one_thing() -> None:
    drawing = figures.draw_query_steps(X[1], X, X, TOY_TOKENS, asks=1)
    count = {name: len(lengths(drawing, f"{name}.*")) for name in ("score", "weight")}
    assert count == {"score": 18, "weight": 12}
    assert set(meshes(drawing)) == {
        *(f"query{frame}" for frame in range(4)),
        *(f"input{frame}" for frame in range(4)),
        "context",
    }
