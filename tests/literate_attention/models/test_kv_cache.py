"""A cache changes how long it takes and nothing else; then what is chosen from the logits."""

from collections import Counter
from functools import partial

import pytest
import torch
from harness.library.allocations import allocations
from harness.library.random_tensors import random_ids, random_tensor
from harness.library.refusals import refusals
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

import literate_attention as la

BATCH, KV_HEADS, MAX_TOKENS, HEAD_DIM, LAYERS, WIDTH, VOCABULARY = 2, 3, 13, 4, 2, 10, 11


def small_model(window=None, dtype=torch.float64):
    torch.manual_seed(123)
    heads = {"num_heads": 6, "num_kv_heads": KV_HEADS, "head_dim": HEAD_DIM}
    rope = la.RotaryEmbedding(HEAD_DIM, 40, base=100.0)
    model = la.llama_model(VOCABULARY, WIDTH, 17, LAYERS, **heads, rope=rope, window=window)
    return model.to(dtype)


def text(length, batch=BATCH):
    return random_ids(VOCABULARY, batch, length, seed=length)


@settings(deadline=None, max_examples=20)  # the first call takes longer than all others
@given(
    chunks=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    window=st.sampled_from([None, 1, 3, 5]),
    batch=st.integers(1, 3),
)
def test_any_split_of_a_text_equals_the_whole(chunks, window, batch) -> None:
    model, token_ids = small_model(window), text(sum(chunks), batch)
    caches = la.empty_caches(model, batch, max_tokens=sum(chunks))
    with torch.no_grad():
        pieces = [model(piece, caches=caches) for piece in token_ids.split(chunks, dim=1)]
        assert_close(torch.cat(pieces, dim=1), model(token_ids))


def test_no_gradient_gets_lost_in_a_cache() -> None:
    """It is written in place: `backward` would fail where somebody reads it, far from here."""
    model, token_ids = small_model(), text(4)
    caches = la.empty_caches(model, BATCH, MAX_TOKENS)
    with pytest.raises(RuntimeError, match=r"call the model under torch\.no_grad"):
        model(token_ids, caches)
    assert caches[0].num_tokens == 0
    with torch.no_grad():
        assert_close(model(token_ids, caches), model(token_ids))


