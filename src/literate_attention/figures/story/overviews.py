"""Drawings that tell readers where they are: the road through the book, a whole GPT, the code of colours."""

from collections.abc import Sequence
from typing import Final, Literal, get_args

import numpy as np

from literate_attention.figures._card import (
    BLUE,
    COLOURS,
    INK,
    INPUT,
    LINE,
    MARGIN,
    ORANGE,
    PAPER,
    QUIET,
    RULE,
    SHADE,
    SMALL_TEXT,
    WIDTH,
    Card,
    Drawing,
    card,
    labels,
    shorten,
    some,
    wrap,
)

Chapter = Literal["simple_attention", "self_attention", "causal_attention", "multi_head_attention"]
Part = Literal["embeddings", "attention", "feed-forward", "block", "output"]

_ROAD: Final[dict[Chapter, tuple[str, str]]] = {
    "simple_attention": ("simple", "nothing is learned yet"),
    "self_attention": ("self", "trainable queries, keys and values"),
    "causal_attention": ("causal", "no token sees the future"),
    "multi_head_attention": ("multi-head", "several, side by side"),
}


def draw_roadmap(here: Chapter | None = None) -> Drawing:
    """Draw the four kinds of attention that the story builds, each upon the one before.

    Args:
        here: the chapter that the reader is in; without it, no chapter is set off.

    Returns:
        The drawing. Its text says what each chapter adds, and where the reader is.

    Raises:
        ValueError: there is no such chapter on the road.

    Example:
        >>> draw_roadmap(here="self_attention").alt
        'Four kinds of attention, each built upon the one before. 1, simple attention: nothing is
        learned yet. 2, self-attention: trainable queries, keys and values. 3, causal attention: no token
        sees the future. 4, multi-head attention: several, side by side. You are at 2, self-attention.'
    """
    if here is not None and here not in _ROAD:
        raise ValueError(f"here must be one of {', '.join(_ROAD)}, got {here!r}")
    gap, rise, height = 8.0, 9.0, 26.0
    width = (WIDTH - 2 * MARGIN - (len(_ROAD) - 1) * gap) / len(_ROAD)
    place = None if here is None else list(_ROAD).index(here)
    top = MARGIN + (0.0 if place is None else LINE + 4)
    deepest = 0.0
    with card() as page:
        for i, (name, told) in enumerate(_ROAD.values()):
            x, y = MARGIN + i * (width + gap), top + (len(_ROAD) - 1 - i) * rise
            fill, edge, ink = INPUT.tint, RULE, INK
            if i == place:
                fill, edge, ink = INK, INK, PAPER
                page.text(x + width / 2, y - 17, "you are here", size=SMALL_TEXT, weight="bold")
                page.text(x + width / 2, y - 6, "▼", size=SMALL_TEXT)
            elif place is not None and i > place:
                fill, ink = PAPER, QUIET
            page.box(x, y, width, height, fill=fill, edge=edge, line=1.2, rounding=4)
            page.text(x + width / 2, y + height / 2, name, color=ink, weight="bold")
            if i:
                page.arrow((x - gap - 1, y + height / 2 + rise / 2), (x, y + height / 2))
            for line, words in enumerate(wrap(told, width - 2)):
                below = y + height + 10 + 12 * line
                page.text(x + width / 2, below, words, size=SMALL_TEXT, color=QUIET)
                deepest = max(deepest, below)
        spoken = [chapter.replace("_", " ") for chapter in _ROAD]
        spoken = [name.replace("self ", "self-").replace("multi ", "multi-") for name in spoken]
        adds = [adds for _, adds in _ROAD.values()]
        return page.finish(
            deepest + SMALL_TEXT / 2 + MARGIN,
            "Four kinds of attention, each built upon the one before.",
            *(
                f"{i}, {name}: {what}."
                for i, (name, what) in enumerate(zip(spoken, adds, strict=True), 1)
            ),
            *([] if place is None else [f"You are at {place + 1}, {spoken[place]}."]),
        )


