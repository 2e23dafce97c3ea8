"""Heads that share keys and values, against loops; and what is refused."""

from functools import partial

import pytest
import torch
from harness.library.allocations import allocations
from harness.library.loops import attend_by_loops
from harness.library.random_tensors import random_tensor
from harness.library.refusals import refusals
from torch.testing import assert_close

import literate_attention as la

BATCH, NUM_TOKENS, D_IN, D_OUT, HEADS, KV_HEADS, HEAD_DIM, CONTEXT = 2, 5, 7, 12, 6, 2, 10, 13
Q_LEN, KV_LEN = 3, 5

both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])
each_batch = pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
each_kind = pytest.mark.parametrize("num_kv_heads", [1, 2, 6], ids=["mqa", "gqa", "mha"])


def seeded(num_kv_heads=KV_HEADS, **options):
    torch.manual_seed(123)
    rope = la.RotaryEmbedding(HEAD_DIM, CONTEXT, base=100.0)
    settings = {"head_dim": HEAD_DIM, "rope": rope, **options}
    return la.GroupedQueryAttention(D_IN, D_OUT, HEADS, num_kv_heads, **settings).double()


@both_paths
@each_kind
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_agrees_with_loops(need_weights, num_kv_heads, is_causal) -> None:
    query = random_tensor(BATCH, HEADS, Q_LEN, HEAD_DIM, seed=1)
    key, value = random_tensor(2, BATCH, num_kv_heads, KV_LEN, HEAD_DIM, seed=2)
    of = [head * num_kv_heads // HEADS for head in range(HEADS)]
    allowed = la.causal_mask(Q_LEN, KV_LEN) if is_causal else None
    expected = attend_by_loops(query, key[:, of], value[:, of], allowed)
    found = la.grouped_attention(query, key, value, is_causal=is_causal, need_weights=need_weights)
    assert_close(found, expected if need_weights else expected[0])


@both_paths
def test_no_key_is_copied_for_a_second_head(need_weights) -> None:
    """One query, many keys: all that is allocated is far smaller than one copy of the keys."""
    query, key, value = torch.randn(1, 9, 1, 64), *torch.randn(2, 1, 3, 4096, 64)
    attend = partial(la.grouped_attention, query, key, value, need_weights=need_weights)
    assert sum(allocations(attend)) < key.nbytes / 2


@both_paths
@each_batch
@each_kind
@pytest.mark.parametrize(("window", "qk_norm"), [(None, False), (3, True)])
@pytest.mark.parametrize("masked", ["not", "by text", "by head"])
def test_the_module_agrees_with_loops(
    need_weights, batch, num_kv_heads, window, qk_norm, masked
) -> None:
    """Under the mask, token 0 may attend to nothing, and behind a window token 4 to what has left it."""
    attention = seeded(num_kv_heads, window=window, qk_norm=qk_norm)
    if qk_norm:
        attention.query_norm.weight.data = random_tensor(HEAD_DIM, seed=1)
        attention.key_norm.weight.data = random_tensor(HEAD_DIM, seed=2)
    x = random_tensor(*batch, NUM_TOKENS, D_IN)

    def heads(layer, norm):
        rows = layer.weight.split(HEAD_DIM)
        split = [torch.einsum("...ni,oi->...no", x, weight) for weight in rows]
        if norm is not None and qk_norm:
            split = [
                norm.weight * head / (head.square().mean(-1, keepdim=True) + norm.eps).sqrt()
                for head in split
            ]
        return split if norm is None else [attention.rope(head) for head in split]

    query = torch.stack(heads(attention.W_query, attention.query_norm), dim=-3)
    key, value = (
        torch.stack(each, dim=-3)
        for each in (heads(attention.W_key, attention.key_norm), heads(attention.W_value, None))
    )
    of = [head * num_kv_heads // HEADS for head in range(HEADS)]
    allowed, by_hand = la.window_mask(NUM_TOKENS, NUM_TOKENS, window or NUM_TOKENS), None
    if masked != "not":
        heads_of_mask = HEADS if masked == "by head" else 1
        by_hand = random_tensor(*batch, heads_of_mask, NUM_TOKENS, NUM_TOKENS) > 0
        by_hand[..., 0, 0] = by_hand[..., 4, 2:] = False
        allowed = allowed & by_hand
    context, weights = attend_by_loops(query, key[..., of, :, :], value[..., of, :, :], allowed)
    together = torch.cat(context.unbind(-3), dim=-1)
    expected = torch.einsum("...ni,oi->...no", together, attention.out_proj.weight)
    result = attention(x, attn_mask=by_hand, need_weights=need_weights)
    assert_close(result, (expected, weights) if need_weights else expected)


def test_a_module_moves_to_another_device() -> None:
    context = seeded(window=2).to("meta")(random_tensor(BATCH, NUM_TOKENS, D_IN).to("meta"))
    assert context.is_meta
    assert context.shape == (BATCH, NUM_TOKENS, D_OUT)


X = torch.ones(BATCH, NUM_TOKENS, D_IN)
Q, KV = torch.ones(BATCH, HEADS, Q_LEN, 4), torch.ones(BATCH, KV_HEADS, KV_LEN, 4)
UNEVEN = "num_heads must be divisible by num_kv_heads, got "
BOTH = "attn_mask and is_causal were given together"
MASK, FOR_EACH = torch.ones(3, 5, dtype=torch.bool), torch.ones(6, 1, 5, dtype=torch.bool)

test_refuses = refusals(
    (f"{UNEVEN}6 and 4", lambda: la.GroupedQueryAttention(8, 12, 6, 4)),
    ("d_out must be divisible by", lambda: la.GroupedQueryAttention(8, 10, 6, 2)),
    ("window must be at least 1, got 0", lambda: seeded(window=0)),
    (f"{UNEVEN}5 and 2", lambda: la.stack_groups(torch.ones(5, 2, 2), 2)),
    (f"{UNEVEN}5 and 2", lambda: la.unstack_groups(torch.ones(2, 2, 2), 5)),
    (f"{UNEVEN}6 and 4", lambda: la.grouped_attention(Q, KV[:, [0] * 4], KV)),
    ("each key needs its", lambda: la.grouped_attention(Q, KV, KV.repeat(1, 1, 2, 1))),
    ("values of shape (2, 1, 5, 4)", lambda: la.grouped_attention(Q, KV, KV[:, :1])),
    ("must be boolean", lambda: la.grouped_attention(Q, KV, KV, attn_mask=MASK.int()), TypeError),
    ("(2, 6, 3, 5)", lambda: la.grouped_attention(Q, KV, KV, attn_mask=MASK[:2])),
    ("got meta", lambda: la.grouped_attention(Q, KV, KV, attn_mask=MASK.to("meta"))),
    (BOTH, lambda: la.grouped_attention(Q, KV, KV, attn_mask=MASK, is_causal=True)),
    ("all 4 dimensions", lambda: seeded().float()(X[[0] * 6], attn_mask=FOR_EACH)),
)
