"""Drawings of several heads: what each looks at, and how vectors are split among them."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from literate_attention.figures._card import (
    HEADS,
    INK,
    INPUT,
    LINE,
    MARGIN,
    QUIET,
    RULE,
    SMALL_TEXT,
    WIDTH,
    Array,
    Card,
    Drawing,
    allowed_pairs,
    array,
    card,
    column_label_height,
    column_label_overhang,
    count,
    index,
    label_width,
    labels,
    largest,
    not_negative,
    number,
    shorten,
    some,
)


def draw_heads(
    weights: Float[Tensor, "num_heads num_tokens num_tokens"],
    tokens: Sequence[str],
    *,
    contexts: Float[Tensor, "num_heads num_tokens head_dim"] | None = None,
    attn_mask: Bool[Tensor, "num_tokens num_tokens"] | None = None,
) -> Drawing:
    """Draw what each head looks at; then what it hands back, and all of it put side by side.

    Weights are coloured as in :func:`draw_attention_matrix`, what a head hands back in the head's own colour.

    Args:
        weights: the attention weights of each head.
        tokens: what each token is called.
        contexts: the context vectors of each head; without them only the weights are drawn.
        attn_mask: True in row i, column j: query i may attend to key j. The border of what is allowed is
            drawn, and every zero beyond it is hatched.

    Returns:
        The drawing. Its text tells for each head where the last token looks: it alone may look at all.

    Raises:
        TypeError: weights or contexts are not a tensor, or the labels are a single string.
        ValueError: shapes or labels do not fit.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[[1.0, 0.0], [0.6, 0.4]], [[1.0, 0.0], [0.1, 0.9]]])
        >>> draw_heads(weights, ["one", "step"], contexts=weights @ torch.eye(2)).alt
        "2 heads, each with weights of 2 by 2. In head 1, 'step' attends most to 'one', 0.60. In head 2,
        'step' attends most to 'step', 0.90. Their context vectors, each 2 wide, are put side by side: 4
        wide."
    """
    w = array("weights", weights, "num_heads", "num_tokens", "num_tokens")
    num_heads, num_tokens, _ = w.shape
    w = array("weights", weights, num_heads, num_tokens, num_tokens)
    z = None if contexts is None else array("contexts", contexts, num_heads, num_tokens, "head_dim")
    tokens = labels("tokens", tokens, num_tokens, "queries")
    allowed = allowed_pairs(attn_mask, (num_tokens, num_tokens))
    limit = max(1.0, float(abs(w).max()))
    left = MARGIN + label_width(tokens) + 4
    arrow = 14.0
    room = WIDTH - left - MARGIN
    wide = 0.0 if z is None else min(30.0, 0.4 * room / z.shape[2])
    taken = 0.0 if z is None else arrow + z.shape[2] * wide
    overhang = 0.0 if taken else column_label_overhang(tokens, room / num_tokens)
    cell = min(40.0, (room - max(taken, overhang)) / num_tokens)
    height = num_tokens * LINE
    end = left + num_tokens * cell
    with card() as page:
        y = MARGIN
        for h in range(num_heads):
            _name_head(page, h, y + 6, MARGIN)
            if h == 0:
                y += max(column_label_height(tokens, cell) - LINE + 4, 0.0)
                page.column_labels(tokens, left, y + LINE + 2, cell)
                if z is not None:
                    page.text(end + arrow + z.shape[2] * wide / 2, y + 8, "context", color=QUIET)
            y += LINE + 2
            page.row_labels(tokens, left - 4, y, LINE)
            written = page.cells(
                w[h],
                left,
                y,
                cell,
                LINE,
                name=f"weights{h}",
                limit=limit,
                hidden=~allowed & (w[h] == 0),
                alike=w,
            )
            page.border(allowed, left, y, cell, LINE)
            if z is not None:
                page.arrow((end + 2, y + height / 2), (end + arrow - 2, y + height / 2))
                tint = HEADS[h % len(HEADS)].tint
                x = end + arrow
                page.cells(z[h], x, y, wide, LINE, name=f"contexts{h}", tint=tint, alike=z)
            y += height + 8
        if not written:
            page.colour_scale(left, y, limit, signed=False, decimals=2)
            y += LINE + 8
        if z is not None:
            y = _draw_joined(page, z, tokens, left, y + 4)
        sentences = [
            f"In head {h + 1}, '{tokens[-1]}' attends "
            + (
                f"most to {largest(row, tokens)}, {number(row.max())}."
                if row.any()
                else "to nothing."
            )
            for h, row in enumerate(w[:, -1])
        ]
        if z is not None:
            sentences.append(
                f"Their context vectors, each {z.shape[2]} wide, are put side by side: "
                f"{num_heads * z.shape[2]} wide."
            )
        size = f"{num_tokens} by {num_tokens}"
        return page.finish(
            y - 8 + MARGIN,
            f"{count(num_heads, 'head', 'heads')}, each with weights of {size}.",
            *sentences,
        )


def _draw_joined(page: Card, z: Array, tokens: Sequence[str], left: float, y: float) -> float:
    """Put the context vectors of all heads side by side; return where they end."""
    num_heads, num_tokens, head_dim = z.shape
    page.line((MARGIN, y - 4), (WIDTH - MARGIN, y - 4), color=RULE)
    y += 6
    page.heading(MARGIN, y + 6, "all heads, side by side")
    page.text(
        WIDTH - MARGIN, y + 6, f"({num_tokens}, {num_heads * head_dim})", ha="right", color=QUIET
    )
    y += LINE + 4
    page.row_labels(tokens, left - 4, y, LINE)
    cell = min(30.0, (WIDTH - left - MARGIN) / (num_heads * head_dim))
    for h in range(num_heads):
        x = left + h * head_dim * cell
        tint = HEADS[h % len(HEADS)].tint
        page.cells(z[h], x, y, cell, LINE, name=f"joined{h}", tint=tint, alike=z)
    return y + num_tokens * LINE + 8


def draw_weight_split(
    x: Shaped[Tensor, "batch num_tokens embed_dim"],
    tokens: Sequence[str],
    *,
    num_heads: int,
    decimals: int | None = None,
) -> Drawing:
    """Draw how vectors are split among heads, shape by shape: a view, then a transpose.

    Only the first text of the batch is drawn; the others lie behind it.

    Args:
        x: the queries, keys or values of all heads together.
        tokens: what each token is called.
        num_heads: how many heads share a vector.
        decimals: how many decimals are written; by default 2, or none for whole numbers.

    Returns:
        The drawing. Its text tells the shape after each step.

    Raises:
        TypeError: `x` is not a tensor, or the labels are a single string.
        ValueError: the width of `x` is not divisible by ``num_heads``, or shapes or labels do not fit.

    Example:
        >>> import torch
        >>> draw_weight_split(torch.arange(12).reshape(1, 3, 4), ["a", "b", "c"], num_heads=2).alt
        'Split among 2 heads. At first (1, 3, 4): each of 3 tokens has 4 numbers. After view (1, 3, 2, 2):
        each token is a block, with a row of 2 numbers for each head. After transpose(1, 2) (1, 2, 3, 2):
        each head is a block, with a row for each of 3 tokens.'
    """
    values = array("x", x, "batch", "num_tokens", "embed_dim")
    batch, num_tokens, embed_dim = values.shape
    tokens = labels("tokens", tokens, num_tokens, "tokens")
    if num_heads < 1 or embed_dim % num_heads:
        raise ValueError(
            f"the width of x must be divisible by num_heads, got {embed_dim} and {num_heads}"
        )
    if decimals is None:
        decimals = 2 if x.is_floating_point() else 0
    head_dim = embed_dim // num_heads
    pieces = values[0].reshape(num_tokens, num_heads, head_dim)
    shapes = (
        f"({batch}, {num_tokens}, {embed_dim})",
        f"({batch}, {num_tokens}, {num_heads}, {head_dim})",
        f"({batch}, {num_heads}, {num_tokens}, {head_dim})",
    )
    heads = [(f"head {h + 1}", HEADS[h % len(HEADS)]) for h in range(num_heads)]
    labelled = label_width([*tokens, heads[-1][0]]) + 6
    left = MARGIN + labelled
    gap = 10.0
    cell = min(40.0, (WIDTH - left - MARGIN) / embed_dim)
    height = num_tokens * LINE
    block = labelled + head_dim * cell
    side_by_side = max(1, int((WIDTH - 2 * MARGIN + gap) // (block + gap)))

    def corner(place: int, y: float, rows: int) -> tuple[float, float]:
        down, across = divmod(place, side_by_side)
        return left + across * (block + gap), y + down * (rows + 1) * LINE + down * gap + LINE

    def bottom(y: float, blocks: int, rows: int) -> float:
        return corner(blocks - 1, y, rows)[1] + rows * LINE

    with card() as page:
        y = _draw_step(page, MARGIN, "one vector for each token", shapes[0])
        for behind in range(min(batch, 3) - 1, 0, -1):
            x_behind, y_behind = left + 3 * behind, y - 3 * behind
            page.box(
                x_behind, y_behind, embed_dim * cell, height, fill="white", edge=RULE, zorder=0
            )
        page.row_labels(tokens, left - 6, y, LINE)
        page.cells(values[0], left, y, cell, LINE, name="x", tint=INPUT.tint, decimals=decimals)

        y = _draw_step(page, y + height + 12, "view: a block for each token", shapes[1])
        for i, token in enumerate(tokens):
            x_block, y_block = corner(i, y, num_heads)
            page.text(x_block, y_block - LINE + 5, token, ha="left", weight="bold")
            for h, (name, colour) in enumerate(heads):
                y_row = y_block + h * LINE
                page.text(x_block - 6, y_row + LINE / 2, name, ha="right", color=colour.strong)
                page.cells(
                    pieces[i, h][None],
                    x_block,
                    y_row,
                    cell,
                    LINE,
                    name=f"view{i},{h}",
                    tint=colour.tint,
                    decimals=decimals,
                    alike=values,
                )

        y = bottom(y, num_tokens, num_heads) + 12
        y = _draw_step(page, y, "transpose(1, 2): a block for each head", shapes[2])
        for h, (_, colour) in enumerate(heads):
            x_block, y_block = corner(h, y, num_tokens)
            _name_head(page, h, y_block - LINE + 5, x_block)
            page.row_labels(tokens, x_block - 6, y_block, LINE)
            page.cells(
                pieces[:, h],
                x_block,
                y_block,
                cell,
                LINE,
                name=f"head{h}",
                tint=colour.tint,
                decimals=decimals,
                alike=values,
            )
        return page.finish(
            bottom(y, num_heads, num_tokens) + MARGIN,
            f"Split among {count(num_heads, 'head', 'heads')}.",
            f"At first {shapes[0]}: each of {num_tokens} tokens has {embed_dim} numbers.",
            f"After view {shapes[1]}: each token is a block, with a row of {head_dim} numbers for each head.",
            f"After transpose(1, 2) {shapes[2]}: each head is a block, with a row for each of "
            f"{num_tokens} tokens.",
        )


def _name_head(page: Card, h: int, y: float, x: float) -> None:
    page.text(x, y, f"head {h + 1}", ha="left", weight="bold", color=HEADS[h % len(HEADS)].strong)


def _draw_step(page: Card, y: float, what: str, shape: str) -> float:
    """Name an operation and the shape after it; return where the picture of it begins."""
    page.heading(MARGIN, y + 6, what)
    page.text(WIDTH - MARGIN, y + 6, shape, ha="right", color=QUIET)
    return y + LINE + 8


def draw_head_arcs(
    heads: Mapping[str, Float[Tensor, "num_tokens"]],
    tokens: Sequence[str],
    *,
    query: int,
    together: Float[Tensor, "num_tokens"] | None = None,
) -> Drawing:
    """Draw where one token looks, once for each head: the thicker an arc, the larger the weight.

    Args:
        heads: for each title the weights of one head, a row of them.
        tokens: what each token is called.
        query: which token looks, counted from 0.
        together: the weights of a single attention, to be drawn above the heads.

    Returns:
        The drawing. Its text tells where the token looks most.

    Raises:
        TypeError: weights are not a tensor, or the labels are a single string.
        ValueError: there is no head, shapes or labels do not fit, a weight is negative, or there is no such
            token.

    Example:
        >>> import torch
        >>> rows = {"head 1": torch.tensor([0.9, 0.1]), "head 2": torch.tensor([0.2, 0.8])}
        >>> draw_head_arcs(rows, ["one", "step"], query=1).alt
        "Where 'step' looks. head 1: most to 'one', 0.90. head 2: most to 'step', 0.80."
    """
    some("the number of heads", len(heads))
    first = next(iter(heads.values()))
    num_tokens = array("weights", first, "num_tokens").shape[0]
    rows = {name: array(name, given, num_tokens) for name, given in heads.items()}
    colours = [HEADS[h % len(HEADS)].strong for h in range(len(rows))]
    if together is not None:
        rows = {_TOGETHER: array("together", together, num_tokens), **rows}
        colours.insert(0, INK)
    for name, row in rows.items():
        not_negative(name, row)
    tokens = labels("tokens", tokens, num_tokens, "tokens")
    index("query", query, num_tokens)
    pitch = (WIDTH - 2 * MARGIN) / num_tokens
    high, size = 34.0, SMALL_TEXT if pitch < 30 else 10.0
    with card() as page:
        y = MARGIN
        for (name, row), colour in zip(rows.items(), colours, strict=True):
            page.text(MARGIN, y + 6, name, ha="left", weight="bold", color=colour)
            y += LINE + high
            asks = MARGIN + (query + 0.5) * pitch
            for j, weight in enumerate(row):
                looked_at = MARGIN + (j + 0.5) * pitch
                tall = 0.5 * high + 0.5 * high * abs(j - query) / max(1, num_tokens - 1)
                _draw_look(page, asks, looked_at, y - 2, tall, weight, colour, f"{name}{j}")
                page.text(looked_at, y + 21, number(weight), size=size, color=QUIET)
            for j, token in enumerate(tokens):
                page.text(
                    MARGIN + (j + 0.5) * pitch,
                    y + 7,
                    shorten(token, pitch - 2),
                    weight="bold" if j == query else "normal",
                    size=size,
                )
            y += 2 * LINE + 8
        return page.finish(
            y - 8 + MARGIN,
            f"Where '{tokens[query]}' looks.",
            *(
                f"{name}: most to {largest(row, tokens)}, {number(row.max())}."
                for name, row in rows.items()
            ),
        )


_TOGETHER = "one row of weights for everything"
_THICKEST_LOOK = 6.0


def _draw_look(
    page: Card,
    start: float,
    end: float,
    y: float,
    height: float,
    weight: float,
    colour: str,
    name: str,
) -> None:
    """Draw an arc from the token that looks to the one that it looks at, as thick as the weight is large."""
    angles = np.linspace(0, np.pi, 33)
    reach = (end - start) / 2 if start != end else 5.0
    middle = (start + end) / 2
    across = middle - reach * np.cos(angles)
    page.axes.plot(
        across,
        y - height * np.sin(angles),
        color=colour,
        linewidth=_THICKEST_LOOK * weight,
        solid_capstyle="round",
        label=f"look {name}",
        zorder=3,
    )
