"""The piece of the chapter on grouped-query attention: attention with a rotation and a cache."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from literate_attention.exercises.pieces._judged import (
    Judged,
    alone_and_in_pairs,
    loaded,
    rewritten,
    without_none,
)
from literate_attention.exercises.pieces._piece import Piece
from literate_attention.exercises.pieces._trials import Given, drawn
from literate_attention.models.grouped_query_attention import GroupedQueryAttention
from literate_attention.models.kv_cache import KVCache
from literate_attention.models.rotary_embeddings import RotaryEmbedding
from literate_attention.story.causal_attention import causal_mask
from literate_attention.story.multi_head_attention import merge_heads, split_heads
from literate_attention.story.self_attention import attention_output, attention_weights
from literate_attention.story.simple_attention import softmax

Turn = Callable[..., tuple[Tensor, Tensor, Tensor]]


def turn_both(rope: Any, query: Tensor, key: Tensor, value: Tensor, start: int) -> Any:
    """Turn queries and keys by their positions."""
    return rope(query, start), rope(key, start), value


def leave(query: Tensor, key: Tensor, value: Tensor, start: int) -> Any:
    """Turn nothing."""
    return query, key, value


def turn_and_keep(turn: Turn, cache: Any, *heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Turn, and then put keys and values into the cache."""
    query, key, value = turn(*heads, start_of(cache))
    return query, *(cache.append(key, value) if cache else (key, value))


