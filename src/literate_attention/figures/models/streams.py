"""A drawing of the residual streams of a text: what each part of a block reads, and what it adds."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    INK,
    LINE,
    MARGIN,
    PAPER,
    QUIET,
    RULE,
    SHADE,
    SMALL_TEXT,
    WIDTH,
    Card,
    Drawing,
    array,
    card,
    count,
    labels,
    number,
    shorten,
)

_PARTS: Final = ("attention", "feed-forward")
_MOST_TOKENS = 3
_LANE: Final = 7.0


def draw_residual_streams(
    tokens: Sequence[str], stream: Float[Tensor, "stages num_tokens embed_dim"]
) -> Drawing:
    """Draw the way of each token through blocks: a line that each part reads, and adds to.

    Between the parts it is written how long the vector is there. Arrows from column to column lead from a
    normed vector, of which keys and values are made, to the attention of the tokens that look at it.

    Args:
        tokens: up to three tokens.
        stream: the vectors of all tokens: first as they enter, then after each attention and feed-forward.

    Returns:
        The drawing. Its text tells how long each vector is at each stage.

    Raises:
        TypeError: the stream is not a tensor, or the tokens are a single string.
        ValueError: there are no or more than three tokens, or there is not one stage for each part.

    Example:
        >>> import torch
        >>> draw_residual_streams(["one"], torch.tensor([[[3.0, 4.0]], [[6.0, 8.0]], [[0.0, 2.0]]])).alt
        "The stream of 1 token through 1 block. Each part reads a normalized copy of the stream and adds to
        it; only attention also reads the normalized copies of the tokens before. The vector of 'one' is 5.00
        long, 10.00 after attention, 2.00 after feed-forward."
    """
    if not 1 <= len(tokens) <= _MOST_TOKENS:
        raise ValueError(f"tokens must be 1 to {_MOST_TOKENS}, got {len(tokens)}")
    names = labels("tokens", tokens, len(tokens), "tokens")
    values = array("stream", stream, "stages", len(names), "embed_dim")
    if len(values) < 3 or len(values) % 2 == 0:
        raise ValueError(
            f"stream must have one stage, and two more for each block, got {len(values)} stages"
        )
    lengths = np.linalg.norm(values, axis=-1)
    column = (WIDTH - 2 * MARGIN) / _MOST_TOKENS
    lefts = [MARGIN + 6 + column * place for place in range(len(names))]
    with card() as page:
        y = MARGIN + LINE / 2
        for x, name in zip(lefts, names, strict=True):
            page.text(x - 6, y, shorten(name, column - 8, "bold"), weight="bold", ha="left")
        top = y = y + LINE
        for stage, row in enumerate(lengths):
            if stage:
                y = _draw_part(page, lefts, y, _PARTS[(stage - 1) % 2])
            for x, length in zip(lefts, row, strict=True):
                page.text(x + 8, y, f"length {number(length)}", ha="left", color=QUIET)
            y += LINE
        for x in lefts:
            page.arrow((x, top - 4), (x, y), color=INK, width=2.4)
        return page.finish(
            y + MARGIN,
            f"The stream{'s' * (len(names) > 1)} of {count(len(names), 'token', 'tokens')} through "
            f"{count(len(lengths) // 2, 'block', 'blocks')}.",
            "Each part reads a normalized copy of the stream and adds to it; only attention also reads the "
            "normalized copies of the tokens before.",
            *(
                f"The vector of '{name}' is {number(first)} long, "
                + ", ".join(
                    f"{number(length)} after {_PARTS[place % 2]}"
                    for place, length in enumerate(rest)
                )
                + "."
                for name, (first, *rest) in zip(names, lengths.T, strict=True)
            ),
        )


def _draw_part(page: Card, lefts: Sequence[float], y: float, part: str) -> float:
    """Draw what one part reads and adds in every column; return where the next line of text is."""
    box, width, height = 18.0, 66.0, 22.0
    looks = part == "attention" and len(lefts) > 1
    norm = y + LINE / 2
    body = norm + height + (_LANE * (len(lefts) + 2) if looks else 12)
    middle = body + height / 2
    for x in lefts:
        page.arrow((x, norm + height / 2), (x + box, norm + height / 2))
        page.box(x + box, norm, width, height, fill=PAPER, edge=RULE, rounding=3)
        page.text(x + box + width / 2, norm + height / 2, "norm", color=QUIET, size=SMALL_TEXT)
        page.arrow((x + box + width / 2, norm + height), (x + box + width / 2, body))
        page.box(x + box, body, width, height, fill=SHADE, edge=INK, rounding=3)
        page.text(x + box + width / 2, middle, part, size=SMALL_TEXT)
        page.arrow((x + box, middle), (x + 5, middle))
        page.circle(x, middle, 5, PAPER, INK)
        page.text(x, middle, "+", weight="bold")
    if looks:
        for place, x in enumerate(lefts[:-1]):
            lane = norm + height + _LANE * (place + 1)
            ends = [later + box + 8 + 9 * place for later in lefts[place + 1 :]]
            _draw_looks(page, (x + box + width - 8, norm + height), lane, ends, body)
    return body + height + LINE


def _draw_looks(
    page: Card, start: tuple[float, float], lane: float, ends: Sequence[float], body: float
) -> None:
    """Draw the way of a token's normed vector, along a lane of its own, to the attention of later ones."""
    page.line(start, (start[0], lane), color=BLUE, width=1.6)
    page.line((start[0], lane), (ends[-1], lane), color=BLUE, width=1.6)
    for end in ends:
        page.arrow((end, lane), (end, body), color=BLUE, width=1.6)
