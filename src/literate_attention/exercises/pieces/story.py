"""The pieces of the story: from a softmax to several heads."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from literate_attention.exercises._common_mistakes import average, ways_to_weigh
from literate_attention.exercises.pieces._attention import (
    BY_NUMBER,
    CONTEXT_LENGTH,
    D_IN,
    Way,
    judge_attention,
    one_head,
    remark_on_names,
    scaled_by_number,
    several_heads,
)
from literate_attention.exercises.pieces._judged import (
    Judged,
    alone_and_in_pairs,
    run_boolean_mask,
    run_mask,
)
from literate_attention.exercises.pieces._piece import Piece
from literate_attention.exercises.pieces._trials import (
    Given,
    drawn,
    judge_by_ways,
)
from literate_attention.story.causal_attention import CausalAttention, causal_mask, mask_scores
from literate_attention.story.inputs import InputEmbedding
from literate_attention.story.multi_head_attention import (
    MultiHeadAttention,
    merge_heads,
    split_heads,
)
from literate_attention.story.self_attention import (
    SelfAttention_v1,
    SelfAttention_v2,
    attention_weights,
)
from literate_attention.story.simple_attention import (
    dot_product_attention,
    softmax,
)

# From text to vectors

_TABLES = (11, 4, 6)
"""How many tokens there are, how wide an embedding is, and how many positions there are."""


def _embed(implementation: Any, given: Given) -> Any:
    """Embed token ids with tables that are the same for all."""
    tokens, positions = drawn(11, 4, seed=1), drawn(6, 4, seed=2)
    if not isinstance(implementation, type):
        return implementation(given["token_ids"], tokens, positions)
    module = implementation(*_TABLES)
    tables = {len(p): p for p in module.parameters() if p.ndim == 2}
    if set(tables) != {11, 6}:
        raise ValueError(
            f"{implementation.__name__}{_TABLES} needs a table of 11 rows for tokens and one of 6 for "
            f"positions, its parameters have the shapes "
            f"{[tuple(p.shape) for p in module.parameters()]}"
        )
    with torch.no_grad():
        tables[11].copy_(tokens)
        tables[6].copy_(positions)
        return module(given["token_ids"])


INPUTS = (
    Piece(
        library=InputEmbedding,
        chapter="story/inputs",
        section="The module",
        hint="Positions are 0, 1, 2 and so on, as many as there are tokens, whatever the tokens are.",
        check=Judged(
            InputEmbedding,
            {
                "the positions are missing: the same tokens in another order give the same vectors": (
                    lambda ids, tokens, positions: tokens[ids]
                ),
                "the first position is number 1, it should be number 0": (
                    lambda ids, tokens, positions: tokens[ids] + positions[1 : ids.shape[-1] + 1]
                ),
                "the token embeddings are missing, these are positions only": (
                    lambda ids, tokens, positions: positions[: ids.shape[-1]].expand(*ids.shape, -1)
                ),
                "the positions are looked up by token, not by place": (
                    lambda ids, tokens, positions: tokens[ids] + positions[ids]
                ),
                "token and position are multiplied, not added": (
                    lambda ids, tokens, positions: tokens[ids] * positions[: ids.shape[-1]]
                ),
                "token and position stand side by side, they should be added": (
                    lambda ids, tokens, positions: torch.cat(
                        [tokens[ids], positions[: ids.shape[-1]].expand(*ids.shape, -1)], dim=-1
                    )
                ),
                "every token gets the first position": (
                    lambda ids, tokens, positions: tokens[ids] + positions[0]
                ),
                "the positions count the texts of a batch, not the tokens of a text": (
                    lambda ids, tokens, positions: tokens[ids] + positions[: len(ids), None]
                ),
                "the positions run backwards": (
                    lambda ids, tokens, positions: tokens[ids] + positions[: ids.shape[-1]].flip(0)
                ),
            },
            [
                {"token_ids": torch.tensor([[5]])},
                {"token_ids": torch.tensor([[5, 2]])},
                {"token_ids": torch.tensor([[5, 2, 5], [0, 4, 1]])},
            ],
            run=_embed,
        ),
        batch="batch ",
        exercise="ex-inputs-build",
    ),
)

# Attention without trainable weights


def _over_axis(axis: int) -> Mapping[str, Callable[[Tensor], Tensor]]:
    """Make both steps of a softmax run over an axis, as torch's own would."""

    def run_over(reduced: Callable[..., Tensor], numbers: Tensor) -> Tensor:
        return reduced(numbers, dim=min(axis, numbers.ndim - 1), keepdim=True)

    return {"subtract": partial(run_over, torch.amax), "divide_by": partial(run_over, torch.sum)}


