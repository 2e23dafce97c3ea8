"""Scaled dot-product attention in two functions, and the two classes that put weights before it."""

import pytest
import torch
from harness.library.loops import attend_by_loops
from torch import nn
from torch.testing import assert_close

from literate_attention import (
    SelfAttention_v1,
    SelfAttention_v2,
    TaskModel,
    attention_output,
    attention_weights,
    gloves_task,
    train,
)

Q_LEN, KV_LEN, HEAD_DIM, VALUE_DIM = 3, 5, 7, 11
NUM_TOKENS, D_IN, D_OUT = 5, 7, 3

MODULES = {
    "v1": lambda: SelfAttention_v1(D_IN, D_OUT),
    "v2": lambda: SelfAttention_v2(D_IN, D_OUT),
    "v2 with bias": lambda: SelfAttention_v2(D_IN, D_OUT, qkv_bias=True),
}

each_batch = pytest.mark.parametrize("batch", [(), (2, 3), (0,)], ids=str)
each_module = pytest.mark.parametrize("build", MODULES.values(), ids=MODULES)


def seeded(build, dtype=torch.float64):
    torch.manual_seed(123)
    return build().to(dtype)


def random_tensor(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def query_key_value(*batch):
    return (
        random_tensor(*batch, Q_LEN, HEAD_DIM, seed=1),
        random_tensor(*batch, KV_LEN, HEAD_DIM, seed=2),
        random_tensor(*batch, KV_LEN, VALUE_DIM, seed=3),
    )


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


@each_batch
@pytest.mark.parametrize("scale", [None, 0.3])
def test_weights_and_output_agree_with_loops(batch, scale) -> None:
    query, key, value = query_key_value(*batch)
    context, weights = attend_by_loops(query, key, value, scale=scale)
    assert_close(attention_weights(query, key, scale=scale), weights)
    assert_close(attention_output(weights, value), context)


@pytest.mark.parametrize(
    ("batch", "mask_shape"),
    [
        ((), (Q_LEN, KV_LEN)),
        ((2,), (Q_LEN, 1)),
        ((2,), (2, Q_LEN, KV_LEN)),
        ((2, 3), (2, 1, 1, KV_LEN)),
        ((2, 3), (3, Q_LEN, KV_LEN)),
    ],
    ids=str,
)
def test_weights_agree_with_loops_under_any_mask(batch, mask_shape) -> None:
    query, key, value = query_key_value(*batch)
    attn_mask = random_tensor(*mask_shape, seed=5) > -0.3
    _, weights = attend_by_loops(query, key, value, attn_mask)
    assert_close(attention_weights(query, key, attn_mask=attn_mask), weights)


def test_a_row_without_keys_is_zero_and_its_gradient_finite() -> None:
    query, key, _ = (tensor.requires_grad_() for tensor in query_key_value(2))
    attn_mask = torch.ones(Q_LEN, KV_LEN, dtype=torch.bool)
    attn_mask[1] = False
    weights = attention_weights(query, key, attn_mask=attn_mask)
    assert torch.equal(weights[:, 1], torch.zeros(2, KV_LEN, dtype=torch.float64))
    weights.square().sum().backward()
    assert query.grad.isfinite().all()
    assert key.grad.isfinite().all()
    assert (query.grad[:, 1] == 0).all()
    assert (query.grad[:, 0] != 0).all()


# The two classes


@each_module
@each_batch
def test_a_module_agrees_with_loops(build, batch) -> None:
    attention = seeded(build)
    x = random_tensor(*batch, NUM_TOKENS, D_IN)
    expected, expected_weights = attend_by_loops(*projected(attention, x))
    context, weights = attention(x, need_weights=True)
    assert_close(context, expected)
    assert_close(weights, expected_weights)


def test_parameters_are_drawn_in_the_order_that_the_sources_draw_them() -> None:
    attention = seeded(MODULES["v1"], torch.float32)
    torch.manual_seed(123)
    for name in ("W_query", "W_key", "W_value"):
        assert torch.equal(getattr(attention, name), torch.rand(D_IN, D_OUT))

    attention = seeded(MODULES["v2 with bias"], torch.float32)
    torch.manual_seed(123)
    for name in ("W_query", "W_key", "W_value"):
        layer = nn.Linear(D_IN, D_OUT)
        assert torch.equal(getattr(attention, name).weight, layer.weight)
        assert torch.equal(getattr(attention, name).bias, layer.bias)


# What the page says of the numbers that a module begins with


@pytest.mark.parametrize(
    ("build", "saturated"), [(SelfAttention_v1, True), (SelfAttention_v2, False)]
)
def test_only_version_1_begins_saturated_where_inputs_are_wide(build, saturated) -> None:
    attention = seeded(lambda: build(256, 256))
    _, weights = attention(random_tensor(6, 256), need_weights=True)
    largest = weights.amax(dim=-1)
    assert largest.min() > 0.99 if saturated else largest.max() < 0.5


@pytest.mark.parametrize(("seed", "learned"), [(6, False), (4, True)])
def test_without_the_square_root_training_is_a_matter_of_luck(seed, learned) -> None:
    """With the numbers that linear layers draw, some models learn to play, and others do not."""

    class Unscaled(SelfAttention_v2):
        def forward(self, x):  # type: ignore[override]
            weights = attention_weights(self.W_query(x), self.W_key(x), scale=1.0)
            return attention_output(weights, self.W_value(x))

    torch.manual_seed(seed)
    attention = Unscaled(128, 128)
    torch.manual_seed(seed)
    model = TaskModel(nn.Embedding(12, 128), attention, nn.Linear(128, 4), std=1.0)
    losses = train(model, gloves_task()[0], num_steps=300, lr=3e-4)
    assert (min(losses) < 0.1) == learned
