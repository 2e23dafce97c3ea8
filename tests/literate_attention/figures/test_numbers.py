"""A drawing holds the numbers that it is handed, and those that the library makes of them."""

from typing import NamedTuple

import pytest
import torch
from harness.drawings import arrow_widths, as_tensor, lengths, meshes
from torch import Tensor
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures
from literate_attention.figures import Drawing

X = la.toy_embeddings()
WEIGHTS = la.softmax(la.score_all_queries(X))


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


W = random(3, 2)
PLACES = torch.arange(18.0).view(6, 3)
QUERY, KEYS, VALUES = random(3), random(5, 3, seed=1), random(5, 2, seed=2)
SCORES = KEYS @ QUERY
ATTENDS = la.softmax(0.5 * SCORES)
TEXTS = random(2, 5, 6)


class Case(NamedTuple):
    """A drawing, and what it is made of: matrices by their names, and the lengths of bars."""

    drawing: Drawing
    matrices: dict[str, Tensor]
    bars: dict[str, Tensor] = {}  # noqa: RUF012


CASES = {
    "a heat map": Case(
        figures.draw_attention_matrix(WEIGHTS, TOY_TOKENS), {"Attention weights": WEIGHTS}
    ),
    "input embeddings": Case(
        figures.draw_input_embeddings(X, PLACES, TOY_TOKENS),
        {"token embeddings": X, "position embeddings": PLACES, "input embeddings": X + PLACES},
    ),
    "a product": Case(
        figures.draw_matrix_product(X, W, row=1, column=1), {"left": X, "right": W, "product": X @ W}
    ),
    "projections": Case(
        figures.draw_projections(X, {"query": W, "key": 2 * W, "value": -W}, TOY_TOKENS),
        {"W_query": W, "W_key": 2 * W, "query": X @ W, "key": 2 * X @ W, "value": -X @ W},
    ),
    "a context vector": Case(
        figures.draw_context_vector(X, WEIGHTS[4], TOY_TOKENS, query=4),
        {"x3": X[3, :, None], "context": la.context_vector(WEIGHTS[4], X)[None]},
    ),
    "a query in steps": Case(
        figures.draw_query_steps(QUERY, KEYS, VALUES, list("abcde"), asks=2, scale=0.5),
        {
            "value2": VALUES,
            "value3": ATTENDS[:, None] * VALUES,
            "context": (ATTENDS @ VALUES)[None],
        },
        {"score3.*": SCORES, "weight3.*": ATTENDS},
    ),
    "heads": Case(
        figures.draw_weight_split(TEXTS, list("abcde"), num_heads=3),
        {f"head{h}": one for h, one in enumerate(la.split_heads(TEXTS, 3)[0])}
        | {f"view{i},{h}": TEXTS[0, i].view(3, 2)[h : h + 1] for i in range(5) for h in range(3)},
    ),
    **{
        f"shadows in {width} dimensions": Case(
            figures.draw_shadows(query := random(width, seed=1), keys := random(5, width), list("abcde")),
            {},
            {"shadow.*": keys @ query / query.norm()},
        )
        for width in (1, 2, 3, 7)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_drawing_holds_its_numbers(name) -> None:
    drawing, matrices, bars = CASES[name]
    found = meshes(drawing)
    for title, matrix in matrices.items():
        assert_close(as_tensor(found[title]), matrix, equal_nan=True)
    for bar, numbers in bars.items():
        assert_close(lengths(drawing, bar), numbers)


def test_arrows_are_as_thick_as_weights() -> None:
    thickness = arrow_widths(CASES["a context vector"].drawing, "weight")
    assert_close(thickness / thickness.sum(), WEIGHTS[4], check_dtype=False)
