"""Drawings of latent attention: what it keeps of a token, and what heads can ask of two numbers."""

import math
from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import MARGIN, WIDTH, Drawing, Look, card
from literate_attention.figures._lettering import LINE, clean_labels, text_width
from literate_attention.figures._palette import INK, INPUT, KEY, PAPER, VALUE, head_colour
from literate_attention.figures._words import enumerated, plural, quote, to_numpy

__all__ = ["draw_half_planes", "draw_latent"]


def draw_latent(num_heads: int) -> Drawing:
    """Draw what is kept of one token, with keys and values and with a latent, and what is made of it."""
    left, high, gap = MARGIN + 76.0, 20.0, 22.0
    room = WIDTH - left - MARGIN
    step = room / (2 * num_heads)
    with card() as page:

        def box(x: float, y: float, width: float, text: str, **look: Any) -> None:
            page.box(x, y, width, high, rounding=3, zorder=3, **look)
            page.text(x + width / 2, y + high / 2, text)

        def row(y: float, name: str) -> None:
            page.note(MARGIN, y + high / 2, name, "left")

        y = MARGIN + 6
        for title in ("Multi-head attention", "Latent attention"):
            page.heading(MARGIN, y, title)
            y += LINE - 4
            row(y, "the token")
            box(left, y, room, "x", fill=INPUT.tint, edge=INPUT.strong)
            y += high
            sources = [(left + step * (place + 0.5), y) for place in range(2 * num_heads)]
            latent = None
            if title == "Latent attention":
                y += gap
                row(y, "kept")
                latent = left + room / 3, y + high
                rotated = left + 0.84 * room, y + high
                for x, width, name in (
                    (left, 2 * room / 3, "latent"),
                    (left + 0.7 * room, 0.3 * room, "rotated key"),
                ):
                    page.arrow((x + width / 2, y - gap), (x + width / 2, y))
                    box(x, y, width, name, fill=PAPER, edge=INK)
                y += high
            y += gap
            row(y, "made again" if latent else "kept")
            for place, source in enumerate(sources):
                name, colour = (("k", KEY), ("v", VALUE))[place % 2]
                x = left + step * (place + 0.5)
                page.arrow(latent or source, (x, y))
                if latent and name == "k":
                    page.line(rotated, (x, y))
                look: Look = {"fill": PAPER if latent else colour.tint, "edge": colour.strong}
                if latent:
                    look["linestyle"] = "--"
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
    """Draw latents of two numbers as points, and for up to three heads the line from which on each attends.

    Args:
        latents: of each token two numbers.
        directions: for each head what its query makes of ``W_key``; the score is the product with a latent.
        least: the score from which on a head attends.
        tokens: what each token is called.
    """
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
    with card() as page:
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
        return page.finish(WIDTH, *sentences)
