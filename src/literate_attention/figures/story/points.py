"""Drawings of vectors as points and arrows: embeddings, scores as shadows, averages as places between."""

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise, product

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    CONTEXT,
    INK,
    KEY,
    LINE,
    MARGIN,
    PAPER,
    QUERY,
    QUIET,
    RULE,
    SHADE,
    VALUE,
    WIDTH,
    Array,
    Card,
    Drawing,
    Point,
    Ruler,
    array,
    card,
    index,
    label_width,
    labels,
    largest,
    number,
    text_width,
    vector,
)

_HIGHEST = 190.0
"""How high the room may be, in points."""

Box = tuple[float, float, float, float]


def draw_shadows(
    query: Float[Tensor, "d_k"], keys: Float[Tensor, "num_tokens d_k"], tokens: Sequence[str]
) -> Drawing:
    """Draw a dot product as what it measures: the shadow that each key casts on the direction of the query.

    The query lies on its side, and each key keeps its length and its angle to the query. So the figure is
    true for vectors of any width: vectors of two numbers are only turned, wider ones are folded into the
    plane, where the angle between two keys means nothing. The score is the length of the shadow times the
    length of the query.

    Args:
        query: the vector that asks.
        keys: the vectors that are asked.
        tokens: what each key is called.

    Returns:
        The drawing. Its text lists the scores, and tells which shadow is longest and which point backwards.

    Raises:
        TypeError: query or keys are not a tensor, or the labels are a single string.
        ValueError: shapes or labels do not fit, or the query has no direction.

    Example:
        >>> import torch
        >>> draw_shadows(torch.tensor([2.0, 0.0]), torch.eye(2), ["one", "step"]).alt
        "2 keys as arrows, and the shadow of each on the direction of the query, which is 2.00 long. The
        score is the length of the shadow times that: 'one' 1.00 · 2.00 = 2.00, 'step' 0.00 · 2.00 = 0.00.
        The longest shadow is that of 'one'."
    """
    k = array("keys", keys, "num_tokens", "d_k")
    q = array("query", query, k.shape[1])
    tokens = labels("tokens", tokens, len(k), "keys")
    length = _length(q)
    if not length:
        raise ValueError("query must have a direction, but all its numbers are 0")
    along = k @ q / length
    across = np.sqrt(np.maximum((k**2).sum(axis=1) - along**2, 0.0))
    if len(q) == 2:
        across = k @ np.array([-q[1], q[0]]) / length
    scores = k @ q
    left = MARGIN + label_width(tokens) + 8
    written = [number(score) for score in scores]
    after = 10 + max(text_width(text, weight="bold") for text in (*written, *tokens))
    ruler = Ruler.over(np.append(along, length), WIDTH - left - MARGIN - after)
    unit = min(ruler.scale, _HIGHEST / (np.ptp(np.append(across, 0.0)) or 1.0))
    ruler = Ruler(ruler.low, ruler.high, unit * (ruler.high - ruler.low))
    origin_x = left - unit * ruler.low
    axis_y = MARGIN + 2 * LINE + unit * max(float(across.max()), 0.0)
    tips = [(origin_x + unit * a, axis_y - unit * b) for a, b in zip(along, across, strict=True)]
    with card() as page:
        end = WIDTH - MARGIN
        page.line((origin_x + unit * min(ruler.low, 0.0) - 4, axis_y), (end, axis_y), color=RULE)
        tip_x = origin_x + unit * length
        page.arrow(
            (origin_x, axis_y), (tip_x, axis_y), color=QUERY.strong, width=4.0, name="direction"
        )
        page.text(tip_x, axis_y + 12, "query", color=QUERY.strong, ha="right", weight="bold")
        for j, tip in enumerate(tips):
            page.dashes(tip, (tip[0], axis_y))
            page.arrow((origin_x, axis_y), tip, color=KEY.strong, width=1.6, name=f"key{j}")
            page.circle(tip[0], axis_y, 1.8, KEY.strong, KEY.strong)
        taken = [
            _around(origin_x + part * (x - origin_x), axis_y + part * (y - axis_y), 0.0)
            for x, y in tips
            for part in np.linspace(0, 1, 24)
        ]
        taken += [(x - 1, min(y, axis_y), x + 1, max(y, axis_y)) for x, y in tips]
        taken.append((0.0, axis_y - 5, max(tip_x, *(x for x, _ in tips)) + 4, axis_y + 19))
        for j in sorted(range(len(k)), key=lambda j: -abs(across[j])):
            width = text_width(tokens[j])
            x, y = _free_place(tips[j], width, taken)
            taken.append(_around(x, y, width))
            page.text(x, y, tokens[j])
        y = axis_y + unit * max(float(-across.min()), 0.0) + 2 * LINE + 8
        page.words(
            MARGIN, y, [("score", INK), (" = shadow · ", QUIET), (number(length), QUERY.strong)]
        )
        y += LINE + 2
        for j, token in enumerate(tokens):
            page.text(left - 8, y, token, ha="right")
            page.bar(
                left, y, 10, ruler, along[j], color=KEY.tint, edge=KEY.strong, name=f"shadow{j}"
            )
            start = origin_x + unit * max(along[j], 0.0)
            page.text(start + 5, y, written[j], ha="left", weight="bold")
            y += LINE
        listed = [
            f"'{token}' {number(a)} · {number(length)} = {score}"
            for token, a, score in zip(tokens, along, written, strict=True)
        ]
        backwards = [f"'{token}'" for token, a in zip(tokens, along, strict=True) if a < 0]
        return page.finish(
            y - LINE / 2 + MARGIN,
            f"{len(k)} keys as arrows, and the shadow of each on the direction of the query, which is "
            f"{number(length)} long.",
            f"The score is the length of the shadow times that: {', '.join(listed)}.",
            f"The longest shadow is that of {largest(along, tokens)}.",
            *(
                [f"Backwards, and so below zero, points that of {', '.join(backwards)}."]
                * bool(backwards)
            ),
        )


