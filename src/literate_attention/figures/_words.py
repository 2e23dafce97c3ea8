"""How figures write numbers and lists, in pictures and in their alternative texts."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from literate_attention.figures._arguments import Array

MINUS: Final = "\N{MINUS SIGN}"


def format_number(value: float, decimals: int = 2) -> str:
    """Write a number."""
    if np.isneginf(value):
        return f"{MINUS}\N{INFINITY}"
    return f"{value:z.{decimals}f}".replace("-", MINUS)


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
