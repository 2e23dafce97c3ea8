"""Where one token looks, as arcs above the words."""

from collections.abc import Sequence

from literate_attention.figures._arguments import Array
from literate_attention.figures._card import MARGIN, WIDTH, Card, Look
from literate_attention.figures._lettering import LINE, SMALL_TEXT, TEXT, shorten
from literate_attention.figures._palette import INK, QUIET
from literate_attention.figures._words import format_number

_THICKEST = 6.0
_HIGHEST = 34.0


def write_arcs(
    page: Card,
    y: float,
    title: str,
    row: Array,
    tokens: Sequence[str],
    *,
    query: int,
    colour: str = INK,
) -> float:
    """Write a row of weights as arcs, the thicker the larger; return where the next row may begin."""
    num_tokens = len(tokens)
    pitch = (WIDTH - 2 * MARGIN) / num_tokens
    middles = [MARGIN + (place + 0.5) * pitch for place in range(num_tokens)]
    size = SMALL_TEXT if pitch < 30 else TEXT
    page.heading(MARGIN, y + 6, title, colour)
    y += LINE + _HIGHEST
    for j, (x, token) in enumerate(zip(middles, tokens, strict=True)):
        beside = 5.0 if j == query else 0.0  # an arc to itself has two ends, too
        start, end = middles[query] - beside, x + beside
        tall = 0.5 * _HIGHEST * (1 + abs(j - query) / max(1, num_tokens - 1))
        look: Look = {"linewidth": _THICKEST * row[j], "solid_capstyle": "round"}
        page.arc(start, end, y - 2, tall, color=colour, label=f"look {title}{j}", **look)
        weight = "bold" if j == query else "normal"
        page.text(x, y + 7, shorten(token, pitch - 2), weight=weight, size=size)
        page.text(x, y + 21, format_number(row[j]), size=size, color=QUIET)
    return y + 2 * LINE + 8