def draw_pulls(
    vectors: Float[Tensor, "num_tokens 2"],
    weights: Float[Tensor, "num_tokens"],
    tokens: Sequence[str],
    *,
    query: int | None = None,
) -> Drawing:
    """Draw a weighted average as a journey: each vector pulls the traveller towards itself, by its weight.

    Because the weights sum to one, their average is the starting point plus, for each vector, its weight
    times the way from the start to that vector. The start is the vector of the query, or, without one, the
    plain average, which all weights alike would give.

    Args:
        vectors: a place in the plane for each token.
        weights: the attention weights of one query.
        tokens: what each token is called.
        query: at which token to start, counted from 0; by default at the plain average.

    Returns:
        The drawing. Its text lists the pulls, and tells from where to where they lead.

    Raises:
        TypeError: vectors or weights are not a tensor, or the labels are a single string.
        ValueError: shapes, labels or the position do not fit, or the weights do not sum to one.

    Example:
        >>> import torch
        >>> draw_pulls(torch.eye(2), torch.tensor([0.25, 0.75]), ["one", "step"], query=0).alt
        "2 vectors in the plane. From (1.00, 0.00), the place of 'one', the context vector is pulled to
        (0.25, 0.75): 0.25 of the way to 'one', 0.75 of the way to 'step'. The strongest pull is that of
        'step'."
    """
    x = array("vectors", vectors, "num_tokens", 2)
    w = array("weights", weights, len(x))
    tokens = labels("tokens", tokens, len(x), "vectors")
    if not np.isclose(w.sum(), 1.0, rtol=0, atol=1e-3):
        raise ValueError(f"weights must sum to 1 to make an average, got {w.sum():g}")
    start = x.mean(axis=0) if query is None else x[index("query", query, len(x))]
    pulls = w[:, None] * (x - start)
    stops = start + np.vstack([np.zeros(2), np.cumsum(pulls, axis=0)])
    everything = np.vstack([x, stops])
    low, span = everything.min(axis=0), np.ptp(everything, axis=0)
    scale = min((WIDTH - 2 * MARGIN - 70) / (span[0] or 1.0), 1.2 * _HIGHEST / (span[1] or 1.0))
    left, top = (WIDTH - scale * span[0]) / 2, MARGIN + 2 * LINE

    def place(point: Array) -> Point:
        return (
            float(left + scale * (point[0] - low[0])),
            float(top + scale * (low[1] + span[1] - point[1])),
        )

    spots, way = [place(point) for point in x], [place(stop) for stop in stops]
    with card() as page:
        for spot in spots:
            page.dashes(way[0], spot)
        for j, (a, b) in enumerate(pairwise(way)):
            if _length(np.subtract(b, a)) > 1:
                page.arrow(a, b, color=CONTEXT.strong, width=1.8, name=f"pull{j}", zorder=3)
        taken = [
            _around(
                way[0][0] + part * (spot[0] - way[0][0]),
                way[0][1] + part * (spot[1] - way[0][1]),
                0.0,
            )
            for spot in spots
            for part in np.linspace(0, 1, 24)
        ]
        radii = [max(19 * float(np.sqrt(share)), 1.5) for share in np.maximum(w, 0.0)]
        for spot, radius in zip(spots, radii, strict=True):
            page.circle(*spot, radius, VALUE.tint, VALUE.strong)
            taken.append((spot[0] - radius, spot[1] - radius, spot[0] + radius, spot[1] + radius))
        page.diamond(*way[0], 3.5, PAPER, QUIET)
        page.diamond(*way[-1], 5, CONTEXT.strong, PAPER)
        taken += [(a - 6, b - 6, a + 6, b + 6) for a, b in way]
        shown = [f"{token} {number(share)}" for token, share in zip(tokens, w, strict=True)]
        for spot, radius, label in zip(spots, radii, shown, strict=True):
            width = text_width(label)
            at = _free_place(spot, width, taken, beside=float(radius))
            taken.append(_around(*at, width))
            page.text(*at, label)
        at = _free_place(way[-1], text_width("context", weight="bold"), taken)
        page.text(*at, "context", color=CONTEXT.strong, weight="bold")
        shares = [
            f"{number(share)} of the way to '{token}'"
            for share, token in zip(w, tokens, strict=True)
        ]
        begin = "the plain average" if query is None else f"the place of '{tokens[query]}'"
        return page.finish(
            top + scale * span[1] + 2 * LINE + MARGIN,
            f"{len(x)} vectors in the plane.",
            f"From {vector(start)}, {begin}, the context vector is pulled to {vector(stops[-1])}: "
            f"{', '.join(shares)}.",
            f"The strongest pull is that of {largest(w, tokens)}.",
        )


