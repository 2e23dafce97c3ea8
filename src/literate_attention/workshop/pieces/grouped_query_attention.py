"""The piece of the chapter on grouped-query attention: attention with a rotation and a cache."""

from typing import Any

import torch

from literate_attention.models.grouped_query_attention import GroupedQueryAttention
from literate_attention.models.kv_cache import KVCache
from literate_attention.models.rotary_embeddings import RotaryEmbedding
from literate_attention.story.multi_head_attention import merge_heads, split_heads
from literate_attention.workshop.judge.attention_mistakes import (
    IN_HEADS,
    MASKS,
    SCALES,
    STEPS,
    attend,
    weigh,
)
from literate_attention.workshop.judge.parameters import loaded
from literate_attention.workshop.judge.trials import Given, drawn
from literate_attention.workshop.pieces._written_out import grouped_attention
from literate_attention.workshop.pieces.piece import judged


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


def vectors(
    *shape: int, d_out: int, heads: tuple[int, int] = (1, 1), rope: bool = False, **chunks: Any
) -> Given:
    """Write an input for the module."""
    given = {"x": drawn(*shape), "d_out": d_out, "num_heads": heads[0], "num_kv_heads": heads[1]}
    if rope:
        given["rope"] = RotaryEmbedding(d_out // heads[0], context_length=16)
    return given | {name.replace("_", " "): sizes for name, sizes in chunks.items()}


WRONG_GROUPS = """
neighbouring heads should share a key: here the second head gets those of the next group
    key.repeat_interleave(times, dim=-3) -> key.repeat(1, times, 1, 1)
    value.repeat_interleave(times, dim=-3) -> value.repeat(1, times, 1, 1)
the keys are not repeated as the values are: neighbouring heads should share a key
    key.repeat_interleave(times, dim=-3) -> key.repeat(1, times, 1, 1)
the values are not repeated as the keys are: neighbouring heads should share a value
    value.repeat_interleave(times, dim=-3) -> value.repeat(1, times, 1, 1)
all heads use the first keys and values
    key.repeat_interleave(times, dim=-3) -> key[:, :1].expand(-1, times * key.shape[1], -1, -1)
    value.repeat_interleave(times, dim=-3) -> value[:, :1].expand(-1, times * value.shape[1], -1, -1)
the mask stands at the upper left: beside a cache, the queries are the last tokens
    .tril(kv_len - q_len) -> .tril()
queries and keys are not turned | query, key = self.rope(query, start), self.rope(key, start) -> pass
the queries are not turned | self.rope(query, start) -> query
the keys are not turned | self.rope(key, start) -> key
the values are turned too, only queries and keys should be
    query, key = self.rope -> value = self.rope(value, start); query, key = self.rope
the positions begin at 0 again, although there is a cache
    start = 0 if cache is None else cache.num_tokens -> start = 0
the keys of the cache are turned once more, from the position of the new tokens on
    self.rope(key, start) -> self.rope(key, start) if cache is None else key
    cache.append(key, value) -> cache.append(key, value); key = self.rope(key, start) if self.rope else key
the keys of the cache are turned twice
    cache.append(key, value) -> cache.append(key, value); key = self.rope(key, 0) if self.rope else key
the queries are turned too far: the cache has counted their tokens already
    self.rope(query, start) -> self.rope(query, start if cache is None else start + x.shape[-2])
hidden scores are a large negative number, not minus infinity: others can be lower still | -torch.inf -> -1e4
the cache is not used | key, value = cache.append(key, value) -> pass
the keys are averaged, the values should be | self.W_value(x) -> self.W_key(x)
the numbers of the heads alternate, each head should be one piece
    x.transpose(-3, -2).flatten(-2) -> x.movedim(-3, -1).flatten(-2)
out_proj is forgotten | self.out_proj(merge_heads(attended)) -> merge_heads(attended)
"""


PIECES = (
    judged(
        GroupedQueryAttention,
        "One function for all three",
        "Project, split, turn, then the cache; after that it is the attention that you know.",
        WRONG_GROUPS + IN_HEADS + SCALES + MASKS + STEPS,
        [
            vectors(1, 1, 2, d_out=2),
            vectors(1, 2, 2, d_out=2),
            {**vectors(1, 2, 3, d_out=2), "x": torch.tensor([[3 * [300.0], 3 * [0.0]]])},
            vectors(1, 1, 2, d_out=4, heads=(2, 1)),
            vectors(1, 2, 2, d_out=4, heads=(2, 2)),
            vectors(1, 1, 2, d_out=8, heads=(4, 2)),
            vectors(1, 2, 2, d_out=2, rope=True),
            vectors(1, 2, 2, d_out=2, tokens_at_a_time=(1, 1)),
            vectors(1, 3, 2, d_out=2, tokens_at_a_time=(1, 2)),
            vectors(1, 2, 2, d_out=2, rope=True, tokens_at_a_time=(1, 1)),
            vectors(2, 5, 3, d_out=12, heads=(6, 2), rope=True),
            vectors(2, 5, 3, d_out=16, heads=(4, 2), rope=True, tokens_at_a_time=(3, 2)),
        ],
        run_attention,
        code=(GroupedQueryAttention, grouped_attention, attend, weigh, split_heads, merge_heads),
        leave_out=("head_dim", "window", "qk_norm", "eps", "attn_mask", "need_weights"),
        batch="batch ",
        attributes=("W_query", "W_key", "W_value", "out_proj"),
        in_model=True,
    ),
)
