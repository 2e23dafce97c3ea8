"""Where words look: arrows in arcs along a line of words, and around a circle of three."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, Look, Point, card, spread
from literate_attention.figures._lettering import (
    LINE,
    SMALL_TEXT,
    TEXT,
    clean_labels,
    label_width,
    shorten,
    wrap,
)
from literate_attention.figures._palette import BLUE, INK, ORANGE, PAPER, QUIET, RULE, head_colour
from literate_attention.figures._words import (
    Array,
    enumerated,
    format_number,
    name_largest,
    quote,
    to_numpy,
)

__all__ = ["draw_head_circles", "draw_ladder", "draw_looks", "draw_training"]

_LEAST = 0.05
"""Smaller weights have no arc, and on a circle no number."""


def _thickness(weight: float) -> float:
    """Return how thick an arrow of this weight is, in points: a weight of zero is still to be seen."""
    return 0.5 + 4 * weight


def _draw_arc(
    page: Card,
    places: Sequence[float],
    look: tuple[int, int],
    weight: float,
    y: float,
    *,
    high: float,
    below: bool = False,
    inside: float = 0.0,
    **drawn: Any,
) -> None:
    """Draw that the word at one place looks at the one at another: the further, the higher.

    An arc that is so many points inside another one does not lie on it.
    """
    i, j = look
    aside = 4.0 + inside if i < j else -4.0 - inside if i > j else -6.0
    start, end = places[i] + aside, places[j] - aside
    share = abs(i - j) / max(1, len(places) - 1)
    bend = (high * (1 + share) - 2.5 * inside) / (end - start) * (1 if below else -1)
    bent: Look = {"width": _thickness(weight), "connectionstyle": f"arc3,rad={bend:.4f}"}
    page.arrow((start, y), (end, y), **bent, **drawn)


def draw_looks(
    weights: Mapping[str, Float[Tensor, "num_tokens num_tokens"]], tokens: Sequence[str]
) -> Drawing:
    """Draw where words look: ahead over arcs above the line, back over arcs below it.

    An arc is as thick as its weight, and weights under a twentieth have none. What a word gives to itself is
    a frame, as thick as an arc.

    Args:
        weights: for each title, one row of weights for each word.
        tokens: the words.

    Example:
        >>> import torch
        >>> draw_looks({"peeks": torch.tensor([[0.0, 1.0], [0.0, 1.0]])}, ["one", "step"]).alt
        "Arcs above the words look ahead, arcs below look back. peeks: 'one' looks most at 'step', 'step' at
        itself; all words but the last give 1.00 of their weight to later words, on average."
    """
    panels = {title: to_numpy(matrix, 2) for title, matrix in weights.items()}
    tokens = clean_labels(tokens)
    column = (WIDTH - 2 * MARGIN) / len(tokens)
    middles = spread(len(tokens))
    high, height = 46.0, 20.0
    sentences = []
    with card() as page:
        y = MARGIN
        for title, matrix in panels.items():
            page.heading(MARGIN, y + 6, title)
            top = y + LINE + high
            for i, j in np.argwhere(matrix >= _LEAST).tolist():
                if i == j:
                    frame = middles[i] - column / 2 + 3, top + 2, column - 6, height - 4
                    page.frame(*frame, QUIET, _thickness(matrix[i, j]))
                    continue
                edge, colour = (top, ORANGE) if i < j else (top + height, BLUE)
                look: Look = {"high": high, "below": i > j, "label": f"{title}{i},{j}"}
                _draw_arc(page, middles, (i, j), matrix[i, j], edge, color=colour, **look)
            for x, token in zip(middles, tokens, strict=True):
                page.text(x, top + height / 2, shorten(token, column - 8))
            y = top + height + high + LINE
            looks = [
                f"{token!r}{' looks most' if i == 0 else ''} at "
                + ("itself" if row.argmax() == i else name_largest(row, tokens))
                if row.any()
                else f"{token!r} looks at nothing"
                for i, (token, row) in enumerate(zip(tokens, matrix, strict=True))
            ]
            later = np.triu(matrix, 1)[:-1].sum(axis=1).mean()
            sentences.append(
                f"{title}: {', '.join(looks)}; all words but the last give {format_number(later)} of their "
                "weight to later words, on average."
            )
        return page.finish(
            y - LINE + MARGIN, "Arcs above the words look ahead, arcs below look back.", *sentences
        )


def draw_ladder(rungs: Sequence[tuple[str, str, Sequence[int], Mapping[str, Tensor]]]) -> Drawing:
    """Draw for each of some tasks where words look: with one kind of attention, and with the next.

    An arrow leads from a word to where it looks; the thicker it is, the larger the weight. Weights below a
    twentieth have no arrow. Several heads have the colours of heads.

    Args:
        rungs: for each task what is asked, a sentence, the places of the words in it that look, and the
            attention weights, of shape `(num_tokens, num_tokens)` or `(num_heads, num_tokens, num_tokens)`,
            of two kinds of attention: of the first, drawn above the sentence, and of the second, drawn below
            it. Each is named by what is to be written beside it.
    """
    names, high, said = 82.0, 30.0, []
    with card() as page:
        y = MARGIN
        for question, sentence, asks, kinds in rungs:
            words = sentence.split()
            if y > MARGIN:
                page.line((MARGIN, y), (WIDTH - MARGIN, y), color=RULE)
                y += 8
            for line in wrap(question, WIDTH - 2 * MARGIN, "bold"):
                page.heading(MARGIN, y + 6, line)
                y += LINE
            middles = spread(len(words), MARGIN + names)
            parts = [word.split("-") for word in words]
            deep = 12.0 * max(map(len, parts))
            top = y + high + 4
            for place, (x, lines) in enumerate(zip(middles, parts, strict=True)):
                for row, part in enumerate(lines):
                    weight = "bold" if place in asks else "normal"
                    page.text(x, top + 6 + 12 * row, part, weight=weight)
            clauses = []
            for side, (name, weights) in zip((-1, 1), kinds.items(), strict=True):
                heads = to_numpy(weights).reshape(-1, len(words), len(words))
                edge = top - 2 if side < 0 else top + deep + 2
                lines = [line for part in name.split("\n") for line in wrap(part, names)]
                start = edge + side * 16 - 6 * (len(lines) - 1)
                page.paragraph(MARGIN, start, lines, "left")
                for h, i, j in np.argwhere(heads >= _LEAST).tolist():
                    if i in asks:
                        colour = BLUE if len(heads) == 1 else head_colour(h).strong
                        look: Look = {"high": high, "color": colour, "below": side > 0}
                        weight = heads[h, i, j]
                        _draw_arc(page, middles, (i, j), weight, edge, inside=5.0 * h, **look)
                clauses.append(f"with {' '.join(lines)}, {_say_looks(words, asks, heads)}")
            said.append(f"{question} In the sentence '{sentence}', {'; '.join(clauses)}.")
            y = top + deep + high + 8
        return page.finish(y - 8 + MARGIN, *said)


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


def draw_training(
    losses: Sequence[float],
    looks: Mapping[int, Float[Tensor, "num_tokens"]],
    tokens: Sequence[str],
    *,
    query: int,
) -> Drawing:
    """Draw how the loss falls from step to step, and below it where one token looks after some of the steps.

    Args:
        losses: the loss before each step.
        looks: for some numbers of steps, a row of the attention weights after so many.
        tokens: what each token is called.
        query: which token looks, counted from 0.
    """
    rows = {steps: to_numpy(weights, 1) for steps, weights in looks.items()}
    tokens = clean_labels(tokens, len(next(iter(rows.values()))))
    first, last = format_number(losses[0]), format_number(losses[-1])
    left = MARGIN + label_width([first]) + 6
    right = WIDTH - MARGIN - 6
    height, high = 90.0, 34.0
    bottom = MARGIN + LINE + 6 + height
    middles = spread(len(tokens))
    pitch = (WIDTH - 2 * MARGIN) / len(tokens)
    size = SMALL_TEXT if pitch < 30 else TEXT

    def place(steps: int) -> Point:
        """Where the curve is after so many steps; the loss after the last one is not known."""
        step = min(steps, len(losses) - 1)
        across = left + (right - left) * step / max(1, len(losses) - 1)
        return across, bottom - height * losses[step] / max(losses)

    with card() as page:
        page.heading(MARGIN, MARGIN + 6, "loss")
        page.line((left, bottom), (right, bottom), color=RULE)
        page.note(left - 6, place(0)[1], first, "right")
        page.note(left - 6, bottom, "0", "right")
        x, y = np.array([place(step) for step in range(len(losses))]).T
        page.axes.plot(x, y, color=INK, linewidth=1.8, label="loss", zorder=2)
        for steps in rows:
            across, down = place(steps)
            page.circle(across, down, 3.5, PAPER, INK)
            page.note(across, bottom + 10, str(steps))
        page.note((left + right) / 2, bottom + 10, "steps")
        y_arcs = bottom + 10 + LINE
        for steps, row in rows.items():
            title = f"after {steps} steps" if steps else "before training"
            page.heading(MARGIN, y_arcs + 6, title, BLUE)
            y_arcs += LINE + high
            for j, (across, token) in enumerate(zip(middles, tokens, strict=True)):
                if row[j] >= _LEAST:
                    look: Look = {"high": high, "color": BLUE, "label": f"look {title}{j}"}
                    _draw_arc(page, middles, (query, j), row[j], y_arcs - 2, **look)
                weight = "bold" if j == query else "normal"
                page.text(across, y_arcs + 7, shorten(token, pitch - 2), weight=weight, size=size)
                page.note(across, y_arcs + 21, format_number(row[j]), size=size)
            y_arcs += 2 * LINE + 8
        seen = [
            f"after {steps} steps most to {name_largest(row, tokens)}, {format_number(row.max())}"
            for steps, row in rows.items()
        ]
        return page.finish(
            y_arcs - 8 + MARGIN,
            f"The loss falls from {first} to {last} in {len(losses)} steps.",
            f"Where '{tokens[query]}' looks: {'; '.join(seen)}.",
        )


def draw_circle(
    page: Card, words: Sequence[str], weights: Array, top: Point, *, color: str, label: str
) -> float:
    """Draw three words and an arrow for each weight between two of them; return the lower edge."""
    lines = [word.split("-") for word in words]
    half = np.array([23.0, 6.0 * len(lines[0]) + 2])
    spots = 104 * np.array([(0.0, 0.0), (0.5, 0.866), (-0.5, 0.866)]) + top + (0, half[1])
    for i, j in permutations(range(3), 2):
        way = (spots[j] - spots[i]) / np.hypot(*(spots[j] - spots[i]))
        aside = np.array([way[1], -way[0]])
        reach = min(half / np.maximum(abs(way), 1e-9)) + 2
        start, end = spots[i] + reach * way + 3.5 * aside, spots[j] - reach * way + 3.5 * aside
        look: Look = {"width": _thickness(weights[i, j]), "label": f"{label}{i}{j}"}
        page.arrow(tuple(start), tuple(end), color=color, **look)
        if weights[i, j] >= _LEAST:
            lower = 8 * np.sign(way[1].round(2)) * way  # there is more room further down
            beside = (10.0 if abs(way[1]) < 0.1 else 13.0) * aside
            x, y = (start + end) / 2 + lower + beside
            page.text(x, y, format_number(weights[i, j]), size=SMALL_TEXT, color=color)
    for (x, y), parts in zip(spots, lines, strict=True):
        for row, part in enumerate(parts):
            below = 6.0 * (2 * row - len(parts) + 1)
            page.text(x, y + below, shorten(part, 2 * half[0]))
    return float(spots[1, 1] + half[1])


def draw_head_circles(
    heads: Float[Tensor, "num_heads 3 3"], tokens: Sequence[str], *, alone: Float[Tensor, "3 3"]
) -> Drawing:
    """Draw where each of three tokens looks, once for each head: the thicker an arrow, the larger the weight.

    Args:
        heads: the weights of several heads.
        tokens: what each token is called, in the order of the clock.
        alone: the weights of a single head, to be drawn above the others.
    """
    tokens = clean_labels(tokens, 3)
    sentences = []
    with card() as page:

        def draw(given: Tensor, name: str, x: float, y: float, color: str) -> float:
            weights, top = to_numpy(given), (x, y + 1.5 * LINE)
            page.text(x, y + 6, name, color=color, weight="bold")
            gifts = []
            for i, token in enumerate(tokens):
                others = [f"'{tokens[j]}' {format_number(weights[i, j])}" for j in (i - 2, i - 1)]
                gifts.append(f"'{token}' gives {enumerated(others)}")
            sentences.append(f"{name.capitalize()}: {'; '.join(gifts)}.")
            return (
                draw_circle(page, tokens, weights, top, color=color, label=f"{name}: ") + 1.5 * LINE
            )

        y = draw(alone, "a single head", WIDTH / 2, MARGIN, INK)
        for h, own in enumerate(heads):
            x, colour = WIDTH / 4 + h % 2 * WIDTH / 2, head_colour(h).strong
            low = draw(own, f"head {h + 1}", x, y, colour)
            y = low if h % 2 else y
        return page.finish(low - LINE + MARGIN, f"Where {quote(tokens)} look.", *sentences)
