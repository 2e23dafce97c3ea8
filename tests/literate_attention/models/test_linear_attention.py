"""Linear attention: by loops, by token and in chunks, all the same; what a state holds; what is refused."""

import pytest
import torch
from harness.library.random_tensors import random_tensor
from harness.library.refusals import refusals
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import normalize
from torch.testing import assert_close

import literate_attention as la

BATCH, HEADS, TOKENS, KEY, VALUE = 2, 3, 11, 5, 7
SHAPE = (BATCH, HEADS, TOKENS)

each_rule = pytest.mark.parametrize("delta", [False, True], ids=["sum", "delta"])
each_size = pytest.mark.parametrize("chunk_size", [None, 1, 4, 11, 64])


def drawn(delta=True, decay=True):
    found = {
        "query": random_tensor(*SHAPE, KEY, seed=1),
        "key": normalize(random_tensor(*SHAPE, KEY, seed=2), dim=-1),
        "value": random_tensor(*SHAPE, VALUE, seed=3),
        "state": random_tensor(BATCH, HEADS, KEY, VALUE, seed=4),
    }
    if decay:
        found["log_decay"] = -random_tensor(*SHAPE, seed=5).abs()
    if delta:
        found["beta"] = random_tensor(*SHAPE, seed=6).sigmoid()
    return found


@each_size
@each_rule
@pytest.mark.parametrize("decay", [False, True], ids=["", "decay"])
def test_it_agrees_with_a_product_of_matrices(delta, decay, chunk_size) -> None:
    """Each token multiplies the state with a matrix, and adds another."""
    given = drawn(delta, decay)
    output, last = la.linear_attention(**given, chunk_size=chunk_size)
    state, ones = given["state"], torch.ones(SHAPE, dtype=torch.float64)
    for t in range(TOKENS):
        query, key, value = (given[name][:, :, t] for name in ("query", "key", "value"))
        beta = given.get("beta", ones)[:, :, t, None, None]
        outer = torch.einsum("bhi,bhj->bhij", key, key)
        change = torch.eye(KEY, dtype=torch.float64) - (beta * outer if delta else 0.0)
        change = change * given.get("log_decay", 0 * ones)[:, :, t, None, None].exp()
        state = change @ state + beta * torch.einsum("bhi,bhj->bhij", key, value)
        assert_close(output[:, :, t], torch.einsum("bhi,bhij->bhj", query, state))
    assert_close(last, state)


@each_rule
def test_chunks_equal_tokens_with_gradients(delta) -> None:
    given = {name: x.requires_grad_() for name, x in drawn(delta).items()}
    results = []
    for chunk_size in (None, 4):
        found = la.linear_attention(**given, chunk_size=chunk_size)
        loss = sum((x * random_tensor(*x.shape)).sum() for x in found)
        results.append([*found, *torch.autograd.grad(loss, list(given.values()))])
    for by_token, by_chunk in zip(*results, strict=True):
        assert_close(by_chunk, by_token, rtol=0.0, atol=1e-10)


def test_chunks_stay_finite_where_almost_nothing_is_kept() -> None:
    """What is kept over a chunk is zero in any type, and over a part of it a quotient of such numbers."""
    given = drawn()
    given["log_decay"] = torch.full(SHAPE, -800.0, dtype=torch.float64).requires_grad_()
    output, _ = la.linear_attention(**given, chunk_size=TOKENS)
    assert_close(output, la.linear_attention(**given)[0])
    (gradient,) = torch.autograd.grad(output.sum(), given["log_decay"])
    assert gradient.isfinite().all()


@each_size
def test_of_a_small_type_the_state_is_kept_in_float32(chunk_size) -> None:
    given = {name: x.bfloat16() for name, x in drawn().items()}
    output, state = la.linear_attention(**given, chunk_size=chunk_size)
    assert output.dtype == torch.bfloat16
    assert state.dtype == torch.float32
    wide, _ = la.linear_attention(**{name: x.double() for name, x in given.items()})
    assert_close(output, wide.bfloat16())


@pytest.mark.usefixtures("unchecked")
def test_numbers_that_are_mapped_or_traced_are_not_looked_at() -> None:
    module, x = la.GatedDeltaNet(8, 8, 2, head_dim=4), random_tensor(3, 2, 5, 8).float()
    assert_close(torch.vmap(module)(x), module(x))
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert module(torch.ones(2, 3, 8)).shape == (2, 3, 8)


FILLED = la.StateCache()
FILLED.state = torch.ones(1, 2, 4, 4)
OTHER = la.KVCache(1, 2, max_tokens=4, head_dim=4)


def read(cache):
    return la.GatedDeltaNet(8, 8, 2, head_dim=4)(torch.ones(2, 3, 8), cache=cache)


def attend(**wrong):
    return la.linear_attention(**drawn() | wrong)


test_refuses = refusals(
    ("must be of as many tokens", lambda: attend(value=torch.ones(*SHAPE, VALUE)[:, :, 1:])),
    ("beta must be one number for", lambda: attend(beta=torch.ones(*SHAPE, VALUE))),
    ("log_decay must be one number", lambda: attend(log_decay=torch.zeros(2, 3))),
    ("0, got 0.9; is it that", lambda: attend(log_decay=torch.full(SHAPE, 0.9))),
    ("(2, 3, 5, 7), got (2, 3, 7, 5)", lambda: attend(state=torch.ones(2, 3, 7, 5))),
    ("(2, 2, 4, 4), got (1, 2, 4, 4)", lambda: read(FILLED)),
    ("needs a StateCache, got a KVCache", lambda: read(OTHER), TypeError),
)


@pytest.mark.parametrize("sizes", [[1] * TOKENS, [5, 6], [4, 1, 1, 5]])
def test_the_module_reads_a_text_in_pieces(sizes) -> None:
    torch.manual_seed(123)
    attention = la.GatedDeltaNet(6, 12, HEADS, head_dim=5, chunk_size=3).double()
    x, cache = random_tensor(BATCH, TOKENS, 6), la.StateCache()
    pieces = [attention(piece, cache=cache) for piece in x.split(sizes, dim=1)]
    assert_close(torch.cat(pieces, dim=1), attention(x))
    assert cache.num_tokens == TOKENS
