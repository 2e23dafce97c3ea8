"""Drawings that tell readers where they are: the road through the book, a whole GPT, the code of colours."""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, card, spread
from literate_attention.figures._lettering import LINE, SMALL_TEXT, clean_labels, shorten, wrap
from literate_attention.figures._palette import (
    BLUE,
    COLOURS,
    INK,
    INPUT,
    ORANGE,
    PAPER,
    QUIET,
    RULE,
)
from literate_attention.figures._words import plural, quote

__all__ = ["draw_colours", "draw_gpt", "draw_roadmap"]

Chapter = Literal["simple_attention", "self_attention", "causal_attention", "multi_head_attention"]

_ROAD: Final[dict[Chapter, tuple[str, str, str]]] = {
    "simple_attention": ("simple", "simple attention", "finds one thing among several"),
    "self_attention": ("self", "self-attention", "looks for something unlike itself"),
    "causal_attention": ("causal", "causal attention", "writes, because it cannot peek"),
    "multi_head_attention": ("multi-head", "multi-head attention", "looks for two things at once"),
}


def draw_roadmap(here: Chapter | None = None) -> Drawing:
    """Draw the four kinds of attention that the story builds, and what each can do that the last could not.

    The chapter that the reader is in is set off, if it is told `here`.
    """
    gap, rise, height = 8.0, 9.0, 26.0
    width = (WIDTH - 2 * MARGIN - (len(_ROAD) - 1) * gap) / len(_ROAD)
    top = MARGIN + (0.0 if here is None else LINE + 4)
    sentences = [
        "Four kinds of attention, each of which solves a task at which the one before it fails."
    ]
    lowest, last, passed = 0.0, "", False
    with card() as page:
        for i, (chapter, (name, full_name, adds)) in enumerate(_ROAD.items()):
            x, y = MARGIN + i * (width + gap), top + (len(_ROAD) - 1 - i) * rise
            middle = x + width / 2
            fill, edge, ink = (PAPER, RULE, QUIET) if passed else (INPUT.tint, RULE, INK)
            sentences.append(f"{i + 1}, {full_name}: {adds}.")
            if chapter == here:
                fill, edge, ink, passed = INK, INK, PAPER, True
                page.text(middle, y - 17, "you are here", size=SMALL_TEXT, weight="bold")
                page.text(middle, y - 6, "▼", size=SMALL_TEXT)
                last = f"You are at {i + 1}, {full_name}."
            page.box(x, y, width, height, fill=fill, edge=edge, line=1.2, rounding=4)
            page.text(middle, y + height / 2, name, color=ink, weight="bold")
            if i:
                page.arrow((x - gap - 1, y + height / 2 + rise / 2), (x, y + height / 2))
            lines = wrap(adds, width - 2)
            page.paragraph(middle, y + height + 10, lines, "center")
            lowest = max(lowest, y + height + 10 + 12 * (len(lines) - 1))
        height = lowest + SMALL_TEXT / 2 + MARGIN
        return page.finish(height, *sentences, last)


def draw_gpt(tokens: Sequence[str], following: str, *, num_layers: int) -> Drawing:
    """Draw a GPT from top to bottom, a column for each token: only in attention do the columns meet."""
    tokens = clean_labels(tokens)
    beside = MARGIN + 216.0
    column = (beside - 10 - MARGIN) / len(tokens)
    middles = spread(len(tokens), right=beside - 10)
    with card() as page:

        def draw_vectors(y: float) -> None:
            for x in middles:
                page.circle(x, y, 6, *INPUT)

        def draw_columns(y: float, end: float) -> None:
            for x in middles:
                page.arrow((x, y), (x, end))

        y = MARGIN + 7
        for x, token in zip(middles, tokens, strict=True):
            page.text(x, y, shorten(token, column), size=SMALL_TEXT)
        _explain(page, beside, y, "the text so far")
        draw_columns(y + 8, y + 22)
        y += 30
        draw_vectors(y)
        _explain(page, beside, y, "a vector each")
        block = y + 16
        for i, to in enumerate(middles):
            for j, origin in enumerate(middles[: i + 1]):
                # the arrows land side by side, not one upon the other
                end = to + 16 * ((j + 0.5) / (i + 1) - 0.5), y + 82
                page.arrow((origin, y + 7), end, color=BLUE, label="gathers")
        page.heading(beside, y + 30, "attention", BLUE)
        _explain(page, beside, y + 56, "gathers from all tokens so far")
        y += 90
        draw_vectors(y)
        draw_columns(y + 7, y + 32)
        page.heading(beside, y + 8, "feed-forward")
        _explain(page, beside, y + 28, "each token by itself")
        y += 40
        draw_vectors(y)
        page.box(MARGIN - 4, block, WIDTH - 2 * MARGIN + 8, y + 12 - block, edge=QUIET, rounding=6)
        y += 24
        page.heading(MARGIN, y, f"{num_layers} blocks of this form")
        _explain(page, beside, y, "each with its own numbers")
        page.arrow((middles[-1], y - 17), (middles[-1], y + 16))
        y += 26
        page.text(middles[-1], y, shorten(following, column + 12, "bold"), weight="bold")
        _explain(page, beside, y, "the next token")
        return page.finish(
            y + LINE / 2 + MARGIN,
            "A GPT, from top to bottom, a column for each token. The "
            f"{plural(len(tokens), 'token')} {quote(tokens)} become {plural(len(tokens), 'vector')}.",
            f"Then come {num_layers} transformer blocks of one form, each with its own numbers.",
            "In each, attention lets every token gather from itself and the tokens before it; a feed-forward "
            "network works on each token by itself.",
            "At the end, the last column gives a score to every token of the vocabulary; the next token "
            f"should be {following!r}.",
        )


def _explain(page: Card, x: float, y: float, text: str) -> None:
    lines = wrap(text, WIDTH - MARGIN - x)
    page.paragraph(x, y - 6 * (len(lines) - 1), lines, "left")


def draw_colours() -> Drawing:
    """Draw the code of colours that all figures of the book keep to."""
    columns, gap = 4, 8.0
    width = (WIDTH - 2 * MARGIN - (columns - 1) * gap) / columns
    with card() as page:
        for i, (name, (tint, strong)) in enumerate(COLOURS.items()):
            down, across = divmod(i, columns)
            x, y = MARGIN + across * (width + gap), MARGIN + down * 34
            page.box(x, y, width, 26, fill=tint, edge=strong, line=1.5, rounding=4)
            page.text(x + width / 2, y + 13, name, color=strong, weight="bold")
        y += 44
        cell = 24.0
        steps = np.linspace(-1, 1, 11)[None]
        page.cells(steps, MARGIN, y, cell, 20, name="numbers", limit=1.0, decimals=1)
        page.hatched(WIDTH - MARGIN - 26, y, 26, 20)
        y += 31
        page.text(MARGIN, y, "below zero", ha="left", color=ORANGE)
        page.text(MARGIN + 8 * cell, y, "weights: 0 to 1", color=BLUE)
        page.note(WIDTH - MARGIN, y, "hidden", "right")
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"The colours of the figures. One each for: {', '.join(COLOURS)}.",
            "Numbers are orange below zero, colourless at zero and blue above it; "
            "a weight of 1 is the strongest blue.",
            "What a mask hides is grey.",
        )
