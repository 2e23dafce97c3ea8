"""The classes that readers of the sources know, in our words: same seeds, same results, same files.

They hold their mask as a float buffer and add no new idea; what they compute is written down here
with nothing but torch, so that it can stand beside ours.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from literate_attention import CausalAttention, MultiHeadAttention, MultiHeadAttentionWrapper

D_IN, D_OUT, HEADS, CONTEXT, NUM_TOKENS = 7, 6, 3, 11, 5


class StoresItsMask(nn.Module):
    """Three projections, and ones above the diagonal where a token is hidden."""

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length).triu(diagonal=1)
        self.register_buffer("mask", hidden)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        num_tokens, width = query.shape[-2:]
        hidden = self.mask[:num_tokens, :num_tokens].bool()
        scores = torch.einsum("...id,...jd->...ij", query, key).masked_fill(hidden, -torch.inf)
        return self.dropout(torch.softmax(scores / width**0.5, dim=-1)) @ value


class SourceCausalAttention(StoresItsMask):
    def forward(self, x: Tensor) -> Tensor:
        return self.attend(self.W_query(x), self.W_key(x), self.W_value(x))


class SourceWrapper(nn.Module):
    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        one = (d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList([SourceCausalAttention(*one) for _ in range(num_heads)])

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([head(x) for head in self.heads], dim=-1)


class SourceMultiHeadAttention(StoresItsMask):
    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.width = d_out // num_heads

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            torch.stack(projection(x).split(self.width, dim=-1), dim=1)
            for projection in (self.W_query, self.W_key, self.W_value)
        )
        heads = self.attend(query, key, value).unbind(dim=1)
        return self.out_proj(torch.cat(heads, dim=-1))


PAIRS = {
    "causal": (SourceCausalAttention, CausalAttention, ()),
    "wrapper": (SourceWrapper, MultiHeadAttentionWrapper, (HEADS,)),
    "multi-head": (SourceMultiHeadAttention, MultiHeadAttention, (HEADS,)),
}

each_pair = pytest.mark.parametrize(("theirs", "ours", "heads"), PAIRS.values(), ids=PAIRS)
each_bias = pytest.mark.parametrize("qkv_bias", [False, True], ids=["plain", "bias"])
both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])

Build = Callable[..., nn.Module]


def seeded(
    seed: int, build: Build, heads: tuple[int, ...], bias: bool, p: float = 0.0
) -> nn.Module:
    torch.manual_seed(seed)
    return build(D_IN, D_OUT, CONTEXT, p, *heads, qkv_bias=bias)


def tokens() -> Tensor:
    return torch.randn(2, NUM_TOKENS, D_IN, generator=torch.Generator().manual_seed(7))


def run(attention: nn.Module, need_weights: bool) -> Tensor:
    return attention(tokens(), need_weights=True)[0] if need_weights else attention(tokens())


@each_pair
@each_bias
@both_paths
def test_the_same_seed_gives_the_same_weights_and_outputs(
    theirs: Build, ours: Build, heads: tuple[int, ...], qkv_bias: bool, need_weights: bool
) -> None:
    source, attention = (seeded(123, build, heads, qkv_bias) for build in (theirs, ours))
    expected = dict(source.named_parameters())
    assert [name for name, _ in attention.named_parameters()] == list(expected)
    for name, parameter in attention.named_parameters():
        assert torch.equal(parameter, expected[name]), name
    assert_close(run(attention, need_weights), source(tokens()))


@each_pair
@each_bias
@both_paths
def test_a_checkpoint_with_masks_loads(
    theirs: Build, ours: Build, heads: tuple[int, ...], qkv_bias: bool, need_weights: bool
) -> None:
    source, attention = seeded(1, theirs, heads, qkv_bias), seeded(2, ours, heads, qkv_bias)
    checkpoint = source.state_dict()
    masks = {name for name in checkpoint if name.endswith("mask")}
    assert masks
    attention.load_state_dict(checkpoint, strict=True)
    assert masks <= set(checkpoint), "the caller's own dictionary stays as it was"
    assert_close(run(attention, need_weights), source(tokens()))


@each_pair
def test_a_checkpoint_loads_into_a_larger_model(
    theirs: Build, ours: Build, heads: tuple[int, ...]
) -> None:
    source = nn.Sequential(nn.Linear(5, D_IN), seeded(1, theirs, heads, False))
    model = nn.Sequential(nn.Linear(5, D_IN), seeded(2, ours, heads, False))
    model.load_state_dict(source.state_dict(), strict=True)
    x = torch.randn(2, NUM_TOKENS, 5)
    assert_close(model(x), source(x))


@each_pair
def test_dropout_falls_on_the_same_weights(
    theirs: Build, ours: Build, heads: tuple[int, ...]
) -> None:
    """On the explicit path; a fused kernel draws in an order of its own."""
    source = seeded(123, theirs, heads, False, 0.5)
    expected = source(tokens())
    attention = seeded(123, ours, heads, False, 0.5)
    assert_close(run(attention, need_weights=True), expected)
