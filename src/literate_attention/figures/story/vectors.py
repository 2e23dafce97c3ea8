"""Drawings of vectors as points and arrows: embeddings, scores as shadows, hands in coloured gloves."""

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Canvas, Drawing, Look, Point, Ruler, new_canvas
from .._lettering import LINE, clean_labels, label_width, text_width
from .._palette import BLUE, INK, KEY, PAPER, QUERY, QUIET, RULE, SHADE, VALUE
from .._words import format_number, name_largest, quote, to_numpy
from .attention_arcs import draw_circle

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

    def __init__(self, page: Canvas) -> None:
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

    def cross(self, middle: Point, reach: float) -> None:
        """Draw the axes of a plane, and keep labels off them."""
        x, y = middle
        self.avoid(x - reach, y - 1, x + reach, y + 1)
        self.avoid(x - 1, y - reach, x + 1, y + reach)
        self.page.cross(x, y, reach)

    def write(self, spot: Point, text: str, beside: float = 5.0, **look: Any) -> None:
        """Write a label near a point, where it covers least; further labels keep off it."""
        width = text_width(text, weight=look.get("weight", "normal"))
        away, above = width / 2 + beside + 4, beside + 10
        sides = [(side * away, dy) for dy in (0, -7, 7, -13, 13, -20, 20) for side in (1, -1)]
        rows = [side * dy for dy in (above, above + 14) for side in (-1, 1)]
        places = np.array([*sides, *((dx, dy) for dy in rows for dx in (0, 9, -9))]) + spot
        half, taken = (width / 2 + 1, 6.0), np.array(self.taken)[None]
        low, high = places - half, places + half
        outside = (MARGIN - low[:, 0]).clip(0) + (high[:, 0] - WIDTH + MARGIN).clip(0)
        shared = np.minimum(high[:, None], taken[..., 2:]) - np.maximum(
            low[:, None], taken[..., :2]
        )
        best = (1000 * outside + shared.clip(0).prod(axis=-1).sum(axis=-1)).argmin()
        self.avoid(*low[best], *high[best])
        x, y = places[best].tolist()
        self.page.text(x, y, text, **look)


