"""Several heads: the two classes that run them, and what cuts and puts together."""

import pytest
import torch
from harness.library.loops import attend_by_loops
from harness.library.random_tensors import random_tensor
from harness.library.refusals import refusals
from torch import nn
from torch.testing import assert_close

import literate_attention as la
from literate_attention.story import multi_head_attention

BATCH, NUM_TOKENS, D_IN, HEADS, HEAD_DIM, CONTEXT = 2, 5, 7, 3, 11, 13
D_OUT = HEADS * HEAD_DIM

both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])


def tokens(*batch):
    return random_tensor(*batch, NUM_TOKENS, D_IN)


def seeded(kind, d_out):
    torch.manual_seed(123)
    return kind(D_IN, d_out, CONTEXT, 0.0, HEADS, qkv_bias=True).double()


# The classes


@both_paths
@pytest.mark.parametrize(
    ("batch", "mask_shape"),
    [
        ((), (5, 5)),
        ((), (HEADS, 1, 5)),
        ((2,), (5, 5)),
        ((2,), (2, HEADS, 5, 5)),
        ((2, 3), (3, 1, 5, 1)),
    ],
    ids=str,
)
def test_under_a_mask_it_agrees_with_loops(need_weights, batch, mask_shape) -> None:
    """Some tokens have no key left; the future stays hidden, whatever the mask says."""
    attention, x = seeded(la.MultiHeadAttention, D_OUT), tokens(*batch)
    attn_mask = torch.rand(mask_shape, generator=torch.Generator().manual_seed(3)) < 0.5
    attn_mask[..., 0, 0] = False
    allowed = attn_mask & (torch.ones(NUM_TOKENS, NUM_TOKENS).tril() == 1)
    assert not allowed[..., 0, :].any()
    projections = (
        torch.stack(layer(x).split(HEAD_DIM, dim=-1), dim=-3)
        for layer in (attention.W_query, attention.W_key, attention.W_value)
    )
    heads, weights = attend_by_loops(*projections, allowed)
    expected = attention.out_proj(torch.cat(heads.unbind(-3), dim=-1))
    result = attention(x, attn_mask=attn_mask, need_weights=need_weights)
    assert_close(result[0] if need_weights else result, expected)
    if need_weights:
        assert_close(result[1], weights)
    with torch.autograd.set_detect_anomaly(True):
        (result[0] if need_weights else result).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())


@pytest.mark.parametrize(
    ("dropout", "need_weights", "fused"),
    [
        (nn.Dropout(0.0), False, True),
        (nn.Dropout(0.5), False, True),
        (nn.Dropout(0.0), True, False),
        (nn.Identity(), False, True),
        (la.ReproducibleDropout(0.5), False, False),
        (nn.Sequential(nn.Dropout(0.5)), False, False),
    ],
    ids=str,
)
def test_one_place_decides_between_the_kernel_and_the_steps(
    dropout, need_weights, fused, monkeypatch
) -> None:
    calls = []

    def spy(*arguments, **options):
        calls.append(options)
        return la.fused_attention(*arguments, **options)

    monkeypatch.setattr(multi_head_attention, "fused_attention", spy)
    attention = seeded(la.MultiHeadAttention, D_OUT)
    attention.dropout = dropout
    attention(tokens(), need_weights=need_weights)
    attention.eval()(tokens(), need_weights=need_weights)
    rate = getattr(dropout, "p", 0.0)
    expected = [
        {"attn_mask": None, "dropout_p": p, "is_causal": True} for p in (rate, 0.0) if fused
    ]
    assert calls == expected


def test_the_wrapper_puts_its_heads_side_by_side() -> None:
    attention, x = seeded(la.MultiHeadAttentionWrapper, HEAD_DIM), tokens(BATCH)
    heads = [head(x, need_weights=True) for head in attention.heads]
    assert len({head[0].sum().item() for head in heads}) == HEADS
    side_by_side = torch.cat([head[0] for head in heads], dim=-1)
    context, weights = attention(x, need_weights=True)
    assert_close(context, side_by_side)
    assert weights.shape == (BATCH, HEADS, NUM_TOKENS, NUM_TOKENS)
    for index, (_, expected) in enumerate(heads):
        assert_close(weights[:, index], expected)


X = torch.ones(2, 5, 7)
SMALL = la.MultiHeadAttention(7, 6, 5, 0.0, num_heads=3)
NOT_BOOLEAN = "attn_mask must be boolean, True = may attend, got torch.float32"

test_refuses = refusals(
    ("d_out must be divisible by", lambda: la.MultiHeadAttention(7, 10, 5, 0.0, 3)),
    ("the width of x must be divisible by num_heads,", lambda: la.split_heads(X, 3)),
    ("must be divisible by num_heads, got 7 and 0", lambda: la.split_heads(X, 0)),
    (NOT_BOOLEAN, lambda: SMALL(X, attn_mask=torch.ones(5, 5)), TypeError),
    ("of shape (2, 3, 5, 5),", lambda: SMALL(X, attn_mask=torch.ones(2, 5) > 0)),
    ("[:, None] is on", lambda: SMALL(X[[0] * 3], attn_mask=torch.ones(3, 1, 5) > 0)),
)
