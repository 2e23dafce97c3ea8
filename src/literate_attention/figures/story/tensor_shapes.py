"""Drawings of how tensors are laid out: the order in which memory is read, and shapes from step to step."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from jaxtyping import Shaped
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Canvas, Drawing, Look, new_canvas
from .._lettering import LINE, SMALL_TEXT, clean_labels, label_width
from .._palette import COLOURS, INK, INPUT, PAPER, head_colour
from .._words import plural, to_numpy

__all__ = ["draw_reading_order", "draw_shapes", "draw_weight_split"]

_GAP = 5.0
"""What lies between two sheets of numbers."""


def draw_reading_order(
    tensors: Mapping[str, Shaped[Tensor, "..."]], *, embed_dim: int, num_heads: int
) -> Drawing:
    """Draw numbers as they lie in memory, and the order in which each tensor reads them.

    The numbers must count up from 0, token by token, so that each one tells to which head it belongs. Below
    each stands when it is read, counted from 1, and an arc leads over each leap.
    """
    high, side, left = 26.0, 18.0, MARGIN + label_width(["read no."]) + 4
    sentences = []
    with new_canvas() as page:
        y = MARGIN
        for name, tensor in tensors.items():
            whole = tensor.untyped_storage().nbytes() // tensor.element_size()
            memory = tensor.as_strided((whole,), (1,), 0).tolist()
            view = tensor.shape, tensor.stride(), tensor.storage_offset()
            order = torch.arange(whole).as_strided(*view).flatten().tolist()
            laid_out = f"shape {tuple(tensor.shape)}, strides {tensor.stride()}"
            page.heading(MARGIN, y + 6, name)
            page.note(WIDTH - MARGIN, y + 6, laid_out, "right", SMALL_TEXT)
            leaps = [(here, there) for here, there in pairwise(order) if there != here + 1]
            y += LINE + (high if leaps else 0.0)
            pitch = min(28.0, (WIDTH - left - MARGIN) / whole)
            middles = [left + (place + 0.5) * pitch for place in range(whole)]
            page.note(left - 4, y + side / 2, "memory", "right")
            page.text(left - 4, y + side + 8, "read no.", ha="right", weight="bold")
            for x, value in zip(middles, memory, strict=True):
                tint = head_colour(value % embed_dim // (embed_dim // num_heads)).tint
                page.box(x - pitch / 2, y, pitch - 1, side, fill=tint)
                page.text(x, y + side / 2, str(value))
            for turn, place in enumerate(order, start=1):
                page.text(middles[place], y + side + 8, str(turn), weight="bold", size=SMALL_TEXT)
            longest = max((abs(there - here) for here, there in leaps), default=1)
            for here, there in leaps:
                tall = 8.0 + (high - 10.0) * abs(there - here) / longest
                ends = (middles[here], y - 1), (middles[there], y - 1)
                page.arch(*ends, tall, color=INK, width=1.6, zorder=3)
            y += side + LINE + 12
            in_order = " ".join(map(str, tensor.flatten().tolist()))
            read = (
                f"as {in_order}, with {plural(len(leaps), 'leap')}" if leaps else "without a leap"
            )
            sentences.append(
                f"{name}, {laid_out}: in memory {' '.join(map(str, memory))}, read {read}."
            )
        return page.finish(y - 12 + MARGIN, *sentences)


def draw_shapes(steps: Sequence[tuple[str, Shaped[Tensor, "..."], str, str]]) -> Drawing:
    """Draw the shape of a tensor after each step, as sheets of numbers side by side.

    The last two dimensions are the rows and the columns of a sheet, and the dimension before them tells how
    many sheets there are. Of a batch, one text is drawn. Colours are heads.

    Args:
        steps: for each step what is done, the tensor that comes out, the names of its dimensions, of which
            ``h`` is that of the heads and ``b`` that of the batch, and what it holds: a name of the code of
            colours, such as ``"key"``, or ``"heads"``.
    """
    sizes = [list(zip(names.split(), x.shape, strict=True)) for _, x, names, _ in steps]
    num_heads = max(dict(size).get("h", 1) for size in sizes)
    # the sheets side by side, the rows and the columns of one; of a batch, one text is drawn
    sheets = [[1, 1, *(n for name, n in size if name != "b")][-3:] for size in sizes]
    unit = min(6.0, *((130 - (many - 1) * _GAP) / (many * wide) for many, _, wide in sheets))
    left = WIDTH - MARGIN - 6 - max(n * wide * unit + (n - 1) * _GAP for n, _, wide in sheets)
    with new_canvas() as page:
        y, sentences = MARGIN, ["Shapes, step by step."]
        for place, ((what, x, names, holds), (blocks, rows, columns)) in enumerate(
            zip(steps, sheets, strict=True)
        ):
            shape, named = tuple(x.shape), f"({', '.join(names.split())})"
            if place:
                page.arrow((MARGIN + 3, y - 13), (MARGIN + 3, y - 1))
            page.heading(MARGIN, y + 8, what)
            page.note(MARGIN, y + 6 + LINE, named, "left")
            page.note(left - 14, y + 6 + LINE, str(shape), "right")
            for block in range(blocks):
                spot = left + block * (columns * unit + _GAP), y + 6, columns * unit, rows * unit
                _colour_sheet(page, spot, block, names.split(), holds, num_heads)
                page.rules(*spot[:2], (rows, columns), unit, PAPER)
            sentences.append(f"{what}: {named}, here {shape}.")
            y += max(rows * unit, 2 * LINE - 2) + 20
        return page.finish(y - 14 + MARGIN, *sentences)


def _colour_sheet(
    page: Canvas,
    spot: tuple[float, float, float, float],
    block: int,
    names: Sequence[str],
    holds: str,
    num_heads: int,
) -> None:
    """Draw the ground of a sheet: heads lie side by side, or one below the other, or have a sheet each."""
    x, y, width, height = spot
    if holds != "heads":
        page.box(*spot, fill=COLOURS[holds].tint, zorder=2)
    elif "h" in names and names[-2] != "h":
        page.box(*spot, fill=head_colour(block).tint, zorder=2)
    else:
        for h in range(num_heads):
            if "h" in names:
                part = x, y + h * height / num_heads, width, height / num_heads
            else:
                part = x + h * width / num_heads, y, width / num_heads, height
            page.box(*part, fill=head_colour(h).tint, zorder=2)


def draw_weight_split(
    x: Shaped[Tensor, "batch num_tokens embed_dim"], tokens: Sequence[str], *, num_heads: int
) -> Drawing:
    """Draw how vectors, of the first text of a batch, are split among heads: a view, then a transpose."""
    values = to_numpy(x, 3)
    batch, num_tokens, embed_dim = shape = values.shape
    tokens, head_dim = clean_labels(tokens, num_tokens), embed_dim // num_heads
    pieces = values[0].reshape(num_tokens, num_heads, head_dim)
    viewed, transposed = (
        (batch, *sizes, head_dim) for sizes in ((num_tokens, num_heads), (num_heads, num_tokens))
    )
    heads = [f"head {h + 1}" for h in range(num_heads)]
    left = MARGIN + label_width([*tokens, heads[-1]]) + 6
    cell = min(40.0, (WIDTH - left - MARGIN) / embed_dim)
    look: Look = {"decimals": 2 if x.is_floating_point() else 0, "alike": values}
    with new_canvas() as page:

        def step(y: float, what: str, shape: tuple[int, ...]) -> float:
            page.heading(MARGIN, y + 6, what)
            page.note(WIDTH - MARGIN, y + 6, str(shape), "right")
            return y + LINE + 8

        y = step(MARGIN, "one vector for each token", shape)
        page.row_labels(tokens, left - 6, y, LINE)
        page.cells(values[0], left, y, cell, LINE, name="x", tint=INPUT.tint, **look)
        y = step(y + num_tokens * LINE + 12, "view: a block for each token", viewed)
        for i, token in enumerate(tokens):
            page.heading(left, y + 5, token)
            for h, name in enumerate(heads):
                y, (tint, strong) = y + LINE, head_colour(h)
                page.text(left - 6, y + LINE / 2, name, ha="right", color=strong)
                own: Look = {"name": f"view{i},{h}", "tint": tint}
                page.cells(pieces[i, h][None], left, y, cell, LINE, **own, **look)
            y += LINE + 10
        y = step(y + 2, "transpose(1, 2): a block for each head", transposed)
        for h, name in enumerate(heads):
            tint, strong = head_colour(h)
            page.heading(left, y + 5, name, strong)
            page.row_labels(tokens, left - 6, y + LINE, LINE)
            own = {"name": f"head{h}", "tint": tint}
            page.cells(pieces[:, h], left, y + LINE, cell, LINE, **own, **look)
            y += (num_tokens + 1) * LINE + 10
        return page.finish(
            y - 10 + MARGIN,
            f"Split among {plural(num_heads, 'head')}.",
            f"At first {shape}: each of {num_tokens} tokens has {embed_dim} numbers.",
            f"After view {viewed}: each token is a block, with a row of {head_dim} numbers for each head.",
            f"After transpose(1, 2) {transposed}: each head is a block, with a row for each of "
            f"{num_tokens} tokens.",
        )
