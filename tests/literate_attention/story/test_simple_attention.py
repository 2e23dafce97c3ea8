"""Attention without trainable weights is three formulas; each is checked against its own loops."""

import math
import re

import pytest
import torch
from harness.library.loops import attend_by_loops
from torch.nn.functional import scaled_dot_product_attention as torch_attention
from torch.testing import assert_close

import literate_attention as la

NUM_TOKENS, EMBED_DIM = 7, 5

each_batch = pytest.mark.parametrize("batch", [(), (2, 3), (0,)], ids=str)


def random_inputs(*batch, dtype=torch.float64):
    generator = torch.Generator().manual_seed(sum(batch))
    return torch.randn(*batch, NUM_TOKENS, EMBED_DIM, generator=generator, dtype=dtype)


def dot(left, right):
    return sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))


@each_batch
def test_a_score_is_a_dot_product(batch) -> None:
    inputs = random_inputs(*batch)
    scores = la.score_all_queries(inputs)
    assert scores.shape == (*batch, NUM_TOKENS, NUM_TOKENS)
    for sequence, rows in zip(
        inputs.reshape(-1, NUM_TOKENS, EMBED_DIM),
        scores.reshape(-1, NUM_TOKENS, NUM_TOKENS).tolist(),
        strict=True,
    ):
        assert rows == [pytest.approx([dot(q, x) for x in sequence]) for q in sequence]


@each_batch
def test_one_query_gives_its_row_of_all_scores(batch) -> None:
    inputs = random_inputs(*batch)
    for i in range(NUM_TOKENS):
        one = la.score_one_query(inputs[..., i, :], inputs)
        assert_close(one, la.score_all_queries(inputs)[..., i, :])


@each_batch
def test_a_context_vector_is_a_weighted_sum(batch) -> None:
    inputs = random_inputs(*batch)
    weights = random_inputs(*batch)[..., 1]
    expected = torch.zeros(*batch, EMBED_DIM, dtype=torch.float64)
    for j in range(NUM_TOKENS):
        expected += weights[..., j, None] * inputs[..., j, :]
    assert_close(la.context_vector(weights, inputs), expected)


@each_batch
def test_attention_agrees_with_loops_and_with_torch(batch) -> None:
    inputs = random_inputs(*batch)
    context, weights = la.dot_product_attention(inputs, need_weights=True)
    by_loops, weights_by_loops = attend_by_loops(inputs, inputs, inputs, scale=1.0)
    assert_close(context, by_loops)
    assert_close(weights, weights_by_loops)
    assert_close(context, torch_attention(inputs, inputs, inputs, scale=1.0))
    assert_close(la.dot_product_attention(inputs), context)


def test_weights_worked_by_hand() -> None:
    """Scores 0 and 1 weigh 1 and e, divided by 1 + e."""
    scores = torch.tensor([0.0, 1.0])
    assert_close(la.softmax(scores), torch.tensor([1.0, math.e]) / (1 + math.e))
    assert_close(la.naive_softmax(scores), torch.tensor([1.0, math.e]) / (1 + math.e))
    assert_close(la.normalize_by_sum(torch.tensor([3.0, -1.0])), torch.tensor([1.5, -0.5]))


def test_both_softmaxes_agree_until_the_naive_one_overflows() -> None:
    scores = random_inputs(2, 3)
    assert_close(la.naive_softmax(scores), la.softmax(scores))
    scores = torch.tensor([1000.0, 1001.0])
    assert la.naive_softmax(scores).isnan().all()
    assert_close(la.softmax(scores), la.softmax(scores - 1000.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_the_result_is_where_the_input_is(dtype, device) -> None:
    inputs = random_inputs(2, dtype=dtype).to(device)
    for result in la.dot_product_attention(inputs, need_weights=True):
        assert result.dtype == dtype
        assert result.device.type == device


@pytest.mark.usefixtures("unchecked")
def test_whole_numbers_are_refused() -> None:
    """They would be multiplied without an error, and then no weight could be a fraction."""
    integers, floats = torch.ones(7, 5, dtype=torch.int64), torch.ones(7, 5)
    message = "inputs must hold floating-point numbers, got torch.int64; convert it first"
    for call in (
        lambda: la.dot_product_attention(integers),
        lambda: la.score_one_query(floats[0], integers),
    ):
        with pytest.raises(TypeError, match=re.escape(message)):
            call()
