"""The pieces of the chapter on rotary embeddings: angles, the turn, and the module of both."""

from typing import Any

from torch import nn

from literate_attention.models.rotary_embeddings import (
    RotaryEmbedding,
    rotary_frequencies,
    rotate_half_split,
)
from literate_attention.workshop.judge.parameters import loaded
from literate_attention.workshop.judge.trials import Given, Judged, drawn
from literate_attention.workshop.pieces.piece import judged

WRONG_EXPONENTS = """
the exponents are half as large as they should be: number 2i of a vector belongs to pair i
    torch.arange(0, head_dim, 2, dtype=dtype) -> torch.arange(head_dim // 2)
the exponents are twice as large as they should be: divide by head_dim, not by its half
    / head_dim) -> / (head_dim // 2))
the sign of the exponent is missing: each pair turns faster than the one before | 1.0 / base -> base
the base is not used, or is not the one that was given | 1.0 / base -> 1.0 / 10_000.0
"""
WRONG_FREQUENCIES = """
there is an angle for each number, expected one for each pair | arange(0, head_dim, 2, -> arange(head_dim,
each angle is there twice, expected one for each pair | dtype=dtype) / -> dtype=dtype).repeat(2) /
the pairs are counted from 1, the first should turn by one radian
    arange(0, head_dim, 2, -> arange(2, head_dim + 1, 2,
the order is reversed: the first pair should turn fastest | dtype=dtype) / -> dtype=dtype).flip(0) /
the exponents go up to 1, the last should be (head_dim - 2) / head_dim
    torch.arange(0, head_dim, 2, dtype=dtype) / head_dim -> torch.linspace(0, 1, head_dim // 2)
these are the exponents, expected powers of the base | 1.0 / base ** ->
the base is multiplied by the exponent, expected a power | base ** (torch -> (base * torch
"""


def run_far(implementation: Any, given: Given) -> Any:
    """Compute the angles of a position, which show what the frequencies themselves are too small to show."""
    return given["position"] * implementation(given["head_dim"])


WRONG_WAYS = """
the other pairing: neighbours are turned as pairs, expected number i of both halves
    first, second = x.chunk(2, dim=-1) -> return rotate_interleaved(x, cos, sin)
it turns the wrong way: the signs of the two sines are swapped | require_pairs(x, cos) -> sin = -sin
cos and sin are swapped | require_pairs(x, cos) -> cos, sin = sin, cos
nothing is turned | require_pairs(x, cos) -> return x
"""
WRONG_TURNS = """
the minus is missing in the first half | first * cos - second * sin -> first * cos + second * sin
there is a minus in the second half too, it belongs to the first alone
    first * sin + second * cos -> second * cos - first * sin
the halves are not mixed: the sine belongs to the other number of the pair | second * sin -> first * sin
    first * sin -> second * sin
the two halves of the result are swapped | first * cos - second * sin -> first * sin + second * cos
    first * sin + second * cos -> first * cos - second * sin
the second half is made of the first one after that was turned
    first * sin -> (first * cos - second * sin) * sin
the second half is not turned | first * sin + second * cos -> second
the pairs alternate in the result, the halves should stay halves
    cos], dim=-1) -> cos], dim=-1).unflatten(-1, (2, -1)).mT.flatten(-2)
the sines are not used | require_pairs(x, cos) -> sin = 0 * sin
"""
ANGLES = drawn(5, 3, seed=1)


def run_rope(implementation: Any, given: Given) -> Any:
    """Make the module, and turn."""
    x, start = given["x"], given["start"]
    sizes = x.shape[-1], given["context_length"], given["base"]
    rope = implementation(*sizes)
    if isinstance(rope, nn.Module):  # a checkpoint has no angles
        loaded(rope, RotaryEmbedding(*sizes))
    return rope(x, start) if start else rope(x)


def queries(*shape: int, start: int = 0, base: float = 100.0) -> Given:
    """Write an input for the module."""
    context_length = start + shape[-2]
    return {"x": drawn(*shape), "start": start, "context_length": context_length, "base": base}


WRONG_MODULES = """
start is ignored: the positions begin at 0 again | stop = start + x.shape[-2] -> start, stop = 0, x.shape[-2]
the positions are counted from 1, they begin at 0 | arange(context_length, -> arange(1, context_length + 1,
all tokens get the position of the first | self.cos[start:stop] -> self.cos[[start] * x.shape[-2]]
    self.sin[start:stop] -> self.sin[[start] * x.shape[-2]]
the positions run backwards | self.cos[start:stop] -> self.cos[start:stop].flip(0)
    self.sin[start:stop] -> self.sin[start:stop].flip(0)
the heads are counted, the tokens should be | arange(context_length, -> arange(context_length + 9,
    self.cos[start:stop] -> self.cos[start : start + x.shape[-3], None]
    self.sin[start:stop] -> self.sin[start : start + x.shape[-3], None] | require_pairs(x, cos) -> pass
start is subtracted from the positions, it should be added
    arange(context_length, dtype=dtype) -> cat([torch.arange(99), torch.arange(-99, 0)])
    self.cos[start:stop] -> self.cos[torch.arange(x.shape[-2]) - start]
    self.sin[start:stop] -> self.sin[torch.arange(x.shape[-2]) - start]
all pairs turn by one radian: the frequencies are missing | 1.0 / base ** -> 1.0 ** (1 / base) **
"""


PIECES = (
    judged(
        rotary_frequencies,
        "Turn, do not add",
        "Pair i turns by the base to the power of minus 2i / head_dim.",
        WRONG_EXPONENTS + WRONG_FREQUENCIES,
        [(2,), (4, 16.0), (6, 2.5), (8,), (64,)],
        then=Judged(rotary_frequencies, "", [{"head_dim": 96, "position": 100}], run_far),
        leave_out=("dtype",),
        in_model=True,
    ),
    judged(
        rotate_half_split,
        "The smallest case",
        "Cut the last dimension in two halves: the formula takes both, and puts them together again.",
        WRONG_WAYS + WRONG_TURNS,
        [
            ([[1.0, 2.0]], [[0.6]], [[0.8]]),
            ([[1.0, 2.0, 3.0, 4.0]], [[0.6, 1.0]], [[0.8, 0.0]]),
            (drawn(2, 3, 5, 6), ANGLES.cos(), ANGLES.sin()),
        ],
        in_model=True,
    ),
    judged(
        RotaryEmbedding,
        "The smallest case",
        "Compute cosines and sines for all positions once, and take the rows from start on.",
        WRONG_WAYS + WRONG_MODULES + WRONG_EXPONENTS,
        [
            *(queries(1, 1, 2), queries(1, 2, 2), queries(1, 1, 2, start=3)),
            *(queries(1, 2, 4), queries(2, 2, 4, start=1)),
            queries(2, 3, 5, 8, start=2, base=10.0),
            queries(1, 1, 3, 2, start=3000),  # further than half precision can count
            {**queries(3, 2, 4, start=1), "context_length": 11},
        ],
        run_rope,
        code=(RotaryEmbedding, rotary_frequencies, rotate_half_split),
        leave_out=("scale", "attention_factor", "dtype", "_apply"),
        in_model=True,
    ),
)
