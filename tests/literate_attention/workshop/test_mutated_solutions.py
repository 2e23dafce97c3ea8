"""Solutions with random changes: none that behaves otherwise is called right."""

import os
from typing import Any

import pytest
import torch
from harness.library.mutated_source import mutants

from literate_attention import causal_mask
from literate_attention.workshop.judge import trials
from literate_attention.workshop.judge.judged import Judged
from literate_attention.workshop.judge.trials import all_same, copied, drawn, inputs, tensors
from literate_attention.workshop.pieces import (
    PIECES,
    kv_cache,
    latent_attention,
    linear_attention,
    ring_attention,
    sparse_attention,
    windows_and_sinks,
)
from literate_attention.workshop.pieces import grouped_query_attention as grouped
from literate_attention.workshop.pieces import rotary_embeddings as rotary
from literate_attention.workshop.pieces import transformer_block as block

NUMBER = int(os.environ.get("MUTANTS", "20"))
"""Of mutants for each piece; with ``MUTANTS=200`` it takes minutes."""


def module_on(*sizes, batch=()):
    """Make modules, give them numbers, and run them on numbers."""

    def behaviour(implementation):
        for number, one in enumerate(sizes):
            torch.manual_seed(number)
            module = implementation(*one)
            for parameter in module.parameters():
                torch.nn.init.normal_(parameter, std=0.7)
            x = torch.randn(*batch, 5, one[0])
            for mode in (False, True):
                module.train(mode)
                torch.manual_seed(7)
                yield module(x)
                yield module(x[..., :1, :])

    return behaviour


def run_on(piece, *tried):
    """Run a piece as its checks do, one after the other, on inputs that they do not have."""

    def behaviour(implementation):
        judge: Any = piece.check
        while isinstance(judge, Judged) or judge is piece.check:
            for given in tried:
                run = getattr(judge, "run", trials.call)
                yield run(implementation, copied(given))
            judge = getattr(judge, "then", None)

    return behaviour


def ids(*shape):
    return torch.randint(6, shape, generator=torch.Generator().manual_seed(3)) % 5


def z(seed, *shape):
    return drawn(*shape, seed=seed)


