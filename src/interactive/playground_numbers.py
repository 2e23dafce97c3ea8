"""The library's numbers for the playground: what its page starts from, and what readers without a script see.

Run as a program, it writes them to standard output as JSON. It has a process of its own because the
one that builds the book never imports torch.
"""

import json
from typing import Any

import torch
from torch import Tensor, nn

import literate_attention as la

LONGER = 5
"""How much longer queries and keys are in one table: as training might make them."""
WEIGHTS: dict[str, tuple[str, type[nn.Module], int, float]] = {
    "v1-123": ("SelfAttention_v1, seed 123", la.SelfAttention_v1, 123, 1),
    "v2-789": ("SelfAttention_v2, seed 789", la.SelfAttention_v2, 789, 1),
    "v2-123": ("MultiHeadAttentionWrapper, seed 123", la.SelfAttention_v2, 123, 1),
    "v2-123-long": (
        f"the same, queries and keys {LONGER} times as long",
        la.SelfAttention_v2,
        123,
        LONGER,
    ),
}
PROJECTIONS = ("query", "key", "value")
NUM_HEADS = 2


def beginning() -> dict[str, Any]:
    """Return what the page starts from: tokens, embeddings, tables of weights."""
    return {
        "tokens": la.TOY_TOKENS,
        "embeddings": decimals(la.toy_embeddings()),
        "weights": {
            name: {"label": label, "heads": _drawn_heads(module, seed, longer)}
            for name, (label, module, seed, longer) in WEIGHTS.items()
        },
    }


def example() -> dict[str, Any]:
    """Return what the library makes of the beginning."""
    x = tensor(decimals(la.toy_embeddings()))
    context, weights = la.dot_product_attention(x, need_weights=True)
    return lists({"weights": weights, "context": context})


def _drawn_heads(module: type[nn.Module], seed: int, longer: float) -> list[dict[str, Any]]:
    torch.manual_seed(seed)
    heads = [module(3, 2) for _ in range(NUM_HEADS)]
    times = {"query": longer, "key": longer, "value": 1}
    return [
        {name: decimals(times[name] * _weight(head, name)) for name in PROJECTIONS}
        for head in heads
    ]


def _weight(module: nn.Module, name: str) -> Tensor:
    projection = getattr(module, f"W_{name}")
    return projection.weight.mT if isinstance(projection, nn.Linear) else projection


def decimals(tensor: Tensor) -> list[list[float]]:
    """Return float32 numbers as their shortest decimals: 0.43, not 0.4300000071525574."""
    return [[float(str(number)) for number in row] for row in tensor.detach().numpy()]


def tensor(numbers: list[list[float]]) -> Tensor:
    """Return numbers as the library takes them, in double precision."""
    return torch.tensor(numbers, dtype=torch.float64)


def lists(value: Any) -> Any:
    """Return tensors, in whatever nesting of names, as JSON knows them."""
    if isinstance(value, Tensor):
        return value.tolist()
    return {name: lists(each) for name, each in value.items()}


if __name__ == "__main__":
    parts = (beginning, example)
    print(json.dumps({part.__name__: part() for part in parts}))
