"""Drawings of what becomes of a text before attention sees it: windows, exercises, sums of embeddings."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Drawing, Look, new_canvas
from .._lettering import LINE, clean_labels, label_width, shorten, text_width
from .._palette import INK, INPUT, PAPER, QUERY, QUIET
from .._words import format_number, plural, to_numpy

__all__ = ["draw_exercises", "draw_input_embeddings", "draw_windows"]


def draw_windows(tokens: Sequence[str], *, length: int, stride: int) -> Drawing:
    """Draw windows that slide along a text, each with its target: the same window one token later."""
    tokens, height, gap = clean_labels(tokens), 18.0, 4.0
    starts = range(0, len(tokens) - length, stride)
    left = MARGIN + text_width("target") + 8
    widths = np.array([text_width(token) + 8 for token in tokens])
    widths *= min(1.25, (WIDTH - left - MARGIN - gap * len(tokens)) / widths.sum())
    lefts = left + (widths + gap).cumsum() - widths - gap
    with new_canvas() as page:
        y = MARGIN
        for start in starts:
            for name, first, fill in (("input", start, INPUT.tint), ("target", start + 1, PAPER)):
                page.note(left - 8, y + height / 2, name, "right")
                for place in range(first, first + length):
                    x, width = lefts[place], widths[place]
                    page.box(x, y, width, height, fill=fill, edge=INK)
                    page.text(x + width / 2, y + height / 2, shorten(tokens[place], width - 2))
                y += height + 3
            y += 10
        return page.finish(
            y - 13 + MARGIN,
            f"{plural(len(starts), 'window')} of {plural(length, 'token')}, "
            f"each {plural(stride, 'token')} further than the one before.",
            *(
                f"Window {i}: input {tokens[start]!r} to {tokens[start + length - 1]!r}, "
                f"target {tokens[start + 1]!r} to {tokens[start + length]!r}."
                for i, start in enumerate(starts, start=1)
            ),
        )


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


def draw_input_embeddings(
    token_embeddings: Float[Tensor, "num_tokens embed_dim"],
    position_embeddings: Float[Tensor, "num_tokens embed_dim"],
    tokens: Sequence[str],
) -> Drawing:
    """Draw input embeddings as a sum: a row for each token, and a row for each position."""
    by_token, by_place = to_numpy(token_embeddings, 2), to_numpy(position_embeddings, 2)
    num_tokens, embed_dim = by_token.shape
    tokens, places = clean_labels(tokens, num_tokens), [f"position {i}" for i in range(num_tokens)]
    terms = (
        ("", "token embeddings", by_token, tokens),
        ("+", "position embeddings", by_place, places),
        ("=", "input embeddings", by_token + by_place, tokens),
    )
    limit = max(float(abs(matrix).max()) for _, _, matrix, _ in terms)
    left = MARGIN + label_width([*tokens, *places]) + 6
    cell = min(44.0, (WIDTH - left - MARGIN) / embed_dim)
    with new_canvas() as page:
        y = MARGIN
        for sign, name, matrix, rows in terms:
            page.text(left - 6, y + 6, sign, ha="right", weight="bold")
            page.heading(left, y + 6, name)
            page.row_labels(rows, left - 6, y + LINE, LINE)
            page.cells(matrix, left, y + LINE, cell, LINE, name=name, limit=limit)
            y += (num_tokens + 1) * LINE + 8
        first, second, both = (format_number(matrix[0, 0]) for _, _, matrix, _ in terms)
        return page.finish(
            y - 8 + MARGIN,
            "Token embeddings plus position embeddings make input embeddings, each of shape "
            f"({num_tokens}, {embed_dim}).",
            f"The first number of {tokens[0]!r} is {first} + {second} = {both}.",
        )
