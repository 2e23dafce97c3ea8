"""A drawing of the residual streams of a text: what each part of a block reads, and what it adds."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Canvas, Drawing, Look, new_canvas
from .._lettering import LINE, SMALL_TEXT, clean_labels, shorten
from .._palette import BLUE, INK, PAPER, RULE, SHADE
from .._words import format_number, plural, to_numpy

__all__ = ["draw_residual_streams"]

_PARTS: Final = ("attention", "feed-forward")
_LANE: Final = 7.0


def draw_residual_streams(
    tokens: Sequence[str], stream: Float[Tensor, "stages num_tokens embed_dim"]
) -> Drawing:
    """Draw the way of each token through blocks: a line that each part reads, and adds to.

    Between the parts it is written how long the vector is there. A normed vector, of which keys and values
    are made, leads by an arrow to the attention of the tokens that look at it.

    The stream is that of up to three tokens: as they enter, then after each attention and feed-forward.
    """
    lengths = np.linalg.norm(to_numpy(stream), axis=-1)
    names, column = clean_labels(tokens, lengths.shape[1]), (WIDTH - 2 * MARGIN) / 3
    lefts = [MARGIN + 6 + column * place for place in range(len(names))]
    with new_canvas() as page:
        y = MARGIN + LINE / 2
        for x, name in zip(lefts, names, strict=True):
            page.heading(x - 6, y, shorten(name, column - 8, "bold"))
        top = y = y + LINE
        for stage, row in enumerate(lengths):
            if stage:
                y = _draw_part(page, lefts, y, _PARTS[(stage - 1) % 2])
            for x, length in zip(lefts, row, strict=True):
                page.note(x + 8, y, f"length {format_number(length)}", "left")
            y += LINE
        for x in lefts:
            page.arrow((x, top - 4), (x, y), color=INK, width=2.4)
        told = [
            ", ".join(
                f"{format_number(n)} {f'after {_PARTS[(i - 1) % 2]}' if i else 'long'}"
                for i, n in enumerate(column)
            )
            for column in lengths.T
        ]
        return page.finish(
            y + MARGIN,
            f"The streams of {plural(len(names), 'token')} through {plural(len(lengths) // 2, 'block')}.",
            "Each part reads a normalized copy of the stream and adds to it; only attention also reads the "
            "normalized copies of the tokens before.",
            *(f"The vector of '{name}' is {long}." for name, long in zip(names, told, strict=True)),
        )


def _draw_part(page: Canvas, lefts: Sequence[float], y: float, part: str) -> float:
    """Draw what one part reads and adds in every column; return where the next line of text is."""
    box, width, height = 18.0, 66.0, 22.0
    looks = part == "attention" and len(lefts) > 1
    norm = y + LINE / 2
    body = norm + height + (_LANE * (len(lefts) + 2) if looks else 12)
    for x in lefts:
        left, middle = x + box, x + box + width / 2
        page.arrow((x, norm + height / 2), (left, norm + height / 2))
        page.box(left, norm, width, height, fill=PAPER, edge=RULE, rounding=3)
        page.note(middle, norm + height / 2, "norm", size=SMALL_TEXT)
        page.arrow((middle, norm + height), (middle, body))
        page.box(left, body, width, height, fill=SHADE, edge=INK, rounding=3)
        page.text(middle, body + height / 2, part, size=SMALL_TEXT)
        page.arrow((left, body + height / 2), (x + 5, body + height / 2))
        page.circle(x, body + height / 2, 5, PAPER, INK)
        page.text(x, body + height / 2, "+", weight="bold")
    blue: Look = {"color": BLUE, "width": 1.6}
    for place, x in enumerate(lefts[:-1] if looks else []):
        # a normed vector goes along a lane of its own to the attention of all later tokens
        start, lane = x + box + width - 8, norm + height + _LANE * (place + 1)
        ends = [later + box + 8 + 9 * place for later in lefts[place + 1 :]]
        page.line((start, norm + height), (start, lane), (ends[-1], lane), **blue)
        for end in ends:
            page.arrow((end, lane), (end, body), **blue)
    return body + height + LINE
