"""Drawings of vectors as points and arrows: embeddings, scores as shadows, hands in coloured gloves."""

import math
from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, Look, Point, Ruler, card
from literate_attention.figures._lettering import LINE, clean_labels, label_width, text_width
from literate_attention.figures._palette import (
    BLUE,
    INK,
    KEY,
    PAPER,
    QUERY,
    QUIET,
    RULE,
    SHADE,
    VALUE,
)
from literate_attention.figures._words import Array, format_number, name_largest, quote, to_numpy
from literate_attention.figures.story.looks import draw_circle

__all__ = ["draw_embedding_points", "draw_gloves", "draw_shadows"]

_TURN, _TILT = np.radians(70), np.radians(35)
_VIEW = np.array(
    [
        [np.cos(_TURN), -np.sin(_TURN) * np.sin(_TILT)],
        [np.sin(_TURN), np.cos(_TURN) * np.sin(_TILT)],
        [0.0, np.cos(_TILT)],
    ]
)
"""Points in space are seen from where none of the toy embeddings covers another."""
_HIGHEST = 190.0
"""How high a picture of vectors may be, in points."""


class _Labels:
    """Finds places for labels beside their points, where they cover nothing that is drawn."""

    def __init__(self, page: Card) -> None:
        self.page = page
        self.taken: list[tuple[float, float, float, float]] = []

    def avoid(self, left: float, top: float, right: float, bottom: float) -> None:
        """Keep labels off a rectangle."""
        self.taken.append((left, top, right, bottom))

    def avoid_point(self, x: float, y: float, radius: float) -> None:
        """Keep labels off a point."""
        self.avoid(x - radius, y - radius, x + radius, y + radius)

    def avoid_line(self, start: Point, end: Point) -> None:
        """Keep labels off a slanted line."""
        for part in np.linspace(0, 1, 24):
            x, y = (a + part * (b - a) for a, b in zip(start, end, strict=True))
            self.avoid(x - 1, y - 6, x + 1, y + 6)

    def write(self, spot: Point, text: str, beside: float = 5.0, **look: Any) -> None:
        """Write a label near a point, where it covers least; further labels keep off it."""
        width = text_width(text, weight=look.get("weight", "normal"))
        away, above = width / 2 + beside + 4, beside + 10
        sides = [(side * away, dy) for dy in (0, -7, 7, -13, 13, -20, 20) for side in (1, -1)]
        rows = [side * dy for dy in (above, above + 14) for side in (-1, 1)]
        middles = [(dx, dy) for dy in rows for dx in (0, 9, -9)]
        lefts, tops, rights, bottoms = np.array(self.taken).T

        def box(x: float, y: float) -> tuple[float, float, float, float]:
            return (x - width / 2 - 1, y - 6, x + width / 2 + 1, y + 6)

        def covered(place: Point) -> float:
            left, top, right, bottom = box(*place)
            outside = max(0.0, MARGIN - left) + max(0.0, right - WIDTH + MARGIN)
            across = np.minimum(right, rights) - np.maximum(left, lefts)
            down = np.minimum(bottom, bottoms) - np.maximum(top, tops)
            return 1000 * outside + float(across.clip(0.0) @ down.clip(0.0))

        places = [(spot[0] + dx, spot[1] + dy) for dx, dy in (*sides, *middles)]
        best = min(places, key=covered)
        self.avoid(*box(*best))
        self.page.text(*best, text, **look)


