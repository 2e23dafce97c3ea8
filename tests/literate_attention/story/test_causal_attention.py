"""The causal mask, both ways to apply it, and attention under masks and dropout."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as torch_attention
from torch.testing import assert_close

from literate_attention import (
    CausalAttention,
    Dropout,
    SelfAttention_v2,
    attention_weights,
    causal_mask,
    drop,
    mask_scores,
    mask_weights,
    scaled_dot_product_attention,
    softmax,
    toy_embeddings,
)

BATCH, Q_LEN, KV_LEN, HEAD_DIM, VALUE_DIM = 2, 3, 5, 7, 11

both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])
each_length = pytest.mark.parametrize(
    ("q_len", "kv_len"), [(5, 5), (3, 5), (1, 5), (5, 3), (1, 1)], ids=str
)


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def query_key_value(q_len: int = Q_LEN, kv_len: int = KV_LEN) -> tuple[Tensor, Tensor, Tensor]:
    return (
        random_tensor(BATCH, q_len, HEAD_DIM, seed=1),
        random_tensor(BATCH, kv_len, HEAD_DIM, seed=2),
        random_tensor(BATCH, kv_len, VALUE_DIM, seed=3),
    )


def random_mask(*shape: int) -> Tensor:
    return random_tensor(*shape, seed=5) > -0.3


def attend(*arguments: Any, need_weights: bool, **options: Any) -> Tensor:
    result = scaled_dot_product_attention(*arguments, **options, need_weights=need_weights)
    return result[0] if need_weights else result


# The mask


@pytest.mark.parametrize("q_len", [0, 1, 2, 5])
@pytest.mark.parametrize("kv_len", [0, 1, 2, 5])
def test_a_query_sees_its_own_key_and_all_before(q_len: int, kv_len: int) -> None:
    """The last query stands at the last key."""
    expected = [[kv_len - j >= q_len - i for j in range(kv_len)] for i in range(q_len)]
    mask = causal_mask(q_len, kv_len)
    assert mask.dtype == torch.bool
    assert mask.shape == (q_len, kv_len)
    assert mask.tolist() == expected


def test_without_a_second_length_there_are_as_many_keys_as_queries() -> None:
    assert torch.equal(causal_mask(3), torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]) == 1)


def test_the_mask_is_put_where_it_is_asked_for() -> None:
    assert causal_mask(3, device="meta").is_meta
    with torch.device("meta"):
        assert causal_mask(3).is_meta
        assert causal_mask(3, device="cpu").device.type == "cpu"


# Both ways to apply it


@pytest.mark.parametrize("mask_shape", [(3, 5), (1, 5), (3, 1), (2, 3, 5), (2, 1, 5)], ids=str)
def test_both_ways_to_mask_give_the_same_weights(mask_shape: tuple[int, ...]) -> None:
    scores, attn_mask = random_tensor(BATCH, Q_LEN, KV_LEN), random_mask(*mask_shape)
    attn_mask[..., 0] = True  # the softmax of a row without a key is not a number
    after = mask_weights(softmax(scores), attn_mask)
    before = softmax(mask_scores(scores, attn_mask))
    assert_close(after, before)
    assert ((after == 0) == ~attn_mask.expand_as(after)).all()


def test_masked_scores_are_minus_infinity_and_the_rest_untouched() -> None:
    scores, attn_mask = random_tensor(BATCH, Q_LEN, KV_LEN), random_mask(Q_LEN, KV_LEN)
    masked = mask_scores(scores, attn_mask)
    for b in range(BATCH):
        for i in range(Q_LEN):
            for j in range(KV_LEN):
                expected = scores[b, i, j] if attn_mask[i, j] else -torch.inf
                assert masked[b, i, j] == expected


def test_masked_weights_are_shared_out_among_the_rest() -> None:
    weights = torch.tensor([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]])
    attn_mask = torch.tensor([[True, True, False], [False, False, False]])
    expected = torch.tensor([[0.4, 0.6, 0.0], [0.0, 0.0, 0.0]])
    assert_close(mask_weights(weights, attn_mask), expected)


def test_gradients_pass_through_both_ways() -> None:
    scores = random_tensor(BATCH, Q_LEN, KV_LEN).requires_grad_()
    attn_mask = random_mask(Q_LEN, KV_LEN)
    attn_mask[0] = False
    attn_mask[1:, 0] = True
    assert torch.autograd.gradcheck(lambda s: mask_weights(softmax(s), attn_mask), scores)
    assert torch.autograd.gradcheck(
        lambda s: softmax(mask_scores(s, attn_mask)[:, 1:]),
        scores,
    )


# Attention under a mask


@both_paths
@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize(
    "mask_shape", [None, (3, 5), (1, 5), (3, 1), (2, 3, 5), (2, 1, 5)], ids=str
)
def test_attention_agrees_with_loops(
    need_weights: bool,
    scale: float | None,
    mask_shape: tuple[int, ...] | None,
    attend_by_loops: Callable[..., tuple[Tensor, Tensor]],
) -> None:
    attn_mask = None if mask_shape is None else random_mask(*mask_shape)
    arguments = query_key_value()
    context, _ = attend_by_loops(*arguments, attn_mask, scale)
    assert_close(attend(*arguments, attn_mask, scale=scale, need_weights=need_weights), context)


@both_paths
@each_length
def test_causal_attention_agrees_with_loops(
    need_weights: bool,
    q_len: int,
    kv_len: int,
    attend_by_loops: Callable[..., tuple[Tensor, Tensor]],
) -> None:
    arguments = query_key_value(q_len, kv_len)
    allowed = torch.tensor([[kv_len - j >= q_len - i for j in range(kv_len)] for i in range(q_len)])
    context, _ = attend_by_loops(*arguments, allowed)
    assert_close(attend(*arguments, is_causal=True, need_weights=need_weights), context)


@both_paths
def test_arguments_come_in_torchs_order(need_weights: bool) -> None:
    arguments = query_key_value(KV_LEN, KV_LEN)
    for given in [(random_mask(KV_LEN, KV_LEN), 0.0, False), (None, 0.0, True)]:
        assert_close(
            attend(*arguments, *given, need_weights=need_weights),
            torch_attention(*arguments, *given),
        )
    by_position = attend(*arguments, None, 0.0, True, 0.3, need_weights=need_weights)
    assert_close(by_position, torch_attention(*arguments, is_causal=True, scale=0.3))


@both_paths
@each_length
def test_change_the_future_and_the_past_does_not_move(
    need_weights: bool, q_len: int, kv_len: int
) -> None:
    query, key, value = query_key_value(q_len, kv_len)
    before = attend(query, key, value, is_causal=True, need_weights=need_weights)
    for i in range(q_len):
        future = max(kv_len - q_len + i + 1, 0)
        changed_key, changed_value = key.clone(), value.clone()
        changed_key[:, future:] = 10.0
        changed_value[:, future:] = 100.0
        after = attend(query, changed_key, changed_value, is_causal=True, need_weights=need_weights)
        assert_close(after[:, : i + 1], before[:, : i + 1])
        if future < kv_len:
            assert not after[:, -1].isclose(before[:, -1]).any()


def test_a_growing_text_gives_the_same_rows_as_the_whole() -> None:
    """The last queries alone, with all keys, attend as they do in the whole."""
    query, key, value = query_key_value(KV_LEN, KV_LEN)
    whole = scaled_dot_product_attention(query, key, value, is_causal=True)
    for q_len in range(1, KV_LEN):
        last = scaled_dot_product_attention(query[:, -q_len:], key, value, is_causal=True)
        assert_close(last, whole[:, -q_len:])


@both_paths
def test_the_order_of_the_keys_does_not_matter(need_weights: bool) -> None:
    query, key, value = query_key_value()
    attn_mask, order = random_mask(Q_LEN, KV_LEN), torch.tensor([4, 2, 0, 3, 1])
    assert_close(
        attend(
            query, key[:, order], value[:, order], attn_mask[:, order], need_weights=need_weights
        ),
        attend(query, key, value, attn_mask, need_weights=need_weights),
    )


def test_the_weights_are_those_of_the_two_functions() -> None:
    query, key, value = query_key_value()
    attn_mask = random_mask(Q_LEN, KV_LEN)
    context, weights = scaled_dot_product_attention(query, key, value, attn_mask, need_weights=True)
    assert_close(weights, attention_weights(query, key, attn_mask=attn_mask))
    assert_close(context, weights @ value)


@pytest.mark.parametrize("stream", ["torch", "mkl"])
def test_dropout_takes_weights_away_and_scales_up_the_rest(stream: str) -> None:
    query, key, value = query_key_value()
    options = {"dropout_p": 0.2, "dropout_stream": stream}
    torch.manual_seed(123)
    context, weights = scaled_dot_product_attention(query, key, value, need_weights=True, **options)
    torch.manual_seed(123)
    expected = drop(attention_weights(query, key), 0.2, stream)
    assert (expected == 0).any()
    assert_close(weights, expected)
    assert_close(context, expected @ value)
    torch.manual_seed(123)
    assert_close(scaled_dot_product_attention(query, key, value, **options), context)


# The class


@both_paths
def test_the_class_agrees_with_loops(
    need_weights: bool, attend_by_loops: Callable[..., tuple[Tensor, Tensor]]
) -> None:
    torch.manual_seed(123)
    attention = CausalAttention(7, 3, 11, 0.0, qkv_bias=True).double()
    x = random_tensor(BATCH, 5, 7)
    projections = (
        torch.einsum("bni,oi->bno", x, layer.weight) + layer.bias
        for layer in (attention.W_query, attention.W_key, attention.W_value)
    )
    context, weights = attend_by_loops(*projections, torch.ones(5, 5).tril() == 1)
    result = attention(x, need_weights)
    assert_close(result[0] if need_weights else result, context)
    if need_weights:
        assert_close(result[1], weights)


def test_the_sources_print_the_same(assert_published: Callable[[Tensor, str], None]) -> None:
    x = toy_embeddings()
    torch.manual_seed(789)
    attention = SelfAttention_v2(3, 2)
    scores = attention.W_query(x) @ attention.W_key(x).T
    weights = softmax(scores / 2**0.5)
    assert_published(weights * causal_mask(6), "weights-above-diagonal-zeroed")
    assert_published(mask_weights(weights, causal_mask(6)), "causal-weights")
    assert_published(mask_scores(scores, causal_mask(6)), "causal-masked-scores")
    causal = softmax(mask_scores(scores, causal_mask(6)) / 2**0.5)
    assert_published(causal, "causal-weights")
    torch.manual_seed(123)
    assert_published(drop(causal, 0.5, stream="mkl"), "dropout-half-weights")


@both_paths
def test_the_sources_print_the_same_with_dropout(
    need_weights: bool, assert_published: Callable[[Tensor, str], None]
) -> None:
    torch.manual_seed(123)
    attention = CausalAttention(3, 3, context_length=6, dropout=0.2)
    attention.dropout = Dropout(0.2, stream="torch")
    result = attention(torch.stack([toy_embeddings(), toy_embeddings()]), need_weights)
    assert_published(result[0] if need_weights else result, "batch-causal-context")
    if need_weights:
        assert_published(result[1], "batch-dropout-weights")


# What is refused

X = torch.ones(2, 5, 7)
MASK = torch.ones(5, 5, dtype=torch.bool)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mask_weights(X.long(), MASK), "weights must hold floating-point numbers"),
        (lambda: mask_scores(X.long(), MASK), "scores must hold floating-point numbers"),
        (lambda: mask_weights(X, MASK.int()), "attn_mask must be boolean, True = may attend"),
        (lambda: mask_scores(X, MASK.float()), "attn_mask must be boolean, True = may attend"),
        (lambda: causal_mask(2.0), "q_len must be a whole number, got 2.0"),
        (lambda: causal_mask(2, "3"), "kv_len must be a whole number, got '3'"),
    ],
)
def test_refuses_what_is_of_another_type(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: causal_mask(-1), "q_len must be at least 0, got -1"),
        (lambda: causal_mask(1, -2), "kv_len must be at least 0, got -2"),
        (lambda: mask_weights(X[0, 0], MASK), "weights must have at least 2 dimensions"),
        (lambda: mask_scores(X[0, 0], MASK), "scores must have at least 2 dimensions"),
        (
            lambda: mask_weights(X, MASK),
            "scores of shape (2, 5, 7), (*batch, queries, keys), got shape (5, 5)",
        ),
        (lambda: mask_scores(X, MASK), "attn_mask must fit scores of shape (2, 5, 7)"),
    ],
)
def test_refuses_sizes_that_do_not_fit(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
