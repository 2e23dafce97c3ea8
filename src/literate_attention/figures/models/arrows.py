"""Drawings of two mechanisms of models: heads that share keys, and arrows that turn together."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    INK,
    KEY,
    LINE,
    MARGIN,
    QUERY,
    RULE,
    WIDTH,
    Array,
    Card,
    Drawing,
    array,
    card,
    count,
    number,
    some,
    vector,
)


def draw_shared_heads(num_heads: int, num_kv_heads: Sequence[int]) -> Drawing:
    """Draw which key-value head each query head uses, for several numbers of the former.

    Args:
        num_heads: how many query heads there are.
        num_kv_heads: for each row how many key-value heads they share.

    Returns:
        The drawing. Its text tells for each row which query heads use which key-value head.

    Raises:
        ValueError: a number is below 1.

    Example:
        >>> draw_shared_heads(4, [2]).alt
        'Which of 4 query heads share keys and values. 2 key-value heads: 0 serves 0, 1; 1 serves 2, 3.'
    """
    some("num_heads", num_heads)
    left, gap = 100.0, 62.0
    step = (WIDTH - left - MARGIN) / num_heads
    sentences = [f"Which of {count(num_heads, 'query head shares', 'query heads share')}"]
    sentences[0] += " keys and values."
    with card() as page:
        y = MARGIN + LINE
        for kv_heads in num_kv_heads:
            some("num_kv_heads", kv_heads)
            used = [head * kv_heads // num_heads for head in range(num_heads)]
            groups = [
                [head for head in range(num_heads) if used[head] == kv_head]
                for kv_head in range(kv_heads)
            ]
            page.text(MARGIN, y, f"{num_heads} query heads", ha="left", color=QUERY.strong)
            of_keys = count(kv_heads, "key-value head", "key-value heads")
            page.text(MARGIN, y + gap / 2 + 13, of_keys, ha="left", color=KEY.strong)
            for kv_head, heads in enumerate(groups):
                middle = left + step * (sum(heads) / max(len(heads), 1) + 0.5)
                for head in heads:
                    x = left + step * (head + 0.5)
                    page.line((x, y), (middle, y + gap / 2 + 12), color=INK)
                    page.circle(x, y, 9, QUERY.tint, QUERY.strong)
                    page.text(x, y, str(head))
                page.box(
                    *(middle - 11, y + gap / 2 + 3, 22, 19),
                    fill=KEY.tint,
                    edge=KEY.strong,
                    rounding=3,
                    zorder=3,
                )
                page.text(middle, y + gap / 2 + 12.5, str(kv_head))
            served = (
                f"{kv_head} serves {', '.join(map(str, heads))}"
                for kv_head, heads in enumerate(groups)
            )
            sentences.append(
                f"{count(kv_heads, 'key-value head', 'key-value heads')}: {'; '.join(served)}."
            )
            y += gap + LINE + 6
        return page.finish(y - LINE - 6 + MARGIN, *sentences)


def draw_turned_arrows(pairs: Mapping[str, Float[Tensor, "2 2"]]) -> Drawing:
    """Draw a query and a key as arrows in the plane, and the angle between them, at several pairs of places.

    Args:
        pairs: for the name of each pair of places the query and the key, as they are turned there.

    Returns:
        The drawing. Its text tells where the arrows point, the angle between them, and their scores.

    Raises:
        TypeError: a pair is not a tensor.
        ValueError: there is no pair, or one has another shape than (2, 2).

    Example:
        >>> import torch
        >>> draw_turned_arrows({"both at 0": torch.tensor([[1.0, 0.0], [0.0, 1.0]])}).alt
        'both at 0: the query is (1.00, 0.00), the key (0.00, 1.00), the angle between them 90°, their score
        0.00.'
    """
    some("the number of pairs", len(pairs))
    arrows = {name: array(name, pair, 2, 2) for name, pair in pairs.items()}
    longest = max(float((pair**2).sum(axis=1).max()) for pair in arrows.values()) ** 0.5 or 1.0
    room = (WIDTH - 2 * MARGIN) / len(arrows)
    radius = min(room / 2 - 14, 70.0)
    sentences = []
    with card() as page:
        top = MARGIN + LINE + 8
        for place, (name, (query, key)) in enumerate(arrows.items()):
            x, y = MARGIN + room * (place + 0.5), top + radius
            page.text(x, MARGIN + LINE / 2, name, weight="bold")
            page.line((x - radius, y), (x + radius, y), color=RULE)
            page.line((x, y - radius), (x, y + radius), color=RULE)
            for arrow, colour, label in ((query, QUERY, "q"), (key, KEY, "k")):
                tip = x + radius * arrow[0] / longest, y - radius * arrow[1] / longest
                page.arrow((x, y), tip, color=colour.strong, width=2.0)
                beside = x + 1.12 * (tip[0] - x), y + 1.12 * (tip[1] - y)
                page.text(*beside, label, color=colour.strong, weight="bold")
            angle = f"{abs(_draw_angle(page, query, key, x, y, 0.35 * radius)):.0f}°"
            score = number(float(query @ key))
            page.text(x, top + 2 * radius + LINE, f"angle {angle}, score {score}")
            sentences.append(
                f"{name}: the query is {vector(query)}, the key {vector(key)}, the angle between them "
                f"{angle}, their score {score}."
            )
        return page.finish(top + 2 * radius + 1.5 * LINE + MARGIN, *sentences)


def _draw_angle(page: Card, query: Array, key: Array, x: float, y: float, radius: float) -> float:
    """Draw an arc from the query to the key, the short way round; return its degrees."""
    start, stop = (math.atan2(arrow[1], arrow[0]) for arrow in (query, key))
    turn = (stop - start + math.pi) % math.tau - math.pi
    arc = start + turn * np.linspace(0, 1, 25)
    corners = zip(x + radius * np.cos(arc), y - radius * np.sin(arc), strict=True)
    for one, other in pairwise(corners):
        page.line(one, other)
    return math.degrees(turn)
