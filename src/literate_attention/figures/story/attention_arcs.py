"""Where words look: arcs along a line of words, and arrows round three. They lead to the word that looks."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Canvas, Drawing, Look, Point, new_canvas, spread
from .._lettering import LINE, SMALL_TEXT, clean_labels, shorten, wrap
from .._palette import BLUE, INK, ORANGE, QUIET, RULE, head_colour
from .._words import Array, enumerated, format_number, name_largest, quote, to_numpy

__all__ = ["draw_head_circles", "draw_ladder", "draw_looks"]

_LEAST = 0.05
"""Smaller weights have no arc, and on a circle no number."""


def _thickness(weight: float) -> float:
    """Return how thick an arrow of this weight is, in points: a weight of zero is still to be seen."""
    return 0.5 + 4 * weight


def _finish(page: Canvas, y: float, *said: str, more: str = "") -> Drawing:
    """Write below a drawing which way its arrows lead, and end it."""
    page.note(MARGIN, y, f"arrows lead to the word that looks{more}", "left")
    return page.finish(y + LINE / 2 + MARGIN, *said)


def _draw_arcs(
    page: Canvas,
    places: Sequence[float],
    i: int,
    row: Array,
    y: float,
    *,
    high: float,
    below: bool = False,
    inside: float = 0.0,
    nested: bool = False,
    **look: Any,
) -> None:
    """Draw an arc to the word at place `i` from each that it looks at: the further, the higher.

    Arcs that are so many points inside others do not lie on them; nested are those that lead to the right.
    """
    seen = np.flatnonzero(row >= _LEAST).tolist()
    for j in seen:
        side = (j > i) - (j < i)
        further = sum(side * k > side * j for k in seen)  # these land closer to the middle
        aside = 7 * (nested and side < 0)
        start = places[j] - side * (5 + inside + 2 * aside)
        end = places[i] + side * (5 + inside + aside + 6 * (further + (i in seen)))
        rise = high * (0.2 + 0.8 * abs(i - j) / max(1, len(places) - 1)) - 1.25 * (inside + aside)
        if not side:
            start, end, rise = start + 4, end - 4, high / 2
        rise, look["width"] = -rise if below else rise, _thickness(row[j])
        page.arch((start, y), (end, y), rise, **look)


def draw_looks(
    weights: Mapping[str, Float[Tensor, "num_tokens num_tokens"]], tokens: Sequence[str]
) -> Drawing:
    """Draw where words look: what comes from later words in arcs above the line, from earlier ones below it.

    An arc is as thick as its weight, and weights under a twentieth have none. What a word gives to itself is
    a frame, as thick as an arc.

    Example:
        >>> import torch
        >>> draw_looks({"peeks": torch.tensor([[0.0, 1.0], [0.0, 1.0]])}, ["one", "step"]).alt
        "Arcs lead to the word that looks: above the line from later words, below it from earlier.
        peeks: 'one' looks most at 'step', 'step' at itself; all words but the last give 1.00 of their weight
        to later words, on average."
    """
    panels = {title: to_numpy(matrix, 2) for title, matrix in weights.items()}
    tokens = clean_labels(tokens)
    column, middles = (WIDTH - 2 * MARGIN) / len(tokens), spread(len(tokens))
    height, sentences = 20.0, []
    with new_canvas() as page:
        y = MARGIN
        for title, matrix in panels.items():
            page.heading(MARGIN, y + 6, title)
            ahead, back = (half(matrix, k) for half, k in ((np.triu, 1), (np.tril, -1)))
            reach = [np.ptp(np.argwhere(half >= _LEAST), axis=1) for half in (ahead, back)]
            over, under = (
                6 + 46 * (0.2 + 0.8 * max(far, default=0) / len(tokens)) for far in reach
            )
            top = y + LINE + over
            for i, token in enumerate(tokens):
                look: Look = {"high": 46.0, "color": ORANGE}
                _draw_arcs(page, middles, i, ahead[i], top, **look)
                look |= {"color": BLUE, "below": True}
                _draw_arcs(page, middles, i, back[i], top + height, **look)
                if matrix[i, i] >= _LEAST:
                    own = middles[i] - column / 2 + 3, top + 2, column - 6, height - 4
                    page.frame(*own, QUIET, _thickness(matrix[i, i]))
                page.text(middles[i], top + height / 2, shorten(token, column - 8))
            y = top + height + under + LINE / 2
            looks = [
                f"{token!r}{'' if i else ' looks most'} at "
                f"{'itself' if row.argmax() == i else name_largest(row, tokens) if row.any() else 'nothing'}"
                for i, (token, row) in enumerate(zip(tokens, matrix, strict=True))
            ]
            later = format_number(ahead[:-1].sum(axis=1).mean())
            sentences.append(
                f"{title}: {', '.join(looks)}; all words but the last give {later} of their weight to later "
                "words, on average."
            )
        lead = "Arcs lead to the word that looks: above the line from later words, below it from earlier."
        return _finish(page, y, lead, *sentences, more="; frame: at itself")


def draw_ladder(rungs: Sequence[tuple[str, str, Sequence[int], Mapping[str, Tensor]]]) -> Drawing:
    """Draw for each of some tasks where words look: with one kind of attention, and with the next.

    Arrows lead to the word that looks, each as thick as its weight; weights below a twentieth have none.
    Several heads have the colours of heads.

    Args:
        rungs: for each task what is asked, a sentence, the places of the words in it that look, and the
            attention weights, of shape `(num_tokens, num_tokens)` or `(num_heads, num_tokens, num_tokens)`,
            of two kinds of attention: of the first, drawn above the sentence, and of the second, drawn below
            it. Each is named by what is to be written beside it.
    """
    names, high, said = 82.0, 30.0, []
    with new_canvas() as page:
        y = MARGIN
        for question, sentence, asks, kinds in rungs:
            words = sentence.split()
            if y > MARGIN:
                page.line((MARGIN, y), (WIDTH - MARGIN, y), color=RULE)
                y += 8
            for line in wrap(question, WIDTH - 2 * MARGIN, "bold"):
                page.heading(MARGIN, y + 6, line)
                y += LINE
            middles, top = spread(len(words), MARGIN + names), y + high + 4
            deep = 12.0 * max(len(word.split("-")) for word in words)
            for place, (x, word) in enumerate(zip(middles, words, strict=True)):
                weight = "bold" if place in asks else "normal"
                page.lines(x, top + 6, word.split("-"), weight=weight)
            clauses = []
            for side, (name, weights) in zip((-1, 1), kinds.items(), strict=True):
                heads = to_numpy(weights).reshape(-1, len(words), len(words))
                edge = top - 2 if side < 0 else top + deep + 2
                lines = [line for part in name.split("\n") for line in wrap(part, names)]
                page.paragraph(MARGIN, edge + side * 16 - 6 * (len(lines) - 1), lines, "left")
                for (h, i), _ in np.ndenumerate(heads[:, :, 0]):
                    if i in asks:
                        colour = BLUE if len(heads) == 1 else head_colour(h).strong
                        look: Look = {"high": high, "color": colour, "below": side > 0}
                        look |= {"inside": 5.0 * h, "nested": len(asks) > 1}
                        _draw_arcs(page, middles, i, heads[h, i], edge, **look)
                clauses.append(f"with {' '.join(lines)}, {_say_looks(words, asks, heads)}")
            said.append(f"{question} In the sentence '{sentence}', {'; '.join(clauses)}.")
            y = top + deep + high + 8
        return _finish(page, y + 8, *said)


def _say_looks(words: Sequence[str], asks: Sequence[int], heads: Array) -> str:
    looks = []
    for h, weights in enumerate(heads, start=1):
        whose = f"head {h} of " if len(heads) > 1 else ""
        for i in asks:
            pairs = zip(words, weights[i], strict=True)
            seen = [
                f"'{word}' ({format_number(share)})" for word, share in pairs if share >= _LEAST
            ]
            looks.append(f"{whose}'{words[i]}' looks at {enumerated(seen)}")
    return enumerated(looks)


def draw_circle(
    page: Canvas, words: Sequence[str], weights: Array, top: Point, *, color: str, label: str
) -> float:
    """Draw three words, and for each weight an arrow to the one that looks; return the lower edge."""
    lines = [word.split("-") for word in words]
    half = np.array([23.0, 6.0 * len(lines[0]) + 2])
    spots = 104 * np.array([(0.0, 0.0), (0.5, 0.866), (-0.5, 0.866)]) + top + (0, half[1])
    for i, j in permutations(range(3), 2):
        way = (spots[i] - spots[j]) / np.hypot(*(spots[i] - spots[j]))
        aside = np.array([way[1], -way[0]])
        reach = min(half / np.maximum(abs(way), 1e-9)) + 2
        start, end = spots[j] + reach * way + 3.5 * aside, spots[i] - reach * way + 3.5 * aside
        look: Look = {"width": _thickness(weights[i, j]), "label": f"{label}{i}{j}"}
        page.arrow(tuple(start), tuple(end), color=color, **look)
        if weights[i, j] >= _LEAST:
            lower = 8 * np.sign(way[1].round(2)) * way  # there is more room further down
            beside = (10.0 if abs(way[1]) < 0.1 else 13.0) * aside
            x, y = (start + end) / 2 + lower + beside
            page.text(x, y, format_number(weights[i, j]), size=SMALL_TEXT, color=color)
    for (x, y), parts in zip(spots, lines, strict=True):
        short = [shorten(part, 2 * half[0]) for part in parts]
        page.lines(x, y - 6 * (len(parts) - 1), short)
    return float(spots[1, 1] + half[1])


def draw_head_circles(
    heads: Float[Tensor, "num_heads 3 3"], tokens: Sequence[str], *, alone: Float[Tensor, "3 3"]
) -> Drawing:
    """Draw where three tokens look, once for each head: arrows lead to the token that looks."""
    tokens, sentences = clean_labels(tokens, 3), []
    low = y = MARGIN
    with new_canvas() as page:
        for h, given in enumerate([alone, *heads], start=-1):
            name, color = f"head {h + 1}", head_colour(h).strong
            x = WIDTH / 4 + h % 2 * WIDTH / 2
            if h < 0:
                name, color, x = "a single head", INK, WIDTH / 2
            weights, y = to_numpy(given), y if h % 2 and h > 0 else low
            page.text(x, y + 6, name, color=color, weight="bold")
            top = x, y + 1.5 * LINE
            label = f"{name}: "
            low = draw_circle(page, tokens, weights, top, color=color, label=label) + 1.5 * LINE
            shares = [
                [f"'{tokens[j]}' {format_number(weights[i, j])}" for j in (i - 2, i - 1)]
                for i in range(3)
            ]
            gives = [f"'{tokens[i]}' gives {enumerated(shares[i])}" for i in range(3)]
            sentences.append(f"{name.capitalize()}: {'; '.join(gives)}.")
        return _finish(page, low, f"Where {quote(tokens)} look.", *sentences)
