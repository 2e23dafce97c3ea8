"""Attention without trainable weights, against loops; and one query is a row of all."""

import math
import re

import pytest
import torch
from harness.library.loops import attend_by_loops
from harness.library.random_tensors import random_tensor
from torch.testing import assert_close

import literate_attention as la

NUM_TOKENS, EMBED_DIM = 7, 5

each_batch = pytest.mark.parametrize("batch", [(), (2, 3), (0,)], ids=str)


def random_inputs(*batch):
    return random_tensor(*batch, NUM_TOKENS, EMBED_DIM)


@each_batch
def test_one_query_is_a_row_of_all(batch) -> None:
    inputs = random_inputs(*batch)
    scores = la.score_all_queries(inputs)
    context, weights = la.dot_product_attention(inputs, need_weights=True)
    for i in range(NUM_TOKENS):
        assert_close(la.score_one_query(inputs[..., i, :], inputs), scores[..., i, :])
        assert_close(la.context_vector(weights[..., i, :], inputs), context[..., i, :])


@each_batch
def test_attention_agrees_with_loops(batch) -> None:
    inputs = random_inputs(*batch)
    context, weights = la.dot_product_attention(inputs, need_weights=True)
    by_loops, weights_by_loops = attend_by_loops(inputs, inputs, inputs, scale=1.0)
    assert_close(context, by_loops)
    assert_close(weights, weights_by_loops)
    assert_close(la.dot_product_attention(inputs), context)


def test_weights_worked_by_hand() -> None:
    """Scores 0 and 1 weigh 1 and e, divided by 1 + e."""
    scores = torch.tensor([[0.0, 1.0]] * 3)
    expected = torch.tensor([[1.0, math.e]] * 3) / (1 + math.e)
    assert_close(la.softmax(scores), expected)
    assert_close(la.naive_softmax(scores), expected)
    found = la.normalize_by_sum(torch.tensor([[3.0, -1.0]] * 3))
    assert_close(found, torch.tensor([[1.5, -0.5]] * 3))


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
