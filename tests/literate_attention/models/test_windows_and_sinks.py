"""A window sees its own last keys, sinks the first; a rolling cache is exactly a mask, chunk by chunk."""

import re

import pytest
import torch
from torch.testing import assert_close

from literate_attention import (
    RollingCache,
    RotaryEmbedding,
    causal_mask,
    llama_model,
    receptive_field,
    window_mask,
)

NUM_TOKENS, WINDOW, LAYERS = 17, 5, 3
CUTS = [(17,), (1,) * 17, (7, 1, 1, 8), (2, 3, 5, 7), (13, 4)]


def seeded_model(**attention):
    torch.manual_seed(123)
    model = llama_model(
        11, 12, 16, num_layers=LAYERS, num_heads=6, num_kv_heads=2, head_dim=4, **attention
    )
    return model.to(torch.float64)


def random_ids(batch=2, num_tokens=NUM_TOKENS):
    return torch.randint(11, (batch, num_tokens), generator=torch.Generator().manual_seed(7))


def in_chunks(model, token_ids, sizes, num_sinks=0):
    caches = [RollingCache(WINDOW, num_sinks) for _ in range(LAYERS)]
    return torch.cat([model(chunk, caches) for chunk in token_ids.split(sizes, dim=-1)], dim=1)


# Masks


@pytest.mark.parametrize(("q_len", "kv_len"), [(7, 7), (1, 7), (3, 7), (7, 3), (0, 5)])
@pytest.mark.parametrize("window", [1, 2, 5, 11])
@pytest.mark.parametrize("num_sinks", [0, 1, 3])
def test_a_query_sees_its_window_and_the_sinks(q_len, kv_len, window, num_sinks) -> None:
    mask = window_mask(q_len, kv_len, window, num_sinks)
    assert mask.shape == (q_len, kv_len)
    for i in range(q_len):
        position = i + kv_len - q_len
        seen = {
            j for j in range(kv_len) if j <= position and (j > position - window or j < num_sinks)
        }
        assert set(mask[i].nonzero().flatten().tolist()) == seen
        assert len(seen) <= window + num_sinks


# What a stack sees


@pytest.mark.parametrize("layers", [1, 2, 3, 7])
@pytest.mark.parametrize("window", [1, 2, 4])
def test_each_layer_reaches_a_window_less_one_further(window, layers) -> None:
    reached = receptive_field(window_mask(NUM_TOKENS, NUM_TOKENS, window), layers)
    assert torch.equal(reached, window_mask(NUM_TOKENS, NUM_TOKENS, layers * (window - 1) + 1))


@pytest.mark.parametrize("num_sinks", [0, 1])
def test_the_receptive_field_is_where_a_change_is_felt(num_sinks) -> None:
    """Change a token, and see what moves: in a model with the mask, not in the formula."""
    model, token_ids = seeded_model(), random_ids(1)
    mask = window_mask(NUM_TOKENS, NUM_TOKENS, 3, num_sinks)
    before = model(token_ids, attn_mask=mask)[0]
    felt = torch.zeros(NUM_TOKENS, NUM_TOKENS, dtype=torch.bool)
    for token in range(NUM_TOKENS):
        changed = token_ids.clone()
        changed[0, token] = (changed[0, token] + 1) % 11
        felt[:, token] = (model(changed, attn_mask=mask)[0] != before).any(dim=-1)
    assert torch.equal(felt, receptive_field(mask, LAYERS))


# The rolling cache


@pytest.mark.parametrize("sizes", CUTS, ids=str)
def test_any_cut_of_a_text_equals_the_whole(sizes) -> None:
    """Positions go on counting, and a chunk sees what has not left its window yet."""
    rope = RotaryEmbedding(4, context_length=64)
    model, token_ids = seeded_model(rope=rope, window=WINDOW), random_ids()
    assert_close(in_chunks(model, token_ids, sizes), model(token_ids))


@pytest.mark.parametrize("num_sinks", [1, 2, 4])
@pytest.mark.parametrize("sizes", CUTS, ids=str)
def test_with_sinks_too(sizes, num_sinks) -> None:
    """Beside its window, every token sees the sinks that the cache keeps."""
    token_ids, whole = random_ids(), window_mask(NUM_TOKENS, NUM_TOKENS, WINDOW, num_sinks)
    expected = seeded_model()(token_ids, attn_mask=whole)
    model = seeded_model(window=WINDOW)
    assert_close(in_chunks(model, token_ids, sizes, num_sinks), expected)


@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("num_sinks", [0, 1, 3])
def test_it_keeps_no_more_than_the_next_token_can_see(window, num_sinks) -> None:
    cache = RollingCache(window, num_sinks)
    for token in range(NUM_TOKENS):
        key = torch.full((1, 1, 1, 1), float(token))
        keys, values = cache.append(key, -key)
        seen = window_mask(1, token + 1, window, num_sinks)[0].nonzero().flatten()
        assert torch.equal(keys.flatten(), seen.float())
        assert torch.equal(values, -keys)
        assert cache.keys.shape[-2] == cache.num_keys == min(token + 1, window - 1 + num_sinks)
        assert cache.num_tokens == token + 1


# What is refused


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: RollingCache(0), ValueError, "window must be at least 1, got 0"),
        (lambda: RollingCache(2, -1), ValueError, "num_sinks must be at least 0, got -1"),
        (lambda: receptive_field(causal_mask(3), 0), ValueError, "num_layers must be at least 1"),
        (lambda: receptive_field(torch.ones(3, 3), 1), TypeError, "attn_mask must be boolean"),
        (lambda: receptive_field(causal_mask(3, 5), 1), ValueError, "got shape (3, 5)"),
    ],
)
def test_refuses(call, error, message) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()


@pytest.mark.parametrize(
    ("key", "value", "error", "message"),
    [
        ((3, 2, 1, 4), (3, 2, 1, 4), ValueError, "(1, 2, 1, 4), got (3, 2, 1, 4); make a cache"),
        ((1, 2, 1, 4), (1, 2, 3, 4), ValueError, "a value of shape"),
        ((1, 2, 1, 4), (1, 2, 1, 4), TypeError, "the cache holds torch.float32 on cpu, got a key"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_does_not_continue_is_not_kept(key, value, error, message) -> None:
    cache, dtype = RollingCache(3), torch.float64 if error is TypeError else torch.float32
    cache.append(torch.ones(1, 2, 5, 4), torch.ones(1, 2, 5, 4))
    with pytest.raises(error, match=re.escape(message)):
        cache.append(torch.ones(key, dtype=dtype), torch.ones(value, dtype=dtype))
    assert (cache.num_tokens, cache.keys.shape[-2]) == (5, 2)