def draw_gpt(
    tokens: Sequence[str],
    following: str,
    *,
    num_layers: int = 12,
    highlight: Part | None = "attention",
) -> Drawing:
    """Draw a GPT from top to bottom: where the text goes in, where attention sits, and what comes out.

    Args:
        tokens: the text so far.
        following: the token that the model is to predict.
        num_layers: how many transformer blocks there are.
        highlight: which part to set off.

    Returns:
        The drawing. Its text follows the text through the parts.

    Raises:
        TypeError: the tokens are a single string.
        ValueError: there is no token or no layer, or no such part.

    Example:
        >>> draw_gpt(["one"], "step", num_layers=2).alt
        "A GPT, from top to bottom. The 1 token 'one' becomes 1 vector. Then come 2 transformer blocks, one
        after the other. In each, attention lets every token gather from itself and the tokens before it; a
        feed-forward network works on each token by itself. The result of either is added to what went in.
        At the end, every token of the vocabulary gets a score; the next token should be 'step'. Set off:
        attention."
    """
    some("the number of tokens", len(tokens))
    tokens = labels("tokens", tokens, len(tokens), "tokens")
    some("num_layers", num_layers)
    if highlight is not None and highlight not in get_args(Part):
        raise ValueError(f"highlight must be one of {', '.join(get_args(Part))}, got {highlight!r}")
    left, width, beside = MARGIN + 12.0, 158.0, MARGIN + 194.0
    middle = left + width / 2
    with card() as page:
        y = MARGIN
        page.text(middle, y + 7, shorten(" ".join(tokens), width + 24, "bold"), weight="bold")
        _note(page, beside, y + 7, "the text so far")
        y += LINE
        page.arrow((middle, y), (middle, y + 11))
        y += 12
        _part(page, left, y, width, "embeddings", "embeddings", highlight)
        _note(page, beside, y + 11, "each token becomes a vector that knows its place")
        y += 22
        page.arrow((middle, y), (middle, y + 25))
        y += 14
        block = y
        y += 12
        for name, told in (
            ("attention", "each token gathers from the tokens so far"),
            ("feed-forward", "each token, by itself"),
        ):
            enter = y + 4
            page.box(left + 24, y, width - 48, 15, fill=PAPER, edge=RULE, rounding=3)
            page.text(middle, y + 7.5, "normalise", size=SMALL_TEXT, color=QUIET)
            page.arrow((middle, y + 15), (middle, y + 24))
            y += 25
            _part(page, left + 8, y, width - 16, name, name, highlight)
            _note(page, beside, y + 11, told)
            page.arrow((middle, y + 22), (middle, y + 31))
            y += 38
            page.circle(middle, y, 6, PAPER, QUIET)
            page.line((middle - 3, y), (middle + 3, y), zorder=4)
            page.line((middle, y - 3), (middle, y + 3), zorder=4)
            rail = left - 2
            page.line((middle, enter - 8), (rail, enter - 8))
            page.line((rail, enter - 8), (rail, y))
            page.arrow((rail, y), (middle - 7, y))
            if name == "attention":
                page.arrow((middle, y + 7), (middle, y + 17))
            y += 18
        edge, line = (INK, 2.0) if highlight == "block" else (QUIET, 1.0)
        page.box(left - 12, block - 2, width + 24, y - block - 8, edge=edge, line=line, rounding=6)
        page.text(
            beside,
            block + 5,
            f"block, {num_layers} times" if num_layers > 1 else "block, once",
            ha="left",
            weight="bold",
        )
        page.arrow((middle, y - 11), (middle, y + 9))
        y += 10
        _part(page, left, y, width, "next-token scores", "output", highlight)
        _note(page, beside, y + 11, "one for each token of the vocabulary")
        page.arrow((middle, y + 22), (middle, y + 33))
        y += 42
        page.text(middle, y, shorten(following, width, "bold"), weight="bold")
        _note(page, beside, y, "the next token")
        many = f"{len(tokens)} token{'s' if len(tokens) > 1 else ''}"
        return page.finish(
            y + LINE / 2 + MARGIN,
            "A GPT, from top to bottom.",
            f"The {many} {', '.join(map(repr, tokens))} become{'' if len(tokens) > 1 else 's'} "
            f"{len(tokens)} vector{'s' if len(tokens) > 1 else ''}.",
            f"Then come{'s' if num_layers == 1 else ''} {num_layers} transformer "
            f"block{'s, one after the other' if num_layers > 1 else ''}.",
            "In each, attention lets every token gather from itself and the tokens before it; a feed-forward "
            "network works on each token by itself. The result of either is added to what went in.",
            "At the end, every token of the vocabulary gets a score; the next token should be "
            f"{following!r}.",
            *([] if highlight is None else [f"Set off: {highlight}."]),
        )


def _part(
    page: Card, x: float, y: float, width: float, title: str, name: str, highlight: str | None
) -> None:
    fill, ink = (INK, PAPER) if name == highlight else (SHADE, INK)
    page.box(x, y, width, 22, fill=fill, edge=INK if name == highlight else RULE, rounding=4)
    page.text(x + width / 2, y + 11, title, color=ink, weight="bold")


def _note(page: Card, x: float, y: float, text: str) -> None:
    lines = wrap(text, WIDTH - MARGIN - x)
    for line, words in enumerate(lines):
        page.text(
            x,
            y + 12 * (line - (len(lines) - 1) / 2),
            words,
            ha="left",
            color=QUIET,
            size=SMALL_TEXT,
        )


def draw_colours() -> Drawing:
    """Draw the code of colours that all figures of the book keep to.

    Returns:
        The drawing. Its text lists what has a colour of its own.

    Example:
        >>> draw_colours().alt
        'The colours of the figures. One each for: input, query, key, value, context, head 1, head 2,
        head 3. Numbers are orange below zero, colourless at zero and blue above it; a weight of 1 is the
        strongest blue. What a mask hides is grey.'
    """
    columns, gap = 4, 8.0
    width = (WIDTH - 2 * MARGIN - (columns - 1) * gap) / columns
    with card() as page:
        y = MARGIN
        for i, (name, colour) in enumerate(COLOURS.items()):
            if i == len(COLOURS) // 2 and len(COLOURS) > columns:
                y += 34
            x = MARGIN + i % columns * (width + gap)
            page.box(x, y, width, 26, fill=colour.tint, edge=colour.strong, line=1.5, rounding=4)
            page.text(x + width / 2, y + 13, name, color=colour.strong, weight="bold")
        y += 44
        cell = 24.0
        steps = np.linspace(-1, 1, 11)[None]
        page.cells(steps, MARGIN, y, cell, 20, name="numbers", limit=1.0, decimals=1)
        page.hatched(WIDTH - MARGIN - 26, y, 26, 20)
        y += 31
        page.text(MARGIN, y, "below zero", ha="left", color=ORANGE)
        page.text(MARGIN + 8 * cell, y, "weights: 0 to 1", color=BLUE)
        page.text(WIDTH - MARGIN, y, "hidden", ha="right", color=QUIET)
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"The colours of the figures. One each for: {', '.join(COLOURS)}.",
            "Numbers are orange below zero, colourless at zero and blue above it; "
            "a weight of 1 is the strongest blue.",
            "What a mask hides is grey.",
        )
