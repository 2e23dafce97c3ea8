"""Drawings of what a mask hides: the future from a token."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Drawing, Look, Ruler, new_canvas
from .._lettering import LINE, clean_labels, label_width, shorten, text_width
from .._palette import BLUE, GREY_BAR, INK, INPUT, PAPER, QUERY, QUIET, RULE, SHADE
from .._words import format_number, name_largest, plural, quote, to_numpy

__all__ = ["draw_exercises", "draw_masked_row"]

_LARGE = 20.0
"""Where a score is above this, the largest is subtracted from all: so nothing overflows."""


def draw_exercises(tokens: Sequence[str]) -> Drawing:
    """Draw the exercises that a window of text holds: after each token, predict the next one.

    What a model may look at is framed, what it must predict is bold, and what has to be hidden is hatched.
    """
    tokens = clean_labels(tokens)
    words, gap, height = (*tokens, "?"), 4.0, 22.0
    widths = np.array([text_width(word, weight="bold") + 10 for word in words])
    widths *= min(1.25, (WIDTH - 2 * MARGIN - gap * len(tokens)) / widths.sum())
    ends = MARGIN + (widths + gap).cumsum() - gap
    with new_canvas() as page:
        y = MARGIN + LINE + 4
        explained = ("may look at", QUERY.strong), ("   must predict", INK), ("   is hidden", QUIET)
        page.words(MARGIN, MARGIN + 6, *explained)
        for i in range(len(tokens)):
            for j, (word, width, end) in enumerate(zip(words, widths, ends, strict=True)):
                x = end - width
                if j <= i:
                    page.box(x, y, width, height, fill=INPUT.tint, rounding=3)
                elif j == i + 1:
                    page.box(x, y, width, height, fill=PAPER, edge=INK, line=1.5, rounding=3)
                elif j < len(tokens):
                    page.hatched(x, y, width, height)
                if j <= i + 1:
                    weight = "bold" if j > i else "normal"
                    page.text(x + width / 2, y + height / 2, shorten(word, width), weight=weight)
            look: Look = {"edge": QUERY.strong, "line": 1.5, "rounding": 4}
            page.box(MARGIN - 1, y - 1, ends[i] - MARGIN + 2, height + 2, **look)
            y += height + 6
        return page.finish(
            y - 6 + MARGIN,
            f"{plural(len(tokens), 'exercise')} in one window of text.",
            *(
                f"{i}: from '{' '.join(tokens[:i])}', predict '{tokens[i]}'."
                for i in range(1, len(tokens))
            ),
            f"{len(tokens)}: from '{' '.join(tokens)}', predict what comes after the window.",
            "All that comes after the answer is hidden.",
        )


def draw_masked_row(
    scores: Float[Tensor, "kv_len"], tokens: Sequence[str], *, query: int
) -> Drawing:
    """Draw how a mask works on the scaled scores of one query, counted from 0: the future stops at a wall."""
    values = to_numpy(scores, 1)
    tokens = clean_labels(tokens, len(values))
    masked = np.where(np.arange(len(values)) <= query, values, -np.inf)
    shift = masked.max() if masked.max() > _LARGE else 0.0
    exp, less = (
        ("exp(s \N{MINUS SIGN} max)", " of the scores less the largest") if shift else ("exp", "")
    )
    exponentials = np.exp(masked - shift)
    total = exponentials.sum()
    weights = exponentials / total
    row, gap, cell, passage = 22.0, 10.0, 38.0, 30.0
    left = MARGIN + label_width([*tokens, "key"]) + 6
    after = left + cell + passage
    first = after + cell + gap
    room = (WIDTH - MARGIN - first - gap) / 2
    second = first + room + gap
    columns = ((left, cell, "score"), (after, cell, "masked"), (first, room, exp))
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
            f"The exponentials{less} sum to {format_number(total)}; divided by that sum, the largest weight "
            f"is {format_number(weights.max())}, for {name_largest(weights, tokens)}.",
        )
