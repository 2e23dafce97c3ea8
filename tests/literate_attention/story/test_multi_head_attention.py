"""Several heads: who computes them, and what is refused."""

import pytest
import torch
from harness.library.refusals import refusals
from torch import nn

import literate_attention as la
from literate_attention.story import multi_head_attention

X = torch.ones(2, 5, 7)
SMALL = la.MultiHeadAttention(7, 6, 5, 0.0, num_heads=3)


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
    attention = la.MultiHeadAttention(7, 6, 5, 0.0, num_heads=3)
    attention.dropout = dropout
    attention(X, need_weights=need_weights)
    attention.eval()(X, need_weights=need_weights)
    rate = getattr(dropout, "p", 0.0)
    expected = [
        {"attn_mask": None, "dropout_p": p, "is_causal": True} for p in (rate, 0.0) if fused
    ]
    assert calls == expected


test_refuses = refusals(
    ("d_out must be divisible by", lambda: la.MultiHeadAttention(7, 10, 5, 0.0, 3)),
    ("the width of x must be divisible by num_heads,", lambda: la.split_heads(X, 3)),
    ("of shape (2, 3, 5, 5),", lambda: SMALL(X, attn_mask=torch.ones(2, 5) > 0)),
    ("[:, None] is on", lambda: SMALL(X[[0] * 3], attn_mask=torch.ones(3, 1, 5) > 0)),
)