def _softmax(
    scores: Tensor,
    *,
    power: Callable[[Tensor], Tensor] = torch.exp,
    subtract: Callable[[Tensor], Tensor] = lambda scores: scores.amax(dim=-1, keepdim=True),
    divide_by: Callable[[Tensor], Tensor] = lambda powers: powers.sum(dim=-1, keepdim=True),
) -> Tensor:
    """Do what a softmax does, or something else in one of its steps."""
    powers = power(scores - subtract(scores))
    return powers / divide_by(powers)


SOFTMAX_MISTAKES: Mapping[str, Mapping[str, Any]] = {
    "it divides the exponentials by nothing: a row has to sum to one": {
        "divide_by": torch.ones_like
    },
    "it returns the scores as they are": {
        "power": lambda scores: scores,
        "subtract": torch.zeros_like,
        "divide_by": torch.ones_like,
    },
    "it runs over the first axis: the columns sum to one, not the rows": _over_axis(0),
    "it runs over axis 1: in a batch these are the queries, the last axis is -1": _over_axis(1),
    "it divides by the sums of the columns, not of the rows": {
        "divide_by": lambda powers: powers.sum(dim=0, keepdim=True)
    },
    "the largest scores lack keepdim: each is subtracted from a column, not from its row": {
        "subtract": lambda scores: scores.amax(dim=-1)
    },
    "the sums lack keepdim: each of them divides a column, not its row": {
        "divide_by": lambda powers: powers.sum(dim=-1)
    },
    "it divides by the sum of all numbers, not of each row": {
        "divide_by": lambda powers: powers.sum()
    },
    "large scores overflow: subtract the largest of a row first": {"subtract": torch.zeros_like},
    "the largest of all scores is subtracted, it should be the largest of each row": {
        "subtract": lambda scores: scores.max()
    },
    "it divides the scores by their sum, without exponentials": {
        "power": lambda scores: scores,
        "subtract": torch.zeros_like,
    },
    "these are the logarithms of the weights": {
        "power": lambda scores: scores.log_softmax(dim=-1),
        "divide_by": torch.ones_like,
    },
    "each score is treated on its own, as in a sigmoid": {
        "power": torch.sigmoid,
        "subtract": torch.zeros_like,
        "divide_by": torch.ones_like,
    },
}

SIMPLE_ATTENTION = (
    Piece(
        library=softmax,
        chapter="story/simple_attention",
        section="Step 2: weights",
        hint="Subtract the largest score of a row before the exponential: the weights stay as they are.",
        check=Judged(
            softmax,
            alone_and_in_pairs(partial(partial, _softmax), SOFTMAX_MISTAKES),
            [
                {"scores": torch.tensor([0.0, 1.0])},
                {"scores": torch.tensor([[1.0, 2.0], [0.0, 3.0]])},
                {"scores": torch.tensor([[[1.0, 2.0], [0.0, 3.0]], [[1.0, 1.0], [2.0, 0.0]]])},
                {"scores": drawn(2, 3, 4)},
                {"scores": torch.tensor([1000.0, 1001.0])},
                {"scores": torch.tensor([[0.0, 200.0], [-200.0, -201.0]])},
            ],
        ),
        in_model=True,
        exercise="ex-simple-softmax",
    ),
    Piece(
        library=dot_product_attention,
        chapter="story/simple_attention",
        section="All tokens at once",
        hint="Scores are products of all rows with all rows; each row of weights averages the inputs.",
        check=lambda mine: judge_by_ways(
            mine,
            lambda given: _simple_ways(given["inputs"]),
            [
                {"inputs": torch.tensor([[1.0, 2.0]])},
                {"inputs": torch.tensor([[1.0, 0.0], [0.0, 2.0]])},
                {"inputs": torch.tensor([[[1.0], [2.0]], [[0.0], [1.0]]])},
                {"inputs": drawn(2, 4, 3)},
            ],
        ),
        leave_out=("need_weights",),
        exercise="ex-simple-function",
    ),
)


