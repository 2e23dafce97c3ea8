"""The library's numbers for the playground: what it starts from, and what readers without a script see.

Run as a program, it writes them to standard output as JSON.
"""

import json
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

import literate_attention as la
from literate_attention.trust.reproducibility import _mcg31_uniform

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
SEEDS = range(123, 131)


def beginning() -> dict[str, Any]:
    """Return what it starts from: tokens, embeddings, tables of weights, and what dropout draws."""
    return {
        "tokens": la.TOY_TOKENS,
        "embeddings": decimals(la.toy_embeddings()),
        "weights": {
            name: {"label": label, "heads": _drawn_heads(module, seed, longer)}
            for name, (label, module, seed, longer) in WEIGHTS.items()
        },
        "draws": {seed: _uniform_numbers(seed) for seed in SEEDS},
    }


def _uniform_numbers(seed: int) -> list[list[list[float]]]:
    """Return what decides a dropout mask on an Intel CPU, a matrix for each head."""
    torch.manual_seed(seed)
    size = len(la.TOY_TOKENS)
    uniform = [_mcg31_uniform(size**2).reshape(size, size) for _ in range(NUM_HEADS)]
    return [[[round(x, 7) for x in row] for row in one.tolist()] for one in uniform]


def tables() -> list[list[list[str]]]:
    """Return what readers without a script see: the beginning, and what the library makes of it."""
    x = tensor(decimals(la.toy_embeddings()))
    context, weights = la.dot_product_attention(x, need_weights=True)
    return [
        table("Embeddings", "123", x),
        table("Attention weights", la.TOY_TOKENS, weights),
        table("Context vectors", "123", context),
    ]


def table(title: str, columns: Sequence[str], matrix: Tensor) -> list[list[str]]:
    """Return the head of a table, and its rows."""
    rows = zip(la.TOY_TOKENS, matrix.tolist(), strict=True)
    return [[title, *columns], *([token, *(f"{x:.4f}" for x in row)] for token, row in rows)]


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


if __name__ == "__main__":
    print(json.dumps({**beginning(), "tables": tables()}))
