"""Drawings that tell readers where they are: the road through the book, a whole GPT, the code of colours."""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, card
from literate_attention.figures._labels import clean_labels
from literate_attention.figures._lettering import LINE, SMALL_TEXT, shorten, wrap
from literate_attention.figures._palette import BLUE, INK, ORANGE, PAPER, QUIET, RULE, SHADE
from literate_attention.figures._roles import COLOURS, INPUT
from literate_attention.figures._words import plural, quote

Chapter = Literal["simple_attention", "self_attention", "causal_attention", "multi_head_attention"]

_ROAD: Final[dict[Chapter, tuple[str, str, str]]] = {
    "simple_attention": ("simple", "simple attention", "nothing is learned yet"),
    "self_attention": ("self", "self-attention", "trainable queries, keys and values"),
    "causal_attention": ("causal", "causal attention", "no token sees the future"),
    "multi_head_attention": ("multi-head", "multi-head attention", "several, side by side"),
}


def draw_roadmap(here: Chapter | None = None) -> Drawing:
    """Draw the four kinds of attention that the story builds, each upon the one before.

    Args:
        here: the chapter that the reader is in; without it, no chapter is set off.

    Example:
        >>> draw_roadmap(here="self_attention").alt
        'Four kinds of attention, each built upon the one before. 1, simple attention: nothing is
        learned yet. 2, self-attention: trainable queries, keys and values. 3, causal attention: no token
        sees the future. 4, multi-head attention: several, side by side. You are at 2, self-attention.'
    """
    gap, rise, height = 8.0, 9.0, 26.0
    width = (WIDTH - 2 * MARGIN - (len(_ROAD) - 1) * gap) / len(_ROAD)
    top = MARGIN + (0.0 if here is None else LINE + 4)
    sentences = ["Four kinds of attention, each built upon the one before."]
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
    """Draw a GPT from top to bottom: where the text goes in, where attention sits, and what comes out.

    Args:
        tokens: the text so far.
        following: the token that the model is to predict.
        num_layers: how many transformer blocks there are.

    Example:
        >>> draw_gpt(["one", "small"], "step", num_layers=2).alt
        "A GPT, from top to bottom. The 2 tokens 'one' and 'small' become 2 vectors. Then come 2 transformer
        blocks, one after the other. In each, attention lets every token gather from itself and the tokens
        before it; a feed-forward network works on each token by itself. The result of either is added to
        what went in. At the end, every token of the vocabulary gets a score; the next token should be
        'step'. Set off: attention."
    """
    tokens = clean_labels(tokens)
    left, width, beside = MARGIN + 12.0, 158.0, MARGIN + 194.0
    middle, rail = left + width / 2, left - 2
    with card() as page:
        y = MARGIN
        page.text(middle, y + 7, shorten(" ".join(tokens), width + 24, "bold"), weight="bold")
        _explain(page, beside, y + 7, "the text so far")
        page.arrow((middle, y + LINE), (middle, y + LINE + 11))
        y += LINE + 12
        _draw_part(page, left, y, width, "embeddings")
        _explain(page, beside, y + 11, "each token becomes a vector that knows its place")
        page.arrow((middle, y + 22), (middle, y + 47))
        y += 36
        block = y
        y += 12
        for name, does in (
            ("attention", "each token gathers from the tokens so far"),
            ("feed-forward", "each token, by itself"),
        ):
            enter = y - 4
            page.box(left + 24, y, width - 48, 15, fill=PAPER, edge=RULE, rounding=3)
            page.note(middle, y + 7.5, "normalise", size=SMALL_TEXT)
            page.arrow((middle, y + 15), (middle, y + 24))
            y += 25
            _draw_part(page, left + 8, y, width - 16, name)
            _explain(page, beside, y + 11, does)
            page.arrow((middle, y + 22), (middle, y + 31))
            y += 38
            page.circle(middle, y, 6, PAPER, QUIET)
            page.line((middle - 3, y), (middle + 3, y), zorder=4)
            page.line((middle, y - 3), (middle, y + 3), zorder=4)
            page.line((middle, enter), (rail, enter))
            page.line((rail, enter), (rail, y))
            page.arrow((rail, y), (middle - 7, y))
            if name == "attention":
                page.arrow((middle, y + 7), (middle, y + 17))
            y += 18
        page.box(left - 12, block - 2, width + 24, y - block - 8, edge=QUIET, rounding=6)
        page.heading(beside, block + 5, f"block, {num_layers} times")
        page.arrow((middle, y - 11), (middle, y + 9))
        y += 10
        _draw_part(page, left, y, width, "next-token scores")
        _explain(page, beside, y + 11, "one for each token of the vocabulary")
        page.arrow((middle, y + 22), (middle, y + 33))
        y += 42
        page.text(middle, y, shorten(following, width, "bold"), weight="bold")
        _explain(page, beside, y, "the next token")
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"A GPT, from top to bottom. The {plural(len(tokens), 'token')} {quote(tokens)} become "
            f"{plural(len(tokens), 'vector')}.",
            f"Then come {num_layers} transformer blocks, one after the other.",
            "In each, attention lets every token gather from itself and the tokens before it; a feed-forward "
            "network works on each token by itself. The result of either is added to what went in.",
            "At the end, every token of the vocabulary gets a score; the next token should be "
            f"{following!r}. Set off: attention.",
        )


def _draw_part(page: Card, x: float, y: float, width: float, name: str) -> None:
    fill, edge, ink = (INK, INK, PAPER) if name == "attention" else (SHADE, RULE, INK)
    page.box(x, y, width, 22, fill=fill, edge=edge, rounding=4)
    page.text(x + width / 2, y + 11, name, color=ink, weight="bold")


def _explain(page: Card, x: float, y: float, text: str) -> None:
    lines = wrap(text, WIDTH - MARGIN - x)
    page.paragraph(x, y - 6 * (len(lines) - 1), lines, "left")


def draw_colours() -> Drawing:
    """Draw the code of colours that all figures of the book keep to.

    Example:
        >>> draw_colours().alt
        'The colours of the figures. One each for: input, query, key, value, context, head 1, head 2,
        head 3. Numbers are orange below zero, colourless at zero and blue above it; a weight of 1 is the
        strongest blue. What a mask hides is grey.'
    """
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
