"""Latent attention: expanded, absorbed, by loops and in chunks, all the same; and what it keeps."""

import copy
from functools import partial

import pytest
import torch
from harness.library.allocations import allocations
from harness.library.loops import attend_by_loops
from harness.library.random_tensors import random_tensor
from harness.library.refusals import refusals
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

import literate_attention as la

BATCH, NUM_TOKENS, D_IN, D_OUT, HEADS, CONTEXT = 2, 11, 7, 12, 3, 13
HEAD_DIM, VALUE_DIM, LATENT, ROPE = 5, 9, 8, 4

each_form = pytest.mark.parametrize("absorb", [False, True], ids=["expanded", "absorbed"])
both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])


X = random_tensor(BATCH, NUM_TOKENS, D_IN)


def seeded(**options):
    torch.manual_seed(123)
    settings = {
        "head_dim": HEAD_DIM,
        "latent_dim": LATENT,
        "value_dim": VALUE_DIM,
        "rope": la.RotaryEmbedding(ROPE, CONTEXT, base=100.0),
        **options,
    }
    attention = la.MultiHeadLatentAttention(D_IN, D_OUT, HEADS, **settings).double()
    attention.latent_norm.weight.data = random_tensor(attention.latent_dim, seed=1)
    return attention


def empty(max_tokens=NUM_TOKENS, batch=BATCH):
    return la.LatentCache(batch, max_tokens, LATENT, ROPE, dtype=torch.float64)


@both_paths
@each_form
@pytest.mark.parametrize("masked", [False, True])
def test_the_module_agrees_with_loops(need_weights, absorb, masked) -> None:
    """Under the mask, the first token of the first text may attend to nothing."""
    attention = seeded()
    latent = attention.latent_norm(X @ attention.W_latent.weight.T)
    rope_key = attention.rope(X @ attention.W_rope_key.weight.T)
    query, key, value = [], [], []
    for head in range(HEADS):
        of_query, of_key, of_value = (
            layer.weight.view(HEADS, -1, layer.in_features)[head].T
            for layer in (attention.W_query, attention.W_key, attention.W_value)
        )
        plain, turned = (X @ of_query).split([HEAD_DIM, ROPE], dim=-1)
        query.append(torch.cat([plain, attention.rope(turned)], dim=-1))
        key.append(torch.cat([latent @ of_key, rope_key], dim=-1))
        value.append(latent @ of_value)
    allowed, by_hand = la.causal_mask(NUM_TOKENS), None
    if masked:
        by_hand = random_tensor(BATCH, 1, NUM_TOKENS, NUM_TOKENS) > 0
        by_hand[0, 0, 0, 0] = False
        allowed = allowed & by_hand
    heads = (torch.stack(each, dim=1) for each in (query, key, value))
    context, weights = attend_by_loops(*heads, allowed)
    expected = context.transpose(1, 2).flatten(2) @ attention.out_proj.weight.T
    result = attention(X, absorb=absorb, attn_mask=by_hand, need_weights=need_weights)
    assert_close(result, (expected, weights) if need_weights else expected)


@pytest.mark.parametrize("query_latent_dim", [None, 6])
def test_absorbed_equals_expanded_with_gradients(query_latent_dim) -> None:
    found = []
    for absorb in (False, True):
        attention, x = seeded(query_latent_dim=query_latent_dim), X.clone().requires_grad_()
        output = attention(x, absorb=absorb)
        (output * random_tensor(*output.shape)).sum().backward()
        gradients = [parameter.grad for parameter in attention.parameters()]
        found.append([output.detach(), x.grad, *gradients])
    for expanded, absorbed in zip(*found, strict=True):
        assert_close(absorbed, expanded, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("q_len", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("head_dim", [1, 20])
def test_the_form_with_fewer_multiplications_is_taken(q_len, head_dim) -> None:
    """torch counts them; with as many in both forms, either may be taken."""
    attention = seeded(head_dim=head_dim, value_dim=head_dim).requires_grad_(False)
    counts = []
    for absorb in (False, True, None):
        cache = empty(CONTEXT)
        attention(X[:, : CONTEXT - 12], cache=cache)
        with FlopCounterMode(display=False) as counter:
            attention(X[:, :1].expand(-1, q_len, -1), cache=cache, absorb=absorb, need_weights=True)
        counts.append(counter.get_total_flops())
    assert counts[2] == min(counts)


@pytest.mark.parametrize(("batch", "head_dim", "num_tokens"), [(1, 4, 4096), (8, 256, 16)])
def test_absorbed_copies_no_latent_for_a_head_and_no_matrix_for_a_text(
    batch, head_dim, num_tokens
) -> None:
    attention = la.MultiHeadLatentAttention(
        6, 6, 16, head_dim=head_dim, latent_dim=64, rope=la.RotaryEmbedding(8, num_tokens)
    ).requires_grad_(False)
    cache = la.LatentCache(batch, num_tokens, 64, 8)
    cache.append(torch.zeros(batch, num_tokens - 1, 72))
    attend = partial(attention, torch.ones(batch, 1, 6), cache=cache, absorb=True)
    assert sum(allocations(attend)) < max(cache.nbytes, attention.W_key.weight.nbytes)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@each_form
def test_a_module_can_change_its_dtype(absorb, dtype) -> None:
    attention = seeded()
    expected = attention(X, absorb=absorb)
    context = copy.deepcopy(attention).to(dtype)(X.to(dtype), absorb=absorb)
    assert context.dtype == dtype
    # about ten roundings in a row, of numbers up to ten
    assert_close(context.double(), expected, rtol=0, atol=100 * torch.finfo(dtype).eps)


KEPT = torch.ones(BATCH, 3, LATENT + ROPE, dtype=torch.float64)
OTHER = la.KVCache(BATCH, HEADS, NUM_TOKENS, HEAD_DIM)
FOR = "the cache is for a latent of shape (batch, num_tokens, width) = (2, 3, 12), got (1, 3"

test_refuses = refusals(
    (FOR, lambda: empty().append(KEPT[:1])),
    ("needs a LatentCache, got a KVCache", lambda: seeded()(X, cache=OTHER), TypeError),
)
