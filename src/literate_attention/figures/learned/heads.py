"""Drawings of trained heads: all of them at a glance, one of them opened, and what is left without some."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    INK,
    LINE,
    MARGIN,
    QUIET,
    SMALL_TEXT,
    WIDTH,
    Array,
    Card,
    Drawing,
    Ruler,
    array,
    card,
    column_label_height,
    column_label_overhang,
    count,
    label_width,
    labels,
    number,
    shorten,
    some,
    text_width,
)

_ROW: Final = 11.0
_LABELLED: Final = 5
"""Every fifth layer has its number written above it; narrow columns have no room for more."""


def draw_head_scores(scores: Mapping[str, Float[Tensor, "num_layers num_heads"]]) -> Drawing:
    """Draw a score of every head of a model, layers from left to right; the best head is framed.

    White is 0 and the darkest blue is 1.

    Args:
        scores: for the name of each kind of head, how much every head is of this kind.

    Returns:
        The drawing. Its text names the best head of each kind, and counts those above a half.

    Raises:
        TypeError: scores are not a tensor.
        ValueError: there are no scores, or a number cannot be drawn.

    Example:
        >>> import torch
        >>> draw_head_scores({"Previous token": torch.tensor([[0.1, 0.9], [0.2, 0.6], [0.0, 0.3]])}).alt
        'Previous token: 3 layers of 2 heads. The best is layer 0, head 1, with 0.90; 2 heads are above
        a half.'
    """
    some("the number of kinds", len(scores))
    panels = {kind: array(kind, given, "num_layers", "num_heads") for kind, given in scores.items()}
    with card() as page:
        y = MARGIN
        for kind, values in panels.items():
            y = _draw_scores(page, kind, values, y) + LINE
        page.colour_scale(MARGIN, y - LINE / 2, 1.0, signed=False, decimals=0)
        return page.finish(
            y + LINE / 2 + MARGIN,
            *(
                f"{kind}: {count(len(values), 'layer', 'layers')} of "
                f"{count(values.shape[1], 'head', 'heads')}. "
                f"The best is {_place(values)}, with {number(values.max())}; "
                f"{count(int((values > 0.5).sum()), 'head is', 'heads are')} above a half."
                for kind, values in panels.items()
            ),
        )


def _draw_scores(page: Card, kind: str, values: Array, y: float) -> float:
    """Draw the scores of one kind; return where they end."""
    num_layers, num_heads = values.shape
    left = MARGIN + text_width("head 0") + 5
    cell = min(22.0, (WIDTH - MARGIN - left) / num_layers)
    page.heading(MARGIN, y + 6, kind)
    page.text(
        *(WIDTH - MARGIN, y + 6, f"{_place(values)}: {number(values.max())}"),
        ha="right",
        color=QUIET,
    )
    y += LINE + 6
    page.text(left - 5, y, "layer", ha="right", color=QUIET)
    for layer in range(0, num_layers, _LABELLED):
        page.text(left + (layer + 0.5) * cell, y, str(layer), color=QUIET)
    y += LINE / 2 + 1
    for head in range(0, num_heads, 2):
        name = f"head {head}" if head == 0 else str(head)
        page.text(left - 5, y + (head + 0.5) * _ROW, name, ha="right", color=QUIET, size=SMALL_TEXT)
    page.cells(values.T, left, y, cell, _ROW, name=kind, limit=1.0, numbers=False)
    layer, head = divmod(int(values.argmax()), num_heads)
    page.frame(left + layer * cell, y + head * _ROW, cell, _ROW, INK)
    return y + num_heads * _ROW


def _place(values: Array) -> str:
    layer, head = divmod(int(values.argmax()), values.shape[1])
    return f"layer {layer}, head {head}"


def draw_head_map(
    weights: Float[Tensor, "num_tokens num_tokens"],
    tokens: Sequence[str],
    *,
    targets: Bool[Tensor, "num_tokens num_tokens"] | None = None,
) -> Drawing:
    """Draw what one head of a causal model looks at, with a frame around where it should look.

    Args:
        weights: the attention weights of the head.
        tokens: what each token is called.
        targets: True in row i, column j: a head of this kind looks from token i at token j.

    Returns:
        The drawing. Its text says where each token looks most, and how much lands in the frames.

    Raises:
        TypeError: the weights are not a tensor, or the tokens are a single string.
        ValueError: weights, tokens and targets do not fit, or a number cannot be drawn.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[1.0, 0.0], [0.75, 0.25]])
        >>> draw_head_map(weights, ["one", "step"], targets=torch.eye(2).roll(1, 0).tril() > 0).alt
        "Where one head looks. 'one' looks most at 'one', 1.00; 'step' looks most at 'one', 0.75. 1 cell
        is framed; on average 0.75 of a row's weight lies there."
    """
    values = array("weights", weights, len(weights), len(weights))
    names = labels("tokens", tokens, len(values), "tokens")
    framed = np.zeros(values.shape) if targets is None else array("targets", targets, *values.shape)
    left = MARGIN + max(label_width(names), text_width("query ↓")) + 5
    right = MARGIN
    for _ in range(2):  # narrower cells let the last label reach further
        cell = min(32.0, (WIDTH - left - right) / len(names))
        right = max(MARGIN, column_label_overhang(names, cell) + MARGIN)
    height = min(22.0, max(LINE, cell))
    allowed = np.tri(len(names), dtype=bool)
    with card() as page:
        y = MARGIN
        page.text(left - 5, y + 6, "query ↓", ha="right", color=QUIET)
        page.text(left, y + 6, "attends to →", ha="left", color=QUIET)
        y += LINE + 2 + column_label_height(names, cell)
        page.row_labels(names, left - 5, y, height)
        page.column_labels(names, left, y, cell)
        page.cells(
            *(values, left, y, cell, height),
            name="weights",
            limit=1.0,
            hidden=~allowed & (values == 0),
            numbers=False,
        )
        for i, j in np.argwhere(framed):
            page.frame(left + j * cell, y + i * height, cell, height, INK)
        y += height * len(names) + 6
        page.colour_scale(left, y, 1.0, signed=False, decimals=0)
        return page.finish(
            y + LINE + MARGIN,
            "Where one head looks.",
            "; ".join(
                f"'{name}' looks most at '{names[row.argmax()]}', {number(row.max())}"
                for name, row in zip(names, values, strict=True)
            )
            + ".",
            *_framed_in_words(values, framed),
        )


def _framed_in_words(values: Array, framed: Array) -> Iterator[str]:
    rows = framed.any(axis=1)
    if rows.any():
        share = number((values * framed).sum(axis=1)[rows].mean())
        cells = count(int(framed.sum()), "cell is", "cells are")
        yield f"{cells} framed; on average {share} of a row's weight lies there."


def draw_shares(shares: Mapping[str, float]) -> Drawing:
    """Draw shares of a whole as bars, one below the other; a dashed line marks the first.

    Args:
        shares: for each name a number from 0 to 1.

    Returns:
        The drawing. Its text tells each share.

    Raises:
        ValueError: there is no share, or one is not from 0 to 1.

    Example:
        >>> draw_shares({"all heads": 0.75, "without one": 0.5}).alt
        'all heads: 0.75. without one: 0.50.'
    """
    some("the number of shares", len(shares))
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueError(f"a share must lie between 0 and 1, got {share} for {name!r}")
    left = MARGIN
    ruler = Ruler(0.0, 1.0, WIDTH - MARGIN - left - text_width("0.00") - 8)
    height = 2 * LINE + 6
    with card() as page:
        y = MARGIN
        first = left + ruler.scale * next(iter(shares.values()))
        page.dashes((first, y), (first, y + height * len(shares)))
        for name, share in shares.items():
            page.text(left, y + LINE / 2, shorten(name, WIDTH - 2 * MARGIN), ha="left")
            middle = y + 1.5 * LINE
            page.bar(left, middle, 13, ruler, share, color=BLUE, name=name)
            page.text(WIDTH - MARGIN, middle, number(share), ha="right")
            y += height
        return page.finish(
            y + MARGIN / 2, *(f"{name}: {number(share)}." for name, share in shares.items())
        )
