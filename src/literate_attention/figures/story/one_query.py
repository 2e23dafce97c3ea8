"""Drawings of one query at work: scores, weights, and the context vector that they make."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    CONTEXT,
    INK,
    LINE,
    MARGIN,
    PAPER,
    QUERY,
    QUIET,
    RULE,
    SHADE,
    WIDTH,
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
    products,
    shorten,
    superscript,
    text_width,
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
        named = f"z{superscript(query)}, the context vector of {tokens[query]}"
        page.text(WIDTH / 2, y, named, color=CONTEXT.strong)
        shares = [f"{number(share)} of '{token}'" for share, token in zip(w, tokens, strict=True)]
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"The context vector of '{tokens[query]}' is a weighted sum of {num_tokens} inputs: "
            f"{', '.join(shares)}.",
            f"The thickest arrow comes from {largest(w, tokens)}.",
            f"The sum is {vector(context)}.",
        )


def draw_dot_products(
    query: Float[Tensor, "embed_dim"],
    inputs: Float[Tensor, "num_tokens embed_dim"],
    tokens: Sequence[str],
) -> Drawing:
    """Draw how a query scores each input: multiply number by number, then add up the products.

    Args:
        query: the vector that asks.
        inputs: the vectors that are asked.
        tokens: what each input is called.

    Returns:
        The drawing. Its text lists the scores and names the highest.

    Raises:
        TypeError: query or inputs are not a tensor, or the labels are a single string.
        ValueError: shapes or labels do not fit.

    Example:
        >>> import torch
        >>> draw_dot_products(torch.tensor([2.0, 3.0]), torch.eye(2), ["one", "step"]).alt
        "Scores of 2 inputs, each the dot product with the query (2.00, 3.00): 'one' 2.00, 'step' 3.00.
        The highest is that of 'step'."
    """
    x = array("inputs", inputs, "num_tokens", "embed_dim")
    num_tokens, embed_dim = x.shape
    q = array("query", query, embed_dim)
    tokens = labels("tokens", tokens, num_tokens, "inputs")
    scores = x @ q
    left = MARGIN + label_width(tokens) + 6
    room = WIDTH - left - MARGIN
    written = [number(score) for score in scores]
    ruler = Ruler.over(scores, room - 4 - max(text_width(text, weight="bold") for text in written))
    with card() as page:
        page.words(MARGIN, MARGIN + 6, [("query  ", INK), (shorten(vector(q), 240), QUERY.strong)])
        y = MARGIN + LINE + 14
        for j, (token, score) in enumerate(zip(tokens, scores, strict=True)):
            page.text(left - 6, y, token, ha="right")
            page.words(left, y, products(q, x[j], (QUERY.strong, INK), room))
            y += LINE - 2
            color = _POSITIVE if score >= 0 else _NEGATIVE
            page.bar(left, y, 10, ruler, score, color=color, name=f"score{j}")
            end = left + (max(score, 0.0) - ruler.low) * ruler.scale
            page.text(end + 4, y, written[j], ha="left", weight="bold")
            y += LINE + 6
        listed = [f"'{token}' {score}" for token, score in zip(tokens, written, strict=True)]
        return page.finish(
            y - LINE - 6 + LINE / 2 + MARGIN,
            f"Scores of {num_tokens} inputs, each the dot product with the query {vector(q)}: "
            f"{', '.join(listed)}.",
            f"The highest is that of {largest(scores, tokens)}.",
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


def draw_weighted_sum(
    inputs: Float[Tensor, "num_tokens embed_dim"],
    weights: Float[Tensor, "num_tokens"],
    tokens: Sequence[str],
) -> Drawing:
    """Draw a weighted sum step by step: each input shrinks to its share, and the shares are put end to end.

    Args:
        inputs: one vector for each token.
        weights: one weight for each token.
        tokens: what each token is called.

    Returns:
        The drawing. Its text lists what each token adds, and the sum.

    Raises:
        TypeError: inputs or weights are not a tensor, or the labels are a single string.
        ValueError: shapes or labels do not fit.

    Example:
        >>> import torch
        >>> draw_weighted_sum(torch.eye(2), torch.tensor([0.25, 0.75]), ["one", "step"]).alt
        "A weighted sum of 2 inputs. 'one' adds 0.25 times (1.00, 0.00), 'step' adds 0.75 times
        (0.00, 1.00). The sum is (0.250, 0.750)."
    """
    x = array("inputs", inputs, "num_tokens", "embed_dim")
    num_tokens, embed_dim = x.shape
    w = array("weights", weights, num_tokens)
    tokens = labels("tokens", tokens, num_tokens, "inputs")
    shares = w[:, None] * x
    sums = np.cumsum(shares, axis=0)
    left = MARGIN + label_width(tokens) + 6
    bars = left + text_width("weight") + 10
    gap, row = 10.0, 29.0
    room = (WIDTH - bars - MARGIN - (embed_dim - 1) * gap) / embed_dim
    ruler = Ruler.over(np.concatenate([x, shares, sums]), room)
    decimals = decimals_that_fit(np.concatenate([shares, sums]), room + gap - 4, most=3)
    columns = [bars + k * (room + gap) for k in range(embed_dim)]
    with card() as page:
        y = MARGIN + 6
        page.text(left, y, "weight", ha="left", color=QUIET)
        page.box(bars, y - 4, 8, 8, fill=RULE)
        page.text(bars + 12, y, "input", ha="left", color=QUIET)
        page.box(bars + 50, y - 4, 8, 8, fill=BLUE)
        page.text(bars + 62, y, "weight · input", ha="left", color=QUIET)
        y += LINE - 2
        for j, token in enumerate(tokens):
            page.text(left - 6, y + row / 2, token, ha="right")
            page.text(left, y + row / 2, number(w[j]), ha="left", color=BLUE, weight="bold")
            for k, start in enumerate(columns):
                if decimals is not None:
                    page.text(start, y + 9, number(shares[j, k], decimals), ha="left")
                for name, length, color in (("input", x, RULE), ("share", shares, BLUE)):
                    page.bar(
                        start, y + 20, 7, ruler, length[j, k], color=color, name=f"{name}{j},{k}"
                    )
            y += row
        page.line((MARGIN, y + 4), (WIDTH - MARGIN, y + 4))
        y += 8
        page.text(bars - 8, y + row / 2, "sum = z", ha="right", weight="bold", color=CONTEXT.strong)
        for k, start in enumerate(columns):
            if decimals is not None:
                page.text(start, y + 9, number(sums[-1, k], decimals), ha="left", weight="bold")
            for j, share in enumerate(shares[:, k]):
                page.bar(
                    start,
                    y + 21,
                    9,
                    ruler,
                    share,
                    start=sums[j, k] - share,
                    color=CONTEXT.strong,
                    edge=PAPER,
                    name=f"sum{j},{k}",
                )
        added = [
            f"'{token}' adds {number(w[j])} times {vector(x[j])}" for j, token in enumerate(tokens)
        ]
        return page.finish(
            y + row + MARGIN,
            f"A weighted sum of {num_tokens} inputs.",
            f"{', '.join(added)}.",
            f"The sum is {vector(sums[-1], 3)}.",
        )
