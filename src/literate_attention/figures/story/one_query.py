"""Drawings of one query at work: scores, weights, and the context vector that they make."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    CONTEXT,
    INK,
    INPUT,
    KEY,
    LINE,
    MARGIN,
    QUERY,
    QUIET,
    RULE,
    SHADE,
    VALUE,
    WIDTH,
    Array,
    Drawing,
    Ruler,
    array,
    card,
    decimals_that_fit,
    index,
    label_width,
    labels,
    largest,
    not_negative,
    number,
    shorten,
    subscript,
    vector,
)

_THICKEST = 7.0
_POSITIVE, _NEGATIVE = "#8fbbe3", "#eab07f"
_SCORE = "#d5d3cb"


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

    Returns:
        The drawing. Its text lists the weights and the context vector.

    Raises:
        TypeError: inputs or weights are not a tensor, or the labels are a single string.
        ValueError: shapes, labels or the position do not fit, or a weight is negative.

    Example:
        >>> import torch
        >>> weights = torch.tensor([0.25, 0.75])
        >>> draw_context_vector(torch.eye(2), weights, ["one", "step"], query=0).alt
        "The context vector of 'one' is a weighted sum of 2 inputs: 0.25 of 'one', 0.75 of 'step'.
        The thickest arrow comes from 'step'. The sum is (0.25, 0.75)."
    """
    x = array("inputs", inputs, "num_tokens", "embed_dim")
    num_tokens, embed_dim = x.shape
    w = array("weights", weights, num_tokens)
    tokens = labels("tokens", tokens, num_tokens, "inputs")
    index("query", query, num_tokens)
    not_negative("weights", w)
    context = w @ x
    limit = float(abs(x).max())
    column = (WIDTH - 2 * MARGIN) / num_tokens
    cell = min(33.0, column - 6)
    decimals = decimals_that_fit(w, column - 1, most=2)
    result_cell = min(40.0, (WIDTH - 2 * MARGIN) / embed_dim)
    with card() as page:
        top = MARGIN + LINE + 2
        bottom = top + embed_dim * LINE
        result_x, result_y = (WIDTH - embed_dim * result_cell) / 2, bottom + 120
        for j, token in enumerate(tokens):
            middle = MARGIN + (j + 0.5) * column
            color = QUERY.strong if j == query else INK
            page.text(middle, MARGIN + LINE / 2, shorten(token, column - 2), color=color)
            page.cells(x[j, :, None], middle - cell / 2, top, cell, LINE, name=f"x{j}", limit=limit)
            if decimals is not None:
                page.text(middle, bottom + 11, number(w[j], decimals), color=BLUE, weight="bold")
            landing = WIDTH / 2 + (j + 0.5 - num_tokens / 2) * embed_dim * result_cell / num_tokens
            page.arrow(
                (middle, bottom + 21),
                (landing, result_y - 5),
                color=BLUE,
                width=_THICKEST * w[j] / (w.max() or 1.0),
                name=f"weight{j}",
            )
        query_x = MARGIN + (query + 0.5) * column - cell / 2
        page.frame(query_x, top, cell, embed_dim * LINE, QUERY.strong)
        page.cells(context[None], result_x, result_y, result_cell, 20, name="context", limit=limit)
        page.frame(result_x, result_y, embed_dim * result_cell, 20, CONTEXT.strong)
        y = result_y + 34
        named = f"z{subscript(query)}, the context vector of {tokens[query]}"
        page.text(WIDTH / 2, y, named, color=CONTEXT.strong)
        shares = [f"{number(share)} of '{token}'" for share, token in zip(w, tokens, strict=True)]
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"The context vector of '{tokens[query]}' is a weighted sum of {num_tokens} inputs: "
            f"{', '.join(shares)}.",
            f"The thickest arrow comes from {largest(w, tokens)}.",
            f"The sum is {vector(context)}.",
        )