def draw_shadows(
    query: Float[Tensor, "d_k"], keys: Float[Tensor, "num_tokens d_k"], tokens: Sequence[str]
) -> Drawing:
    """Draw a dot product as what it measures: the shadow that each key casts on the direction of the query.

    Each key keeps its length and its angle to the query, which lies on its side. Vectors of two numbers are
    only turned; wider ones are folded into the plane, where the angle between two keys means nothing.

    Args:
        query: the vector that asks.
        keys: the vectors that are asked.
        tokens: what each key is called.

    Example:
        >>> import torch
        >>> draw_shadows(torch.tensor([2.0, 0.0]), torch.eye(2), ["one", "step"]).alt
        "2 keys as arrows, and the shadow of each on the direction of the query, which is 2.00 long. The
        score is the length of the shadow times that: 'one' 1.00 · 2.00 = 2.00, 'step' 0.00 · 2.00 = 0.00.
        The longest shadow is that of 'one'."
    """
    q, k = to_numpy(query, 1), to_numpy(keys, 2)
    tokens = clean_labels(tokens, len(k))
    length = math.hypot(*q)
    scores = k @ q
    along = scores / length
    across = np.sqrt(np.maximum((k**2).sum(axis=1) - along**2, 0.0))
    if len(q) == 2:
        across = k @ np.array([-q[1], q[0]]) / length
    left = MARGIN + label_width(tokens) + 8
    written = [format_number(score) for score in scores]
    after = 10 + label_width([*written, *tokens])
    ruler = Ruler.over(np.append(along, length), WIDTH - left - MARGIN - after)
    unit = min(ruler.scale, _HIGHEST / (np.ptp(np.append(across, 0.0)) or 1.0))
    ruler = Ruler(ruler.low, ruler.high, unit * (ruler.high - ruler.low))
    origin = left - unit * ruler.low, MARGIN + 2 * LINE + unit * max(float(across.max()), 0.0)
    origin_x, axis_y = origin
    tips = [(origin_x + unit * a, axis_y - unit * b) for a, b in zip(along, across, strict=True)]
    with card() as page:
        page.line((left - 4, axis_y), (WIDTH - MARGIN, axis_y), color=RULE)
        query_tip = origin_x + unit * length, axis_y
        page.arrow(origin, query_tip, color=QUERY.strong, width=4.0, label="direction")
        beside: Look = {"color": QUERY.strong, "ha": "right", "weight": "bold"}
        page.text(query_tip[0], axis_y + 12, "query", **beside)
        labels = _Labels(page)
        for j, (x, y) in enumerate(tips):
            page.dashes((x, y), (x, axis_y))
            page.arrow(origin, (x, y), color=KEY.strong, width=1.6, label=f"key{j}")
            page.circle(x, axis_y, 1.8, KEY.strong, KEY.strong)
            labels.avoid_line(origin, (x, y))
            labels.avoid(x - 1, min(y, axis_y), x + 1, max(y, axis_y))
        labels.avoid(0.0, axis_y - 5, max(x for x, _ in (query_tip, *tips)) + 4, axis_y + 19)
        for j in sorted(range(len(k)), key=lambda j: -abs(across[j])):
            labels.write(tips[j], tokens[j])
        y = axis_y + unit * max(float(-across.min()), 0.0) + 2 * LINE + 8
        long = format_number(length)
        page.words(MARGIN, y, [("score", INK), (" = shadow · ", QUIET), (long, QUERY.strong)])
        y += LINE + 2
        own = {"facecolor": KEY.tint, "edgecolor": KEY.strong}
        for j, token in enumerate(tokens):
            page.text(left - 8, y, token, ha="right")
            page.bar(left, y, 10, ruler, along[j], label=f"shadow{j}", **own)
            end = origin_x + unit * max(along[j], 0.0)
            page.text(end + 5, y, written[j], ha="left", weight="bold")
            y += LINE
        listed = [
            f"'{token}' {format_number(a)} · {long} = {score}"
            for token, a, score in zip(tokens, along, written, strict=True)
        ]
        backwards = [token for token, a in zip(tokens, along, strict=True) if a < 0]
        behind = ""
        if backwards:
            behind = f"Backwards, and so below zero, points that of {quote(backwards)}."
        return page.finish(
            y - LINE / 2 + MARGIN,
            f"{len(k)} keys as arrows, and the shadow of each on the direction of the query, which is "
            f"{long} long.",
            f"The score is the length of the shadow times that: {', '.join(listed)}.",
            f"The longest shadow is that of {name_largest(along, tokens)}.",
            behind,
        )


