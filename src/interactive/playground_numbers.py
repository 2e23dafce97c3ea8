"""The library's numbers for the playground: what its page starts from, and what its script must equal.

Run as a program, it writes them to standard output as JSON. It has a process of its own because the
one that builds the book never imports torch.
"""

import itertools
import json
import random
from typing import Any

import torch
from torch import Tensor, nn

import literate_attention as la

STEPS = ("projections", "scores", "scaling", "mask", "softmax", "dropout", "heads")
WEIGHTS: dict[str, tuple[str, type[nn.Module], int]] = {
    "v1-123": ("SelfAttention_v1, seed 123", la.SelfAttention_v1, 123),
    "v2-789": ("SelfAttention_v2, seed 789", la.SelfAttention_v2, 789),
    "v2-123": ("MultiHeadAttentionWrapper, seed 123", la.SelfAttention_v2, 123),
}
PROJECTIONS = ("query", "key", "value")
NUM_HEADS = 2
ROUNDS = 3

Settings = dict[str, Any]


def beginning() -> dict[str, Any]:
    """Return what the page starts from: tokens, embeddings, tables of weights."""
    return {
        "tokens": la.TOY_TOKENS,
        "embeddings": _decimals(la.toy_embeddings()),
        "weights": {
            name: {"label": label, "heads": _drawn_heads(module, seed)}
            for name, (label, module, seed) in WEIGHTS.items()
        },
    }


def example() -> dict[str, Any]:
    """Return what the library makes of the beginning."""
    x = _tensor(_decimals(la.toy_embeddings()))
    context, weights = la.simple_attention(x, need_weights=True)
    return _lists({"weights": weights, "context": context})


def presets() -> dict[str, Any]:
    """Return the context vectors that the book's own functions and classes give for its examples."""
    x = _tensor(_decimals(la.toy_embeddings()))

    torch.manual_seed(123)
    projected = la.SelfAttention_v1(3, 2).double()
    torch.manual_seed(123)
    heads = la.MultiHeadAttentionWrapper(3, 2, 6, 0.0, NUM_HEADS).double()
    torch.manual_seed(789)
    causal = la.CausalAttention(3, 2, 6, 0.5).double()
    causal.dropout = la.Dropout(0.5, stream="mkl")
    torch.manual_seed(123)
    dropped = causal(x)
    contexts = {
        "simple": la.simple_attention(x),
        "projected": projected(x),
        "causal": causal.eval()(x),
        "causal with dropout": dropped,
        "heads": heads(x),
    }
    return _lists(contexts)


def vectors(seed: int = 2017) -> list[dict[str, Any]]:
    """Return random settings for every choice of steps, each with all that the library makes of it."""
    draw = random.Random(seed)
    choices = itertools.product((False, True), repeat=len(STEPS))
    settings = [
        _random_settings(draw, list(itertools.compress(STEPS, chosen)))
        for chosen in choices
        for _ in range(ROUNDS)
    ]
    return [{"settings": one, "expected": attend(one)} for one in settings]


def attend(settings: Settings) -> dict[str, Any]:
    """Compute with the library what the playground shows for these settings."""
    steps = set(settings["steps"])
    x = _tensor(settings["embeddings"])
    torch.manual_seed(settings["dropout"]["seed"])
    num_heads = NUM_HEADS if steps >= {"projections", "heads"} else 1
    heads = [_head(settings, steps, x, head) for head in settings["weights"][:num_heads]]
    return {
        "heads": [_lists(head) for head in heads],
        "context": torch.cat([head["context"] for head in heads], dim=-1).tolist(),
    }


def _head(
    settings: Settings, steps: set[str], x: Tensor, weights: dict[str, Any]
) -> dict[str, Any]:
    query, key, value = (
        x @ _tensor(weights[name]) if "projections" in steps else x for name in PROJECTIONS
    )
    stages = _stages(settings, steps, query, key) if "scores" in steps else {}
    attended = list(stages.values())[-1] if stages else torch.eye(len(x), dtype=x.dtype)
    context = la.attention_output(attended, value)
    if "scores" in steps and "softmax" in steps and "dropout" not in steps:
        _check_against_one_call(steps, (query, key, value), attended, context)
    return {
        "query": query,
        "key": key,
        "value": value,
        "stages": stages,
        "weights": attended,
        "context": context,
    }


def _stages(settings: Settings, steps: set[str], query: Tensor, key: Tensor) -> dict[str, Tensor]:
    """Compute the matrix after each step that is on. Without a softmax, what is hidden is zero."""
    mask = la.causal_mask(len(query))
    rate, stream = settings["dropout"]["rate"], settings["dropout"]["stream"]
    hide = la.mask_scores if "softmax" in steps else lambda scores, mask: scores * mask
    actions = {
        "scaling": lambda matrix: matrix / query.shape[-1] ** 0.5,
        "mask": lambda matrix: hide(matrix, mask),
        "softmax": la.softmax,
        "dropout": lambda matrix: la.drop(matrix, rate, stream),
    }
    matrix = query @ key.mT if "projections" in steps else la.score_all_queries(query)
    stages = {"scores": matrix}
    for step, action in actions.items():
        if step in steps:
            matrix = stages[step] = action(matrix)
    return stages


def _check_against_one_call(
    steps: set[str], qkv: tuple[Tensor, Tensor, Tensor], weights: Tensor, context: Tensor
) -> None:
    """Hold the chain of steps against the library's one function for all of them."""
    expected = la.scaled_dot_product_attention(
        *qkv,
        is_causal="mask" in steps,
        scale=None if "scaling" in steps else 1.0,
        need_weights=True,
    )
    torch.testing.assert_close((context, weights), expected)


def _random_settings(draw: random.Random, steps: list[str]) -> Settings:
    size = draw.choice((0.1, 1.0, 10.0, 100.0))

    def matrix(rows: int, columns: int, size: float) -> list[list[float]]:
        return [[round(draw.uniform(-size, size), 3) for _ in range(columns)] for _ in range(rows)]

    return {
        "embeddings": matrix(6, 3, size),
        "steps": steps,
        "weights": [{name: matrix(3, 2, 1.0) for name in PROJECTIONS} for _ in range(NUM_HEADS)],
        "dropout": {
            "rate": draw.choice((0.0, 0.1, 0.2, 0.5, 0.9)),
            "seed": draw.choice((0, 123, 2**32 - 1, draw.getrandbits(32))),
            "stream": draw.choice(("torch", "mkl")),
        },
    }


def _drawn_heads(module: type[nn.Module], seed: int) -> list[dict[str, Any]]:
    torch.manual_seed(seed)
    heads = [module(3, 2) for _ in range(NUM_HEADS)]
    return [{name: _decimals(_weight(head, name)) for name in PROJECTIONS} for head in heads]


def _weight(module: nn.Module, name: str) -> Tensor:
    projection = getattr(module, f"W_{name}")
    return projection.weight.mT if isinstance(projection, nn.Linear) else projection


def _decimals(tensor: Tensor) -> list[list[float]]:
    """Return float32 numbers as their shortest decimals: 0.43, not 0.4300000071525574."""
    return [[float(str(number)) for number in row] for row in tensor.detach().numpy()]


def _tensor(numbers: list[list[float]]) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def _lists(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.tolist()
    return {name: _lists(each) for name, each in value.items()}


if __name__ == "__main__":
    parts = (beginning, example, presets, vectors)
    print(json.dumps({part.__name__: part() for part in parts}))
