"""A drawing of embeddings as points in space."""

from collections.abc import Callable, Sequence
from itertools import combinations, product

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
    WIDTH,
    Array,
    Card,
    Drawing,
    Point,
    array,
    card,
    labels,
    number,
    text_width,
)

_HIGHEST = 190.0
"""How high the room may be, in points."""

Box = tuple[float, float, float, float]


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


def _free_place(spot: Point, width: float, taken: Sequence[Box]) -> Point:
    beside = width / 2 + 9
    offsets = [(side * beside, dy) for dy in (0.0, -7.0, 7.0, -13.0, 13.0) for side in (1, -1)]
    places = [(spot[0] + dx, spot[1] + dy) for dx, dy in (*offsets, (0.0, -15.0), (0.0, 15.0))]

    def covered(place: Point) -> float:
        box = _around(*place, width)
        outside = max(0.0, MARGIN - box[0]) + max(0.0, box[2] - WIDTH + MARGIN)
        return 1000 * outside + sum(_overlap(box, other) for other in taken)

    return min(places, key=covered)


def _around(x: float, y: float, width: float) -> Box:
    return (x - width / 2 - 1, y - 6, x + width / 2 + 1, y + 6)


def _overlap(a: Box, b: Box) -> float:
    across = min(a[2], b[2]) - max(a[0], b[0])
    down = min(a[3], b[3]) - max(a[1], b[1])
    return max(0.0, across) * max(0.0, down)
