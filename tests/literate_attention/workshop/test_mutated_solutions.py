"""Solutions with random changes: none that behaves otherwise is called right."""

import os
from typing import Any

import pytest
import torch
from harness.library.mutated_source import mutants

from literate_attention.workshop.judge import trials
from literate_attention.workshop.judge.trials import Judged, drawn, inputs
from literate_attention.workshop.pieces import PIECES, kv_cache, windows_and_sinks

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


def run_on(piece):
    """Run a piece as its checks do, one after the other, on numbers that they do not have."""

    def behaviour(implementation):
        judge: Any = piece.check
        for given in NEW.get(piece.name, []):
            yield getattr(judge, "run", trials.call)(implementation, trials.copied(given))
        while isinstance(judge, Judged):
            for given in judge.inputs:
                yield judge.run(implementation, varied(given))
            judge = judge.then

    return behaviour


def varied(given):
    """Change each real number of an input by up to a third, so that none changes its sign."""
    torch.manual_seed(3)
    return {
        name: value * (0.7 + 0.6 * torch.rand(value.shape)).to(value.dtype)
        if isinstance(value, torch.Tensor) and value.is_floating_point()
        else value
        for name, value in given.items()
    }


MODULES = {
    "SelfAttention_v1": module_on((4, 3), (3, 6)),
    "SelfAttention_v2": module_on((4, 3), (3, 6), (3, 2, True)),
    "CausalAttention": module_on((4, 3, 8, 0.0), (3, 6, 5, 0.4), (3, 2, 5, 0.2, True), batch=(3,)),
    "MultiHeadAttention": module_on(
        (4, 6, 8, 0.0, 3), (3, 6, 5, 0.4, 2), (3, 4, 5, 0.2, 4, True), batch=(3,)
    ),
}
NEW = {
    "dot_product_attention": inputs("inputs", (drawn(5, 3),), (drawn(2, 4, 3),)),
    "attention_weights": inputs(
        "query, key", (drawn(3, 4), drawn(5, 4)), (drawn(2, 3, 4, 6), drawn(2, 3, 7, 6))
    ),
    "InputEmbedding": inputs("token_ids", ([[3, 1, 4, 1, 5]],), ([[2, 6], [5, 3], [0, 9]],)),
    "causal_mask": inputs("q_len, kv_len", (4,), (2, 7), (1, 1), (7, 7)),
    "window_mask": inputs(
        "q_len, kv_len, window, num_sinks", (5, 5, 2), (3, 8, 4, 1), (6, 6, 3, 4)
    ),
    "rotary_frequencies": inputs("head_dim, base", (10,), (12, 50.0), (2, 3.0)),
    "KVCache": inputs(kv_cache.SIZES, (3, 2, 7, 4, (2, 1, 3)), (1, 1, 6, 1, (5,))),
    "RollingCache": inputs(
        windows_and_sinks.SIZES,
        (4, 1, 3, 2, (1, 2, 1, 4, 1)),
        (5, 0, 1, 1, (6, 1, 1)),
        (1, 2, 1, 1, (1, 1, 1)),
    ),
}
"""Where inputs hold no real numbers, or a check has none of its own."""


def results(behaviour, implementation):
    """Return what comes of it; nothing if it stops."""
    try:
        with torch.no_grad():
            return [
                tensor.double()
                for one in behaviour(implementation)
                for tensor in trials.tensors(one)
            ]
    except Exception:
        return None


@pytest.mark.filterwarnings("ignore:The use of `x.T`:UserWarning")
@pytest.mark.parametrize("piece", PIECES, ids=lambda p: p.name)
def test_no_mutant_that_behaves_otherwise_is_right(piece, monkeypatch) -> None:
    monkeypatch.setattr(trials, "leads_to", lambda *_: False)  # right or wrong is enough
    behaviour = MODULES.get(piece.name) or run_on(piece)
    right = results(behaviour, piece.library)
    assert right is not None
    tried = list(mutants(piece.library, NUMBER, seed=2026))
    for source, mutant in tried:
        found = results(behaviour, mutant)
        behaves_alike = found is not None and trials.all_same(found, right)
        if not behaves_alike:
            verdict = piece.check(mutant)
            assert not verdict or verdict.says, source  # what is right has nothing to be said of it
    assert len(tried) > 5