def draw_embedding_points(inputs: Float[Tensor, "num_tokens 3"], tokens: Sequence[str]) -> Drawing:
    """Draw embeddings as points in space: what is alike in all three numbers stands close together.

    Each point stands on a stem, so that the eye finds its place on the floor. The closest pair is set off.

    Args:
        inputs: one vector of three numbers for each token.
        tokens: what each token is called.

    Returns:
        The drawing. Its text names the closest and the farthest pair.

    Raises:
        TypeError: the inputs are not a tensor, or the labels are a single string.
        ValueError: the vectors are not three numbers wide, there are fewer than two, or labels do not fit.

    Example:
        >>> import torch
        >>> x = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.5, 0.0]])
        >>> draw_embedding_points(x, ["a", "b", "c"]).alt
        "3 tokens as points in space. The closest are 'b' and 'c', 0.50 apart; the farthest are 'a' and
        'c', 1.12 apart."
    """
    x = array("inputs", inputs, "num_tokens", 3)
    tokens = labels("tokens", tokens, len(x), "inputs")
    if len(x) < 2:
        raise ValueError(f"inputs must hold at least 2 vectors, got {len(x)}")
    apart = {(i, j): _length(x[i] - x[j]) for i, j in combinations(range(len(x)), 2)}
    near = min(apart, key=apart.__getitem__)
    far = max(apart, key=apart.__getitem__)
    low, high = np.minimum(x.min(axis=0), 0.0), np.maximum(x.max(axis=0), 0.0)
    view = _clearest_view(x)
    corners = np.array(list(product(*zip(low, high, strict=True)))) @ view
    span = np.ptp(corners, axis=0)
    scale = min((WIDTH - 2 * MARGIN - 30) / (span[0] or 1.0), _HIGHEST / (span[1] or 1.0))
    left, top = (WIDTH - scale * span[0]) / 2, MARGIN + LINE

    def place(point: Array) -> Point:
        across, up = point @ view
        return (
            float(left + scale * (across - corners[:, 0].min())),
            float(top + scale * (corners[:, 1].max() - up)),
        )

    spots = [place(point) for point in x]
    feet = [place(np.array([*point[:2], low[2]])) for point in x]
    with card() as page:
        _draw_room(page, place, low, high)
        for i, (spot, foot) in enumerate(zip(spots, feet, strict=True)):
            color = BLUE if i in near else QUIET
            page.line(foot, spot, color=color, zorder=2)
            page.circle(*foot, 1.2, color, color)
        rest = [i for i in range(len(x)) if i not in near]
        for name, chosen, color, marker in (
            ("points", rest, QUIET, "o"),
            ("closest", list(near), BLUE, "D"),
        ):
            page.axes.plot(
                [spots[i][0] for i in chosen],
                [spots[i][1] for i in chosen],
                marker,
                color=color,
                markeredgecolor=PAPER,
                markersize=8 if marker == "o" else 7,
                zorder=3,
                label=name,
            )
        _label_points(page, spots, feet, tokens, near)
        y = top + scale * span[1] + 2 * LINE + 4
        page.text(
            WIDTH / 2,
            y,
            f"closest: {tokens[near[0]]} and {tokens[near[1]]}, {number(apart[near])} apart",
            color=BLUE,
        )
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"{len(x)} tokens as points in space.",
            f"The closest are '{tokens[near[0]]}' and '{tokens[near[1]]}', {number(apart[near])} apart; "
            f"the farthest are '{tokens[far[0]]}' and '{tokens[far[1]]}', {number(apart[far])} apart.",
        )


