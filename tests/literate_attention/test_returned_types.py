"""What a type checker knows of what comes back: `mypy` reads this file, and running it does nothing."""

from typing import assert_type

import torch
from torch import Tensor

from literate_attention import (
    CausalAttention,
    GroupedQueryAttention,
    InputEmbedding,
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    RMSNorm,
    RotaryEmbedding,
    SelfAttention_v1,
    dot_product_attention,
    grouped_attention,
)

X = torch.ones(1, 5, 6)


def asked_or_not(need_weights: bool) -> None:
    grouped = GroupedQueryAttention(6, 6, num_heads=3, num_kv_heads=3)
    assert_type(grouped(X), Tensor)
    assert_type(grouped(X, cache=None, need_weights=True), tuple[Tensor, Tensor])
    assert_type(grouped(X, need_weights=need_weights), Tensor | tuple[Tensor, Tensor])
    assert_type(grouped_attention(X, X, X), Tensor)
    assert_type(grouped_attention(X, X, X, need_weights=True), tuple[Tensor, Tensor])
    assert_type(dot_product_attention(X, need_weights=True), tuple[Tensor, Tensor])


def test_modules_say_what_they_return() -> None:
    for need_weights in (False, True):
        asked_or_not(need_weights)
    causal = CausalAttention(6, 6, 5, 0.0)
    assert_type(causal(X), Tensor)
    assert_type(causal(X, attn_mask=None, need_weights=True), tuple[Tensor, Tensor])
    multi_head = MultiHeadAttention(6, 6, 5, 0.0, num_heads=2)
    assert_type(multi_head(X), Tensor)
    assert_type(multi_head(X, need_weights=True), tuple[Tensor, Tensor])
    wrapper = MultiHeadAttentionWrapper(6, 3, 5, 0.0, num_heads=2)
    assert_type(wrapper(X, need_weights=True), tuple[Tensor, Tensor])
    assert_type(SelfAttention_v1(6, 3)(X), Tensor)
    assert_type(RMSNorm(6)(X), Tensor)
    assert_type(RotaryEmbedding(6, context_length=5)(X), Tensor)
    assert_type(InputEmbedding(7, 6, 5)(torch.tensor([[1, 2]])), Tensor)
