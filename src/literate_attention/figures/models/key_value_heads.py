"""Drawings of keys and values that heads share: in groups, or made of one latent."""

import math
from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Drawing, Look, new_canvas
from .._lettering import LINE, clean_labels, text_width
from .._palette import INK, INPUT, KEY, PAPER, QUERY, VALUE, head_colour
from .._words import enumerated, plural, quote, to_numpy

__all__ = ["draw_half_planes", "draw_latent", "draw_shared_heads"]


def draw_shared_heads(num_heads: int, num_kv_heads: Sequence[int]) -> Drawing:
    """Draw which key-value head each query head uses, for several numbers of the former."""
    left, gap = 100.0, 62.0
    step = (WIDTH - left - MARGIN) / num_heads
    sentences = [f"Which of {num_heads} query heads share keys and values."]
    with new_canvas() as page:
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


def draw_latent(num_heads: int) -> Drawing:
    """Draw what is kept of one token, with keys and values and with a latent, and what is made of it."""
    left, high, gap = MARGIN + 76.0, 20.0, 22.0
    room = WIDTH - left - MARGIN
    step = room / (2 * num_heads)
    with new_canvas() as page:

        def box(x: float, y: float, width: float, text: str, **look: Any) -> None:
            page.box(x, y, width, high, rounding=3, zorder=3, **look)
            page.text(x + width / 2, y + high / 2, text)

        y = MARGIN + 6
        for title in ("Multi-head attention", "Latent attention"):
            is_latent = title == "Latent attention"
            page.heading(MARGIN, y, title)
            y += LINE - 4
            page.note(MARGIN, y + high / 2, "the token", "left")
            box(left, y, room, "x", fill=INPUT.tint, edge=INPUT.strong)
            y += high + gap
            if is_latent:
                page.note(MARGIN, y + high / 2, "kept", "left")
                for x, width, name in ((0.0, 2 / 3, "latent"), (0.7, 0.3, "rotated key")):
                    middle = left + (x + width / 2) * room
                    page.arrow((middle, y - gap), (middle, y))
                    box(left + x * room, y, width * room, name, fill=PAPER, edge=INK)
                y += high + gap
            page.note(MARGIN, y + high / 2, "made again" if is_latent else "kept", "left")
            for place in range(2 * num_heads):
                (name, colour), x = (
                    (("k", KEY), ("v", VALUE))[place % 2],
                    left + step * (place + 0.5),
                )
                page.arrow((left + room / 3 if is_latent else x, y - gap), (x, y))
                if is_latent and name == "k":
                    page.arrow((left + 0.85 * room, y - gap), (x, y))
                look: Look = {"fill": colour.tint, "edge": colour.strong}
                if is_latent:
                    look |= {"fill": PAPER, "linestyle": "--"}
                box(x - step / 2 + 3, y, step - 6, f"{name}{place // 2 + 1}", **look)
            y += high + LINE + 8
        return page.finish(
            y - LINE - 8 + MARGIN,
            f"What is kept of one token. Multi-head attention: a key and a value for each of "
            f"{plural(num_heads, 'head')}. Latent attention: a latent, from which all these keys and values "
            f"can be made again, and a rotated key, which is part of every key.",
        )


def draw_half_planes(
    latents: Float[Tensor, "num_tokens 2"],
    directions: Float[Tensor, "num_heads 2"],
    least: float,
    tokens: Sequence[str],
) -> Drawing:
    """Draw latents of two numbers as points, and for up to three heads the line beyond which each attends."""
    points, heads = to_numpy(latents, 2), to_numpy(directions, 2)
    names = clean_labels(tokens, len(points))
    centre, radius = WIDTH / 2, WIDTH / 2 - MARGIN - 14
    unit = radius / (1.35 * max(math.hypot(*point) for point in points))

    def at(x: float, y: float) -> tuple[float, float]:
        return centre + unit * x, centre - unit * y

    at_place: dict[tuple[int, int], list[str]] = {}
    for name, point in zip(names, points, strict=True):
        x, y = at(*point)
        at_place.setdefault((round(x), round(y)), []).append(name)
    sentences = [f"{plural(len(names), 'token')} as points of the plane, and a line for each head."]
    with new_canvas() as page:
        for (x, y), here in at_place.items():
            page.circle(x, y, 4, INK, INK)
            for name, below in zip(here, (13, -13), strict=False):
                page.text(x, y + below, name)
        for head, (across, up) in enumerate(heads):
            length, colour = math.hypot(across, up), head_colour(head).strong
            away = least / length
            reach = math.sqrt((radius / unit) ** 2 - away**2)
            across, up = across / length, up / length
            ends = [at(away * across - s * up, away * up + s * across) for s in (-reach, reach)]
            page.line(*ends, color=colour, width=1.8)
            for x, y in ends:
                page.arrow((x, y), (x + 16 * across, y - 16 * up), color=colour, width=1.8)
            x, y = ends[0]
            aside = 22 + text_width("head 1") / 2 * abs(across)
            beside: Look = {"color": colour, "weight": "bold"}
            page.text(x + aside * across, y - aside * up, f"head {head + 1}", **beside)
            seen = [
                name
                for name, score in zip(names, points @ heads[head], strict=True)
                if score >= least
            ]
            sentences.append(f"Head {head + 1} attends to {enumerated(seen)}.")
        for here in at_place.values():
            if len(here) > 1:
                sentences.append(f"{quote(here)} have the same latent.")
        page.note(MARGIN, WIDTH, "a head attends on the side of its arrows", "left")
        return page.finish(WIDTH + LINE / 2 + MARGIN, *sentences)