def draw_embedding_points(inputs: Float[Tensor, "num_tokens 3"], tokens: Sequence[str]) -> Drawing:
    """Draw embeddings as points in space: what is alike in all three numbers stands close together.

    Each point stands on a stem, so that the eye finds its place on the floor. The closest pair is set off.
    """
    x = to_numpy(inputs, 2)
    tokens = clean_labels(tokens, len(x))
    distances = {(i, j): math.dist(x[i], x[j]) for i, j in combinations(range(len(x)), 2)}
    near, far = (choose(distances, key=distances.__getitem__) for choose in (min, max))
    low, high = np.minimum(x.min(axis=0), 0.0), np.maximum(x.max(axis=0), 0.0)
    corners = np.array(list(product(*zip(low, high, strict=True))))
    seen = corners @ _VIEW
    wide, deep = np.ptp(seen, axis=0)
    scale = min((WIDTH - 2 * MARGIN - 30) / (wide or 1.0), _HIGHEST / (deep or 1.0))
    left, bottom = (WIDTH - scale * wide) / 2, MARGIN + LINE + scale * deep

    def place(*point: float) -> Point:
        across, up = scale * (np.array(point) @ _VIEW - seen.min(axis=0))
        return float(left + across), float(bottom - up)

    spots = [place(*point) for point in x]
    with card() as page:
        _draw_room(page, place, low, high)
        labels = _Labels(page)
        for i, (across, up) in enumerate(spots):
            color, foot = BLUE if i in near else QUIET, place(*x[i, :2], low[2])
            page.line(foot, spots[i], color=color, zorder=2)
            page.circle(*foot, 1.2, color, color)
            if i in near:
                page.diamond(across, up, 5, BLUE, PAPER)
            else:
                page.circle(across, up, 4, QUIET, PAPER)
            labels.avoid_point(across, up, 6.0)
            labels.avoid(across - 1, up, across + 1, foot[1])
        for i in sorted(range(len(x)), key=lambda i: (i not in near, spots[i][1])):
            look: Look = {"weight": "bold", "color": BLUE} if i in near else {}
            labels.write(spots[i], tokens[i], **look)
        y = bottom + 2 * LINE + 4
        close, wide = format_number(distances[near]), format_number(distances[far])
        a, b = (tokens[i] for i in near)
        page.text(WIDTH / 2, y, f"closest: {a} and {b}, {close} apart", color=BLUE)
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"{len(x)} tokens as points in space.",
            f"The closest are '{a}' and '{b}', {close} apart; "
            f"the farthest are '{tokens[far[0]]}' and '{tokens[far[1]]}', {wide} apart.",
        )


def _draw_room(page: Card, place: Callable[..., Point], low: Array, high: Array) -> None:
    """Draw the floor and the three axes."""
    back, right = place(*low), place(high[0], *low[1:])
    front, left = place(*high[:2], low[2]), place(low[0], high[1], low[2])
    top = place(*low[:2], high[2])
    floor = zip(back, right, front, left, strict=True)
    page.axes.fill(*floor, facecolor=SHADE, edgecolor=RULE, zorder=0)
    for start, end in ((back, right), (right, front), (back, top)):
        page.arrow(start, end, zorder=1)
    x = (back[0] + right[0] - text_width("1st number")) / 2 - 8
    page.note(x, (back[1] + right[1]) / 2 + 4, "1st number")
    page.note((right[0] + front[0]) / 2 + 8, (right[1] + front[1]) / 2 + 14, "2nd number")
    page.note(top[0], top[1] - 9, "3rd number")


