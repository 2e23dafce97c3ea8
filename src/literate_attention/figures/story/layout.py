"""Drawings of how tensors are laid out: the order in which memory is read, and shapes from step to step."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, Look, Point, card
from literate_attention.figures._lettering import LINE, SMALL_TEXT, clean_labels, label_width
from literate_attention.figures._palette import COLOURS, INK, INPUT, PAPER, head_colour
from literate_attention.figures._words import plural, to_numpy

__all__ = ["draw_reading_order", "draw_shapes", "draw_weight_split"]

_GAP = 5.0
"""What lies between two sheets of numbers."""


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
    """
    high, side = 26.0, 18.0
    left = MARGIN + label_width(["memory"]) + 4
    sentences = []
    with card() as page:
        y = MARGIN
        for name, tensor in tensors.items():
            whole = tensor.untyped_storage().nbytes() // tensor.element_size()
            memory = tensor.as_strided((whole,), (1,), 0).tolist()
            view = tensor.shape, tensor.stride(), tensor.storage_offset()
            order = torch.arange(whole).as_strided(*view).flatten().tolist()
            laid_out = f"shape {tuple(tensor.shape)}, strides {tensor.stride()}"
            page.heading(MARGIN, y + 6, name)
            page.note(WIDTH - MARGIN, y + 6, laid_out, "right", SMALL_TEXT)
            jumps = [(here, there) for here, there in pairwise(order) if there != here + 1]
            y += LINE + (high if jumps else 0.0)
            pitch = min(28.0, (WIDTH - left - MARGIN) / whole)
            page.note(left - 4, y + side / 2, "memory", "right")
            for place, value in enumerate(memory):
                x, head = left + place * pitch, value % embed_dim // (embed_dim // num_heads)
                page.box(x, y, pitch - 1, side, fill=head_colour(head).tint)
                page.text(x + (pitch - 1) / 2, y + side / 2, str(value))
            page.text(left - 4, y + side + 8, "read", ha="right", weight="bold")
            for turn, place in enumerate(order, start=1):
                x = left + place * pitch + (pitch - 1) / 2
                page.text(x, y + side + 8, str(turn), weight="bold", size=SMALL_TEXT)
            longest = max((abs(there - here) for here, there in jumps), default=1)
            for here, there in jumps:
                tall = 8.0 + (high - 10.0) * abs(there - here) / longest
                start, end = (left + (at + 0.5) * pitch for at in (here, there))
                _draw_leap(page, start, end, y - 1, tall)
            y += side + LINE + 12
            read = "without a leap"
            if jumps:
                in_order = " ".join(map(str, tensor.flatten().tolist()))
                read = f"as {in_order}, with {plural(len(jumps), 'leap')}"
            in_memory = " ".join(map(str, memory))
            sentences.append(f"{name}, {laid_out}: in memory {in_memory}, read {read}.")
        return page.finish(y - 12 + MARGIN, *sentences)


def _draw_leap(page: Card, start: float, end: float, y: float, height: float) -> None:
    """Draw an arc above a row, with a head where it comes down."""
    angles = np.linspace(0, np.pi, 25)
    across = (start + end) / 2 - (end - start) / 2 * np.cos(angles)
    over = y - height * np.sin(angles)
    page.axes.plot(across[:-2], over[:-2], color=INK, linewidth=1.6, zorder=3)
    page.arrow((across[-4], over[-4]), (across[-1], over[-1]), color=INK, width=1.6, zorder=3)


def draw_shapes(steps: Sequence[tuple[str, Shaped[Tensor, "..."], str, str]]) -> Drawing:
    """Draw the shape of a tensor after each step, as sheets of numbers side by side.

    The last two dimensions are the rows and the columns of a sheet, and the dimension before them tells how
    many sheets there are. Of a batch, one text is drawn. Colours are heads.

    Args:
        steps: for each step what is done, the tensor that comes out, the names of its dimensions, of which
            ``h`` is that of the heads and ``b`` that of the batch, and what it holds: a name of the code of
            colours, such as ``"key"``, or ``"heads"``.
    """
    num_heads = max(dict(_named(x, names)).get("h", 1) for _, x, names, _ in steps)
    sheets = [_sheet(x, names) for _, x, names, _ in steps]
    room = 130.0
    units = [(room - (blocks - 1) * _GAP) / (blocks * columns) for _, blocks, columns in sheets]
    unit = min(6.0, *units)
    widest = max(blocks * columns * unit + (blocks - 1) * _GAP for _, blocks, columns in sheets)
    left = WIDTH - MARGIN - 6 - widest
    sentences = ["Shapes, step by step."]
    with card() as page:
        y = MARGIN
        for place, (what, x, names, holds) in enumerate(steps):
            shape, named = tuple(x.shape), f"({', '.join(names.split())})"
            if place:
                page.arrow((MARGIN + 3, y - 13), (MARGIN + 3, y - 1))
            page.heading(MARGIN, y + 8, what)
            page.note(MARGIN, y + 6 + LINE, named, "left")
            page.note(left - 14, y + 6 + LINE, str(shape), "right")
            _draw_sheets(page, left, y + 6, unit, (x, names, holds), num_heads)
            sentences.append(f"{what}: {named}, here {shape}.")
            y += max(sheets[place][0] * unit, 2 * LINE - 2) + 20
        return page.finish(y - 14 + MARGIN, *sentences)


