"""The pieces of the chapter on rotary embeddings: angles, the turn, and the module of both."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from literate_attention.exercises._judging import RIGHT, Verdict, wrong
from literate_attention.exercises.pieces._judged import (
    Judged,
    alone_and_in_pairs,
    rewritten,
    what_does_not_fit,
)
from literate_attention.exercises.pieces._piece import Piece
from literate_attention.exercises.pieces._trials import Given, drawn
from literate_attention.models.rotary_embeddings import (
    RotaryEmbedding,
    rotary_frequencies,
    rotate_half_split,
    rotate_interleaved,
)

# Angles

FREQUENCIES = Judged(
    rotary_frequencies,
    {
        "the exponents are half as large as they should be: number 2i of a vector belongs to pair i": (
            lambda d, base=1e4: base ** -(torch.arange(d // 2) / d)
        ),
        "the exponents are twice as large as they should be: divide by head_dim, not by its half": (
            lambda d, base=1e4: base ** -(torch.arange(0, d, 2) / (d // 2))
        ),
        "the sign of the exponent is missing: each pair turns faster than the one before": (
            lambda d, base=1e4: base ** (torch.arange(0, d, 2) / d)
        ),
        "the base is not used, or is not the one that was given": (
            lambda d, base=1e4: rotary_frequencies(d)
        ),
        "there is an angle for each number, expected one for each pair": (
            lambda d, base=1e4: base ** -(torch.arange(d) / d)
        ),
        "each angle is there twice, expected one for each pair": (
            lambda d, base=1e4: rotary_frequencies(d, base).repeat(2)
        ),
        "the pairs are counted from 1, the first should turn by one radian": (
            lambda d, base=1e4: base ** -(torch.arange(2, d + 1, 2) / d)
        ),
        "the order is reversed: the first pair should turn fastest": (
            lambda d, base=1e4: rotary_frequencies(d, base).flip(0)
        ),
        "the exponents go up to 1, the last should be (head_dim - 2) / head_dim": (
            lambda d, base=1e4: base ** -torch.linspace(0, 1, d // 2)
        ),
        "these are the exponents, expected powers of the base": (
            lambda d, base=1e4: torch.arange(0, d, 2) / d
        ),
        "the base is multiplied by the exponent, expected a power": (
            lambda d, base=1e4: 1 / (base * torch.arange(0, d, 2) / d)
        ),
    },
    [
        {"head_dim": 2},
        {"head_dim": 4, "base": 16.0},
        {"head_dim": 6, "base": 8.0},
        {"head_dim": 8},
    ],
)

# The turn


def turned(
    first: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor],
    second: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor],
) -> Callable[..., Tensor]:
    """Turn with other formulas for both halves."""

    def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        one, other = x.chunk(2, dim=-1)
        return torch.cat([first(one, other, cos, sin), second(one, other, cos, sin)], dim=-1)

    return turn


half_split = turned(
    lambda one, other, cos, sin: one * cos - other * sin,
    lambda one, other, cos, sin: one * sin + other * cos,
)

TURN = Judged(
    rotate_half_split,
    {
        "the other pairing: neighbours are turned as pairs, expected number i of both halves": (
            rotate_interleaved
        ),
        "it turns the wrong way: the signs of the two sines are swapped": (
            lambda x, cos, sin: rotate_half_split(x, cos, -sin)
        ),
        "it turns the wrong way, and the other pairing: neighbours are turned as pairs": (
            lambda x, cos, sin: rotate_interleaved(x, cos, -sin)
        ),
        "cos and sin are swapped": lambda x, cos, sin: rotate_half_split(x, sin, cos),
        "cos and sin are swapped, and the other pairing: neighbours are turned as pairs": (
            lambda x, cos, sin: rotate_interleaved(x, sin, cos)
        ),
        "the minus is missing in the first half": turned(
            lambda a, b, cos, sin: a * cos + b * sin, lambda a, b, cos, sin: a * sin + b * cos
        ),
        "there is a minus in the second half too, it belongs to the first alone": turned(
            lambda a, b, cos, sin: a * cos - b * sin, lambda a, b, cos, sin: b * cos - a * sin
        ),
        "the halves are not mixed: the sine belongs to the other number of the pair": turned(
            lambda a, b, cos, sin: a * cos - a * sin, lambda a, b, cos, sin: b * cos + b * sin
        ),
        "the two halves of the result are swapped": turned(
            lambda a, b, cos, sin: a * sin + b * cos, lambda a, b, cos, sin: a * cos - b * sin
        ),
        "the second half is made of the first one after that was turned": turned(
            lambda a, b, cos, sin: a * cos - b * sin,
            lambda a, b, cos, sin: (a * cos - b * sin) * sin + b * cos,
        ),
        "the second half is not turned": turned(
            lambda a, b, cos, sin: a * cos - b * sin, lambda a, b, cos, sin: b
        ),
        "the pairs alternate in the result, the halves should stay halves": (
            lambda x, cos, sin: rotate_half_split(x, cos, sin).unflatten(-1, (2, -1)).mT.flatten(-2)
        ),
        "the sines are not used": lambda x, cos, sin: x * cos.repeat(1, 2),
        "nothing is turned": lambda x, cos, sin: x,
    },
    [
        {
            "x": torch.tensor([[1.0, 2.0]]),
            "cos": torch.tensor([[0.6]]),
            "sin": torch.tensor([[0.8]]),
        },
        {
            "x": torch.tensor([[1.0, 2.0, 3.0, 4.0]]),
            "cos": torch.tensor([[0.6, 1.0]]),
            "sin": torch.tensor([[0.8, 0.0]]),
        },
        {
            "x": drawn(2, 3, 5, 6),
            "cos": drawn(5, 3, seed=1).cos(),
            "sin": drawn(5, 3, seed=1).sin(),
        },
    ],
)

# The module


def remember_base(rope: Any, _: int, __: int, base: float = 10_000.0, **___: Any) -> None:
    """Make a module that computes its angles when it is called."""
    nn.Module.__init__(rope)
    rope.base = base


def turn_by_position(
    rope: Any,
    x: Tensor,
    start: int = 0,
    *,
    frequencies: Callable[[int, float], Tensor] = rotary_frequencies,
    positions: Callable[[Tensor, int], Tensor] = lambda x, start: start + torch.arange(x.shape[-2]),
    turn: Callable[..., Tensor] = half_split,
    **_: Any,
) -> Tensor:
    """Do what the module does, or something else in one of its steps."""
    angles = positions(x, start)[..., None] * frequencies(x.shape[-1], rope.base)
    return turn(x, angles.cos(), angles.sin())


def run_rope(implementation: Any, given: Given) -> Any:
    """Make the module, and turn."""
    x, start = given["x"], given["start"]
    rope = implementation(x.shape[-1], given["context_length"], given["base"])
    return rope(x, start) if start else rope(x)


def judge_parameters(mine: Any) -> Verdict:
    """Judge whether a checkpoint can be read, which has no angles."""
    rope = mine(4, 3, 100.0)
    learned = dict(rope.named_parameters()) if isinstance(rope, nn.Module) else {}
    return wrong(what_does_not_fit(rope, {}, learned)) if learned else RIGHT


def queries(*shape: int, start: int = 0, base: float = 100.0) -> Given:
    """Write an input for the module."""
    context_length = start + shape[-2]
    return {"x": drawn(*shape), "start": start, "context_length": context_length, "base": base}


ROPE = Judged(
    RotaryEmbedding,
    alone_and_in_pairs(
        rewritten(RotaryEmbedding, __init__=remember_base, forward=turn_by_position),
        {
            "the other pairing: neighbours are turned as pairs, expected number i of both halves": {
                "turn": rotate_interleaved
            },
            "it turns the wrong way": {"turn": lambda x, cos, sin: half_split(x, cos, -sin)},
            "cos and sin are swapped": {"turn": lambda x, cos, sin: half_split(x, sin, cos)},
            "nothing is turned": {"turn": lambda x, cos, sin: x},
            "start is ignored: the positions begin at 0 again": {
                "positions": lambda x, start: torch.arange(x.shape[-2])
            },
            "the positions are counted from 1, they begin at 0": {
                "positions": lambda x, start: start + 1 + torch.arange(x.shape[-2])
            },
            "all tokens get the position of the first": {
                "positions": lambda x, start: torch.full(x.shape[-2:-1], start)
            },
            "the positions run backwards": {
                "positions": lambda x, start: start + torch.arange(x.shape[-2]).flip(0)
            },
            "the heads are counted, the tokens should be": {
                "positions": lambda x, start: start + torch.arange(x.shape[-3])[:, None]
            },
            "start is subtracted from the positions, it should be added": {
                "positions": lambda x, start: torch.arange(x.shape[-2]) - start
            },
            "the base is not used": {"frequencies": lambda d, base: rotary_frequencies(d)},
            "the exponents of the base are half as large as they should be": {
                "frequencies": lambda d, base: base ** -(torch.arange(d // 2) / d)
            },
            "the exponents of the base are twice as large as they should be": {
                "frequencies": lambda d, base: base ** -(torch.arange(0, d, 2) / (d // 2))
            },
            "the sign of the exponent is missing: each pair turns faster than the one before": {
                "frequencies": lambda d, base: base ** (torch.arange(0, d, 2) / d)
            },
            "all pairs turn by one radian: the frequencies are missing": {
                "frequencies": lambda d, base: torch.ones(d // 2)
            },
        },
    ),
    [
        queries(1, 1, 2),
        queries(1, 2, 2),
        queries(1, 1, 2, start=3),
        queries(1, 2, 4),
        queries(2, 2, 4, start=1),
        queries(2, 3, 5, 8, start=2, base=10.0),
        {**queries(3, 2, 4, start=1), "context_length": 11},
    ],
    run_rope,
    parts=(rotary_frequencies, rotate_half_split),
    then=judge_parameters,
)

PIECES = (
    Piece(
        library=rotary_frequencies,
        chapter="models/rotary_embeddings",
        section="Turn, do not add",
        hint="Pair i turns by the base to the power of minus 2i / head_dim.",
        check=FREQUENCIES,
        in_model=True,
    ),
    Piece(
        library=rotate_half_split,
        chapter="models/rotary_embeddings",
        section="The smallest case",
        hint="Cut the last dimension in two halves: the formula takes both, and puts them together again.",
        check=TURN,
        in_model=True,
    ),
    Piece(
        library=RotaryEmbedding,
        chapter="models/rotary_embeddings",
        section="The smallest case",
        hint="Compute cosines and sines for all positions once, and take the rows from start on.",
        check=ROPE,
        leave_out=("scale", "attention_factor"),
        in_model=True,
    ),
)
