"""Drawings of one query at work: scores, weights, and the context vector that they make."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import MARGIN, WIDTH, Drawing, Look, Ruler, card, spread
from literate_attention.figures._lettering import LINE, clean_labels, label_width, shorten
from literate_attention.figures._palette import (
    BLUE,
    CONTEXT,
    INK,
    INPUT,
    KEY,
    QUERY,
    QUIET,
    RULE,
    VALUE,
)
from literate_attention.figures._words import format_number, format_vector, name_largest, to_numpy

__all__ = ["draw_context_vector", "draw_query_steps"]


def draw_context_vector(
    inputs: Float[Tensor, "num_tokens embed_dim"],
    weights: Float[Tensor, "num_tokens"],
    tokens: Sequence[str],
    *,
    query: int,
) -> Drawing:
    """Draw a context vector as the weighted sum of all inputs: the thicker an arrow, the larger the weight.

    Args:
        inputs: one vector for each token.
        weights: the attention weights of the query.
        tokens: what each token is called.
        query: which token asks, counted from 0.

    Example:
        >>> import torch
        >>> weights = torch.tensor([0.25, 0.75])
        >>> draw_context_vector(torch.eye(2), weights, ["one", "step"], query=0).alt
        "The context vector of 'one' is a weighted sum of 2 inputs: 0.25 of 'one', 0.75 of 'step'.
        The thickest arrow comes from 'step'. The sum is (0.25, 0.75)."
    """
    x, w = to_numpy(inputs, 2), to_numpy(weights, 1)
    num_tokens, embed_dim = x.shape
    tokens = clean_labels(tokens, num_tokens)
    context = w @ x
    limit = float(abs(x).max())
    column = (WIDTH - 2 * MARGIN) / num_tokens
    middles = spread(num_tokens)
    cell = min(33.0, 0.8 * column)
    result_cell = min(40.0, (WIDTH - 2 * MARGIN) / embed_dim)
    with card() as page:
        top = MARGIN + LINE + 2
        bottom = top + embed_dim * LINE
        result_width, result_y = embed_dim * result_cell, bottom + 120
        result_x = (WIDTH - result_width) / 2
        for j, (middle, token) in enumerate(zip(middles, tokens, strict=True)):
            color = QUERY.strong if j == query else INK
            page.text(middle, MARGIN + LINE / 2, shorten(token, column - 2), color=color)
            page.cells(x[j, :, None], middle - cell / 2, top, cell, LINE, name=f"x{j}", limit=limit)
            page.text(middle, bottom + 11, format_number(w[j]), color=BLUE, weight="bold")
            landing = WIDTH / 2 + (j + 0.5 - num_tokens / 2) * result_width / num_tokens
            start, end = (middle, bottom + 21), (landing, result_y - 5)
            thickness = 7.0 * w[j] / w.max()
            page.arrow(start, end, color=BLUE, width=thickness, label=f"weight{j}")
        page.frame(middles[query] - cell / 2, top, cell, embed_dim * LINE, QUERY.strong)
        page.cells(context[None], result_x, result_y, result_cell, 20, name="context", limit=limit)
        page.frame(result_x, result_y, result_width, 20, CONTEXT.strong)
        y = result_y + 34
        subscript = str(query + 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
        named = f"z{subscript}, the context vector of {tokens[query]}"
        page.text(WIDTH / 2, y, named, color=CONTEXT.strong)
        shares = [f"{format_number(n)} of '{token}'" for n, token in zip(w, tokens, strict=True)]
        return page.finish(
            y + LINE / 2 + MARGIN,
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

    Args:
        query: the vector that asks.
        keys: the vectors that are asked.
        values: the vectors that are averaged.
        tokens: what each token is called.
        asks: whose query it is, counted from 0.
        scale: what scores are multiplied by before the softmax.

    Example:
        >>> import torch
        >>> x = torch.eye(2)
        >>> draw_query_steps(x[0], x, x, ["one", "step"], asks=0).alt
        "One query in four steps. 1, the query of 'one', (1.00, 0.00), meets 2 vectors. 2, the scores:
        'one' 1.00, 'step' 0.00. 3, the weights: 'one' 0.73, 'step' 0.27. 4, each vector times its weight,
        added up: the context vector (0.73, 0.27)."
    """
    q, k, v = to_numpy(query, 1), to_numpy(keys, 2), to_numpy(values, 2)
    num_tokens = len(k)
    tokens = clean_labels(tokens, num_tokens)
    scores = k @ q
    exponentials = np.exp(scale * scores - (scale * scores).max())
    weights = exponentials / exponentials.sum()
    context = weights @ v
    same = np.array_equal(k, v)
    blocks = {"input": (k, INPUT)} if same else {"key": (k, KEY), "value": (v, VALUE)}
    left = MARGIN + label_width([*tokens, "context"]) + 6
    gap, row = 8.0, 20.0
    numbers = sum(block.shape[1] for block, _ in blocks.values())
    room = WIDTH - MARGIN - left - (len(blocks) + 1) * gap
    cell = min(30.0, 0.58 * room / numbers)
    bar = (room - numbers * cell) / 2
    bars = (("score", scores, Ruler.over(scores, bar)), ("weight", weights, Ruler(0.0, 1.0, bar)))
    scaled = "" if scale == 1.0 else f"times {format_number(scale)}, then "
    titles = (
        "1  The query asks",
        f"2  Score: query times {'input' if same else 'key'}",
        f"3  Weight: {scaled}softmax",
        f"4  Average: weight times {'input' if same else 'value'}, added up",
    )
    height = MARGIN + 3 * LINE + 18 + num_tokens * row + row + 12 + MARGIN
    with card() as page:
        for frame, title in enumerate(titles):
            top = frame * height
            if frame:
                page.line((0, top + 1), (WIDTH, top + 1), color=RULE)
            page.heading(MARGIN, top + MARGIN + 6, title)
            y = top + MARGIN + LINE + 6
            bold: Look = {"weight": "bold", "ha": "right"}
            page.text(left - 6, y + row / 2, "query", color=QUERY.strong, **bold)
            page.cells(q[None], left, y, cell, row, name=f"query{frame}", tint=QUERY.tint)
            y += row + LINE + 2
            below = y + num_tokens * row + 10
            page.row_labels(tokens, left - 6, y, row, bold=asks)
            x = left
            for name, (block, colour) in blocks.items():
                weighted = frame == 3 and name != "key"
                heading = f"weight · {name}" if weighted else name
                shown = weights[:, None] * block if weighted else block
                width = block.shape[1] * cell
                page.text(x + width / 2, y - 9, heading, color=colour.strong)
                page.cells(shown, x, y, cell, row, name=f"{name}{frame}", tint=colour.tint)
                if weighted:
                    page.line((x, below - 5), (x + width, below - 5))
                    tint, strong = CONTEXT
                    page.cells(context[None], x, below, cell, row, name="context", tint=tint)
                    page.text(left - 6, below + row / 2, "context", color=strong, **bold)
                x += width + gap
            for since, (name, column, ruler) in enumerate(bars, start=1):
                if frame >= since:
                    weight = "bold" if frame == since else "normal"
                    page.text(x + bar / 2, y - 9, name, color=QUIET)
                    page.bars(column, x, y, row, ruler, name=f"{name}{frame},", weight=weight)
                x += bar + gap
        listed = {}
        for name, column, _ in bars:
            pairs = zip(tokens, column, strict=True)
            listed[name] = ", ".join(f"'{token}' {format_number(value)}" for token, value in pairs)
        what, met = ("vector", "vectors") if same else ("value", "keys")
        return page.finish(
            len(titles) * height,
            "One query in four steps.",
            f"1, the query of '{tokens[asks]}', {format_vector(q)}, meets {num_tokens} {met}.",
            f"2, the scores: {listed['score']}.",
            f"3, the weights: {listed['weight']}.",
            f"4, each {what} times its weight, added up: the context vector {format_vector(context)}.",
        )
