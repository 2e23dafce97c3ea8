"""The drawing of arrows that turn together."""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Drawing, new_canvas
from .._lettering import LINE
from .._palette import KEY, QUERY
from .._words import format_number, format_vector, to_numpy

__all__ = ["draw_turned_arrows"]


def draw_turned_arrows(pairs: Mapping[str, Float[Tensor, "2 2"]]) -> Drawing:
    """Draw a query and a key as arrows, and the angle between them, for several pairs of places."""
    arrows = {name: to_numpy(pair) for name, pair in pairs.items()}
    longest = max(float(np.linalg.norm(pair, axis=1).max()) for pair in arrows.values())
    room = (WIDTH - 2 * MARGIN) / len(arrows)
    radius, top, sentences = min(room / 2 - 14, 70.0), MARGIN + LINE + 8, []
    with new_canvas() as page:
        for place, (name, pair) in enumerate(arrows.items()):
            x, y = MARGIN + room * (place + 0.5), top + radius
            page.text(x, MARGIN + LINE / 2, name, weight="bold")
            page.cross(x, y, radius)
            for arrow, colour, label in zip(pair, (QUERY, KEY), "qk", strict=True):
                across, up = radius * arrow / longest
                page.arrow((x, y), (x + across, y - up), color=colour.strong, width=2.0)
                beside = x + 1.12 * across, y - 1.12 * up
                page.text(*beside, label, color=colour.strong, weight="bold")
            start, stop = np.arctan2(pair[:, 1], pair[:, 0])
            turn = (stop - start + math.pi) % math.tau - math.pi  # the short way round
            arc, reach = start + turn * np.linspace(0, 1, 25), 0.35 * radius
            page.line(*zip(x + reach * np.cos(arc), y - reach * np.sin(arc), strict=True))
            angle, score = f"{abs(math.degrees(turn)):.0f}°", format_number(pair[0] @ pair[1])
            page.text(x, top + 2 * radius + LINE, f"angle {angle}, score {score}")
            query, key = map(format_vector, pair)
            sentences.append(
                f"{name}: the query is {query}, the key {key}, the angle between them {angle}, their score "
                f"{score}."
            )
        return page.finish(top + 2 * radius + 1.5 * LINE + MARGIN, *sentences)