MODULES = {
    "SelfAttention_v1": module_on((4, 3), (3, 6)),
    "SelfAttention_v2": module_on((4, 3), (3, 6), (3, 2, True)),
    "CausalAttention": module_on((4, 3, 8, 0.0), (3, 6, 5, 0.4), (3, 2, 5, 0.2, True), batch=(3,)),
    "MultiHeadAttention": module_on(
        (4, 6, 8, 0.0, 3), (3, 6, 5, 0.4, 2), (3, 4, 5, 0.2, 4, True), batch=(3,)
    ),
}
NEW = {
    "InputEmbedding": inputs("token_ids", (ids(1, 5),), (ids(3, 2),)),
    "softmax": inputs("scores", (z(1, 4),), (z(2, 3, 5) * 50,), (z(3, 2, 3, 4) * 300,)),
    "dot_product_attention": inputs("inputs", (z(1, 5, 3),), (z(2, 2, 4, 3),)),
    "attention_weights": inputs(
        "query, key", (z(1, 3, 4), z(2, 5, 4)), (z(3, 2, 3, 4, 6), z(4, 2, 3, 7, 6))
    ),
    "causal_mask": inputs("q_len, kv_len", (4,), (2, 7), (1, 1), (7, 7)),
    "mask_scores": inputs(
        "scores, attn_mask", (z(1, 5, 5), causal_mask(5)), (z(2, 2, 3, 4, 7), causal_mask(4, 7))
    ),
    "split_heads": inputs("x, num_heads", (z(1, 3, 5, 6), 3), (z(2, 2, 4, 8), 2)),
    "merge_heads": inputs("x", (z(1, 3, 3, 5, 2),), (z(2, 2, 4, 6, 3),)),
    "RMSNorm": inputs(
        "x, weight, eps",
        (z(9, 3, 2, 5), z(8, 5)),
        (z(1, 4, 5) / 50, z(8, 5), 0.3),
        (z(8, 7),),
        ((300 * z(8, 2, 5)).half(),),
    ),
    "SwiGLU": inputs("x, hidden_dim", (z(8, 3, 5), 2), (z(9, 2, 2, 4), 4)),
    "TransformerBlock": [
        block.vectors(z(8, 2, 4, 5)),
        block.vectors(z(9, 3, 2, 3) / 9, cache=1.5, eps=0.2),
    ],
    "LanguageModel": [
        {"token_ids": ids(2, 4), "num_blocks": 3, **more}
        for more in ({}, {"caches": [2.0, -3.0, 5.0]}, {"eps": 0.4})
    ],
    "rotary_frequencies": inputs("head_dim, base", (10,), (12, 50.0), (2, 3.0)),
    "rotate_half_split": inputs(
        "x, cos, sin", (z(8, 3, 2, 5, 6), z(9, 5, 3).cos(), z(9, 5, 3).sin())
    ),
    "RotaryEmbedding": [
        rotary.queries(3, 5, 4, 6, start=4, base=30.0),
        {**rotary.queries(4, 3, 2, base=7.0), "context_length": 9},
    ],
    "GroupedQueryAttention": [
        grouped.vectors(3, 4, 5, d_out=12, heads=(6, 3)),
        grouped.vectors(2, 6, 5, d_out=24, heads=(6, 2), rope=True, tokens_at_a_time=(2, 1, 3)),
        grouped.vectors(1, 4, 4, d_out=4, heads=(2, 2), tokens_at_a_time=(3, 1)),
    ],
    "MultiHeadLatentAttention": inputs(
        latent_attention.GIVEN, (z(8, 2, 4, 3), 5, 2, 4), (z(9, 2, 6, 3), 4, 3, 7, (2, 1, 3))
    ),
    "KVCache": inputs(kv_cache.SIZES, (3, 2, 7, 4, (2, 1, 3)), (1, 1, 6, 1, (5,))),
    "keep_top_k": inputs(
        "logits, k", *((z(8, 3, 7), k) for k in (1, 4, 7, 9)), ([1.0, 3.0, 3.0, 2.0, 3.0], 2)
    ),
    "keep_top_p": inputs(
        "logits, p", *((z(seed, 3, 7), p) for seed in (8, 9) for p in (0.05, 0.5, 0.95))
    ),
    "window_mask": inputs(windows_and_sinks.LENGTHS, (5, 5, 2), (3, 8, 4, 1), (6, 6, 3, 4)),
    "RollingCache": inputs(
        windows_and_sinks.SIZES,
        (4, 1, 3, 2, (1, 2, 1, 4, 1)),
        (5, 0, 1, 1, (6, 1, 1)),
        (1, 2, 1, 1, (1, 1, 1)),
    ),
    "linear_attention": inputs(
        linear_attention.GIVEN,
        (z(8, 3, 2), z(9, 3, 2), z(1, 3, 4)),
        (z(8, 2, 4, 3), z(9, 2, 4, 3), z(1, 2, 4, 5), -z(2, 2, 4).abs(), z(3, 2, 4).sigmoid()),
        (z(8, 4, 3), z(9, 4, 3), z(1, 4, 5), -z(2, 4).abs(), None, z(3, 3, 5)),
    ),
    "top_k_mask": inputs(
        sparse_attention.CHOICE,
        *((z(k, 2, 5, 5), k, causal_mask(5)) for k in (1, 3, 7)),
        (z(8, 3, 7), 2, causal_mask(3, 7)),
        ([[2.0, 2.0, 1.0, 2.0]], 2, causal_mask(1, 4)),
    ),
    "index_scores": inputs(
        "query, key, head_weights",
        (z(8, 3, 4, 2), z(9, 6, 2), z(1, 4, 3)),
        (z(8, 2, 2, 3, 5), z(9, 2, 3, 5), z(1, 2, 3, 2)),
    ),
    "index_loss": inputs(
        "scores, weights",
        (z(8, 3, 3), sparse_attention.weights_of(4, 3, 3)),
        (z(8, 3, 6, 6), sparse_attention.weights_of(3, 2, 6, 6)),
    ),
    "merge_partials": inputs(
        ring_attention.PARTS,
        (z(0, 3, 4), z(1, 3, 1), z(2, 3, 4), z(3, 3, 1)),
        ([[0.0]], [[-torch.inf]], [[2.0]], [[0.7]]),
        ([[0.0]], [[-torch.inf]], [[0.0]], [[-torch.inf]]),
        ([[1.0]], [[-300.0]], [[2.0]], [[-301.0]]),
    ),
}


def results(behaviour, implementation):
    """Return what comes of it; nothing if it stops."""
    try:
        with torch.no_grad():
            return [tensor.double() for one in behaviour(implementation) for tensor in tensors(one)]
    except Exception:
        return None


@pytest.mark.filterwarnings("ignore:The use of `x.T`:UserWarning")
@pytest.mark.parametrize("piece", PIECES, ids=lambda p: p.name)
def test_no_mutant_that_behaves_otherwise_is_right(piece, monkeypatch) -> None:
    monkeypatch.setattr(trials, "mistakes_that_explain", lambda *_: [])  # right or wrong is enough
    behaviour = MODULES.get(piece.name) or run_on(piece, *NEW[piece.name])
    right = results(behaviour, piece.library)
    assert right is not None
    tried = list(mutants(piece.library, NUMBER, seed=2026))
    for source, mutant in tried:
        found = results(behaviour, mutant)
        behaves_alike = found is not None and all_same(found, right)
        if not behaves_alike:
            verdict = piece.check(mutant)
            assert not verdict or verdict.says, source  # what is right has nothing to be said of it
    assert len(tried) > 5
