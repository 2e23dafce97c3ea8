"""What the library makes of random settings of the playground: its script must equal it."""

import itertools
import random
from typing import Any

import torch

import literate_attention as la
from interactive.playground_numbers import LONGER, NUM_HEADS, PROJECTIONS, SEEDS, decimals, tensor

STEPS = ("projections", "scores", "scaling", "mask", "softmax", "dropout", "heads")
ROUNDS = 3

Settings = dict[str, Any]


def stops():
    """Return the context vectors that the book's own functions and classes give at stops of the tour."""
    x = tensor(decimals(la.toy_embeddings()))

    def seeded(module, seed, *sizes):
        torch.manual_seed(seed)
        return module(*sizes).double()

    def longer(module):
        for name, weight in module.named_parameters():
            if "W_query" in name or "W_key" in name:
                weight.data *= LONGER
        return module

    printed = seeded(la.CausalAttention, 789, 3, 2, 6, 0.5)
    printed.dropout = la.ReproducibleDropout(0.5, stream="mkl")
    torch.manual_seed(123)
    dropped = printed(x)
    return {
        "1": x,
        "4": la.dot_product_attention(x),
        "6": longer(seeded(la.SelfAttention_v2, 123, 3, 2))(x),
        "7": longer(seeded(la.CausalAttention, 123, 3, 2, 6, 0.0))(x),
        "8": longer(seeded(la.MultiHeadAttentionWrapper, 123, 3, 2, 6, 0.0, NUM_HEADS))(x),
        "dropout": dropped,
    }


def vectors(seed=2017):
    """Return random settings for every choice of steps, each with all that the library makes of it."""
    draw = random.Random(seed)
    choices = itertools.product((False, True), repeat=len(STEPS))
    settings = [
        _random_settings(draw, list(itertools.compress(STEPS, chosen)))
        for chosen in choices
        for _ in range(ROUNDS)
    ]
    return [{"settings": one, "expected": attend(one)} for one in settings]


def attend(settings):
    """Compute with the library what the playground shows for these settings."""
    steps = set(settings["steps"])
    x = tensor(settings["embeddings"])
    torch.manual_seed(settings["dropout"]["seed"])
    num_heads = NUM_HEADS if steps >= {"projections", "heads"} else 1
    heads = [_head(settings, steps, x, head) for head in settings["weights"][:num_heads]]
    return {"heads": heads, "context": torch.cat([head["context"] for head in heads], dim=-1)}


def _head(settings, steps, x, weights):
    query, key, value = (
        x @ tensor(weights[name]) if "projections" in steps else x for name in PROJECTIONS
    )
    stages = _stages(settings, steps, query, key) if "scores" in steps else {}
    attended = list(stages.values())[-1] if stages else torch.eye(len(x), dtype=x.dtype)
    return {
        "query": query,
        "key": key,
        "value": value,
        "stages": stages,
        "weights": attended,
        "context": la.attention_output(attended, value),
    }


def _stages(settings, steps, query, key):
    """Compute the matrix after each step that is on. Without a softmax, what is hidden is zero."""
    mask = la.causal_mask(len(query))
    rate = settings["dropout"]["rate"]
    hide = la.mask_scores if "softmax" in steps else lambda scores, mask: scores * mask
    actions = {
        "scaling": lambda matrix: matrix / query.shape[-1] ** 0.5,
        "mask": lambda matrix: hide(matrix, mask),
        "softmax": la.softmax,
        "dropout": lambda matrix: la.ReproducibleDropout(rate, "mkl")(matrix),
    }
    matrix = query @ key.mT if "projections" in steps else la.score_all_queries(query)
    stages = {"scores": matrix}
    for step, action in actions.items():
        if step in steps:
            matrix = stages[step] = action(matrix)
    return stages


def _random_settings(draw, steps):
    size = draw.choice((0.1, 1.0, 10.0, 100.0))

    def matrix(rows, columns, size):
        return [[round(draw.uniform(-size, size), 3) for _ in range(columns)] for _ in range(rows)]

    return {
        "embeddings": matrix(6, 3, size),
        "steps": steps,
        "weights": [{name: matrix(3, 2, 1.0) for name in PROJECTIONS} for _ in range(NUM_HEADS)],
        "dropout": {"rate": draw.choice((0.0, 0.1, 0.2, 0.5, 0.9)), "seed": draw.choice(SEEDS)},
    }