def draw_gloves(
    words: Sequence[str],
    queries: Float[Tensor, "num_words 2"],
    keys: Float[Tensor, "num_words 2"],
    values: Float[Tensor, "num_words 2"],
    *,
    deal: Sequence[str],
    weights: Float[Tensor, "3 3"],
) -> Drawing:
    """Draw what each hand asks for, what it is and what it passes on, and where three hands look.

    Args:
        words: what each vector belongs to: a colour and a kind of hand, with a hyphen between.
        queries: a place in the plane for each word.
        keys: a place in the same plane.
        values: a place in a plane of its own.
        deal: three of these words.
        weights: how much each of the three attends to each.
    """
    q, k, v, w = map(to_numpy, (queries, keys, values, weights))
    colours, kinds = np.array([word.split("-") for word in words]).T
    with card() as page:
        labels = _Labels(page)
        middle = WIDTH / 2, MARGIN + LINE + 82
        page.heading(MARGIN, MARGIN + 6, "what each hand asks for (query) and is (key)")
        unit = 62 / max(np.linalg.norm(q, axis=1).max(), np.linalg.norm(k, axis=1).max())
        _draw_axes(page, labels, middle, 74.0)
        asked, found = (unit * vectors * (1, -1) + middle for vectors in (q, k))
        for j, (tip, (x, y)) in enumerate(zip(asked, found, strict=True)):
            page.arrow(middle, tuple(tip), color=QUERY.strong, label=f"query{j}")
            labels.avoid_line(middle, tuple(tip))
            page.box(x - 3, y - 3, 6, 6, fill=KEY.tint, edge=KEY.strong, zorder=3)
            labels.avoid_point(x, y, 4.0)
        top = middle[1] + 74 + LINE
        page.heading(MARGIN, top + 6, "its colour (value)")
        page.heading(MARGIN + 132, top + 6, "where three hands look")
        lower = MARGIN + 60, top + LINE + 72
        _draw_axes(page, labels, lower, 58.0)
        passed = 42 / np.linalg.norm(v, axis=1).max() * v * (1, -1) + lower
        for x, y in passed:
            page.circle(x, y, 3, VALUE.tint, VALUE.strong)
            labels.avoid_point(x, y, 4.0)
        corner = WIDTH - MARGIN - 90, top + 2 * LINE
        bottom = draw_circle(page, deal, w, corner, color=BLUE, label="weight") + 8
        labels.avoid(WIDTH - MARGIN - 182, top, WIDTH, bottom)
        names = list(dict.fromkeys(kinds))
        for kind in names:
            for spots, part, colour in ((found, "key", KEY), (asked, "query", QUERY)):
                look: Look = {"color": colour.strong, "weight": "bold"}
                spot = tuple(spots[kinds == kind].mean(axis=0))
                labels.write(spot, f"{kind}: {part}", 10.0, **look)
        for name in dict.fromkeys(colours):
            spot = tuple(passed[colours == name].mean(axis=0))
            labels.write(spot, str(name), 8.0, color=VALUE.strong)
        asks, is_kind = (
            np.array([vectors[kinds == kind].mean(axis=0) for kind in names]) for vectors in (q, k)
        )
        best = (asks @ is_kind.T).argmax(axis=1)
        fits = [f"'{name}' of '{names[j]}'" for name, j in zip(names, best, strict=True)]
        apart = np.linalg.norm(v[:, None] - v, axis=-1)
        np.fill_diagonal(apart, np.inf)
        alike = int((colours[apart.argmin(axis=1)] == colours).sum())
        looks = [
            f"'{word}' attends most to '{deal[row.argmax()]}', {format_number(row.max())}"
            for word, row in zip(deal, w, strict=True)
        ]
        return page.finish(
            bottom + MARGIN,
            f"Queries and keys in one plane; which kind asks for the key of which: {', '.join(fits)}.",
            f"Values in another plane: for {alike} of {len(v)} words the nearest is one of the same colour.",
            f"Weights of one deal: {'; '.join(looks)}.",
        )


def _draw_axes(page: Card, labels: _Labels, middle: Point, reach: float) -> None:
    x, y = middle
    labels.avoid(x - reach, y - 1, x + reach, y + 1)
    labels.avoid(x - 1, y - reach, x + 1, y + reach)
    page.cross(x, y, reach, zorder=0)