def draw_normalising(
    scores: Float[Tensor, "num_tokens"], tokens: Sequence[str], *, decimals: int = 4
) -> Drawing:
    """Draw scores beside the weights made from them: divided by their sum, and sent through a softmax.

    Args:
        scores: one score for each token.
        tokens: what each token is called.
        decimals: how many decimals are written.

    Returns:
        The drawing. Its text follows the highest and the lowest score through both.

    Raises:
        TypeError: the scores are not a tensor, or the labels are a single string.
        ValueError: shapes or labels do not fit, or the scores sum to zero.

    Example:
        >>> import torch
        >>> draw_normalising(torch.tensor([1.0, 3.0]), ["one", "step"], decimals=2).alt
        "2 scores, sum 4.00, and the weights made from them. The score 3.00 of 'step' becomes 0.75 when
        divided by the sum, 0.88 by softmax. The score 1.00 of 'one' becomes 0.25 when divided by the
        sum, 0.12 by softmax."
    """
    values = array("scores", scores, "num_tokens")
    tokens = labels("tokens", tokens, len(values), "scores")
    total = float(values.sum())
    if total == 0:
        raise ValueError(
            f"scores must not sum to 0 to be divided by their sum, got {vector(values)}"
        )
    by_sum = values / total
    exponentials = np.exp(values - values.max())
    by_softmax = exponentials / exponentials.sum()
    left = MARGIN + label_width([*tokens, "sum"]) + 7
    gap, row = 12.0, 22.0
    room = (WIDTH - left - MARGIN - 2 * gap) / 3
    of_weights = Ruler.over(np.concatenate([by_sum, by_softmax]), room)
    columns = (
        ("score", values, Ruler.over(values, room), _SCORE),
        ("÷ sum", by_sum, of_weights, _POSITIVE),
        ("softmax", by_softmax, of_weights, _POSITIVE),
    )
    with card() as page:
        top = MARGIN + LINE + 4
        bottom = top + len(values) * row
        page.row_labels(tokens, left - 7, top, row)
        page.text(left - 7, bottom + 14, "sum", ha="right", color=QUIET)
        for place, (name, column, ruler, color) in enumerate(columns):
            x = left + place * (room + gap)
            page.heading(x, MARGIN + 6, name)
            for i, value in enumerate(column):
                y = top + (i + 0.5) * row
                page.box(x, y - 9, room, 18, fill=SHADE, zorder=0)
                shade = color if value >= 0 else _NEGATIVE
                page.bar(x, y, 18, ruler, value, color=shade, name=f"{name}{i}")
                page.text(x + 4, y, number(value, decimals), ha="left")
            page.line((x, bottom + 3), (x + room, bottom + 3))
            page.text(x + 4, bottom + 14, number(column.sum(), decimals), ha="left", color=QUIET)
        ends = dict.fromkeys((int(values.argmax()), int(values.argmin())))
        return page.finish(
            bottom + LINE + 6 + MARGIN,
            f"{len(values)} scores, sum {number(total, decimals)}, and the weights made from them.",
            *(
                f"The score {number(values[i], decimals)} of '{tokens[i]}' becomes "
                f"{number(by_sum[i], decimals)} when divided by the sum, "
                f"{number(by_softmax[i], decimals)} by softmax."
                for i in ends
            ),
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

    The query asks; each key answers with a score; a softmax turns scores into weights; the values, each
    times its weight, add up to the context vector. Where keys and values are the same vectors, as they are
    in attention without trainable weights, they are drawn once.

    Args:
        query: the vector that asks.
        keys: the vectors that are asked.
        values: the vectors that are averaged.
        tokens: what each token is called.
        asks: whose query it is, counted from 0.
        scale: what scores are multiplied by before the softmax.

    Returns:
        The drawing. Its text goes through the four frames.

    Raises:
        TypeError: an argument is not a tensor, or the labels are a single string.
        ValueError: shapes, labels or the position do not fit.

    Example:
        >>> import torch
        >>> x = torch.eye(2)
        >>> draw_query_steps(x[0], x, x, ["one", "step"], asks=0).alt
        "One query in four steps. 1, the query of 'one', (1.00, 0.00), meets 2 vectors. 2, the scores:
        'one' 1.00, 'step' 0.00. 3, the weights: 'one' 0.73, 'step' 0.27. 4, each vector times its weight,
        added up: the context vector (0.73, 0.27)."
    """
    k = array("keys", keys, "num_tokens", "d_k")
    num_tokens, width = k.shape
    q = array("query", query, width)
    v = array("values", values, num_tokens, "d_v")
    tokens = labels("tokens", tokens, num_tokens, "keys")
    index("asks", asks, num_tokens)
    scores = k @ q
    exponentials = np.exp(scale * (scores - scores.max()))
    weights = exponentials / exponentials.sum()
    context = weights @ v
    same = k.shape == v.shape and bool((k == v).all())
    blocks = {"input": (k, INPUT)} if same else {"key": (k, KEY), "value": (v, VALUE)}
    left = MARGIN + label_width([*tokens, "context"]) + 6
    gap, row = 8.0, 20.0
    numbers = sum(block.shape[1] for block, _ in blocks.values())
    room = WIDTH - MARGIN - left - (len(blocks) + 1) * gap
    cell = min(30.0, 0.58 * room / numbers)
    bar = (room - numbers * cell) / 2
    of_scores, of_weights = Ruler.over(scores, bar), Ruler(0.0, 1.0, bar)
    scaled = "" if scale == 1.0 else f"times {number(scale)}, then "
    titles = (
        "1  The query asks",
        "2  Score: query times key" if not same else "2  Score: query times input",
        f"3  Weight: {scaled}softmax",
        "4  Average: weight times " + ("input" if same else "value") + ", added up",
    )
    height = MARGIN + 3 * LINE + 18 + num_tokens * row + row + 12 + MARGIN
    with card() as page:
        for frame, title in enumerate(titles):
            top = frame * height
            page.heading(MARGIN, top + MARGIN + 6, title)
            y = top + MARGIN + LINE + 6
            page.text(left - 6, y + row / 2, "query", ha="right", color=QUERY.strong, weight="bold")
            page.cells(q[None], left, y, cell, row, name=f"query{frame}", tint=QUERY.tint)
            y += row + LINE + 2
            page.row_labels(tokens, left - 6, y, row, bold=asks)
            x = left
            for name, (block, colour) in blocks.items():
                shares = frame == 3 and name != "key"
                heading = f"weight · {name}" if shares else name
                page.text(x + block.shape[1] * cell / 2, y - 9, heading, color=colour.strong)
                shown = weights[:, None] * block if shares else block
                page.cells(shown, x, y, cell, row, name=f"{name}{frame}", tint=colour.tint)
                if shares:
                    page.line(
                        (x, y + num_tokens * row + 5),
                        (x + v.shape[1] * cell, y + num_tokens * row + 5),
                    )
                    page.cells(
                        context[None],
                        x,
                        y + num_tokens * row + 10,
                        cell,
                        row,
                        name="context",
                        tint=CONTEXT.tint,
                    )
                    page.text(
                        left - 6,
                        y + num_tokens * row + 10 + row / 2,
                        "context",
                        ha="right",
                        color=CONTEXT.strong,
                        weight="bold",
                    )
                x += block.shape[1] * cell + gap
            for name, column, ruler, since in (
                ("score", scores, of_scores, 1),
                ("weight", weights, of_weights, 2),
            ):
                if frame >= since:
                    page.text(x + bar / 2, y - 9, name, color=QUIET)
                    for j, value in enumerate(column):
                        middle = y + (j + 0.5) * row
                        page.box(x, middle - row / 2 + 1, bar, row - 2, fill=SHADE, zorder=0)
                        tint = _POSITIVE if value >= 0 else _NEGATIVE
                        page.bar(
                            x, middle, row - 2, ruler, value, color=tint, name=f"{name}{frame},{j}"
                        )
                        page.text(
                            x + 4,
                            middle,
                            number(value),
                            ha="left",
                            weight="bold" if since == frame else "normal",
                        )
                x += bar + gap
            if frame:
                page.line((0, top + 1), (WIDTH, top + 1), color=RULE)

        def listed(values: Array) -> str:
            return ", ".join(
                f"'{token}' {number(value)}" for token, value in zip(tokens, values, strict=True)
            )

        what, met = ("vector", "vectors") if same else ("value", "keys")
        return page.finish(
            len(titles) * height,
            "One query in four steps.",
            f"1, the query of '{tokens[asks]}', {vector(q)}, meets {num_tokens} {met}.",
            f"2, the scores: {listed(scores)}.",
            f"3, the weights: {listed(weights)}.",
            f"4, each {what} times its weight, added up: the context vector {vector(context)}.",
        )