def keep_and_turn(turn: Turn, cache: Any, *heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Put keys into the cache before they are turned, and turn all of them as if they were new."""
    query, key, value = heads
    start = start_of(cache)
    return turn(query, *(cache.append(key, value) if cache else (key, value)), start)


def turn_again(turn: Turn, cache: Any, *heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Turn keys once more when they come out of the cache."""
    query, key, value = turn_and_keep(turn, cache, *heads)
    return query, turn(key, key, value, 0)[1] if cache else key, value


def turn_too_late(turn: Turn, cache: Any, *heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Turn queries when the cache has counted their tokens already."""
    query = turn(*heads, start_of(cache) + (heads[0].shape[-2] if cache else 0))[0]
    return query, *turn_and_keep(turn, cache, *heads)[1:]


def turn_from_zero(turn: Turn, cache: Any, *heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Begin at position zero again, whatever the cache holds."""
    query, key, value = turn(*heads, 0)
    return query, *(cache.append(key, value) if cache else (key, value))


def start_of(cache: Any) -> int:
    """Return the position of the next token."""
    return cache.num_tokens if cache else 0


def split(x: Tensor, num_heads: int) -> Tensor:
    """Give each head its piece of each token."""
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge(x: Tensor) -> Tensor:
    """Put the pieces of each token side by side."""
    return x.transpose(-3, -2).flatten(-2)


def lower_right(q_len: int, kv_len: int, diagonal: int = 0) -> Tensor:
    """Return a causal mask for queries that are the last tokens."""
    return torch.ones(q_len, kv_len, dtype=torch.bool).tril(kv_len - q_len + diagonal)


def upper_left(q_len: int, kv_len: int) -> Tensor:
    """Return a causal mask for queries that are the first tokens."""
    return torch.ones(q_len, kv_len, dtype=torch.bool).tril()


def each_in_turn(x: Tensor, times: int) -> Tensor:
    """Copy each head, next to itself."""
    return x.repeat_interleave(times, dim=-3)


def in_a_row(x: Tensor, times: int) -> Tensor:
    """Copy all heads, one set behind the other."""
    return x.repeat(1, times, 1, 1)


def attend(
    module: Any,
    x: Tensor,
    *,
    cache: Any = None,
    cut: Callable[[Tensor, int], Tensor] = split,
    averaged: str = "W_value",
    turned: Callable[..., Any] = turn_both,
    kept: Callable[..., tuple[Tensor, Tensor, Tensor]] = turn_and_keep,
    copies: Callable[[Tensor, int], Tensor] = each_in_turn,
    of_keys: Callable[[Tensor, int], Tensor] | None = None,
    scale: Callable[[int, int], float] = lambda head_dim, width: head_dim**-0.5,
    mask: Callable[[int, int], Tensor] = lower_right,
    hidden: float = -torch.inf,
    axis: int = -1,
    merged: Callable[[Tensor], Tensor] = merge,
    projected: bool = True,
) -> Tensor:
    """Do what the module does, or something else in one of its steps."""
    turn = partial(turned, module.rope) if module.rope else leave
    query = cut(module.W_query(x), module.num_heads)
    key = cut(module.W_key(x), module.num_kv_heads)
    value = cut(getattr(module, averaged)(x), module.num_kv_heads)
    query, key, value = kept(turn, cache, query, key, value)
    times = module.num_heads // module.num_kv_heads
    key, value = (of_keys or copies)(key, times), copies(value, times)
    scores = query @ key.mT * scale(module.head_dim, module.num_heads * module.head_dim)
    scores = scores.masked_fill(~mask(*scores.shape[-2:]), hidden)
    context = merged(scores.softmax(dim=axis) @ value)
    return module.out_proj(context) if projected else context


def run_attention(implementation: Any, given: Given) -> Any:
    """Make the module, load weights, and attend: to all tokens at once, or to chunks with a cache."""
    x, rope = given["x"], given.get("rope")
    sizes = x.shape[-1], given["d_out"], given["num_heads"], given["num_kv_heads"]
    options = {"rope": rope} if rope else {}
    like = GroupedQueryAttention(*sizes, rope=rope)
    attention = loaded(implementation(*sizes, **options), like)
    if "tokens at a time" not in given:
        return attention(x)
    cache = KVCache(len(x), like.num_kv_heads, x.shape[-2], like.head_dim)
    return [attention(chunk, cache=cache) for chunk in x.split(given["tokens at a time"], dim=-2)]


class Turning(RotaryEmbedding):
    """Rotary embeddings that print with their arguments."""

    def __init__(self, head_dim: int, context_length: int, base: float) -> None:
        super().__init__(head_dim, context_length, base)
        self.made_with = head_dim, context_length, base

    def __repr__(self) -> str:
        return "RotaryEmbedding({}, {}, {:g})".format(*self.made_with)


def vectors(
    *shape: int,
    d_out: int,
    heads: tuple[int, int] = (1, 1),
    rope: bool = False,
    chunks: tuple[int, ...] | None = None,
) -> Given:
    """Write an input for the module."""
    num_heads, num_kv_heads = heads
    turning = Turning(d_out // num_heads, context_length=16, base=10.0) if rope else None
    return without_none(
        x=drawn(*shape),
        d_out=d_out,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        rope=turning,
        **{"tokens at a time": chunks},
    )


ATTENTION = Judged(
    GroupedQueryAttention,
    alone_and_in_pairs(
        rewritten(GroupedQueryAttention, forward=attend),
        {
            "neighbouring heads should share a key: here the second head gets those of the next group": {
                "copies": in_a_row
            },
            "the keys are not repeated as the values are: neighbouring heads should share a key": {
                "of_keys": in_a_row
            },
            "the values are not repeated as the keys are: neighbouring heads should share a value": {
                "of_keys": each_in_turn,
                "copies": in_a_row,
            },
            "all heads use the first keys and values": {
                "copies": lambda x, times: x[:, :1].expand(-1, times * x.shape[1], -1, -1)
            },
            "the mask stands at the upper left: beside a cache, the queries are the last tokens": {
                "mask": upper_left
            },
            "the mask is missing: the future is visible": {
                "mask": lambda q, k: torch.ones(q, k, dtype=torch.bool)
            },
            "the mask hides the past and shows the future": {
                "mask": lambda q, k: lower_right(q, k).flip(0, 1)
            },
            "the mask hides what it should show: true and false are swapped": {
                "mask": lambda q, k: ~lower_right(q, k)
            },
            "no token sees itself": {"mask": lambda q, k: lower_right(q, k, -1)},
            "one token of the future is visible": {"mask": lambda q, k: lower_right(q, k, 1)},
            "hidden scores are set to zero, which earns a weight; set them to minus infinity": {
                "hidden": 0.0
            },
            "the scores are not scaled": {"scale": lambda head_dim, width: 1.0},
            "the scores are divided by head_dim, not by its square root": {
                "scale": lambda head_dim, width: 1 / head_dim
            },
            "the scores are divided by the root of the whole width, not of one head's": {
                "scale": lambda head_dim, width: width**-0.5
            },
            "the scores are multiplied by the root of head_dim, not divided": {
                "scale": lambda head_dim, width: head_dim**0.5
            },
            "the softmax runs over the queries, not over the keys": {"axis": -2},
            "queries and keys are not turned": {
                "turned": lambda rope, query, key, value, start: (query, key, value)
            },
            "the queries are not turned": {
                "turned": lambda rope, query, key, value, start: (query, rope(key, start), value)
            },
            "the keys are not turned": {
                "turned": lambda rope, query, key, value, start: (rope(query, start), key, value)
            },
            "the values are turned too, only queries and keys should be": {
                "turned": lambda rope, query, key, value, start: (
                    rope(query, start),
                    rope(key, start),
                    rope(value, start),
                )
            },
            "the positions begin at 0 again, although there is a cache": {"kept": turn_from_zero},
            "the keys of the cache are turned once more, from the position of the new tokens on": {
                "kept": keep_and_turn
            },
            "the keys of the cache are turned twice": {"kept": turn_again},
            "the queries are turned too far: the cache has counted their tokens already": {
                "kept": turn_too_late
            },
            "the cache is not used": {
                "kept": lambda turn, cache, *heads: turn(*heads, start_of(cache))
            },
            "the keys are averaged, the values should be": {"averaged": "W_key"},
            "the heads are cut out of the sentence: view by token first, then transpose": {
                "cut": lambda x, heads: x.reshape(len(x), heads, x.shape[-2], -1)
            },
            "the heads are merged in the wrong order: transpose heads and tokens first": {
                "merged": lambda x: x.reshape(len(x), x.shape[-2], -1)
            },
            "the numbers of the heads alternate, each head should be one piece": {
                "merged": lambda x: x.movedim(-3, -1).flatten(-2)
            },
            "out_proj is forgotten": {"projected": False},
        },
    ),
    [
        vectors(1, 1, 2, d_out=2),
        vectors(1, 2, 2, d_out=2),
        vectors(1, 1, 2, d_out=4, heads=(2, 1)),
        vectors(1, 2, 2, d_out=4, heads=(2, 2)),
        vectors(1, 1, 2, d_out=8, heads=(4, 2)),
        vectors(1, 2, 2, d_out=2, rope=True),
        vectors(1, 2, 2, d_out=2, chunks=(1, 1)),
        vectors(1, 3, 2, d_out=2, chunks=(1, 2)),
        vectors(1, 2, 2, d_out=2, rope=True, chunks=(1, 1)),
        vectors(2, 5, 3, d_out=12, heads=(6, 2), rope=True),
        vectors(2, 5, 3, d_out=16, heads=(4, 2), rope=True, chunks=(3, 2)),
    ],
    run_attention,
    parts=(
        softmax,
        attention_output,
        attention_weights,
        causal_mask,
        merge_heads,
        split_heads,
        RotaryEmbedding,
    ),
)

PIECES = (
    Piece(
        library=GroupedQueryAttention,
        chapter="models/grouped_query_attention",
        section="One function for all three",
        hint="Project, split, turn, then the cache; after that it is the attention that you know.",
        check=ATTENTION,
        leave_out=("head_dim", "window", "qk_norm", "eps", "attn_mask", "need_weights"),
        batch="batch ",
        attributes=("W_query", "W_key", "W_value", "out_proj"),
        in_model=True,
    ),
)
