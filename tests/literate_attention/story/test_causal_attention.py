"""The causal mask, and both ways to apply it."""

import pytest
import torch
from harness.library.random_tensors import random_tensor
from harness.library.refusals import refusals
from torch.testing import assert_close

import literate_attention as la

BATCH, Q_LEN, KV_LEN = 2, 3, 5


def random_mask(*shape):
    return random_tensor(*shape, seed=5) > -0.3


@pytest.mark.parametrize(
    ("q_len", "kv_len"), [(0, 0), (0, 2), (2, 0), (1, 1), (1, 5), (3, 5), (5, 5), (5, 3)], ids=str
)
def test_a_query_sees_its_own_key_and_all_before(q_len, kv_len) -> None:
    """The last query stands at the last key."""
    expected = [[kv_len - j >= q_len - i for j in range(kv_len)] for i in range(q_len)]
    mask = la.causal_mask(q_len) if q_len == kv_len else la.causal_mask(q_len, kv_len)
    assert mask.dtype == torch.bool
    assert mask.shape == (q_len, kv_len)
    assert mask.tolist() == expected


def test_the_mask_is_put_where_it_is_asked_for() -> None:
    assert la.causal_mask(3, device="meta").is_meta
    with torch.device("meta"):
        assert la.causal_mask(3).is_meta
        assert la.causal_mask(3, device="cpu").device.type == "cpu"


@pytest.mark.parametrize("mask_shape", [(3, 5), (1, 5), (3, 1), (2, 1, 5)], ids=str)
def test_both_ways_to_mask_give_the_same_weights(mask_shape) -> None:
    scores, attn_mask = random_tensor(BATCH, Q_LEN, KV_LEN), random_mask(*mask_shape)
    attn_mask[..., 0] = True  # the softmax of a row without a key is not a number
    after = la.mask_weights(la.softmax(scores), attn_mask)
    before = la.softmax(la.mask_scores(scores, attn_mask))
    assert_close(after, before)
    assert ((after == 0) == ~attn_mask.expand_as(after)).all()


def test_masked_weights_are_shared_out_among_the_rest() -> None:
    weights = torch.tensor([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]])
    attn_mask = torch.tensor([[True, True, False], [False, False, False]])
    expected = torch.tensor([[0.4, 0.6, 0.0], [0.0, 0.0, 0.0]])
    assert_close(la.mask_weights(weights, attn_mask), expected)


@pytest.mark.usefixtures("unchecked")  # many calls
def test_gradients_pass_through_masked_weights() -> None:
    scores = random_tensor(BATCH, Q_LEN, KV_LEN).requires_grad_()
    attn_mask = random_mask(Q_LEN, KV_LEN)
    attn_mask[0] = False
    assert torch.autograd.gradcheck(lambda s: la.mask_weights(la.softmax(s), attn_mask), scores)


X = torch.ones(2, 5, 7)
MASK, SMALL = torch.ones(5, 5, dtype=torch.bool), la.CausalAttention(7, 3, 11, 0.0)

test_refuses_a_mask = refusals(
    ("attn_mask must be boolean, True = may", lambda: la.mask_weights(X, MASK.int()), TypeError),
    ("scores of shape (2, 5, 7), (*batch, queries,", lambda: la.mask_weights(X, MASK)),
    ("got shape (5,)", lambda: la.mask_scores(X, MASK[0])),
    ("got shape (1, 2, 5, 7)", lambda: la.mask_scores(X, torch.ones(1, 2, 5, 7) > 0)),
    ("got shape (3, 5, 7)", lambda: la.mask_scores(X, torch.ones(3, 5, 7) > 0)),
    ("fit scores of shape (2, 5, 5)", lambda: SMALL(X, attn_mask=MASK[:1, :3])),
)
