"""What cannot be drawn is refused, in words that name what was given and what was expected."""

import math
from collections.abc import Callable

import pytest
import torch

import literate_attention as la
from literate_attention import figures

MINUS = "\N{MINUS SIGN}"
two = ["a", "b"]
square = torch.ones(2, 2)
tall = la.toy_embeddings()
REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "negative strength": (
        lambda: figures.draw_bottleneck(two, two, -square),
        ValueError,
        "weights must not be negative to be drawn as arrows, got -1",
    ),
    "no tensor": (
        lambda: figures.draw_attention_matrix([[1.0]], ["a"]),
        TypeError,
        "Attention weights must be a torch.Tensor, got list",
    ),
    "rank": (
        lambda: figures.draw_attention_matrix(torch.ones(1, 2, 2), two),
        ValueError,
        r"must have shape \(q_len, kv_len\), got \(1, 2, 2\)",
    ),
    "empty": (
        lambda: figures.draw_attention_matrix(torch.ones(2, 0), two, keys=[]),
        ValueError,
        r"must have shape \(q_len, kv_len\), got \(2, 0\)",
    ),
    "nan": (
        lambda: figures.draw_attention_matrix(torch.tensor([[math.nan, 1.0]]), ["a"], keys=two),
        ValueError,
        "numbers that can be drawn, but 1 of 2 are nan or infinite",
    ),
    "infinite": (
        lambda: figures.draw_shadows(torch.ones(2), torch.full((2, 2), -torch.inf), two),
        ValueError,
        "keys must hold numbers that can be drawn, but 4 of 4 are nan or infinite",
    ),
    "one string": (
        lambda: figures.draw_attention_matrix(square, "ab"),
        TypeError,
        "tokens must be a sequence of labels, got one string: 'ab'",
    ),
    "labels": (
        lambda: figures.draw_attention_matrix(square, ["a", "b", "c"]),
        ValueError,
        "tokens must name 2 queries, got 3 labels",
    ),
    "keys": (
        lambda: figures.draw_attention_matrix(torch.ones(2, 3), two),
        ValueError,
        "keys must name 3 keys, got 2 labels",
    ),
    "mask": (
        lambda: figures.draw_attention_matrix(square, two, attn_mask=torch.ones(2, 3).bool()),
        ValueError,
        r"attn_mask must have shape \(2, 2\), got \(2, 3\)",
    ),
    "highlight": (
        lambda: figures.draw_attention_matrix(square, two, highlight=2),
        ValueError,
        "highlight must lie between 0 and 1, got 2",
    ),
    "no matrices": (
        lambda: figures.draw_attention_matrices({}, two),
        ValueError,
        "the number of matrices must be at least 1, got 0",
    ),
    "columns": (
        lambda: figures.draw_attention_matrices({"a": square}, two, columns=0),
        ValueError,
        "columns must be at least 1, got 0",
    ),
    "unequal matrices": (
        lambda: figures.draw_attention_matrices({"a": square, "b": torch.ones(2, 3)}, two),
        ValueError,
        r"b must have shape \(2, 2\), got \(2, 3\)",
    ),
    "query": (
        lambda: figures.draw_context_vector(square, torch.ones(2), two, query=-1),
        ValueError,
        "query must lie between 0 and 1, got -1",
    ),
    "weights": (
        lambda: figures.draw_context_vector(square, torch.ones(3), two, query=0),
        ValueError,
        r"weights must have shape \(2,\), got \(3,\)",
    ),
    "negative weight": (
        lambda: figures.draw_context_vector(square, torch.tensor([1.5, -0.5]), two, query=0),
        ValueError,
        "weights must not be negative to be drawn as arrows, got -0.5",
    ),
    "query width": (
        lambda: figures.draw_shadows(torch.ones(3), square, two),
        ValueError,
        r"query must have shape \(2,\), got \(3,\)",
    ),
    "zero sum": (
        lambda: figures.draw_normalising(torch.tensor([1.0, -1.0]), two),
        ValueError,
        rf"must not sum to 0 to be divided by their sum, got \(1.00, {MINUS}1.00\)",
    ),
    "two numbers wide": (
        lambda: figures.draw_embedding_points(square, two),
        ValueError,
        r"inputs must have shape \(num_tokens, 3\), got \(2, 2\)",
    ),
    "one point": (
        lambda: figures.draw_embedding_points(torch.ones(1, 3), ["a"]),
        ValueError,
        "inputs must hold at least 2 vectors, got 1",
    ),
    "no product": (
        lambda: figures.draw_matrix_product(torch.ones(2, 3), square, row=0, column=0),
        ValueError,
        "left has 3 columns, but right has 2 rows",
    ),
    "row": (
        lambda: figures.draw_matrix_product(square, square, row=2, column=0),
        ValueError,
        "row must lie between 0 and 1, got 2",
    ),
    "column": (
        lambda: figures.draw_matrix_product(square, square, row=0, column=5),
        ValueError,
        "column must lie between 0 and 1, got 5",
    ),
    "no weights": (
        lambda: figures.draw_projections(square, {}, two),
        ValueError,
        "the number of weights must be at least 1, got 0",
    ),
    "projection": (
        lambda: figures.draw_projections(square, {"query": square, "key": torch.ones(3, 2)}, two),
        ValueError,
        r"key must have shape \(2, 2\), got \(3, 2\)",
    ),
    "not square": (
        lambda: figures.draw_heads(torch.ones(2, 2, 3), two),
        ValueError,
        r"weights must have shape \(2, 2, 2\), got \(2, 2, 3\)",
    ),
    "contexts": (
        lambda: figures.draw_heads(torch.ones(2, 2, 2), two, contexts=torch.ones(3, 2, 2)),
        ValueError,
        r"contexts must have shape \(2, 2, head_dim\), got \(3, 2, 2\)",
    ),
    "heads": (
        lambda: figures.draw_weight_split(torch.ones(1, 2, 4), two, num_heads=3),
        ValueError,
        "the width of x must be divisible by num_heads, got 4 and 3",
    ),
    "no heads": (
        lambda: figures.draw_weight_split(torch.ones(1, 2, 4), two, num_heads=0),
        ValueError,
        "the width of x must be divisible by num_heads, got 4 and 0",
    ),
    "no masks": (
        lambda: figures.draw_dropout_masks({}),
        ValueError,
        "the number of masks must be at least 1, got 0",
    ),
    "mask rank": (
        lambda: figures.draw_dropout_masks({"a": torch.ones(3)}),
        ValueError,
        r"a must have shape \(rows, columns\), got \(3,\)",
    ),
    "no source": (
        lambda: figures.draw_bottleneck([]),
        ValueError,
        "the number of source tokens must be at least 1, got 0",
    ),
    "no target": (
        lambda: figures.draw_bottleneck(two, []),
        ValueError,
        "the number of target tokens must be at least 1, got 0",
    ),
    "no such chapter": (
        lambda: figures.draw_roadmap("simple"),
        ValueError,
        "here must be one of simple_attention, self_attention, .*, got 'simple'",
    ),
    "no such part": (
        lambda: figures.draw_gpt(two, "c", highlight="heads"),
        ValueError,
        "highlight must be one of embeddings, attention, .*, got 'heads'",
    ),
    "no layers": (
        lambda: figures.draw_gpt(two, "c", num_layers=0),
        ValueError,
        "num_layers must be at least 1, got 0",
    ),
    "no window": (
        lambda: figures.draw_windows(two, length=2, stride=1),
        ValueError,
        "tokens must be at least 3, got 2",
    ),
    "no stride": (
        lambda: figures.draw_windows(two, length=1, stride=0),
        ValueError,
        "stride must be at least 1, got 0",
    ),
    "positions": (
        lambda: figures.draw_input_embeddings(square, torch.ones(3, 2), two),
        ValueError,
        r"position_embeddings must have shape \(2, 2\), got \(3, 2\)",
    ),
    "step": (
        lambda: figures.draw_bottleneck(two, two, step=2),
        ValueError,
        "step must lie between 0 and 1, got 2",
    ),
    "bottleneck weights": (
        lambda: figures.draw_bottleneck(two, ["a"], square),
        ValueError,
        r"weights must have shape \(1, 2\), got \(2, 2\)",
    ),
    "no query heads": (
        lambda: figures.draw_shared_heads(0, [1]),
        ValueError,
        "num_heads must be at least 1, got 0",
    ),
    "no key-value heads": (
        lambda: figures.draw_shared_heads(2, [0]),
        ValueError,
        "num_kv_heads must be at least 1, got 0",
    ),
    "no arrows": (
        lambda: figures.draw_turned_arrows({}),
        ValueError,
        "the number of pairs must be at least 1, got 0",
    ),
    "no lines": (
        lambda: figures.draw_lines([1], {}, x_label="x", y_label="y"),
        ValueError,
        "series must hold 1 to 6 lines, got 0",
    ),
    "points": (
        lambda: figures.draw_lines([1, 2], {"a": [1, 2, 3]}, x_label="x", y_label="y"),
        ValueError,
        "a must have 2 values, as x has, got 3",
    ),
    "points in rows": (
        lambda: figures.draw_lines(square, {"a": [1, 2]}, x_label="x", y_label="y"),
        ValueError,
        r"x must be a row of numbers, got shape \(2, 2\)",
    ),
    "nothing measured": (
        lambda: figures.draw_lines([1], {"a": [math.nan]}, x_label="x", y_label="y"),
        ValueError,
        "a must have a value, but all 1 are nan",
    ),
    "an infinite line": (
        lambda: figures.draw_lines([1, 2], {"a": [1, float("inf")]}, x_label="x", y_label="y"),
        ValueError,
        "series must hold finite numbers, or nan where nothing was measured; got inf",
    ),
    "no place": (
        lambda: figures.draw_lines([1, float("nan")], {"a": [1, 2]}, x_label="x", y_label="y"),
        ValueError,
        r"x must hold finite numbers, got \[1.0, nan\]",
    ),
    "logarithm": (
        lambda: figures.draw_lines([1, 2], {"a": [0, 1]}, x_label="x", y_label="y"),
        ValueError,
        "must be positive on logarithmic axes, got 0; pass log=False",
    ),
    "tokens of a ring": (
        lambda: figures.draw_ring(["a"], la.ring_shards(2, 1)),
        ValueError,
        "tokens must name 2 tokens, got 1 labels",
    ),
    "a large ring": (
        lambda: figures.draw_ring(list("abcdefghij"), la.ring_shards(10, 5)),
        ValueError,
        "shards must be for 1 to 4 processes, got 5",
    ),
    "the work of a large ring": (
        lambda: figures.draw_ring_work({"in order": la.ring_shards(10, 5)}),
        ValueError,
        "in order must be for 1 to 4 processes, got 5",
    ),
    "no kinds": (
        lambda: figures.draw_head_scores({}),
        ValueError,
        "the number of kinds must be at least 1, got 0",
    ),
    "scores without layers": (
        lambda: figures.draw_head_scores({"Induction": torch.ones(3)}),
        ValueError,
        r"Induction must have shape \(num_layers, num_heads\), got \(3,\)",
    ),
    "targets of another map": (
        lambda: figures.draw_head_map(torch.eye(2), ["a", "b"], targets=torch.eye(3) > 0),
        ValueError,
        r"targets must have shape \(2, 2\), got \(3, 3\)",
    ),
    "no share": (
        lambda: figures.draw_shares({}),
        ValueError,
        "the number of shares must be at least 1, got 0",
    ),
    "more than a whole": (
        lambda: figures.draw_shares({"all": 1.5}),
        ValueError,
        "a share must lie between 0 and 1, got 1.5 for 'all'",
    ),
    "no part of a mask": (
        lambda: figures.draw_mask_parts({}, two),
        ValueError,
        "parts must be 1 to 2, got 0",
    ),
    "parts that overlap": (
        lambda: figures.draw_mask_parts({"a": torch.ones(2, 2), "b": torch.eye(2)}, two),
        ValueError,
        "each pair must be in one part, got 2 in both",
    ),
    "many streams": (
        lambda: figures.draw_residual_streams(list("abcd"), torch.ones(3, 4, 2)),
        ValueError,
        "tokens must be 1 to 3, got 4",
    ),
    "half a block": (
        lambda: figures.draw_residual_streams(two, torch.ones(4, 2, 2)),
        ValueError,
        "stream must have one stage, and two more for each block, got 4 stages",
    ),
    "no order": (lambda: figures.draw_ring_work({}), ValueError, "orders must be 1 or 2, got 0"),
    "a query without direction": (
        lambda: figures.draw_shadows(torch.zeros(2), torch.ones(1, 2), ["a"]),
        ValueError,
        "query must have a direction",
    ),
    "weights that make no average": (
        lambda: figures.draw_pulls(torch.eye(2), torch.tensor([1.0, 0.5]), two),
        ValueError,
        r"weights must sum to 1 to make an average, got 1\.5",
    ),
    "a token that is not there": (
        lambda: figures.draw_pulls(torch.eye(2), torch.tensor([0.5, 0.5]), two, query=2),
        ValueError,
        "query must lie between 0 and 1, got 2",
    ),
    "an asking token that is not there": (
        lambda: figures.draw_query_steps(torch.ones(2), torch.eye(2), torch.eye(2), two, asks=2),
        ValueError,
        "asks must lie between 0 and 1, got 2",
    ),
    "no products": (
        lambda: figures.draw_products([]),
        ValueError,
        "the number of products must be at least 1, got 0",
    ),
    "no factors": (
        lambda: figures.draw_products([{"a": square}]),
        ValueError,
        "the number of factors must be at least 1, got 0",
    ),
    "matrices that do not fit": (
        lambda: figures.draw_products([{"a": tall, "b": tall, "c": tall}]),
        ValueError,
        "a has 3 columns, but b has 6 rows",
    ),
    "a product that is none": (
        lambda: figures.draw_products([{"a": tall, "b": tall.T, "c": tall @ tall.T + 1}]),
        ValueError,
        "c must be a times b, but its numbers are others",
    ),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("draw", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(draw: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        draw()
