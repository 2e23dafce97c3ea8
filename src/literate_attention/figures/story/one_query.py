"""Drawings of one query at work: scores, a mask, weights, and the context vector that they make."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Drawing, Look, Ruler, new_canvas, spread
from .._lettering import LINE, clean_labels, label_width, shorten
from .._palette import BLUE, CONTEXT, GREY_BAR, INK, INPUT, KEY, QUERY, QUIET, RULE, SHADE, VALUE
from .._words import format_number, format_vector, name_largest, plural, quote, to_numpy

__all__ = ["draw_context_vector", "draw_masked_row", "draw_query_steps"]


def draw_context_vector(
    inputs: Float[Tensor, "num_tokens embed_dim"],
    weights: Float[Tensor, "num_tokens"],
    tokens: Sequence[str],
    *,
    query: int,
) -> Drawing:
    """Draw a context vector as the weighted sum of all inputs: a thicker arrow for a larger weight."""
    x, w = to_numpy(inputs, 2), to_numpy(weights, 1)
    (num_tokens, embed_dim), context, limit = x.shape, w @ x, float(abs(x).max())
    tokens, middles = clean_labels(tokens, num_tokens), spread(num_tokens)
    column = (WIDTH - 2 * MARGIN) / num_tokens
    cell, wide = min(33.0, 0.8 * column), min(40.0, (WIDTH - 2 * MARGIN) / embed_dim)
    top = MARGIN + LINE + 2
    bottom = top + embed_dim * LINE
    left, below = (WIDTH - embed_dim * wide) / 2, bottom + 120
    with new_canvas() as page:
        for j, (middle, token) in enumerate(zip(middles, tokens, strict=True)):
            color = QUERY.strong if j == query else INK
            page.text(middle, MARGIN + LINE / 2, shorten(token, column - 2), color=color)
            page.cells(x[j, :, None], middle - cell / 2, top, cell, LINE, name=f"x{j}", limit=limit)
            page.text(middle, bottom + 11, format_number(w[j]), color=BLUE, weight="bold")
            landing = WIDTH / 2 + (j + 0.5 - num_tokens / 2) * embed_dim * wide / num_tokens
            look: Look = {"color": BLUE, "width": 7.0 * w[j] / w.max(), "label": f"weight{j}"}
            page.arrow((middle, bottom + 21), (landing, below - 20), **look)
        page.note(WIDTH / 2, below - 10, "added up")
        page.frame(middles[query] - cell / 2, top, cell, embed_dim * LINE, QUERY.strong)
        page.cells(context[None], left, below, wide, 20, name="context", limit=limit)
        page.frame(left, below, embed_dim * wide, 20, CONTEXT.strong)
        subscript = str(query + 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
        named = f"z{subscript}, the context vector of {tokens[query]}"
        page.text(WIDTH / 2, below + 34, named, color=CONTEXT.strong)
        shares = [f"{format_number(n)} of '{token}'" for n, token in zip(w, tokens, strict=True)]
        return page.finish(
            below + 34 + LINE / 2 + MARGIN,
            f"The context vector of '{tokens[query]}' is a weighted sum of {num_tokens} inputs: "
            f"{', '.join(shares)}.",
            f"The thickest arrow comes from {name_largest(w, tokens)}.",
            f"The sum is {format_vector(context)}.",
        )


def draw_query_steps(
    query: Float[Tensor, "d_k"],
    keys: Float[Tensor, "num_tokens d_k"],
    values: Float[Tensor, "num_tokens d_v"],
    tokens: Sequence[str],
    *,
    asks: int,
    scale: float = 1.0,
) -> Drawing:
    """Draw one query at work, in four frames of the same size, one below the other.

    Where keys and values are the same vectors, as they are in attention without trainable weights, they are
    drawn once.
    """
    q, k, v = to_numpy(query, 1), to_numpy(keys, 2), to_numpy(values, 2)
    tokens, scores = clean_labels(tokens, len(k)), k @ q
    exponentials = np.exp(scale * scores - (scale * scores).max())
    weights = exponentials / exponentials.sum()
    context, same = weights @ v, np.array_equal(k, v)
    blocks = {"input": (k, INPUT)} if same else {"key": (k, KEY), "value": (v, VALUE)}
    left, gap, row = MARGIN + label_width([*tokens, "context"]) + 6, 8.0, 20.0
    numbers = sum(block.shape[1] for block, _ in blocks.values())
    room = WIDTH - MARGIN - left - (len(blocks) + 1) * gap
    cell = min(30.0, 0.58 * room / numbers)
    bar = (room - numbers * cell) / 2
    bars = (("score", scores, Ruler.over(scores, bar)), ("weight", weights, Ruler(0.0, 1.0, bar)))
    kind, weighed = ("input", "input") if same else ("key", "value")
    titles = (
        "1  The query asks",
        f"2  Score: query times {kind}",
        f"3  Weight: {'' if scale == 1.0 else f'times {format_number(scale)}, then '}softmax",
        f"4  Average: weight times {weighed}, added up",
    )
    height = 2 * MARGIN + 3 * LINE + 30 + (len(k) + 1) * row
    bold: Look = {"weight": "bold", "ha": "right"}
    with new_canvas() as page:
        for frame, title in enumerate(titles):
            top = frame * height
            if frame:
                page.line((0, top + 1), (WIDTH, top + 1), color=RULE)
            page.heading(MARGIN, top + MARGIN + 6, title)
            y = top + MARGIN + LINE + 6
            page.text(left - 6, y + row / 2, "query", color=QUERY.strong, **bold)
            page.cells(q[None], left, y, cell, row, name=f"query{frame}", tint=QUERY.tint)
            y += row + LINE + 2
            page.row_labels(tokens, left - 6, y, row, bold=asks)
            x, below = left, y + len(k) * row + 10
            for name, (block, (tint, strong)) in blocks.items():
                is_weighed, width = frame == 3 and name == weighed, block.shape[1] * cell
                shown = weights[:, None] * block if is_weighed else block
                heading = f"weight · {name}" if is_weighed else name
                page.text(x + width / 2, y - 9, heading, color=strong)
                page.cells(shown, x, y, cell, row, name=f"{name}{frame}", tint=tint)
                if is_weighed:
                    page.line((x, below - 5), (x + width, below - 5))
                    page.cells(
                        context[None], x, below, cell, row, name="context", tint=CONTEXT.tint
                    )
                    page.text(left - 6, below + row / 2, "context", color=CONTEXT.strong, **bold)
                x += width + gap
            for since, (name, column, ruler) in enumerate(bars, start=1):
                if frame >= since:
                    weight = "bold" if frame == since else "normal"
                    page.text(x + bar / 2, y - 9, name, color=QUIET)
                    page.bars(column, x, y, row, ruler, name=f"{name}{frame},", weight=weight)
                x += bar + gap
        listed = [
            ", ".join(
                f"'{token}' {format_number(n)}" for token, n in zip(tokens, column, strict=True)
            )
            for _, column, _ in bars
        ]
        what, met = ("vector", "vectors") if same else ("value", "keys")
        return page.finish(
            len(titles) * height,
            "One query in four steps.",
            f"1, the query of '{tokens[asks]}', {format_vector(q)}, meets {len(k)} {met}.",
            f"2, the scores: {listed[0]}.",
            f"3, the weights: {listed[1]}.",
            f"4, each {what} times its weight, added up: the context vector {format_vector(context)}.",
        )


def draw_masked_row(
    scores: Float[Tensor, "kv_len"], tokens: Sequence[str], *, query: int
) -> Drawing:
    """Draw how a mask works on the scaled scores of one query, counted from 0: the future stops at a wall."""
    values = to_numpy(scores, 1)
    tokens = clean_labels(tokens, len(values))
    masked = np.where(np.arange(len(values)) <= query, values, -np.inf)
    powers = torch.from_numpy(masked).exp()
    # Refuses a sum that is infinite, and one of zero.
    exponentials, weights = to_numpy(powers), to_numpy(powers / powers.sum())
    total = exponentials.sum()
    row, gap, cell, passage = 22.0, 10.0, 38.0, 30.0
    left = MARGIN + label_width([*tokens, "key"]) + 6
    after = left + cell + passage
    first = after + cell + gap
    room = (WIDTH - MARGIN - first - gap) / 2
    second = first + room + gap
    columns = ((left, cell, "score"), (after, cell, "masked"), (first, room, "exp"))
    with new_canvas() as page:
        page.note(left - 6, MARGIN + 6, "key", "right")
        for x, width, name in (*columns, (second, room, "÷ sum")):
            page.text(x + width / 2, MARGIN + 6, name, weight="bold")
        top = MARGIN + LINE + 4
        bottom = top + len(values) * row
        page.row_labels(tokens, left - 6, top, row, bold=query)
        given = values[:, None]
        page.cells(given, left, top, cell, row, name="score", tint=SHADE)
        page.cells(masked[:, None], after, top, cell, row, name="masked", tint=SHADE, alike=given)
        for j in range(len(values)):
            y, x = top + (j + 0.5) * row, left + cell + 3
            reach, color = (passage, QUERY.strong) if j <= query else (passage / 2, INK)
            page.arrow((x, y), (x + reach - 6, y), color=color)
        of_exponentials = Ruler.over(exponentials, room)
        page.bars(exponentials, first, top, row, of_exponentials, name="exp", color=GREY_BAR)
        page.bars(weights, second, top, row, Ruler(0, 1, room), name="÷ sum")
        if query + 1 < len(values):
            wall, edge = left + cell + passage / 2, top + (query + 1) * row
            page.line((wall, edge + 2), (wall, bottom), color=INK, width=4, zorder=3)
        page.line((first, bottom + 3), (WIDTH - MARGIN, bottom + 3), color=RULE)
        page.note(first - gap, bottom + 14, "sum", "right")
        page.text(first + 4, bottom + 14, format_number(total), ha="left")
        page.text(second + 4, bottom + 14, format_number(weights.sum()), ha="left", color=BLUE)
        passed, stopped, end = tokens[: query + 1], tokens[query + 1 :], "none"
        if stopped:
            end = f"{quote(stopped)}: minus infinity takes the place of each score, and its exponential is 0"
        return page.finish(
            bottom + LINE + 6 + MARGIN,
            f"The scores of '{tokens[query]}' with {len(values)} keys.",
            f"{plural(len(passed), 'passes', 'pass')}: {quote(passed)}.",
            f"The mask stops {end}.",
            f"The exponentials sum to {format_number(total)}; divided by that sum, the largest weight "
            f"is {format_number(weights.max())}, for {name_largest(weights, tokens)}.",
        )
