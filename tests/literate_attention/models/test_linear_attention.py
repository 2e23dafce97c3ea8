"""Linear attention: by loops, by token and in chunks, all the same; what a state holds; what is refused."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.testing import assert_close

from literate_attention import (
    GatedDeltaNet,
    GroupedQueryAttention,
    KVCache,
    LanguageModel,
    StateCache,
    TransformerBlock,
    generate,
    linear_attention,
)

BATCH, HEADS, TOKENS, KEY, VALUE = 2, 3, 11, 5, 7
SHAPE = (BATCH, HEADS, TOKENS)

each_rule = pytest.mark.parametrize("delta", [False, True], ids=["sum", "delta"])
each_size = pytest.mark.parametrize("chunk_size", [None, 1, 4, 11, 64])


def random_tensor(*shape: int, seed: int = 7) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def drawn(delta: bool = True, decay: bool = True) -> dict[str, Tensor]:
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


def cut(given: dict[str, Tensor], start: int, stop: int) -> dict[str, Tensor]:
    return {name: x[:, :, start:stop] for name, x in given.items() if name != "state"}


# Against loops and itself


@each_size
@each_rule
@pytest.mark.parametrize("decay", [False, True], ids=["", "decay"])
def test_it_agrees_with_loops_over_numbers(
    delta: bool, decay: bool, chunk_size: int | None
) -> None:
    given = drawn(delta, decay)
    output, last = linear_attention(**given, chunk_size=chunk_size)
    for b in range(BATCH):
        for h in range(HEADS):
            state = given["state"][b, h].tolist()
            for t in range(TOKENS):
                query, key, value = (given[x][b, h, t].tolist() for x in ("query", "key", "value"))
                kept = given["log_decay"][b, h, t].exp().item() if decay else 1.0
                state = [[kept * number for number in row] for row in state]
                for c in range(VALUE):
                    found = sum(key[r] * state[r][c] for r in range(KEY))
                    beta = given["beta"][b, h, t].item() if delta else 1.0
                    new = beta * (value[c] - (found if delta else 0.0))
                    for r in range(KEY):
                        state[r][c] += key[r] * new
                    read = sum(query[r] * state[r][c] for r in range(KEY))
                    assert output[b, h, t, c].item() == pytest.approx(read, abs=1e-12)
            assert_close(last[b, h], torch.tensor(state, dtype=torch.float64))


@each_rule
def test_chunks_equal_tokens_with_gradients(delta: bool) -> None:
    given = {name: x.requires_grad_() for name, x in drawn(delta).items()}
    results = []
    for chunk_size in (None, 4):
        found = linear_attention(**given, chunk_size=chunk_size)
        loss = sum((x * random_tensor(*x.shape)).sum() for x in found)
        results.append([*found, *torch.autograd.grad(loss, list(given.values()))])
    for by_token, by_chunk in zip(*results, strict=True):
        assert_close(by_chunk, by_token, rtol=0.0, atol=1e-10)


@each_size
def test_a_text_may_arrive_in_pieces(chunk_size: int | None) -> None:
    given = drawn()
    output, last = linear_attention(**given)
    state, pieces = given["state"], []
    for start, stop in ((0, 4), (4, 5), (5, TOKENS)):
        piece, state = linear_attention(
            **cut(given, start, stop), state=state, chunk_size=chunk_size
        )
        pieces.append(piece)
    assert_close(torch.cat(pieces, dim=2), output)
    assert_close(state, last)


def test_a_sum_is_attention_whose_softmax_was_left_out() -> None:
    given = drawn(delta=False, decay=False)
    del given["state"]
    scores = (given["query"] @ given["key"].mT).tril()
    assert_close(linear_attention(**given, chunk_size=4)[0], scores @ given["value"])


@each_size
def test_the_future_does_not_change_the_past(chunk_size: int | None) -> None:
    given = drawn()
    before, _ = linear_attention(**given, chunk_size=chunk_size)
    for x in cut(given, 6, TOKENS).values():
        x.mul_(0.5)
    after, _ = linear_attention(**given, chunk_size=chunk_size)
    assert_close(after[:, :, :6], before[:, :, :6])
    assert not torch.allclose(after[:, :, 6], before[:, :, 6])


def test_chunks_stay_finite_where_almost_nothing_is_kept() -> None:
    """What is kept over a chunk is zero in any type, and over a part of it a quotient of such numbers."""
    given = drawn()
    given["log_decay"] = torch.full(SHAPE, -800.0, dtype=torch.float64).requires_grad_()
    output, _ = linear_attention(**given, chunk_size=TOKENS)
    assert_close(output, linear_attention(**given)[0])
    (gradient,) = torch.autograd.grad(output.sum(), given["log_decay"])
    assert gradient.isfinite().all()


@each_size
def test_of_a_small_type_the_state_is_kept_in_float32(chunk_size: int | None) -> None:
    given = {name: x.bfloat16() for name, x in drawn().items()}
    output, state = linear_attention(**given, chunk_size=chunk_size)
    assert output.dtype == torch.bfloat16
    assert state.dtype == torch.float32
    wide, _ = linear_attention(**{name: x.double() for name, x in given.items()})
    assert_close(output, wide.bfloat16())


# What a state holds


def test_the_delta_rule_replaces_and_a_sum_adds() -> None:
    key = normalize(random_tensor(1, KEY), dim=-1)
    old, new = random_tensor(1, VALUE, seed=1), random_tensor(1, VALUE, seed=2)
    keys, values = torch.cat([key, key]), torch.cat([old, new])
    _, added = linear_attention(keys, keys, values)
    _, replaced = linear_attention(keys, keys, values, beta=torch.ones(2, dtype=key.dtype))
    assert_close(key @ added, old + new)
    assert_close(key @ replaced, new)


@each_rule
def test_as_many_orthogonal_keys_as_a_key_is_wide_are_all_found(delta: bool) -> None:
    keys = torch.linalg.qr(random_tensor(KEY, KEY)).Q
    values = random_tensor(KEY, VALUE, seed=1)
    beta = torch.ones(KEY, dtype=keys.dtype) if delta else None
    _, state = linear_attention(keys, keys, values, beta=beta)
    assert_close(keys @ state, values)


# What is refused


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("name", "wrong", "error", "message"),
    [
        ("beta", torch.ones(*SHAPE, VALUE), ValueError, r"beta must be one number .* got \(2, 3, 11, 7\)"),
        ("log_decay", torch.zeros(SHAPE[:2]), ValueError, r"log_decay must be one number .* \(2, 3, 11\)"),
        ("log_decay", torch.full(SHAPE, 0.9), ValueError, r"at most 0, got 0.9; is it .* or a beta\?"),
        ("state", torch.ones(1, HEADS, KEY, VALUE), ValueError, r"\(2, 3, 5, 7\), got \(1, 3, 5, 7\)"),
        ("state", torch.ones(BATCH, HEADS, VALUE, KEY), ValueError, r"got \(2, 3, 7, 5\)"),
        ("state", torch.ones(BATCH, HEADS, KEY, VALUE, device="meta"), TypeError, "meta.* cpu"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    name: str, wrong: Tensor, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        linear_attention(**drawn() | {name: wrong})


@pytest.mark.usefixtures("unchecked")
def test_a_cache_of_keys_or_of_another_batch_is_refused() -> None:
    attention, cache = GatedDeltaNet(8, 8, 2, head_dim=4), StateCache()
    with pytest.raises(TypeError, match="needs a StateCache, got a KVCache"):
        attention(torch.ones(1, 3, 8), cache=KVCache(1, 2, max_tokens=4, head_dim=4))
    attention(torch.ones(1, 3, 8), cache=cache)
    with pytest.raises(ValueError, match=r"\(2, 2, 4, 4\), got \(1, 2, 4, 4\)"):
        attention(torch.ones(2, 3, 8), cache=cache)
    assert cache.num_tokens == 3


# The module, and a hybrid


@pytest.mark.parametrize("sizes", [[1] * TOKENS, [5, 6], [4, 1, 1, 5]])
def test_the_module_reads_a_text_in_pieces(sizes: list[int]) -> None:
    torch.manual_seed(123)
    attention = GatedDeltaNet(6, 12, HEADS, head_dim=5, chunk_size=3).double()
    x, cache = random_tensor(BATCH, TOKENS, 6), StateCache()
    pieces = [attention(piece, cache=cache) for piece in x.split(sizes, dim=1)]
    assert_close(torch.cat(pieces, dim=1), attention(x))
    assert cache.num_tokens == TOKENS
    assert cache.nbytes == BATCH * HEADS * 5 * 5 * 8


def test_a_hybrid_writes_the_same_with_and_without_caches() -> None:
    torch.manual_seed(123)

    def hybrid(layer: int) -> Any:
        if layer % 4 == 3:
            return GroupedQueryAttention(12, 12, num_heads=4, num_kv_heads=2)
        return GatedDeltaNet(12, 12, num_heads=2, head_dim=6)

    blocks = [TransformerBlock(hybrid(layer), 12, hidden_dim=24) for layer in range(4)]
    model = LanguageModel(19, 12, blocks).double()
    text = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    kv_cache = KVCache(2, 2, max_tokens=12, head_dim=3, dtype=torch.float64)
    caches = [StateCache(), StateCache(), StateCache(), kv_cache]
    written = generate(model, text, max_new_tokens=7, caches=caches)
    for _ in range(7):
        text = torch.cat([text, model(text)[:, -1:].argmax(dim=-1)], dim=1)
    assert torch.equal(written, text)