def _simple_ways(x: Tensor) -> Iterator[Way]:
    ways = list(ways_to_weigh(is_causal=False, scaled=False))
    for says, weigh in ways:
        yield says, partial(average, weigh, x, x, x)
    for says, weigh in ways:
        yield ["these are the weights, not the context vectors", *says], partial(weigh, x, x)


# Self-attention


def _weights_ways(given: Given) -> Iterator[Way]:
    query, key = given["query"], given["key"]
    for says, weigh in ways_to_weigh(is_causal=False):
        yield says, partial(weigh, query, key)
    for says, weigh in ways_to_weigh(is_causal=False):
        yield ["query and key are swapped", *says], partial(weigh, key, query)
        yield [BY_NUMBER, *says], partial(weigh, scaled_by_number(query, key), key)


_UNBATCHED = [
    {"x": drawn(1, D_IN)},
    {"x": drawn(2, D_IN)},
    {"x": drawn(4, D_IN)},
]
_BATCHED = [
    {"x": drawn(1, 1, D_IN)},
    {"x": drawn(1, 2, D_IN)},
    {"x": drawn(4, CONTEXT_LENGTH, D_IN)},
]

SELF_ATTENTION = (
    Piece(
        library=attention_weights,
        chapter="story/self_attention",
        section="Weights and the context vector",
        hint="How wide a key is, tells by what scores are divided; the softmax runs over the keys.",
        check=lambda mine: judge_by_ways(
            mine,
            _weights_ways,
            [
                {"query": torch.tensor([[2.0]]), "key": torch.tensor([[1.0], [0.0]])},
                {"query": drawn(2, 4, seed=1), "key": drawn(3, 4, seed=2)},
                {"query": drawn(2, 3, 4, seed=3), "key": drawn(2, 5, 4, seed=4)},
            ],
        ),
        leave_out=("attn_mask", "scale"),
    ),
    Piece(
        library=SelfAttention_v1,
        chapter="story/self_attention",
        section="Attention as a module",
        hint="Three products make queries, keys and values; scores are divided by the root of d_out.",
        check=lambda mine: judge_attention(
            mine, one_head(is_causal=False), ("d_in", "d_out"), _UNBATCHED
        ),
        leave_out=("need_weights",),
        batch="",
        exercise="ex-self-forward",
    ),
    Piece(
        library=SelfAttention_v2,
        chapter="story/self_attention",
        section="Linear layers instead of bare parameters",
        hint="The same as before, with nn.Linear in place of a parameter and a product.",
        check=lambda mine: judge_attention(
            mine, one_head(is_causal=False), ("d_in", "d_out"), _UNBATCHED
        ),
        leave_out=("need_weights",),
        batch="",
    ),
)

# Causal attention


def _triangle(
    q_len: int,
    kv_len: int | None = None,
    *,
    columns: Callable[[int, int], int] = lambda q_len, kv_len: kv_len,
    offset: Callable[[int], int] = lambda more_keys: more_keys,
    diagonal: int = 0,
    written: Callable[[Tensor], Tensor] = lambda mask: mask,
) -> Tensor:
    """Do what the mask does, or something else in one of its steps."""
    kv_len = kv_len or q_len
    mask = torch.ones(q_len, columns(q_len, kv_len), dtype=torch.bool)
    return written(mask.tril(offset(kv_len - q_len) + diagonal))


