"""Drawings of what a causal mask hides: the answers to an exercise, and one query's view of the future."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    INK,
    INPUT,
    LINE,
    MARGIN,
    PAPER,
    QUERY,
    QUIET,
    RULE,
    SHADE,
    WIDTH,
    Card,
    Drawing,
    Ruler,
    array,
    card,
    index,
    label_width,
    labels,
    largest,
    number,
    shorten,
    some,
    text_width,
)


def draw_exercises(tokens: Sequence[str]) -> Drawing:
    """Draw the exercises that a window of text holds: after each token, predict the next one.

    What a model may look at is framed, what it must predict is bold, and what has to be hidden is hatched.

    Args:
        tokens: the window.

    Returns:
        The drawing. Its text lists the exercises.

    Raises:
        TypeError: the tokens are a single string.
        ValueError: there is no token.

    Example:
        >>> draw_exercises(["one", "step"]).alt
        "2 exercises in one window of text. 1: from 'one', predict 'step'. 2: from 'one step', predict what
        comes after the window. All that comes after the answer is hidden."
    """
    some("the number of tokens", len(tokens))
    tokens = labels("tokens", tokens, len(tokens), "tokens")
    beyond, gap, height = "?", 4.0, 22.0
    widths = np.array([text_width(token, weight="bold") + 10 for token in (*tokens, beyond)])
    room = WIDTH - 2 * MARGIN - gap * len(tokens)
    widths *= min(1.25, room / widths.sum())
    starts = MARGIN + np.concatenate([[0], (widths + gap).cumsum()])
    with card() as page:
        y = MARGIN
        page.words(
            MARGIN,
            y + 6,
            [("may look at", QUERY.strong), ("   must predict", INK), ("   is hidden", QUIET)],
        )
        y += LINE + 4
        for i in range(len(tokens)):
            for j, token in enumerate((*tokens, beyond)):
                x, width = starts[j], widths[j]
                word = shorten(token, width)
                if j <= i:
                    page.box(x, y, width, height, fill=INPUT.tint, rounding=3)
                    page.text(x + width / 2, y + height / 2, word)
                elif j == i + 1:
                    page.box(x, y, width, height, fill=PAPER, edge=INK, line=1.5, rounding=3)
                    page.text(x + width / 2, y + height / 2, word, weight="bold")
                elif j < len(tokens):
                    page.hatched(x, y, width, height)
            page.box(
                starts[0] - 1,
                y - 1,
                starts[i] + widths[i] - starts[0] + 2,
                height + 2,
                edge=QUERY.strong,
                line=1.5,
                rounding=4,
            )
            y += height + 6
        return page.finish(
            y - 6 + MARGIN,
            f"{len(tokens)} exercise{'s' if len(tokens) > 1 else ''} in one window of text.",
            *(
                f"{i + 1}: from '{' '.join(tokens[: i + 1])}', predict "
                + (f"'{tokens[i + 1]}'." if i + 1 < len(tokens) else "what comes after the window.")
                for i in range(len(tokens))
            ),
            "All that comes after the answer is hidden.",
        )


def draw_masked_row(
    scores: Float[Tensor, "kv_len"], tokens: Sequence[str], *, query: int, decimals: int = 2
) -> Drawing:
    """Draw how a mask works on the scores of one query: what lies in the future stops at a wall.

    Args:
        scores: the scaled scores of the query with all keys.
        tokens: what each key is called.
        query: which token asks, counted from 0; it may attend to itself and to what comes before it.
        decimals: how many decimals are written.

    Returns:
        The drawing. Its text tells what becomes of the first and of the last score, and the sum.

    Raises:
        TypeError: the scores are not a tensor, or the labels are a single string.
        ValueError: labels do not fit, or there is no such query.

    Example:
        >>> import torch
        >>> draw_masked_row(torch.tensor([0.0, 0.0, 9.0]), ["a", "b", "c"], query=1).alt
        "The scores of 'b' with 3 keys. 2 pass: 'a' and 'b'. 1 stops at the mask: 'c' becomes minus infinity,
        and its exponential is 0. The exponentials sum to 2.00; divided by that sum, the largest weight is
        0.50, for 'a' and 'b'."
    """
    values = array("scores", scores, "kv_len")
    tokens = labels("tokens", tokens, len(values), "keys")
    index("query", query, len(values))
    masked = np.where(np.arange(len(values)) <= query, values, -np.inf)
    exponentials = np.exp(masked)
    total = exponentials.sum()
    weights = exponentials / total
    row, gap, cell, passage = 22.0, 10.0, 38.0, 30.0
    left = MARGIN + label_width(tokens) + 6
    after = left + cell + passage
    first = after + cell + gap
    room = (WIDTH - MARGIN - first - gap) / 2
    second = first + room + gap
    columns = (
        ("exp", first, exponentials, Ruler.over(exponentials, room), "#d5d3cb"),
        ("÷ sum", second, weights, Ruler(0, 1, room), "#8fbbe3"),
    )
    with card() as page:
        page.text(left - 6, MARGIN + 6, "key", ha="right", color=QUIET)
        for x, width, name in (
            (left, cell, "score"),
            (after, cell, "masked"),
            *((x, room, name) for name, x, *_ in columns),
        ):
            page.text(x + width / 2, MARGIN + 6, name, weight="bold")
        top = MARGIN + LINE + 4
        bottom = top + len(values) * row
        page.row_labels(tokens, left - 6, top, row, bold=query)
        size = {"width": cell, "height": row, "decimals": decimals}
        page.cells(values[:, None], left, top, name="score", tint=SHADE, **size)  # type: ignore[arg-type]
        page.cells(
            masked[:, None],
            after,
            top,
            name="masked",
            tint=SHADE,
            alike=values[:, None],
            **size,  # type: ignore[arg-type]
        )
        for j in range(len(values)):
            y = top + (j + 0.5) * row
            _draw_passage(page, left + cell, y, passage, stops=j > query)
            for name, x, column, ruler, color in columns:
                page.box(x, y - 9, room, 18, fill=SHADE, zorder=0)
                page.bar(x, y, 18, ruler, column[j], color=color, name=f"{name}{j}")
                page.text(x + 4, y, number(column[j], decimals), ha="left")
        if query + 1 < len(values):
            wall, edge = left + cell + passage / 2, top + (query + 1) * row
            page.line((wall, edge + 2), (wall, bottom), color=INK, width=4, zorder=3)
        page.line((first, bottom + 3), (WIDTH - MARGIN, bottom + 3), color=RULE)
        sums = (
            ("sum", first - gap, "right", QUIET),
            (number(total, decimals), first + 4, "left", INK),
            (number(weights.sum(), decimals), second + 4, "left", BLUE),
        )
        for text, x, ha, color in sums:
            page.text(x, bottom + 14, text, ha=ha, color=color)  # type: ignore[arg-type]
        return page.finish(
            bottom + LINE + 6 + MARGIN,
            f"The scores of '{tokens[query]}' with {len(values)} keys.",
            f"{query + 1} pass{'' if query else 'es'}: {_listed(tokens[: query + 1])}.",
            *_stopped(tokens[query + 1 :]),
            f"The exponentials sum to {number(total, decimals)}; divided by that sum, the largest weight is "
            f"{number(weights.max(), decimals)}, for {largest(weights, tokens)}.",
        )


def _draw_passage(page: Card, x: float, y: float, width: float, *, stops: bool) -> None:
    """Draw the way from a score to the masked score; the wall stands in the middle."""
    if stops:
        page.arrow((x + 3, y), (x + width / 2 - 3, y), color=INK)
    else:
        page.arrow((x + 3, y), (x + width - 3, y), color=QUERY.strong)


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _stopped(names: Sequence[str]) -> list[str]:
    if not names:
        return ["None stops at the mask."]
    stop, become, exponentials = (
        ("stops", "becomes", "its exponential is")
        if len(names) == 1
        else ("stop", "become", "their exponentials are")
    )
    return [
        f"{len(names)} {stop} at the mask: {_listed(names)} {become} minus infinity, and {exponentials} 0."
    ]
