"""A window sees its own last keys, sinks the first; a rolling cache is exactly a mask, chunk by chunk."""

import importlib

import pytest
import torch
from harness.library.refusals import refusals
from torch.testing import assert_close

import literate_attention as la

NUM_TOKENS, WINDOW, LAYERS = 17, 5, 3
CUTS = [(17,), (1,) * 17, (7, 1, 1, 8), (2, 3, 5, 7), (13, 4)]


def seeded_model(**attention):
    torch.manual_seed(123)
    model = la.llama_model(
        11, 12, 16, num_layers=LAYERS, num_heads=6, num_kv_heads=2, head_dim=4, **attention
    )
    return model.to(torch.float64)


def random_ids(batch=2, num_tokens=NUM_TOKENS):
    return torch.randint(11, (batch, num_tokens), generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize(("q_len", "kv_len"), [(7, 7), (1, 7), (3, 7), (7, 3), (0, 5)])
@pytest.mark.parametrize("window", [1, 2, 5, 11])
@pytest.mark.parametrize("num_sinks", [0, 1, 3])
def test_a_query_sees_its_window_and_the_sinks(q_len, kv_len, window, num_sinks) -> None:
    mask = la.window_mask(q_len, kv_len, window, num_sinks)
    assert mask.shape == (q_len, kv_len)
    for i in range(q_len):
        position = i + kv_len - q_len
        seen = {
            j for j in range(kv_len) if j <= position and (j > position - window or j < num_sinks)
        }
        assert set(mask[i].nonzero().flatten().tolist()) == seen
        assert len(seen) <= window + num_sinks


@pytest.mark.parametrize("num_sinks", [0, 1])
def test_the_receptive_field_is_where_a_change_is_felt(num_sinks) -> None:
    """Change a token, and see what moves: in a model with the mask, not in the formula."""
    model, token_ids = seeded_model(), random_ids(1)
    mask = la.window_mask(NUM_TOKENS, NUM_TOKENS, 3, num_sinks)
    before = model(token_ids, attn_mask=mask)[0]
    felt = torch.zeros(NUM_TOKENS, NUM_TOKENS, dtype=torch.bool)
    for token in range(NUM_TOKENS):
        changed = token_ids.clone()
        changed[0, token] = (changed[0, token] + 1) % 11
        felt[:, token] = (model(changed, attn_mask=mask)[0] != before).any(dim=-1)
    assert torch.equal(felt, la.receptive_field(mask, LAYERS))


# Several texts, changed scores, learned sinks: torch's FlexAttention is given the same functions

HEADS, Q_LEN = 3, 7
SINKS = torch.tensor([-1.0, 0.5, 3.0], dtype=torch.float64)
DOCUMENTS = torch.tensor([[0, 0, 0, 1, 1, 2, 2], [4, 4, 4, 4, 4, 4, 9]])


def inputs():
    generator = torch.Generator().manual_seed(7)
    shape = (3, 2, HEADS, Q_LEN, 5)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def modified(**options):
    return la.modified_attention(*inputs(), **options)


def alibi(score, batch, head, query, key):
    return score - (query - key) / 2 ** (head + 1)


def softcap(score, batch, head, query, key):
    return 2 * torch.tanh(score / 2)


def of_all_places(score, batch, head, query, key):
    return score * (1 + batch) + torch.sin(0.3 * query * head - key)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("score_mod", [alibi, softcap, of_all_places])
@pytest.mark.parametrize("sinks", [None, SINKS], ids=["without sinks", "with sinks"])
def test_flex_attention_says_the_same(score_mod, sinks) -> None:
    flex = importlib.import_module("torch.nn.attention.flex_attention")

    def may_attend(batch, head, query, key):
        return (query >= key) & (DOCUMENTS[batch, query] == DOCUMENTS[batch, key])

    qkv = inputs().detach()
    block_mask = flex.create_block_mask(may_attend, 2, None, Q_LEN, Q_LEN, device="cpu")
    expected, aside = flex.flex_attention(
        *qkv, score_mod=score_mod, block_mask=block_mask, return_aux=flex.AuxRequest(lse=True)
    )
    if sinks is not None:
        expected = expected * torch.sigmoid(aside.lse - sinks[:, None])[..., None]
    mask = la.document_mask(DOCUMENTS)[:, None]
    context = la.modified_attention(*qkv, score_mod=score_mod, sinks=sinks, attn_mask=mask)
    assert_close(context, expected.to(context.dtype), rtol=0, atol=1e-6)  # in float32 inside


def test_queries_are_numbered_as_the_last_tokens() -> None:
    query, key, value = inputs()
    whole = la.modified_attention(query, key, value, score_mod=of_all_places)
    last = la.modified_attention(query[:, :, 4:], key, value, score_mod=of_all_places)
    assert_close(last, whole[:, :, 4:])


def test_a_query_without_a_key_gets_zeros_with_a_sink_too() -> None:
    qkv, nothing = inputs(), torch.zeros(Q_LEN, Q_LEN, dtype=torch.bool)
    with torch.autograd.set_detect_anomaly(True):  # no step on the way back is nan either
        context = la.modified_attention(*qkv, sinks=SINKS, attn_mask=nothing)
        (gradient,) = torch.autograd.grad(context.sum(), qkv)
    assert not context.any()
    assert not gradient.any()


@pytest.mark.parametrize("num_sinks", [0, 1, 2, 4])
@pytest.mark.parametrize("sizes", CUTS, ids=str)
def test_any_cut_of_a_text_equals_the_whole(sizes, num_sinks) -> None:
    """Positions go on counting; beside its window, every token sees the sinks that the cache keeps."""
    token_ids, rope = random_ids(), la.RotaryEmbedding(4, context_length=64)
    mask = la.window_mask(NUM_TOKENS, NUM_TOKENS, WINDOW, num_sinks)
    expected = seeded_model(rope=rope)(token_ids, attn_mask=mask)
    model = seeded_model(rope=rope, window=WINDOW)
    caches = [la.RollingCache(WINDOW, num_sinks) for _ in range(LAYERS)]
    pieces = [model(piece, caches) for piece in token_ids.split(sizes, dim=-1)]
    assert_close(torch.cat(pieces, dim=1), expected)


@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("num_sinks", [0, 1, 3])
def test_it_keeps_no_more_than_the_next_token_can_see(window, num_sinks) -> None:
    cache = la.RollingCache(window, num_sinks)
    for token in range(NUM_TOKENS):
        key = torch.full((1, 1, 1, 1), float(token))
        keys, values = cache.append(key, -key)
        seen = la.window_mask(1, token + 1, window, num_sinks)[0].nonzero().flatten()
        assert torch.equal(keys.flatten(), seen.float())
        assert torch.equal(values, -keys)
        assert cache.keys.shape[-2] == cache.num_keys == min(token + 1, window - 1 + num_sinks)
        assert cache.num_tokens == token + 1


def continued(key, value=None, **kind) -> None:
    """Continue a cache for (1, 2, 1, 4) numbers of float32."""
    cache = la.RollingCache(3)
    cache.append(torch.ones(1, 2, 5, 4), torch.ones(1, 2, 5, 4))
    cache.append(torch.ones(key, **kind), torch.ones(value or key, **kind))


test_refuses = refusals(
    ("(1, 2, 1, 4), got (3, 2, 1, 4); make a cache", lambda: continued((3, 2, 1, 4))),
    ("a value of shape", lambda: continued((1, 2, 1, 4), (1, 2, 3, 4))),
    ("float32 on cpu, got a key", lambda: continued((1, 2, 1, 4), dtype=torch.half), TypeError),
    ("window must be at least 1, got 0", lambda: la.window_mask(2, 2, 0)),
    ("num_sinks must be at least 0, got -1", lambda: la.window_mask(2, 2, 1, -1)),
    ("each of 3 heads, got shape (5,)", lambda: modified(sinks=torch.zeros(5))),
    ("of shape (2, 3, 7, 7)", lambda: modified(attn_mask=la.causal_mask(5))),
    ("window must be at least 1, got 0", lambda: la.RollingCache(0)),
    ("num_sinks must be at least 0, got -1", lambda: la.RollingCache(2, -1)),
    ("num_layers must be at least 1", lambda: la.receptive_field(la.causal_mask(3), 0)),
    ("attn_mask must be boolean", lambda: la.receptive_field(torch.ones(3, 3), 1), TypeError),
    ("got shape (3, 5)", lambda: la.receptive_field(la.causal_mask(3, 5), 1)),
)