_CAUSAL_MASK = Judged(
    causal_mask,
    alone_and_in_pairs(
        partial(partial, _triangle),
        {
            "it hides the past and shows the future": {
                "written": lambda mask: mask.flip(0, 1),
                "diagonal": 0,
            },
            "true and false are swapped: true is for what may be seen": {
                "written": lambda mask: ~mask
            },
            "no token sees itself": {"diagonal": -1},
            "one token of the future is left visible": {"diagonal": 1},
            "with fewer queries than keys, the queries are the last tokens, not the first": {
                "offset": lambda more_keys: 0
            },
            "the offset has the wrong sign: the last of fewer queries still sees all keys": {
                "offset": lambda more_keys: -more_keys
            },
            "rows and columns are swapped: a row belongs to a query": {
                "written": lambda mask: mask.T
            },
            "kv_len is ignored: there has to be a column for each key": {
                "columns": lambda q_len, kv_len: q_len,
                "offset": lambda more_keys: 0,
            },
            "there are as many columns as queries, expected one for each key": {
                "columns": lambda q_len, kv_len: q_len
            },
            "nothing is hidden": {"written": torch.ones_like},
            "everything is hidden": {"written": torch.zeros_like},
        },
    ),
    [
        {"q_len": 1},
        {"q_len": 2},
        {"q_len": 3},
        {"q_len": 1, "kv_len": 3},
        {"q_len": 2, "kv_len": 5},
    ],
    run=run_mask,
    then=Judged(causal_mask, {}, [{"q_len": 2}], run=run_boolean_mask),
)


def _hidden_is(value: float) -> Any:
    return lambda scores, mask: scores.masked_fill(~mask, value)


CAUSAL_ATTENTION = (
    Piece(
        library=mask_scores,
        chapter="story/causal_attention",
        section="Hiding the future before the softmax",
        hint="Which score makes a softmax give exactly zero?",
        check=Judged(
            mask_scores,
            {
                "it hides what may be seen, and shows what is hidden": (
                    lambda scores, mask: scores.masked_fill(mask, -torch.inf)
                ),
                "hidden scores are zero, not minus infinity: zero is a score like any other": (
                    _hidden_is(0.0)
                ),
                "hidden scores are plus infinity, not minus": _hidden_is(torch.inf),
                "hidden scores are a large negative number, not minus infinity": _hidden_is(-1e9),
                "hidden scores are the smallest number there is, not minus infinity": (
                    _hidden_is(torch.finfo(torch.float32).min)
                ),
                "hidden scores are not numbers: zero times infinity is none": (
                    lambda scores, mask: scores + ~mask * -torch.inf
                ),
                "the mask is added to the scores as zeros and ones": (
                    lambda scores, mask: scores + mask
                ),
                "nothing is hidden": lambda scores, mask: scores,
                "these are weights already: the softmax comes later": (
                    lambda scores, mask: mask_scores(scores, mask).softmax(-1)
                ),
            },
            [
                {"scores": torch.ones(1, 1), "attn_mask": torch.ones(1, 1) > 0},
                {"scores": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "attn_mask": causal_mask(2)},
                {"scores": drawn(2, 3, 3), "attn_mask": causal_mask(3)},
            ],
        ),
        in_model=True,
    ),
    Piece(
        library=causal_mask,
        chapter="story/causal_attention",
        section="The mask in the library",
        hint="Row i is true up to column i; with fewer queries than keys, the last row sees all keys.",
        check=_CAUSAL_MASK,
        leave_out=("device",),
        in_model=True,
    ),
    Piece(
        library=CausalAttention,
        chapter="story/causal_attention",
        section="The module",
        hint="Mask the scores before the softmax, drop weights after it, and leave batches in front.",
        check=lambda mine: judge_attention(
            mine,
            one_head(is_causal=True),
            ("d_in", "d_out", "context_length", "dropout"),
            _BATCHED,
        ),
        leave_out=("attn_mask", "need_weights"),
        batch="batch ",
        exercise="ex-causal-build",
    ),
)

