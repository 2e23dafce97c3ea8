"""What is counted for a layer is what our caches hold, what torch counts, and what others have counted."""

from functools import partial

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import literate_attention as la
from literate_attention.models.in_2026 import (
    Model,
    index,
    keys_and_values,
    latents,
    one_vector,
    state,
    total,
)

rope = la.RotaryEmbedding(4, 16)
by_head = partial(la.GroupedQueryAttention, 11, 11, 6, head_dim=5)
by_latent = la.MultiHeadLatentAttention(11, 11, 6, head_dim=5, latent_dim=7, value_dim=3, rope=rope)
by_state = la.GatedDeltaNet(11, 11, 6, head_dim=5)
LAYERS = {
    "full": (keys_and_values(6, 6, 5), by_head(6), lambda n: la.KVCache(1, 6, n, 5)),
    "grouped": (keys_and_values(6, 2, 5), by_head(2), lambda n: la.KVCache(1, 2, n, 5)),
    "window": (
        keys_and_values(6, 2, 5, window=3),
        by_head(2, window=3),
        lambda _: la.RollingCache(window=3),
    ),
    "latent": (latents(6, 5, 7, 4, 3), by_latent, lambda n: la.LatentCache(1, n, 7, 4)),
    "state": (state(6, 5), by_state, lambda _: la.StateCache()),
}
OPTIONS = {"latent": {"absorb": True}, "state": {}}


@pytest.mark.parametrize("kind", LAYERS)
def test_our_caches_and_torch_count_the_same(kind) -> None:
    """But for projections, which take the same for each token, and decay, which multiplies no matrices."""
    store, attention, make = LAYERS[kind]
    absorbed = ("W_key", "W_value") if kind == "latent" else ()
    weights = [p for name, p in attention.named_parameters() if not name.startswith(absorbed)]
    others = sum(weight.numel() for weight in weights if weight.dim() == 2)
    others -= store.width if kind == "state" else 0
    for num_tokens in (1, 2, 3, 9):
        cache = make(num_tokens)
        for _ in range(num_tokens):
            with torch.no_grad(), FlopCounterMode(display=False) as counter:
                options = OPTIONS.get(kind, {"need_weights": True})
                attention(torch.ones(1, 1, 11), cache=cache, **options)
        assert counter.get_total_flops() // 2 - others == store.work(num_tokens)
        is_rolling = isinstance(cache, la.RollingCache)
        nbytes = cache.keys.nbytes + cache.values.nbytes if is_rolling else cache.nbytes
        assert nbytes == 4 * store.kept(num_tokens)


def test_what_others_have_counted() -> None:
    """DeepSeek-V3's latent, Llama 3 8B's gigabyte, Mistral 7B's window, Qwen3-Next's 512 tokens."""
    assert latents(128, 128, 512, 64, 128).kept(1) == 576
    assert keys_and_values(128, 128, 128).kept(1) == 32_768
    assert 32 * 2 * keys_and_values(32, 8, 128).kept(8_192) == 2**30
    assert keys_and_values(32, 8, 128, window=4_096).read(32_768) == 2 * 8 * 128 * 4_096
    assert state(32, 128).kept(1_000_000) == keys_and_values(16, 2, 256).kept(512)


def test_an_index_looks_at_every_entry_and_queries_only_at_the_best() -> None:
    chosen, eye = one_vector(2, 5, tokens_each=4, best=3), index(7, 11, tokens_each=4)
    assert [chosen.kept(n) for n in (3, 4, 40)] == [0, 5, 50]
    assert [chosen.read(n) for n in (3, 4, 40)] == [0, 5, 15]
    assert [chosen.work(n) for n in (3, 4, 40)] == [0, 20, 60]
    assert (eye.kept(40), eye.read(40), eye.work(40)) == (110, 110, 10 * 7 * (11 + 1))


def test_layers_add_up_and_a_shared_cache_is_kept_once() -> None:
    own, shared = keys_and_values(2, 1, 3), keys_and_values(2, 1, 3, is_shared=True)
    model = Model(
        name="",
        year=0,
        source="",
        layers=((2, own, index(2, 5, adds_heads=False)), (3, shared)),
    )
    found = [total(model.layers, quantity, 7) for quantity in ("kept", "read", "work")]
    assert found == [2 * 7 * (6 + 5), 2 * 7 * (6 + 5) + 3 * 7 * 6, 2 * 7 * (12 + 10) + 3 * 7 * 12]
    counts = {feature.words: count for feature, count in model.features().items()}
    assert counts == {"2 more for an index": 2, "1 for 2 heads": 5, "that of an earlier layer": 3}
