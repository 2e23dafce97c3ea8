"""The classes that readers of the sources know: same files, same results, same dropout."""

import pytest
import torch
from harness.library.source_classes import (
    SourceCausalAttention,
    SourceMultiHeadAttention,
    SourceWrapper,
)
from torch.testing import assert_close

from literate_attention import CausalAttention, MultiHeadAttention, MultiHeadAttentionWrapper

D_IN, D_OUT, HEADS, CONTEXT, NUM_TOKENS = 7, 6, 3, 11, 5


PAIRS = {
    "causal": (SourceCausalAttention, CausalAttention, ()),
    "wrapper": (SourceWrapper, MultiHeadAttentionWrapper, (HEADS,)),
    "multi-head": (SourceMultiHeadAttention, MultiHeadAttention, (HEADS,)),
}

each_pair = pytest.mark.parametrize(("theirs", "ours", "heads"), PAIRS.values(), ids=PAIRS)
each_bias = pytest.mark.parametrize("qkv_bias", [False, True], ids=["plain", "bias"])
both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])


def seeded(seed, build, heads, bias, p=0.0):
    torch.manual_seed(seed)
    return build(D_IN, D_OUT, CONTEXT, p, *heads, bias)  # in this order


def tokens():
    return torch.randn(2, NUM_TOKENS, D_IN, generator=torch.Generator().manual_seed(7))


def run(attention, need_weights):
    return attention(tokens(), need_weights=True)[0] if need_weights else attention(tokens())


@each_pair
@each_bias
@both_paths
def test_a_checkpoint_with_masks_loads(theirs, ours, heads, qkv_bias, need_weights) -> None:
    source, attention = seeded(1, theirs, heads, qkv_bias), seeded(2, ours, heads, qkv_bias)
    checkpoint = source.state_dict()
    masks = {name for name in checkpoint if name.endswith("mask")}
    assert masks
    attention.load_state_dict(checkpoint, strict=True)
    assert masks <= set(checkpoint), "the caller's own dictionary stays as it was"
    assert_close(run(attention, need_weights), source(tokens()))


@each_pair
def test_dropout_falls_on_the_same_weights(theirs, ours, heads) -> None:
    """On the explicit path; a fused kernel draws in an order of its own."""
    source = seeded(123, theirs, heads, False, 0.5)
    expected = source(tokens())
    attention = seeded(123, ours, heads, False, 0.5)
    assert_close(run(attention, need_weights=True), expected)
