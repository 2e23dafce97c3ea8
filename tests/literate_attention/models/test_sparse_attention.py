"""Sparse attention: what an index scores, chooses and learns; a cache of both; what is refused."""

import pytest
import torch
from harness.library.random_tensors import random_tensor
from harness.library.refusals import refusals
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

import literate_attention as la

BATCH, TOKENS, D_IN, D_OUT, HEADS, INDEX_HEADS, INDEX_DIM, TOP_K = 2, 13, 7, 12, 3, 11, 5, 4

each_kind = pytest.mark.parametrize("latent", [False, True], ids=["keys", "latents"])


X = random_tensor(BATCH, TOKENS, D_IN)


def seeded(latent=False, top_k=TOP_K, width=D_IN):
    torch.manual_seed(123)
    rope = la.PartialRotaryEmbedding(2, 32, base=100.0)
    indexer = la.Indexer(width, INDEX_HEADS, INDEX_DIM, rope=rope)
    attention = la.GroupedQueryAttention(width, D_OUT, HEADS, 1)
    if latent:
        sizes = {"head_dim": 4, "latent_dim": 6, "rope": rope}
        attention = la.MultiHeadLatentAttention(width, D_OUT, HEADS, **sizes)
    return la.SparseAttention(attention, indexer, top_k).double().requires_grad_(False)


def empty(latent=False):
    kept = la.KVCache(BATCH, 1, TOKENS, 4, dtype=torch.float64)
    if latent:
        kept = la.LatentCache(BATCH, TOKENS, 6, 2, dtype=torch.float64)
    return la.SparseCache(kept, INDEX_DIM)


def test_scores_agree_with_a_loop_over_heads_of_either_sign() -> None:
    query, key = random_tensor(BATCH, 3, 6, 5, seed=1), random_tensor(BATCH, 9, 5, seed=2)
    weights = random_tensor(BATCH, 6, 3, seed=3)
    expected = torch.zeros(BATCH, 6, 9, dtype=torch.float64)
    for head in range(3):
        found = torch.einsum("bqd,bkd->bqk", query[:, head], key)
        expected += torch.where(found > 0, found, 0) * weights[:, :, head, None] / 15**0.5
    assert_close(la.index_scores(query, key, weights), expected)


def test_the_best_of_those_that_are_allowed_are_chosen() -> None:
    scores, allowed = random_tensor(HEADS, 6, 9, seed=1), random_tensor(6, 9, seed=2) > -0.3
    allowed[0] = False
    chosen = la.top_k_mask(scores, TOP_K, allowed)
    for head in range(HEADS):
        for query in range(6):
            keys = [key for key in range(9) if allowed[query, key]]
            best = sorted(keys, key=lambda key: -scores[head, query, key])[:TOP_K]
            assert chosen[head, query].nonzero().flatten().tolist() == sorted(best)


def test_the_loss_is_a_divergence_and_its_gradient_moves_all_of_the_index_alone() -> None:
    """Where both distributions are the same, nothing moves."""
    sparse = seeded().requires_grad_(True)
    _, weights = sparse.attention(X, need_weights=True)
    scores = sparse.indexer(X)
    total = 0.0
    for text in range(BATCH):
        for query in range(TOKENS):
            wanted = weights[text, :, query, : query + 1].mean(dim=0)
            share = scores[text, query, : query + 1].softmax(dim=-1)
            total += (wanted * (wanted / share).log()).sum() / (BATCH * TOKENS)
    loss = la.index_loss(scores, weights)
    assert_close(loss, total)
    loss.backward()
    assert all(parameter.grad.any() for parameter in sparse.indexer.parameters())
    assert all(parameter.grad is None for parameter in sparse.attention.parameters())
    same = weights.mean(dim=1).log().detach().requires_grad_()
    la.index_loss(same, weights).backward()
    assert same.grad.abs().max() < 1e-12


def test_nothing_that_comes_out_teaches_the_index() -> None:
    sparse = seeded().requires_grad_(True)
    sparse(X).sum().backward()
    assert all(parameter.grad is None for parameter in sparse.indexer.parameters())
    assert all(parameter.grad is not None for parameter in sparse.attention.parameters())


@each_kind
def test_to_choose_all_keys_is_dense_attention(latent) -> None:
    sparse = seeded(latent, top_k=TOKENS)
    assert_close(sparse(X), sparse.attention(X))


@each_kind
def test_a_single_token_attends_to_the_chosen_keys_alone(latent) -> None:
    """What is multiplied, besides the index, does not grow with the text."""
    counts = {}
    for num_tokens in (6, 12):
        sparse, cache = seeded(latent), empty(latent)
        sparse(X[:, :num_tokens], cache=cache)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            sparse(X[:, -1:], cache=cache)
        counts[num_tokens] = counter.get_total_flops()
    compared = 2 * BATCH * INDEX_HEADS * (INDEX_DIM + 1)  # with each further key
    assert counts[12] - counts[6] == 6 * compared


def test_a_mask_hides_keys_from_the_index() -> None:
    sparse, mask = seeded(), torch.ones(BATCH, 1, 1, TOKENS, dtype=torch.bool)
    mask[0, ..., :3] = False
    found = sparse(X, attn_mask=mask)
    assert_close(found[0, 3:], sparse(X[0, 3:]))  # positions differ, distances do not
    _, weights = sparse(X, attn_mask=mask, need_weights=True)
    assert not weights[0, ..., :3].any()
    assert (weights > 0).sum(dim=-1).amax() == TOP_K


OTHER = la.KVCache(BATCH, 1, TOKENS, 4)
BY_HEAD = la.causal_mask(TOKENS).expand(BATCH, HEADS, -1, -1)
FOR = "a key of the index of shape (batch, num_tokens, width) = (2, 13, 5), got (1, 13, 5)"

test_refuses = refusals(
    (FOR, lambda: seeded()(X[:1], cache=empty())),
    ("needs a SparseCache, got a KVCache", lambda: seeded()(X, cache=OTHER), TypeError),
    ("tokens, got a RollingCache", lambda: la.SparseCache(la.RollingCache(4), 5), TypeError),
    ("scores of shape (2, 1, 13, 13)", lambda: seeded()(X, attn_mask=BY_HEAD)),
    ("top_k must be at least 1, got 0", lambda: seeded(top_k=0)),
)
