"""Drawings of two mechanisms of models: heads that share keys, and arrows that turn together."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, Look, card
from literate_attention.figures._lettering import LINE
from literate_attention.figures._palette import INK, KEY, QUERY
from literate_attention.figures._words import Array, format_number, format_vector, plural, to_numpy

__all__ = ["draw_shared_heads", "draw_turned_arrows"]


def draw_shared_heads(num_heads: int, num_kv_heads: Sequence[int]) -> Drawing:
    """Draw which key-value head each query head uses, for several numbers of the former."""
    left, gap = 100.0, 62.0
    step = (WIDTH - left - MARGIN) / num_heads
    sentences = [f"Which of {num_heads} query heads share keys and values."]
    with card() as page:
        y = MARGIN + LINE
        for kv_heads in num_kv_heads:
            below, of_keys = y + gap / 2, plural(kv_heads, "key-value head")
            page.text(MARGIN, y, f"{num_heads} query heads", ha="left", color=QUERY.strong)
            page.text(MARGIN, below + 13, of_keys, ha="left", color=KEY.strong)
            served = []
            for kv_head in range(kv_heads):
                heads = [h for h in range(num_heads) if h * kv_heads // num_heads == kv_head]
                middle = left + step * (sum(heads) / len(heads) + 0.5)
                for head in heads:
                    x = left + step * (head + 0.5)
                    page.line((x, y), (middle, below + 12), color=INK)
                    page.circle(x, y, 9, QUERY.tint, QUERY.strong)
                    page.text(x, y, str(head))
                look: Look = {"fill": KEY.tint, "edge": KEY.strong, "rounding": 3, "zorder": 3}
                page.box(middle - 11, below + 3, 22, 19, **look)
                page.text(middle, below + 12.5, str(kv_head))
                served.append(f"{kv_head} serves {', '.join(map(str, heads))}")
            sentences.append(f"{of_keys}: {'; '.join(served)}.")
            y += gap + LINE + 6
        return page.finish(y - LINE - 6 + MARGIN, *sentences)


def draw_turned_arrows(pairs: Mapping[str, Float[Tensor, "2 2"]]) -> Drawing:
    """Draw a query and a key as arrows, and the angle between them, for several pairs of places."""
    arrows = {name: to_numpy(pair) for name, pair in pairs.items()}
    longest = max(float(np.linalg.norm(pair, axis=1).max()) for pair in arrows.values())
    room = (WIDTH - 2 * MARGIN) / len(arrows)
    radius = min(room / 2 - 14, 70.0)
    sentences = []
    with card() as page:
        top = MARGIN + LINE + 8
        for place, (name, (query, key)) in enumerate(arrows.items()):
            x, y = MARGIN + room * (place + 0.5), top + radius
            page.text(x, MARGIN + LINE / 2, name, weight="bold")
            page.cross(x, y, radius)
            for arrow, colour, label in ((query, QUERY, "q"), (key, KEY, "k")):
                across, up = radius * arrow / longest
                page.arrow((x, y), (x + across, y - up), color=colour.strong, width=2.0)
                beside = x + 1.12 * across, y - 1.12 * up
                page.text(*beside, label, color=colour.strong, weight="bold")
            angle = f"{abs(_draw_angle(page, query, key, x, y, 0.35 * radius)):.0f}°"
            score = format_number(query @ key)
            page.text(x, top + 2 * radius + LINE, f"angle {angle}, score {score}")
            sentences.append(
                f"{name}: the query is {format_vector(query)}, the key {format_vector(key)}, the angle "
                f"between them {angle}, their score {score}."
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
