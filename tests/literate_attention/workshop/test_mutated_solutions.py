"""Solutions with random changes: none that behaves otherwise is called right."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from harness.library.mutated_source import mutants
from torch import nn

from literate_attention import causal_mask
from literate_attention.workshop.judge import trials
from literate_attention.workshop.judge.judged import Judged
from literate_attention.workshop.judge.trials import all_same, copied, drawn, tensors
from literate_attention.workshop.pieces import (
    BY_NAME,
    PIECES,
    Piece,
    kv_cache,
    rotary_embeddings,
)
from literate_attention.workshop.pieces import grouped_query_attention as grouped
from literate_attention.workshop.pieces import ring_attention as ring
from literate_attention.workshop.pieces import transformer_block as block
from literate_attention.workshop.pieces import windows_and_sinks as windows

NUMBER = int(os.environ.get("MUTANTS", "20"))
"""Of mutants for each piece; with ``MUTANTS=200`` it takes minutes."""

Behaviour = Callable[[Any], Iterator[Any]]


def module_on(sizes, *shape):
    """Make modules, give them numbers, and run them on numbers."""

    def behaviour(implementation):
        for number, one in enumerate(sizes):
            torch.manual_seed(number)
            module: nn.Module = implementation(*one)
            for parameter in module.parameters():
                nn.init.normal_(parameter, std=0.7)
            x = torch.randn(*shape, one[0])
            for mode in (False, True):
                module.train(mode)
                torch.manual_seed(7)
                yield module(x)
                yield module(x[..., :1, :])

    return behaviour


def calls(*arguments):
    """Call a function several times."""

    def behaviour(implementation):
        for seed, one in enumerate(arguments * 3):
            torch.manual_seed(100 + seed)
            yield implementation(*one())

    return behaviour


def embedding(implementation):
    torch.manual_seed(3)
    for shape in ((1, 5), (3, 2)):
        yield implementation(9, 6, 5)(torch.randint(9, shape))


def run_on(*inputs):
    """Run a piece as its checks do, one after the other, on inputs that they do not have."""

    def of_piece(piece):
        def behaviour(implementation):
            judge: Any = piece.check
            while isinstance(judge, Judged):
                for given in inputs:
                    yield judge.run(implementation, copied(given))
                judge = judge.then

        return behaviour

    return of_piece


draw = torch.randn
BEHAVIOURS: dict[str, Behaviour] = {
    "InputEmbedding": embedding,
    "softmax": calls(
        lambda: (draw(4),), lambda: (draw(3, 5) * 50,), lambda: (draw(2, 3, 4) * 300,)
    ),
    "dot_product_attention": calls(lambda: (draw(5, 3),), lambda: (draw(2, 4, 3),)),
    "attention_weights": calls(
        lambda: (draw(3, 4), draw(5, 4)), lambda: (draw(2, 3, 4, 6), draw(2, 3, 7, 6))
    ),
    "SelfAttention_v1": module_on([(4, 3), (3, 6)], 5),
    "SelfAttention_v2": module_on([(4, 3), (3, 6), (3, 2, True)], 5),
    "causal_mask": calls(lambda: (4,), lambda: (2, 7), lambda: (1, 1), lambda: (7, 7)),
    "mask_scores": calls(
        lambda: (draw(5, 5), causal_mask(5)),
        lambda: (draw(2, 3, 4, 7), causal_mask(4, 7)),
    ),
    "CausalAttention": module_on([(4, 3, 8, 0.0), (3, 6, 5, 0.4), (3, 2, 5, 0.2, True)], 3, 5),
    "split_heads": calls(lambda: (draw(3, 5, 6), 3), lambda: (draw(2, 4, 8), 2)),
    "merge_heads": calls(lambda: (draw(3, 3, 5, 2),), lambda: (draw(2, 4, 6, 3),)),
    "MultiHeadAttention": module_on(
        [(4, 6, 8, 0.0, 3), (3, 6, 5, 0.4, 2), (3, 4, 5, 0.2, 4, True)], 3, 5
    ),
}

ALL_TOKENS = {"token_ids": torch.tensor([[0, 3, 1, 3], [2, 2, 4, 0]]), "num_blocks": 3}
INPUTS: dict[str, Callable[[Piece], Behaviour]] = {
    "RMSNorm": run_on(
        {"weight": drawn(5, seed=8), "x": drawn(3, 2, 5, seed=9)},
        {"weight": drawn(5, seed=8), "x": drawn(4, 5) / 50, "eps": 0.3},
        {"x": drawn(7, seed=8)},
        {"x": (300 * drawn(2, 5, seed=8)).half()},
    ),
    "SwiGLU": run_on(
        {"x": drawn(3, 5, seed=8), "hidden_dim": 2}, {"x": drawn(2, 2, 4, seed=9), "hidden_dim": 4}
    ),
    "TransformerBlock": run_on(
        block.vectors(drawn(2, 4, 5, seed=8)),
        block.vectors(drawn(3, 2, 3, seed=9) / 9, cache=1.5, eps=0.2),
    ),
    "LanguageModel": run_on(
        ALL_TOKENS, {**ALL_TOKENS, "caches": [2.0, -3.0, 5.0]}, {**ALL_TOKENS, "eps": 0.4}
    ),
    "rotary_frequencies": run_on(
        {"head_dim": 10}, {"head_dim": 12, "base": 50.0}, {"head_dim": 2, "base": 3.0}
    ),
    "rotate_half_split": run_on(
        {
            "x": drawn(3, 2, 5, 6, seed=8),
            "cos": drawn(5, 3, seed=9).cos(),
            "sin": drawn(5, 3, seed=9).sin(),
        }
    ),
    "RotaryEmbedding": run_on(
        rotary_embeddings.queries(3, 5, 4, 6, start=4, base=30.0),
        {**rotary_embeddings.queries(4, 3, 2, base=7.0), "context_length": 9},
    ),
    "GroupedQueryAttention": run_on(
        grouped.vectors(3, 4, 5, d_out=12, heads=(6, 3)),
        grouped.vectors(2, 6, 5, d_out=24, heads=(6, 2), rope=True, chunks=(2, 1, 3)),
        grouped.vectors(1, 4, 4, d_out=4, heads=(2, 2), chunks=(3, 1)),
    ),
    "KVCache": run_on(kv_cache.chunks(2, 1, 3, batch=3, heads=2, head_dim=4), kv_cache.chunks(5)),
    "keep_top_k": run_on(
        *({"logits": drawn(3, 7, seed=8), "k": k} for k in (1, 4, 7, 9)),
        {"logits": torch.tensor([1.0, 3.0, 3.0, 2.0, 3.0]), "k": 2},
    ),
    "keep_top_p": run_on(
        *({"logits": drawn(3, 7, seed=seed), "p": p} for seed in (8, 9) for p in (0.05, 0.5, 0.95)),
    ),
    "window_mask": run_on(
        windows.lengths(5, 5, 2), windows.lengths(3, 8, 4, 1), windows.lengths(6, 6, 3, 4)
    ),
    "RollingCache": run_on(
        windows.chunks(1, 2, 1, 4, 1, window=4, num_sinks=1, batch=3, num_kv_heads=2),
        windows.chunks(6, 1, 1, window=5),
        windows.chunks(1, 1, 1, window=1, num_sinks=2),
    ),
    "merge_partials": run_on(
        ring.parts(drawn(3, 4), drawn(3, 1, seed=1), drawn(3, 4, seed=2), drawn(3, 1, seed=3)),
        ring.parts(*map(torch.tensor, ([[0.0]], [[-torch.inf]], [[2.0]], [[0.7]]))),
        ring.parts(*map(torch.tensor, ([[0.0]], [[-torch.inf]], [[0.0]], [[-torch.inf]]))),
        ring.parts(*map(torch.tensor, ([[1.0]], [[-300.0]], [[2.0]], [[-301.0]]))),
    ),
}
BEHAVIOURS |= {name: of_piece(BY_NAME[name]) for name, of_piece in INPUTS.items()}


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
    behaviour = BEHAVIOURS[piece.name]
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
