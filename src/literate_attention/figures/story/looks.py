"""Where words look: arrows in arcs along a line of words, and around a circle of three."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from literate_attention.figures._arguments import Array
from literate_attention.figures._card import MARGIN, WIDTH, Card, Look, Point
from literate_attention.figures._lettering import SMALL_TEXT, TEXT, shorten
from literate_attention.figures._words import format_number

LEAST = 0.05
"""Smaller weights have no arc, and on a circle no number."""


def thickness(weight: float) -> float:
    """Return how thick an arrow of this weight is, in points: a weight of zero is still to be seen."""
    return 0.5 + 4 * weight


def places_of(num_words: int, left: float = MARGIN) -> list[float]:
    """Spread words over the card, from `left` on; return the middle of each."""
    pitch = (WIDTH - MARGIN - left) / num_words
    return [left + (place + 0.5) * pitch for place in range(num_words)]


def draw_arc(
    page: Card,
    places: Sequence[float],
    look: tuple[int, int],
    weight: float,
    y: float,
    *,
    high: float,
    color: str,
    label: str = "",
    below: bool = False,
    inside: float = 0.0,
) -> None:
    """Draw that the word at one place looks at the one at another: the further, the higher.

    An arc that is so many points inside another one does not lie on it.
    """
    i, j = look
    aside = 4.0 + inside if i < j else -4.0 - inside if i > j else -6.0
    start, end = places[i] + aside, places[j] - aside
    share = abs(i - j) / max(1, len(places) - 1)
    bend = (high * (1 + share) - 2.5 * inside) / (end - start) * (1 if below else -1)
    page.arrow(
        (start, y),
        (end, y),
        color=color,
        width=thickness(weight),
        label=label,
        connectionstyle=f"arc3,rad={bend:.4f}",
    )


def draw_circle(
    page: Card, words: Sequence[str], weights: Array, top: Point, *, color: str, label: str
) -> float:
    """Draw three words and an arrow for each weight between two of them; return the lower edge."""
    lines = [word.split("-") for word in words]
    half = np.array([23.0, 6.0 * len(lines[0]) + 2])
    spots = 104 * np.array([(0.0, 0.0), (0.5, 0.866), (-0.5, 0.866)]) + top + (0, half[1])
    for i, j in permutations(range(3), 2):
        way = (spots[j] - spots[i]) / np.hypot(*(spots[j] - spots[i]))
        aside = np.array([way[1], -way[0]])
        reach = min(half / np.maximum(abs(way), 1e-9)) + 2
        start, end = spots[i] + reach * way + 3.5 * aside, spots[j] - reach * way + 3.5 * aside
        look: Look = {"width": thickness(weights[i, j]), "label": f"{label}{i}{j}"}
        page.arrow(tuple(start), tuple(end), color=color, **look)
        if weights[i, j] >= LEAST:
            lower = 8 * np.sign(way[1].round(2)) * way  # there is more room further down
            beside = (10.0 if abs(way[1]) < 0.1 else 13.0) * aside
            x, y = (start + end) / 2 + lower + beside
            page.text(x, y, format_number(weights[i, j]), size=SMALL_TEXT, color=color)
    for (x, y), parts in zip(spots, lines, strict=True):
        for row, part in enumerate(parts):
            below = 6.0 * (2 * row - len(parts) + 1)
            page.text(x, y + below, shorten(part, 2 * half[0]), size=TEXT)
    return float(spots[1, 1] + half[1])