def test_greedy_decoding_is_what_the_whole_text_would_choose_again_and_again() -> None:
    model, token_ids = small_model(), text(4)
    expected = token_ids
    for _ in range(9):
        with torch.no_grad():
            expected = torch.cat([expected, model(expected)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(la.generate(model, token_ids, max_new_tokens=9), expected)


def test_a_model_whose_attention_takes_no_cache_reads_all_tokens_at_every_step() -> None:
    model, whole = story_model(), text(6)
    is_token = torch.arange(6) >= torch.tensor([[0], [4]])
    written = la.generate(model, whole, 7, is_token=is_token)
    with torch.no_grad():
        mask = torch.nn.functional.pad(is_token, (0, 6), value=True)[:, None, None]
        chosen = model(written[:, :-1], attn_mask=mask)[:, 5:].argmax(dim=-1)
    assert torch.equal(written[:, 6:], chosen)
    assert torch.equal(written[:1], la.generate(model, whole[:1], 7))


def test_a_cache_says_how_full_it_is() -> None:
    (cache,) = la.empty_caches(small_model(), 1, 5)[:1]
    cache.append(*torch.ones(2, 1, KV_HEADS, 3, HEAD_DIM, dtype=torch.float64))
    assert repr(cache) == "KVCache(num_tokens=3, max_tokens=5, nbytes=960)"
    assert repr(la.SparseCache(cache, 2)) == f"SparseCache({cache}, nbytes=1040)"
    assert repr(la.RollingCache(4)) == "RollingCache(window=4, num_sinks=0, num_tokens=0)"


@pytest.mark.parametrize("added", [0, 1, 3])
@pytest.mark.parametrize("window", [None, 3])
def test_a_text_goes_on_with_the_caches_of_its_beginning(added, window) -> None:
    """Only what is new runs: what is written is what fresh caches would write."""
    model, token_ids, seen = small_model(window), text(4), []
    caches = la.empty_caches(model, BATCH, 20)
    if window is not None:
        caches = [la.RollingCache(window) for _ in caches]
    longer = la.generate(model, token_ids, max_new_tokens=3, caches=caches)
    longer = torch.cat([longer, text(added)], dim=1)
    expected = la.generate(model, longer, max_new_tokens=5)
    model.token_embedding.register_forward_hook(lambda _, given, __: seen.append(given[0].shape))
    assert torch.equal(la.generate(model, longer, max_new_tokens=5, caches=caches), expected)
    assert seen == [(BATCH, 1 + added), *[(BATCH, 1)] * 4]
    assert caches[0].num_tokens == 11 + added
    with pytest.raises(ValueError, match=r"hold .* tokens, so a text must have more, got 4"):
        la.generate(model, token_ids, max_new_tokens=1, caches=caches)


@pytest.mark.parametrize("window", [None, 3])
def test_under_autocast_the_same_is_written_with_a_cache_and_without(window) -> None:
    model, token_ids = small_model(window, torch.float32), text(5)
    caches = [la.RollingCache(window) for _ in range(LAYERS)] if window else None
    with torch.autocast("cpu", torch.bfloat16):
        written = la.generate(model, token_ids, max_new_tokens=6, caches=caches)
        with torch.no_grad():
            logits = model(written[:, :-1])[:, 4:]
    chosen = logits.gather(-1, written[:, 5:, None])[..., 0]
    # of two tokens closer than a rounding, either is right
    assert_close(chosen, logits.amax(dim=-1), rtol=0, atol=0.02)
    assert logits.std() > 0.2


def test_nothing_as_large_as_a_cache_is_allocated_while_decoding() -> None:
    """The cache is written in place: all other tensors are small beside it."""
    model = small_model()
    caches = la.empty_caches(model, batch=1, max_tokens=40)
    decode = partial(la.generate, model, text(2, batch=1), max_new_tokens=12, caches=caches)
    assert 0 < max(allocations(decode)) < caches[0].keys.nbytes / 2


@pytest.mark.parametrize(("stop_token", "end"), [(9, 9), ([8, 9], 8)])
@pytest.mark.parametrize("shape", [(2,), (2, 1)], ids=["row", "column"])
def test_a_text_ends_at_a_stop_token(stop_token, end, shape) -> None:
    choices = iter([[3, 4], [9, 5], [6, end], [7, 7]])
    added = la.generate(
        small_model(),
        text(2),
        max_new_tokens=4,
        choose=lambda logits: torch.tensor(next(choices)).reshape(shape),
        stop_token=stop_token,
    )[:, 2:]
    assert added.tolist() == [[3, 9, 9], [4, 5, end]]


@pytest.mark.parametrize("window", [None, 3])
def test_beginnings_of_unequal_length_are_continued_as_if_each_were_alone(window) -> None:
    model, whole = small_model(window), text(6)
    caches = [la.RollingCache(window) for _ in range(LAYERS)] if window else None
    is_token = torch.arange(6) >= torch.tensor([[0], [4]])
    padded = whole.where(is_token, 0)
    written = la.generate(model, padded, 7, is_token=is_token, caches=caches)
    assert torch.equal(written[:1], la.generate(model, whole[:1], 7))
    assert torch.equal(written[1:, 4:], la.generate(model, whole[1:, 4:], 7))
    assert not torch.equal(written, la.generate(model, padded, 7))
    more = la.generate(model, padded, 2, is_token=is_token)
    is_token = torch.nn.functional.pad(is_token, (0, 2), value=True)
    assert torch.equal(la.generate(model, more, 5, is_token=is_token), written)


def test_the_model_itself_is_called_and_scores_no_more_than_it_must() -> None:
    """So that hooks are heard, and what `torch.compile` has made of it is not passed over."""
    model, seen = small_model(), []
    model.register_forward_hook(lambda _, __, logits: seen.append(logits.shape))
    la.generate(model, text(4), 3)
    assert seen == [(BATCH, 1, VOCABULARY)] * 3


def grouped(window=None):
    cache = la.KVCache(BATCH, 2, MAX_TOKENS, 3, dtype=torch.float64)
    rope = la.PartialRotaryEmbedding(2, 20)
    return la.GroupedQueryAttention(12, 12, 4, 2, rope=rope, window=window), cache


def rolling():
    return grouped(window=3)[0], la.RollingCache(3)


def latent():
    cache = la.LatentCache(BATCH, MAX_TOKENS, 6, 8, dtype=torch.float64)
    sizes = {"head_dim": 4, "latent_dim": 6, "rope": la.RotaryEmbedding(8, 20)}
    return la.MultiHeadLatentAttention(12, 12, 3, **sizes), cache


def chosen(make):
    attention, cache = make()
    indexer = la.Indexer(12, 11, 5, rope=la.PartialRotaryEmbedding(2, 20))
    return la.SparseAttention(attention, indexer, top_k=4), la.SparseCache(cache, index_dim=5)


ALL_KINDS = {
    "keys": grouped,
    "keys, a window": lambda: grouped(window=3),
    "rolling": rolling,
    "latents": latent,
    "chosen keys": lambda: chosen(grouped),
    "chosen latents": lambda: chosen(latent),
}


@pytest.mark.parametrize("sizes", [[1] * 11, [5, 6], [4, 1, 1, 5]], ids=str)
@pytest.mark.parametrize(
    ("kind", "options"),
    [(kind, {}) for kind in ALL_KINDS]
    + [("latents", {"absorb": absorb}) for absorb in (False, True)]
    + [("keys, a window", {"need_weights": True})],
    ids=str,
)
def test_any_split_under_a_mask_equals_the_whole(kind, options, sizes) -> None:
    """A token that comes alone may be computed in another way than several at once."""
    torch.manual_seed(123)
    attention, cache = ALL_KINDS[kind]()
    attention.double().requires_grad_(False)
    x, mask = random_tensor(BATCH, 11, 12), random_tensor(11, 11) > -1

    def run(x, **given):
        result = attention(x, **options, **given)
        return result[0] if isinstance(result, tuple) else result

    pieces, whole = [], run(x, attn_mask=mask)
    for piece in x.split(sizes, dim=1):
        start, stop = cache.num_tokens, cache.num_tokens + piece.shape[1]
        seen = mask[start:stop, start - cache.num_keys : stop]
        pieces.append(run(piece, cache=cache, attn_mask=seen))
    assert_close(torch.cat(pieces, dim=1), whole)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("make", ALL_KINDS.values(), ids=ALL_KINDS)
def test_what_is_refused_leaves_the_cache_as_it_was(make) -> None:
    attention, cache = make()
    attention, x = attention.double().requires_grad_(False), random_tensor(BATCH, 6, 12)
    before = attention(x[:, :4], cache=cache)
    with pytest.raises(ValueError, match="attn_mask must fit"):
        attention(x[:, 4:], cache=cache, attn_mask=la.causal_mask(2, 5))
    with pytest.raises(TypeError, match="attn_mask must be boolean"):
        attention(x[:, 4:], cache=cache, attn_mask=torch.ones(2, 6))
    if not isinstance(cache, la.RollingCache):
        with pytest.raises(ValueError, match="room for 13 tokens and holds 4, got 10 more"):
            attention(random_tensor(BATCH, 10, 12), cache=cache)
    rest = attention(x[:, 4:], cache=cache)
    assert_close(torch.cat([before, rest], dim=1), attention(x))


def test_a_model_of_several_kinds_writes_with_caches_what_it_writes_without() -> None:
    torch.manual_seed(123)
    linear = la.GatedDeltaNet(12, 12, num_heads=2, head_dim=6), la.StateCache()
    attentions, caches = zip(linear, chosen(latent), grouped(), strict=True)
    blocks = [la.TransformerBlock(attention, 12, hidden_dim=17) for attention in attentions]
    model = la.LanguageModel(VOCABULARY, 12, blocks).double()
    for weight in model.parameters():
        weight.data *= 3  # small ones hide mistakes
    written = la.generate(model, text(4), 8, caches=list(caches))
    for place in range(4, 12):
        with torch.no_grad():
            assert torch.equal(model(written[:, :place])[:, -1].argmax(-1), written[:, place])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_what_stays_is_as_probable_as_was_asked(dtype) -> None:
    """Of many tokens too, whose chances add up to one too soon; and no token more than it takes."""
    logits = (3 * random_tensor(8, 20_000)).to(dtype)
    assert torch.equal(la.keep_top_p(logits, 1.0), logits)
    chances = logits.double().softmax(dim=-1)
    for p in (0.5, 0.9, 0.999):
        kept = la.keep_top_p(logits, p).isfinite()
        sums = (chances * kept).sum(dim=-1)
        rarest = chances.where(kept, 1.0).amin(dim=-1)
        assert (sums > p - 1e-5).all()
        assert (sums - rarest < p + 1e-5).all()


def test_tokens_are_drawn_as_often_as_they_are_probable() -> None:
    torch.manual_seed(123)
    probabilities = torch.tensor([0.5, 0.0, 0.125, 0.375])
    drawn = la.sample(probabilities.log().expand(20_000, -1))
    shares = torch.bincount(drawn, minlength=4) / 20_000
    # four standard deviations
    assert_close(shares, probabilities, atol=0.015, rtol=0)
    assert shares[1] == 0


def test_a_low_temperature_chooses_like_greedy() -> None:
    logits = random_tensor(50, VOCABULARY)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        for temperature in (1e-4, 1e-38, 1e-320):
            chosen = la.sample(logits.to(dtype), temperature=temperature, top_k=5, top_p=0.9)
            best = logits.to(dtype).amax(dim=-1)
            assert torch.equal(logits.to(dtype).gather(-1, chosen[:, None])[:, 0], best)
    warm = Counter(la.sample(logits[:1].expand(500, -1), temperature=100.0).tolist())
    assert len(warm) == VOCABULARY
    before = torch.get_rng_state()
    assert torch.equal(la.sample(logits, temperature=0.0), la.greedy(logits))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_seed_decides_what_is_drawn() -> None:
    choose = partial(la.sample, temperature=1.5, top_k=7, top_p=0.95)
    model = small_model()

    def drawn(seed):
        generator = torch.Generator().manual_seed(seed)
        written = la.generate(model, text(2), 20, choose=partial(choose, generator=generator))
        return written.flatten().tolist()

    assert drawn(1) == drawn(1) != drawn(2)


def test_a_layer_borrows_from_the_last_of_its_own_kind() -> None:
    for num_own in (2, 3, 5, 7):
        kinds = ["full", "window", "window", "full", "window", "window", "full"]
        for layer, lender in enumerate(la.lenders(kinds, num_own)):
            assert kinds[lender] == kinds[layer]
            assert lender == layer or lender < num_own <= layer
            assert layer < num_own or kinds[layer] not in kinds[lender + 1 : num_own]


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("dim", [-1, -2])
@pytest.mark.parametrize("group_size", [None, 3])
def test_a_group_has_few_numbers_and_none_moves_further_than_half_a_step(
    bits, dim, group_size
) -> None:
    x = random_tensor(2, 3, 11, 7)
    rounded = la.round_to_bits(x, bits, dim, group_size)
    groups = zip(*(each.split(group_size or 11, dim) for each in (x, rounded)), strict=True)
    for before, after in groups:
        step = (before.amax(dim, keepdim=True) - before.amin(dim, keepdim=True)) / (2**bits - 1)
        assert ((after - before).abs() <= step / 2 + 1e-12).all()
        for extreme in (torch.amax, torch.amin):
            assert_close(extreme(after, dim), extreme(before, dim))
        for line in after.movedim(dim, -1).flatten(0, -2):
            assert len({round(number, 9) for number in line.tolist()}) <= 2**bits


def test_numbers_that_are_equal_stay() -> None:
    assert_close(la.round_to_bits(torch.full((2, 5), 3.0), bits=2, dim=-1), torch.full((2, 5), 3.0))


def story_model():
    attention = la.MultiHeadAttention(WIDTH, WIDTH, context_length=40, dropout=0.0, num_heads=2)
    block = la.TransformerBlock(attention, WIDTH, hidden_dim=17)
    return la.LanguageModel(VOCABULARY, WIDTH, [block])


def append(*shape, value=None, **kind) -> None:
    """Append to a cache for (1, 3, 5, 4) numbers."""
    la.KVCache(1, 3, 5, 4).append(torch.ones(shape, **kind), torch.ones(value or shape, **kind))


def caches(max_tokens, layers=LAYERS):
    return la.empty_caches(small_model(), BATCH, max_tokens)[:layers]


def written(max_new_tokens, **options) -> None:
    la.generate(small_model(), text(3), max_new_tokens, **options)


SINK = la.RollingCache(window=3, num_sinks=1)
HOLES = torch.tensor([[True, False, True]] * 2)

test_refuses = refusals(
    ("(1, 3, 1, 4), got (2, 3, 1, 4); make a cache", lambda: append(2, 3, 1, 4)),
    ("(1, 3, 2, 4), got (1, 3, 1", lambda: append(1, 3, 2, 4, value=(1, 3, 1, 4))),
    ("a key of torch.float64 on", lambda: append(1, 3, 1, 4, dtype=torch.float64), TypeError),
    ("a key of torch.float32 on meta", lambda: append(1, 3, 1, 4, device="meta"), TypeError),
    ("room for 5 tokens and holds 0, got 6 more; make it with", lambda: append(1, 3, 6, 4)),
    ("the sequence has 41 tokens, but", lambda: la.generate(story_model(), text(3), 39)),
    ("the sequence has 42 tokens, but", lambda: la.generate(small_model(), text(38), 5)),
    ("the caches hold 0 tokens", lambda: la.generate(small_model(), text(3)[:, :0], 1)),
    ("pass token_ids[None]", lambda: la.generate(small_model(), text(3)[0], 1)),
    ("Attention takes no cache", lambda: la.empty_caches(story_model(), 1, 3), TypeError),
    ("outside the vocabulary", lambda: la.generate(small_model(), text(3) + 11, 1)),
    ("window of 3, but", lambda: small_model()(text(3), [la.RollingCache(3), la.RollingCache(3)])),
    ("one of its own", lambda: small_model()(text(3), caches(9, 1) * LAYERS)),
    ("got list; pass torch.tensor", lambda: la.generate(small_model(), [[1, 2]], 3), TypeError),
    ("for 6 tokens, and they may need 7; make", lambda: written(5, caches=caches(6))),
    ("max_new_tokens must be at least 0, got -1", lambda: written(-1)),
    ("2 texts, got torch.float64 of sh", lambda: written(1, choose=torch.sigmoid)),
    ("2 texts, got torch.bool of sh", lambda: written(1, choose=lambda x: x.argmax(-1) > 0)),
    ("none can be drawn", lambda: la.sample(torch.tensor([[1.0, torch.nan]]))),
    ("none can be drawn", lambda: la.sample(torch.full((1, 3), -torch.inf))),
    ("put the padding in front", lambda: written(1, is_token=text(3) < 0)),
    ("put the padding in front", lambda: written(1, is_token=HOLES)),
    ("got torch.bool of shape (2, 2)", lambda: written(1, is_token=text(2) < 0)),
    ("is_token must be boolean", lambda: written(1, is_token=text(3))),
    ("would be padding", lambda: written(1, is_token=text(3) >= 0, caches=[SINK, SINK])),
    ("finite, got nan", lambda: la.sample(torch.ones(1, 3), temperature=torch.nan)),
    ("first 1 layers is of the kind 'full'", lambda: la.lenders(["window", "full"], 1)),
    ("bits must be at least 1, got 0", lambda: la.round_to_bits(torch.ones(3), 0, -1)),
    ("k must be at least 1, got 0", lambda: la.keep_top_k(torch.ones(3), 0)),
    ("probability above 0, got 0.0", lambda: la.keep_top_p(torch.ones(3), 0.0)),
    ("probability above 0, got 1.5", lambda: la.keep_top_p(torch.ones(3), 1.5)),
    ("at least 0 and finite, got -1.0", lambda: la.sample(torch.ones(1, 3), temperature=-1.0)),
)
