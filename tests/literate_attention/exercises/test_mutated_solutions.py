"""Solutions with random changes: none that behaves otherwise is called right."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from harness.library.mutated_source import mutants
from torch import Tensor, nn

from literate_attention import causal_mask
from literate_attention.exercises.pieces import PIECES, Piece, _trials
from literate_attention.exercises.pieces._trials import all_same, tensors

NUMBER = int(os.environ.get("MUTANTS", "20"))
"""Of mutants for each piece; with ``MUTANTS=200`` it takes minutes."""

Behaviour = Callable[[Any], Iterator[Any]]


def module_on(sizes: list[tuple[Any, ...]], *shape: int) -> Behaviour:
    """Make modules, give them numbers, and run them on numbers."""

    def behaviour(implementation: Any) -> Iterator[Any]:
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


def calls(*arguments: Callable[[], tuple[Any, ...]]) -> Behaviour:
    """Call a function several times."""

    def behaviour(implementation: Any) -> Iterator[Any]:
        for seed, one in enumerate(arguments * 3):
            torch.manual_seed(100 + seed)
            yield implementation(*one())

    return behaviour


def embedding(implementation: Any) -> Iterator[Any]:
    torch.manual_seed(3)
    for shape in ((1, 5), (3, 2)):
        yield implementation(9, 6, 5)(torch.randint(9, shape))


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


def results(behaviour: Behaviour, implementation: Any) -> list[Tensor] | None:
    """Return what comes of it; nothing if it stops."""
    try:
        with torch.no_grad():
            return [tensor.double() for one in behaviour(implementation) for tensor in tensors(one)]
    except Exception:
        return None


@pytest.mark.filterwarnings("ignore:The use of `x.T`:UserWarning")
@pytest.mark.parametrize("piece", [p for p in PIECES if p.name in BEHAVIOURS], ids=lambda p: p.name)
def test_no_mutant_that_behaves_otherwise_is_right(
    piece: Piece, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_trials, "mistakes_that_explain", lambda *_: [])  # right or wrong is enough
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