def draw_shadows(
    query: Float[Tensor, "d_k"], keys: Float[Tensor, "num_tokens d_k"], tokens: Sequence[str]
) -> Drawing:
    """Draw a dot product as what it measures: the shadow that each key casts on the direction of the query.

    Each key keeps its length and its angle to the query, which lies on its side. Vectors of two numbers are
    only turned; wider ones are folded into the plane, where the angle between two keys means nothing.

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
    left, written = MARGIN + label_width(tokens) + 8, [format_number(score) for score in scores]
    ruler = Ruler.over(
        np.append(along, length), WIDTH - left - MARGIN - 10 - label_width([*written, *tokens])
    )
    unit = min(ruler.scale, _HIGHEST / (np.ptp(np.append(across, 0.0)) or 1.0))
    ruler = Ruler(ruler.low, ruler.high, unit * (ruler.high - ruler.low))
    start, axis = left - unit * ruler.low, MARGIN + 2 * LINE + unit * max(float(across.max()), 0.0)
    tips = [(start + unit * a, axis - unit * b) for a, b in zip(along, across, strict=True)]
    end, long = start + unit * length, format_number(length)
    with new_canvas() as page:
        page.line((left - 4, axis), (WIDTH - MARGIN, axis), color=RULE)
        page.arrow((start, axis), (end, axis), color=QUERY.strong, width=4.0, label="direction")
        page.text(end, axis + 12, "query", color=QUERY.strong, ha="right", weight="bold")
        labels = _Labels(page)
        for j, (x, y) in enumerate(tips):
            page.dashes((x, y), (x, axis))
            page.arrow((start, axis), (x, y), color=KEY.strong, width=1.6, label=f"key{j}")
            page.circle(x, axis, 1.8, KEY.strong, KEY.strong)
            labels.avoid_line((start, axis), (x, y))
            labels.avoid(x - 1, min(y, axis), x + 1, max(y, axis))
        labels.avoid(0.0, axis - 5, max(end, *(x for x, _ in tips)) + 4, axis + 19)
        for j in sorted(range(len(k)), key=lambda j: -abs(across[j])):
            labels.write(tips[j], tokens[j])
        y = axis + unit * max(float(-across.min()), 0.0) + 2 * LINE + 8
        page.words(MARGIN, y, ("score", INK), (" = shadow · ", QUIET), (long, QUERY.strong))
        own = {"facecolor": KEY.tint, "edgecolor": KEY.strong}
        for j, token in enumerate(tokens):
            y += LINE
            page.text(left - 8, y, token, ha="right")
            page.bar(left, y, 10, ruler, along[j], label=f"shadow{j}", **own)
            after = start + unit * max(along[j], 0.0) + 5
            page.text(after, y, written[j], ha="left", weight="bold")
        listed = [
            f"'{token}' {format_number(a)} · {long} = {score}"
            for token, a, score in zip(tokens, along, written, strict=True)
        ]
        backwards = quote(token for token, a in zip(tokens, along, strict=True) if a < 0)
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"{len(k)} keys as arrows, and the shadow of each on the direction of the query, which is "
            f"{long} long.",
            f"The score is the length of the shadow times that: {', '.join(listed)}.",
            f"The longest shadow is that of {name_largest(along, tokens)}.",
            f"Backwards, and so below zero, points that of {backwards}." if backwards else "",
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
    with new_canvas() as page:
        back, right, front = place(*low), place(high[0], *low[1:]), place(*high[:2], low[2])
        top = place(*low[:2], high[2])
        floor = zip(back, right, front, place(low[0], high[1], low[2]), strict=True)
        page.axes.fill(*floor, facecolor=SHADE, edgecolor=RULE, zorder=0)
        for start, end in ((back, right), (right, front), (back, top)):
            page.arrow(start, end, zorder=1)
        aside = text_width("1st number") / 2 + 8
        page.note((back[0] + right[0]) / 2 - aside, (back[1] + right[1]) / 2 + 4, "1st number")
        page.note((right[0] + front[0]) / 2 + 8, (right[1] + front[1]) / 2 + 14, "2nd number")
        page.note(top[0], top[1] - 9, "3rd number")
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
        y, close, wide = bottom + 2 * LINE + 4, *(format_number(distances[p]) for p in (near, far))
        (a, b), (c, d) = ((tokens[i] for i in pair) for pair in (near, far))
        page.text(WIDTH / 2, y, f"closest: {a} and {b}, {close} apart", color=BLUE)
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"{len(x)} tokens as points in space.",
            f"The closest are '{a}' and '{b}', {close} apart; "
            f"the farthest are '{c}' and '{d}', {wide} apart.",
        )


def draw_gloves(
    words: Sequence[str],
    queries: Float[Tensor, "num_words 2"],
    keys: Float[Tensor, "num_words 2"],
    values: Float[Tensor, "num_words 2"],
    *,
    deal: Sequence[str],
    weights: Float[Tensor, "3 3"],
) -> Drawing:
    """Draw what each hand asks for, what it is and what it passes on, and where three hands look."""
    q, k, v, w = map(to_numpy, (queries, keys, values, weights))
    colours, kinds = np.array([word.split("-") for word in words]).T
    with new_canvas() as page:
        labels, middle = _Labels(page), (WIDTH / 2, MARGIN + LINE + 82)
        page.heading(MARGIN, MARGIN + 6, "what each hand asks for (query) and is (key)")
        labels.cross(middle, 74.0)
        unit = 62 / np.linalg.norm([*q, *k], axis=1).max()
        asked, found = (unit * vectors * (1, -1) + middle for vectors in (q, k))
        for j, (tip, (x, y)) in enumerate(zip(asked, found, strict=True)):
            page.arrow(middle, tuple(tip), color=QUERY.strong, label=f"query{j}")
            labels.avoid_line(middle, tuple(tip))
            page.box(x - 3, y - 3, 6, 6, fill=KEY.tint, edge=KEY.strong, zorder=3)
            labels.avoid_point(x, y, 4.0)
        top = middle[1] + 74 + LINE
        page.heading(MARGIN, top + 6, "its colour (value)")
        page.heading(MARGIN + 132, top + 6, "arrows lead to who looks")
        lower = MARGIN + 60, top + LINE + 72
        labels.cross(lower, 58.0)
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
                labels.write(
                    tuple(spots[kinds == kind].mean(axis=0)), f"{kind}: {part}", 10.0, **look
                )
        for name in dict.fromkeys(colours):
            spot = tuple(passed[colours == name].mean(axis=0))
            labels.write(spot, str(name), 8.0, color=VALUE.strong)
        asks, is_kind = (
            np.array([x[kinds == kind].mean(axis=0) for kind in names]) for x in (q, k)
        )
        best = (asks @ is_kind.T).argmax(axis=1)
        fits = [f"'{name}' of '{names[j]}'" for name, j in zip(names, best, strict=True)]
        apart = np.linalg.norm(v[:, None] - v, axis=-1) + np.diag(np.full(len(v), np.inf))
        alike = (colours[apart.argmin(axis=1)] == colours).sum()
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
