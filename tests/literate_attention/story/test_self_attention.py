"""Scaled dot-product attention in two functions, and the two classes that put weights before it."""

import pytest
import torch
from harness.library.loops import attend_by_loops
from harness.library.random_tensors import query_key_value, random_tensor
from torch import nn
from torch.testing import assert_close

import literate_attention as la

Q_LEN, KV_LEN = 3, 5
NUM_TOKENS, D_IN, D_OUT = 5, 7, 3

MODULES = {
    "v1": lambda: la.SelfAttention_v1(D_IN, D_OUT),
    "v2": lambda: la.SelfAttention_v2(D_IN, D_OUT),
    "v2 with bias": lambda: la.SelfAttention_v2(D_IN, D_OUT, qkv_bias=True),
}

each_batch = pytest.mark.parametrize("batch", [(), (2, 3), (0,)], ids=str)
each_module = pytest.mark.parametrize("build", MODULES.values(), ids=MODULES)


def projected(attention, x):
    """Compute queries, keys and values as the definition says: x times a (d_in, d_out) matrix."""
    results = []
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(attention, name)
        linear = isinstance(weight, nn.Linear)
        matrix = weight.weight.T if linear else weight
        bias = weight.bias if linear and weight.bias is not None else 0.0
        results.append(torch.einsum("...ni,io->...no", x, matrix) + bias)
    return results


# The two functions


@pytest.mark.parametrize(
    ("batch", "mask_shape"),
    [
        ((0,), (1, 1)),
        ((), (Q_LEN, KV_LEN)),
        ((2,), (Q_LEN, 1)),
        ((2,), (2, Q_LEN, KV_LEN)),
        ((2, 3), (2, 1, 1, KV_LEN)),
        ((2, 3), (3, Q_LEN, KV_LEN)),
    ],
    ids=str,
)
def test_weights_and_output_agree_with_loops(batch, mask_shape) -> None:
    query, key, value = query_key_value(*batch)
    for attn_mask in (None, random_tensor(*mask_shape, seed=5) > -0.3):
        for scale in (None, 0.3):
            context, weights = attend_by_loops(query, key, value, attn_mask, scale)
            found = la.attention_weights(query, key, attn_mask=attn_mask, scale=scale)
            assert_close(found, weights)
            assert_close(la.attention_output(found, value), context)


# The two classes


@each_module
@each_batch
def test_a_module_agrees_with_loops(build, batch) -> None:
    attention = build().double()
    x = random_tensor(*batch, NUM_TOKENS, D_IN)
    expected, expected_weights = attend_by_loops(*projected(attention, x))
    context, weights = attention(x, need_weights=True)
    assert_close(context, expected)
    assert_close(weights, expected_weights)
