"""What figures are handed, and how they write it, in pictures and in their alternative texts."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


def to_numpy(tensor: Tensor, dims: int | None = None) -> Array:
    """Bring a tensor from its device and out of its graph; minus infinity may stay, for what a mask hides."""
    if dims not in (None, tensor.ndim):
        of_one = "" if tensor.ndim < (dims or 0) else ": take one text of it, or one head"
        raise ValueError(
            f"what is drawn here has {plural(dims or 0, 'dimension')}, "
            f"got one of shape {tuple(tensor.shape)}{of_one}"
        )
    if dims and not tensor.numel():
        raise ValueError(f"a tensor of shape {tuple(tensor.shape)} holds nothing to draw")
    values: Array = tensor.detach().cpu().to(torch.float64).numpy()
    undrawable = np.isnan(values) | np.isposinf(values)
    if undrawable.any():  # what is nowhere would be missing without a word
        raise ValueError(f"{undrawable.sum()} of {values.size} numbers cannot be drawn")
    return values


def format_number(value: float, decimals: int = 2) -> str:
    """Write a number with so many decimals, or, if it is huge, as `1.0e+08`."""
    shape = ".1e" if abs(value) >= 1e7 else f"z.{decimals}f"
    written = "-∞" if np.isneginf(value) else f"{value:{shape}}"
    return written.replace("-", "\N{MINUS SIGN}")


def format_vector(values: Array) -> str:
    """Write a vector: `(0.25, 0.75)`."""
    return f"({', '.join(map(format_number, values))})"


def plural(quantity: int, one: str, many: str = "") -> str:
    """Say how many there are: `1 head`, `2 heads`."""
    return f"{quantity} {one if quantity == 1 else many or one + 's'}"


def enumerated(items: Iterable[str]) -> str:
    """List things: `a, b and c`."""
    items = list(items)
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def quote(names: Iterable[str]) -> str:
    """List names: `'a', 'b' and 'c'`."""
    return enumerated(f"'{name}'" for name in names)


def name_largest(values: Array, names: Sequence[str]) -> str:
    """Name the largest of some values, or all that share the first place."""
    first = np.isclose(values, values.max(), rtol=1e-6, atol=0.0)
    return quote(name for name, is_first in zip(names, first, strict=True) if is_first)
