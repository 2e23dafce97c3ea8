"""Drawings of a whole: the road through the book, an encoder and a decoder, a GPT, the code of colours."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .._canvas import MARGIN, WIDTH, Drawing, new_canvas, spread
from .._lettering import LINE, SMALL_TEXT, clean_labels, shorten, wrap
from .._palette import BLUE, COLOURS, INK, INPUT, ORANGE, PAPER, QUIET, RULE
from .._words import plural, quote

__all__ = ["draw_bottleneck", "draw_colours", "draw_gpt", "draw_roadmap"]

_ROAD = {
    "simple attention": "finds one thing among several",
    "self-attention": "looks for something unlike itself",
    "causal attention": "writes, because it cannot peek",
    "multi-head attention": "looks for two things at once",
}


def draw_roadmap() -> Drawing:
    """Draw the kinds of attention that the story builds, and what each can do that the last could not."""
    gap, rise, height = 8.0, 9.0, 26.0
    width = (WIDTH - 2 * MARGIN - (len(_ROAD) - 1) * gap) / len(_ROAD)
    lowest = 0.0
    with new_canvas() as page:
        for i, (name, adds) in enumerate(_ROAD.items()):
            x, y = MARGIN + i * (width + gap), MARGIN + (len(_ROAD) - 1 - i) * rise
            page.box(x, y, width, height, fill=INPUT.tint, edge=RULE, line=1.2, rounding=4)
            page.text(x + width / 2, y + height / 2, name[:-10], weight="bold")
            if i:
                page.arrow((x - gap - 1, y + height / 2 + rise / 2), (x, y + height / 2))
            lines = wrap(adds, width - 2)
            page.paragraph(x + width / 2, y + height + 10, lines, "center")
            lowest = max(lowest, y + height + 10 + 12 * len(lines))
        return page.finish(
            lowest - 12 + SMALL_TEXT / 2 + MARGIN,
            "Four kinds of attention, each of which solves a task at which the one before it fails.",
            *(f"{i}, {name}: {adds}." for i, (name, adds) in enumerate(_ROAD.items(), 1)),
        )


def draw_bottleneck(
    source: Sequence[str], target: Sequence[str], *, translates: Sequence[int]
) -> Drawing:
    """Draw an encoder and a decoder with one hidden state between them; below it, the same with attention.

    Each token of the target has the place of the token in the source that it translates.
    """
    source, target = clean_labels(source), clean_labels(target, len(translates))
    read, written = spread(len(source)), spread(len(target))

    def draw_states(top: float, bottom: float) -> None:
        for tokens, across, y, below in ((source, read, top, -19), (target, written, bottom, 19)):
            for x, token in zip(across, tokens, strict=True):
                page.circle(x, y, 9, *INPUT)
                page.text(x, y + below, shorten(token, (WIDTH - 2 * MARGIN) / len(tokens) - 2))
            for x, following in pairwise(across):
                page.arrow((x + 10, y), (following - 11, y))

    with new_canvas() as page:
        page.heading(MARGIN, MARGIN + 6, "one hidden state")
        top, bottom = 62.0, 152.0
        draw_states(top, bottom)
        middle = (top + bottom) / 2
        page.box(WIDTH / 2 - 42, middle - 11, 84, 22, fill=PAPER, edge=INK, line=1.5, rounding=4)
        page.text(WIDTH / 2, middle, "hidden state")
        page.arrow((read[-1] - 2, top + 11), (WIDTH / 2 + 45, middle - 2), width=2)
        page.arrow((WIDTH / 2 - 44, middle + 2), (written[0] + 4, bottom - 12), width=2)
        page.note(MARGIN, top + 24, "encoder", "left")
        page.note(WIDTH - MARGIN, bottom - 24, "decoder", "right")
        page.line((MARGIN, 192), (WIDTH - MARGIN, 192), color=RULE)
        page.heading(MARGIN, 210, "attention")
        top, bottom = 256.0, 350.0
        draw_states(top, bottom)
        for to, translated in zip(written, translates, strict=True):
            for origin in read:
                page.line((origin, top + 10), (to, bottom - 10), color=RULE, width=0.8, zorder=0)
            start, end = (read[translated], top + 10), (to, bottom - 12)
            page.arrow(start, end, color=BLUE, width=3.2)
        pairs = [f"'{to}' at '{source[at]}'" for to, at in zip(target, translates, strict=True)]
        return page.finish(
            bottom + 26 + MARGIN,
            f"Above: an encoder reads {quote(source)} and hands one hidden state to a decoder, which "
            f"writes {quote(target)}.",
            f"Below, with attention: each of the {len(target)} target tokens looks at all {len(source)} "
            f"source tokens itself, and most at the one that it translates: {', '.join(pairs)}.",
        )


def draw_gpt(tokens: Sequence[str], following: str, *, num_layers: int) -> Drawing:
    """Draw a GPT from top to bottom, a column for each token: only in attention do the columns meet."""
    tokens = clean_labels(tokens)
    beside = MARGIN + 216.0
    column, middles = (beside - 10 - MARGIN) / len(tokens), spread(len(tokens), right=beside - 10)
    with new_canvas() as page:

        def explain(y: float, text: str) -> None:
            lines = wrap(text, WIDTH - MARGIN - beside)
            page.paragraph(beside, y - 6 * (len(lines) - 1), lines, "left")

        def draw_vectors(y: float, length: float = 0.0) -> None:
            for x in middles:
                page.circle(x, y, 6, *INPUT)
                if length:
                    page.arrow((x, y - 7 - length), (x, y - 8))

        y = MARGIN + 7
        for x, token in zip(middles, tokens, strict=True):
            page.text(x, y, shorten(token, column), size=SMALL_TEXT)
        explain(y, "the text so far")
        draw_vectors(y + 30, 15.0)
        explain(y + 30, "a vector each")
        block, top, y = y + 46, y + 30, y + 120
        for i, to in enumerate(middles):
            for origin in middles[: i + 1]:
                way = np.array([to - origin, y - top]) / np.hypot(to - origin, y - top)
                end = np.array([to, y]) - 8 * way  # all point at the middle of the circle
                page.arrow((origin, top + 7), tuple(end), color=BLUE, label="gathers")
        page.heading(beside, top + 46, "attention", BLUE)
        explain(top + 72, "gathers from all tokens so far")
        draw_vectors(y)
        page.heading(beside, y + 8, "feed-forward")
        explain(y + 28, "each token by itself")
        y += 40
        draw_vectors(y, 25.0)
        page.box(MARGIN - 4, block, WIDTH - 2 * MARGIN + 8, y + 12 - block, edge=QUIET, rounding=6)
        y += 24
        page.heading(MARGIN, y, f"{num_layers} blocks of this form")
        explain(y, "each with its own numbers")
        page.arrow((middles[-1], y - 17), (middles[-1], y + 16))
        y += 26
        page.text(middles[-1], y, shorten(following, column + 12, "bold"), weight="bold")
        explain(y, "the next token")
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


def draw_colours() -> Drawing:
    """Draw the code of colours that all figures of the book keep to."""
    columns, gap, cell = 4, 8.0, 24.0
    width = (WIDTH - 2 * MARGIN - (columns - 1) * gap) / columns
    with new_canvas() as page:
        for i, (name, (tint, strong)) in enumerate(COLOURS.items()):
            down, across = divmod(i, columns)
            x, y = MARGIN + across * (width + gap), MARGIN + down * 34
            page.box(x, y, width, 26, fill=tint, edge=strong, line=1.5, rounding=4)
            page.text(x + width / 2, y + 13, name, color=strong, weight="bold")
        y += 44
        shades = np.linspace(-1, 1, 11)[None]
        page.cells(shades, MARGIN, y, cell, 20, name="numbers", limit=1.0, decimals=1)
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