# Multi-head attention

MULTI_HEAD_ATTENTION = (
    Piece(
        library=split_heads,
        chapter="story/multi_head_attention",
        section="One projection, split into heads",
        hint="First a view that cuts each vector, then a transpose that brings the heads in front.",
        check=Judged(
            split_heads,
            {
                "the view cuts the sentence, not the vectors: view by token first, then transpose": (
                    lambda x, h: x.reshape(*x.shape[:-2], h, x.shape[-2], -1)
                ),
                "tokens and heads still have to be transposed": (
                    lambda x, h: x.unflatten(-1, (h, -1))
                ),
                "each head gets every second number of a vector, not one piece of it": (
                    lambda x, h: x.unflatten(-1, (-1, h)).movedim(-1, -3)
                ),
                "the heads are in the wrong order": lambda x, h: split_heads(x, h).flip(-3),
                "each head lies on its side: only tokens and heads are transposed": (
                    lambda x, h: split_heads(x, h).mT
                ),
                "num_heads is taken for the width of a head": (
                    lambda x, h: split_heads(x, x.shape[-1] // h)
                ),
                "each head gets the whole vector": (lambda x, h: torch.stack([x] * h, dim=-3)),
            },
            [
                {"x": torch.arange(4.0).view(1, 1, 4), "num_heads": 2},
                {"x": torch.arange(8.0).view(1, 2, 4), "num_heads": 2},
                {"x": torch.arange(36.0).view(2, 3, 6), "num_heads": 2},
                {"x": torch.arange(36.0).view(2, 3, 6), "num_heads": 3},
            ],
        ),
        batch="batch ",
        in_model=True,
        exercise="ex-multi-head-apart",
    ),
    Piece(
        library=merge_heads,
        chapter="story/multi_head_attention",
        section="Putting the heads back together",
        hint="It undoes the split: first the transpose, then the pieces of a token side by side.",
        check=Judged(
            merge_heads,
            {
                "heads and tokens have to be transposed before they are put together": (
                    lambda x: x.reshape(*x.shape[:-3], x.shape[-2], -1)
                ),
                "the heads are in the wrong order": lambda x: merge_heads(x.flip(-3)),
                "the heads are added, they should stand side by side": lambda x: x.sum(dim=-3),
                "the heads are averaged, they should stand side by side": lambda x: x.mean(dim=-3),
                "they are transposed, and not put together": lambda x: x.transpose(-3, -2),
                "the numbers of the heads alternate, each head should be one piece": (
                    lambda x: x.movedim(-3, -1).flatten(-2)
                ),
                "the heads stand one below the other, not side by side": (
                    lambda x: x.flatten(-3, -2)
                ),
            },
            [
                {"x": torch.arange(4.0).view(1, 2, 1, 2)},
                {"x": torch.arange(8.0).view(1, 2, 2, 2)},
                {"x": torch.arange(36.0).view(2, 2, 3, 3)},
                {"x": torch.arange(48.0).view(2, 3, 4, 2)},
            ],
        ),
        batch="batch ",
        in_model=True,
    ),
    Piece(
        library=MultiHeadAttention,
        chapter="story/multi_head_attention",
        section="The module",
        hint="Project, split, attend in every head at once, merge, and project once more.",
        check=lambda mine: remark_on_names(
            mine,
            judge_attention(
                mine,
                several_heads,
                ("d_in", "d_out", "context_length", "dropout", "num_heads"),
                _BATCHED,
                has_heads=True,
            ),
        ),
        leave_out=("attn_mask", "need_weights"),
        batch="batch ",
        attributes=("W_query", "W_key", "W_value", "out_proj"),
        exercise="ex-multi-head-build",
    ),
)

PIECES = (
    *INPUTS,
    *SIMPLE_ATTENTION,
    *SELF_ATTENTION,
    *CAUSAL_ATTENTION,
    *MULTI_HEAD_ATTENTION,
)