def _length(vector: Array) -> float:
    return float(np.linalg.norm(vector))


def _clearest_view(x: Array) -> Array:
    """Stand where no two points look much closer than they are; the third axis stays upright."""

    def view(turn: float, tilt: float) -> Array:
        return np.array(
            [
                [np.cos(turn), -np.sin(turn) * np.sin(tilt)],
                [np.sin(turn), np.cos(turn) * np.sin(tilt)],
                [0.0, np.cos(tilt)],
            ]
        )

    def honesty(candidate: Array) -> float:
        return min(
            _length((a - b) @ candidate) / (_length(a - b) or 1.0) for a, b in combinations(x, 2)
        )

    angles = product(np.radians(range(15, 80, 5)), np.radians(range(15, 40, 5)))
    return max((view(turn, tilt) for turn, tilt in angles), key=honesty)


def _draw_room(page: Card, place: Callable[[Array], Point], low: Array, high: Array) -> None:
    """Draw the floor and the three axes."""
    around = ((low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1]))
    floor = [place(np.array([*corner, low[2]])) for corner in around]
    page.axes.fill(*zip(*floor, strict=True), facecolor=SHADE, edgecolor=RULE, zorder=0)
    back, right, front = place(low), place(np.array([high[0], low[1], low[2]])), floor[2]
    top = place(np.array([low[0], low[1], high[2]]))
    for start, end in ((back, right), (right, front), (back, top)):
        page.arrow(start, end, zorder=1)
    first, third = text_width("1st number"), text_width("3rd number")
    x = max((back[0] + right[0]) / 2 - first / 2 - 8, MARGIN + first / 2)
    page.text(x, (back[1] + right[1]) / 2 + 4, "1st number", color=QUIET)
    page.text(
        (right[0] + front[0]) / 2 + 8, (right[1] + front[1]) / 2 + 14, "2nd number", color=QUIET
    )
    page.text(max(top[0], MARGIN + third / 2), top[1] - 9, "3rd number", color=QUIET)


def _label_points(
    page: Card,
    spots: Sequence[Point],
    feet: Sequence[Point],
    tokens: Sequence[str],
    near: tuple[int, int],
) -> None:
    """Write each token beside its point, where it covers no point, no stem and no other token."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in spots]
    taken += [(x - 1, top, x + 1, foot) for (x, top), (_, foot) in zip(spots, feet, strict=True)]
    for i in sorted(range(len(tokens)), key=lambda i: (i not in near, spots[i][1])):
        weight, color = ("bold", BLUE) if i in near else ("normal", INK)
        width = text_width(tokens[i], weight=weight)
        x, y = _free_place(spots[i], width, taken)
        taken.append(_around(x, y, width))
        page.text(x, y, tokens[i], color=color, weight=weight)


def _free_place(spot: Point, width: float, taken: Sequence[Box], beside: float = 5.0) -> Point:
    away = width / 2 + beside + 4
    above = beside + 10
    sides = [(side * away, dy) for dy in (0, -7, 7, -13, 13, -20, 20) for side in (1, -1)]
    middles = [
        (dx, side * dy) for dy in (above, above + 14) for side in (-1, 1) for dx in (0, 9, -9)
    ]
    places = [(spot[0] + dx, spot[1] + dy) for dx, dy in (*sides, *middles)]
    lefts, tops, rights, bottoms = np.array(taken).T

    def covered(place: Point) -> float:
        box = _around(*place, width)
        outside = max(0.0, MARGIN - box[0]) + max(0.0, box[2] - WIDTH + MARGIN)
        across = np.minimum(box[2], rights) - np.maximum(box[0], lefts)
        down = np.minimum(box[3], bottoms) - np.maximum(box[1], tops)
        return 1000 * outside + float(across.clip(0.0) @ down.clip(0.0))

    return min(places, key=covered)


def _around(x: float, y: float, width: float) -> Box:
    return (x - width / 2 - 1, y - 6, x + width / 2 + 1, y + 6)