def _named(x: Tensor, names: str) -> list[tuple[str, int]]:
    return list(zip(names.split(), x.shape, strict=True))


def _sheet(x: Tensor, names: str) -> tuple[int, int, int]:
    """Return how many rows a sheet has, how many sheets lie side by side, and how many columns one has."""
    *_, blocks, rows, columns = [1, 1, *(size for name, size in _named(x, names) if name != "b")]
    return rows, blocks, columns


def _draw_sheets(
    page: Card, x: float, y: float, unit: float, step: tuple[Tensor, str, str], num_heads: int
) -> None:
    tensor, names, holds = step
    rows, blocks, columns = _sheet(tensor, names)
    width, height = columns * unit, rows * unit
    for block in range(blocks):
        left = x + block * (width + _GAP)
        if holds != "heads":
            page.box(left, y, width, height, fill=COLOURS[holds].tint, zorder=2)
        elif "h" not in names.split():  # the heads share each row
            for h in range(num_heads):
                piece = width / num_heads
                page.box(left + h * piece, y, piece, height, fill=head_colour(h).tint, zorder=2)
        elif names.split()[-2] == "h":
            for h in range(rows):
                page.box(left, y + h * unit, width, unit, fill=head_colour(h).tint, zorder=2)
        else:
            page.box(left, y, width, height, fill=head_colour(block).tint, zorder=2)
        page.rules(left, y, (rows, columns), unit, PAPER, 0.5)


def draw_weight_split(
    x: Shaped[Tensor, "batch num_tokens embed_dim"], tokens: Sequence[str], *, num_heads: int
) -> Drawing:
    """Draw how vectors, of the first text of a batch, are split among heads: a view, then a transpose."""
    values = to_numpy(x, 3)
    batch, num_tokens, embed_dim = values.shape
    tokens = clean_labels(tokens, num_tokens)
    head_dim = embed_dim // num_heads
    pieces = values[0].reshape(num_tokens, num_heads, head_dim)
    shape = (batch, num_tokens, embed_dim)
    viewed = (batch, num_tokens, num_heads, head_dim)
    transposed = (batch, num_heads, num_tokens, head_dim)
    heads = [f"head {h + 1}" for h in range(num_heads)]
    labelled = label_width([*tokens, heads[-1]]) + 6
    left = MARGIN + labelled
    gap = 10.0
    cell = min(40.0, (WIDTH - left - MARGIN) / embed_dim)
    block = labelled + head_dim * cell
    side_by_side = max(1, int((WIDTH - 2 * MARGIN + gap) // (block + gap)))
    numbers: Look = {"decimals": 2 if x.is_floating_point() else 0, "alike": values}

    def corner(place: int, y: float, rows: int) -> Point:
        down, across = divmod(place, side_by_side)
        return left + across * (block + gap), y + down * (rows + 1) * LINE + down * gap + LINE

    def bottom(y: float, blocks: int, rows: int) -> float:
        return corner(blocks - 1, y, rows)[1] + rows * LINE

    with card() as page:
        y = _write_step(page, MARGIN, "one vector for each token", shape)
        page.row_labels(tokens, left - 6, y, LINE)
        page.cells(values[0], left, y, cell, LINE, name="x", tint=INPUT.tint, **numbers)

        y += num_tokens * LINE + 12
        y = _write_step(page, y, "view: a block for each token", viewed)
        for i, token in enumerate(tokens):
            x_block, y_block = corner(i, y, num_heads)
            page.heading(x_block, y_block - LINE + 5, token)
            for h, name in enumerate(heads):
                y_row, (tint, strong) = y_block + h * LINE, head_colour(h)
                page.text(x_block - 6, y_row + LINE / 2, name, ha="right", color=strong)
                own: Look = {"name": f"view{i},{h}", "tint": tint}
                page.cells(pieces[i, h][None], x_block, y_row, cell, LINE, **own, **numbers)

        y = bottom(y, num_tokens, num_heads) + 12
        y = _write_step(page, y, "transpose(1, 2): a block for each head", transposed)
        for h, name in enumerate(heads):
            x_block, y_block = corner(h, y, num_tokens)
            tint, strong = head_colour(h)
            page.heading(x_block, y_block - LINE + 5, name, strong)
            page.row_labels(tokens, x_block - 6, y_block, LINE)
            own = {"name": f"head{h}", "tint": tint}
            page.cells(pieces[:, h], x_block, y_block, cell, LINE, **own, **numbers)
        return page.finish(
            bottom(y, num_heads, num_tokens) + MARGIN,
            f"Split among {plural(num_heads, 'head')}.",
            f"At first {shape}: each of {num_tokens} tokens has {embed_dim} numbers.",
            f"After view {viewed}: each token is a block, with a row of {head_dim} numbers for each head.",
            f"After transpose(1, 2) {transposed}: each head is a block, with a row for each of "
            f"{num_tokens} tokens.",
        )


def _write_step(page: Card, y: float, what: str, shape: tuple[int, ...]) -> float:
    """Name an operation and the shape after it; return where the picture of it begins."""
    page.heading(MARGIN, y + 6, what)
    page.note(WIDTH - MARGIN, y + 6, str(shape), "right")
    return y + LINE + 8
