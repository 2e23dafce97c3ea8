"""Drawings of how tensors are laid out: the order in which memory is read, and shapes from step to step."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, product

import numpy as np
from jaxtyping import Shaped
from torch import Tensor

from literate_attention.figures._card import (
    COLOURS,
    HEADS,
    INK,
    LINE,
    MARGIN,
    PAPER,
    QUIET,
    RULE,
    SMALL_TEXT,
    WIDTH,
    Array,
    Card,
    Drawing,
    array,
    card,
    count,
    label_width,
    some,
)


def draw_reading_order(
    tensors: Mapping[str, Shaped[Tensor, "..."]], *, embed_dim: int, num_heads: int
) -> Drawing:
    """Draw numbers as they lie in memory, and the order in which each tensor reads them.

    The numbers must count up from 0, token by token, so that each one tells to which head it belongs. Below
    each stands when it is read, counted from 1, and an arc leads over each leap.

    Args:
        tensors: for each title a tensor, such as a view of another one.
        embed_dim: how many numbers a token has.
        num_heads: how many heads share them.

    Returns:
        The drawing. Its text tells shape, strides, and how many leaps it takes to read each tensor.

    Raises:
        TypeError: one of them is not a tensor.
        ValueError: there is no tensor, or ``embed_dim`` is not divisible by ``num_heads``.

    Example:
        >>> import torch
        >>> x = torch.arange(4).view(2, 2)
        >>> draw_reading_order({"x": x, "x.T": x.T}, embed_dim=2, num_heads=2).alt
        'x, shape (2, 2), strides (2, 1): in memory 0 1 2 3, read without a leap. x.T, shape (2, 2),
        strides (1, 2): in memory 0 1 2 3, read as 0 2 1 3, with 3 leaps.'
    """
    some("the number of tensors", len(tensors))
    if num_heads < 1 or embed_dim % num_heads:
        raise ValueError(
            f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}"
        )
    rows = {name: _memory(name, tensor) for name, tensor in tensors.items()}
    high, cell = 26.0, 18.0
    left = MARGIN + label_width(["memory"]) + 4
    sentences = []
    with card() as page:
        y = MARGIN
        for name, (memory, order) in rows.items():
            shape, strides = tuple(tensors[name].shape), tensors[name].stride()
            page.heading(MARGIN, y + 6, name)
            page.text(
                WIDTH - MARGIN,
                y + 6,
                f"shape {shape}, strides {strides}",
                ha="right",
                size=SMALL_TEXT,
                color=QUIET,
            )
            jumps = [(here, there) for here, there in pairwise(order.tolist()) if there != here + 1]
            y += LINE + (high if jumps else 0.0)
            width = min(28.0, (WIDTH - left - MARGIN) / len(memory))
            page.text(left - 4, y + cell / 2, "memory", ha="right", color=QUIET)
            for place, value in enumerate(memory):
                head = int(value % embed_dim) // (embed_dim // num_heads)
                fill = HEADS[head % len(HEADS)].tint
                x = left + place * width
                page.box(x, y, width - 1, cell, fill=fill)
                page.text(x + (width - 1) / 2, y + cell / 2, f"{value:g}")
            page.text(left - 4, y + cell + 8, "read", ha="right", weight="bold")
            for turn, place in enumerate(order.tolist(), start=1):
                x = left + place * width + (width - 1) / 2
                page.text(x, y + cell + 8, f"{turn}", weight="bold", size=SMALL_TEXT)
            longest = max((abs(there - here) for here, there in jumps), default=1)
            for here, there in jumps:
                start, end = (left + (place + 0.5) * width for place in (here, there))
                tall = 8.0 + (high - 10.0) * abs(there - here) / longest
                _draw_arc(page, start, end, y - 1, tall)
            y += cell + LINE + 12
            told = f"{name}, shape {shape}, strides {strides}: in memory {_spaced(memory)}, read "
            if jumps:
                leaps = count(len(jumps), "leap", "leaps")
                told += f"as {_spaced(memory[order])}, with {leaps}."
            else:
                told += "without a leap."
            sentences.append(told)
        return page.finish(y - 12 + MARGIN, *sentences)


def _memory(name: str, tensor: Tensor) -> tuple[Array, Array]:
    """Return the whole row that a tensor lies in, and the places of its elements as it reads them."""
    array(name, tensor, *tensor.shape)
    whole = tensor.untyped_storage().nbytes() // tensor.element_size()
    memory = array(name, tensor.as_strided((whole,), (1,), 0), whole)
    indices = product(*(range(size) for size in tensor.shape))
    places = [
        tensor.storage_offset() + sum(i * step for i, step in zip(at, tensor.stride(), strict=True))
        for at in indices
    ]
    return memory, np.array(places)


def _draw_arc(page: Card, start: float, end: float, y: float, height: float) -> None:
    """Draw an arc above a row, with a head where it comes down."""
    angles = np.linspace(0, np.pi, 25)
    across = (start + end) / 2 - (end - start) / 2 * np.cos(angles)
    over = y - height * np.sin(angles)
    page.axes.plot(across[:-2], over[:-2], color=INK, linewidth=1.6, zorder=3)
    page.arrow((across[-4], over[-4]), (across[-1], over[-1]), color=INK, width=1.6, zorder=3)


def _spaced(values: Array) -> str:
    return " ".join(f"{value:g}" for value in values)


def draw_shapes(steps: Sequence[tuple[str, Shaped[Tensor, "..."], str, str]]) -> Drawing:
    """Draw the shape of a tensor after each step, as sheets of numbers side by side.

    The last two dimensions are the rows and the columns of a sheet, and the dimension before them tells how
    many sheets there are, one for each text of a batch behind another. Colours are heads.

    Args:
        steps: for each step what is done, the tensor that comes out, the names of its dimensions, and what it
            holds: a name of the code of colours, such as ``"key"``, or ``"heads"``. The dimension of the
            heads is called ``h``, and that of the batch ``b``.

    Returns:
        The drawing. Its text lists steps and shapes.

    Raises:
        TypeError: something that comes out is not a tensor.
        ValueError: there is no step, the names do not fit a shape, or one name has two sizes.

    Example:
        >>> import torch
        >>> x = torch.zeros(1, 6, 4)
        >>> steps = [("x", x, "b n d", "input"), ("view", x.view(1, 6, 2, 2), "b n h d_k", "heads")]
        >>> draw_shapes(steps).alt
        'Shapes, step by step. x: (b, n, d), here (1, 6, 4). view: (b, n, h, d_k), here (1, 6, 2, 2).'
    """
    some("the number of steps", len(steps))
    sizes: dict[str, int] = {}
    for what, tensor, named, _ in steps:
        names = named.split()
        array(what, tensor, *tensor.shape)
        if len(names) != tensor.ndim:
            raise ValueError(
                f"{what} has {tensor.ndim} dimensions, but {len(names)} names: {named!r}"
            )
        for name, size in zip(names, tensor.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise ValueError(f"{name} is {sizes[name]} at first, but {size} after {what!r}")
    sheets = [_sheet(names.split(), sizes) for _, _, names, _ in steps]
    unit = min(
        6.0,
        *((_WIDEST - (blocks - 1) * _APART) / (blocks * columns) for _, blocks, columns in sheets),
    )
    left = (
        WIDTH
        - MARGIN
        - 6
        - max(blocks * columns * unit + (blocks - 1) * _APART for _, blocks, columns in sheets)
    )
    with card() as page:
        y = MARGIN
        for place, (what, tensor, named, holds) in enumerate(steps):
            names = named.split()
            rows = _sheet(names, sizes)[0]
            height = max(rows * unit, 2 * LINE - 2) + 6
            if place:
                page.arrow((MARGIN + 3, y - 13), (MARGIN + 3, y - 1))
            page.heading(MARGIN, y + 8, what)
            page.text(MARGIN, y + 8 + LINE - 2, f"({', '.join(names)})", ha="left", color=QUIET)
            page.text(
                left - 14, y + 8 + LINE - 2, f"{tuple(tensor.shape)}", ha="right", color=QUIET
            )
            _draw_sheets(page, left, y + 6, unit, names, sizes, holds)
            y += height + 14
        return page.finish(
            y - 14 + MARGIN,
            "Shapes, step by step.",
            *(
                f"{what}: ({', '.join(named.split())}), here {tuple(tensor.shape)}."
                for what, tensor, named, _ in steps
            ),
        )


_WIDEST = 130.0
_APART = 5.0


def _sheet(names: Sequence[str], sizes: Mapping[str, int]) -> tuple[int, int, int]:
    """Return how many rows a sheet has, how many sheets lie side by side, and how many columns one has."""
    *_, blocks, rows, columns = [1, 1, *(sizes[name] for name in names if name != "b")]
    return rows, blocks, columns


def _draw_sheets(
    page: Card,
    x: float,
    y: float,
    unit: float,
    names: Sequence[str],
    sizes: Mapping[str, int],
    holds: str,
) -> None:
    rows, blocks, columns = _sheet(names, sizes)
    width, height = columns * unit, rows * unit
    for block in range(blocks):
        left = x + block * (width + _APART)
        for behind in range(min(sizes.get("b", 1), 3) - 1, 0, -1):
            page.box(left + 2 * behind, y - 2 * behind, width, height, fill=PAPER, edge=RULE)
        if holds != "heads":
            page.box(left, y, width, height, fill=COLOURS[holds].tint, zorder=2)
        elif "h" not in names:  # the heads share each row
            for h in range(share := sizes.get("h", 1)):
                piece = width / share
                page.box(left + h * piece, y, piece, height, fill=_tint(h), zorder=2)
        elif names[-2] == "h":
            for h in range(rows):
                page.box(left, y + h * unit, width, unit, fill=_tint(h), zorder=2)
        else:
            page.box(left, y, width, height, fill=_tint(block), zorder=2)
        for i in range(1, rows):
            across = y + i * unit
            page.line((left, across), (left + width, across), color=PAPER, width=0.5, zorder=3)
        for j in range(1, columns):
            down = left + j * unit
            page.line((down, y), (down, y + height), color=PAPER, width=0.5, zorder=3)


def _tint(head: int) -> str:
    return HEADS[head % len(HEADS)].tint
