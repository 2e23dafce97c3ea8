"""The drawing of what attention learned from rock, paper and scissors in coloured gloves."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._arguments import Array, to_numpy
from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, Point, Real, card
from literate_attention.figures._lettering import LINE
from literate_attention.figures._palette import BLUE, RULE
from literate_attention.figures._roles import KEY, QUERY, VALUE
from literate_attention.figures._words import format_number, quote
from literate_attention.figures.story.looks import draw_circle
from literate_attention.figures.story.points import _Labels


def draw_gloves(
    words: Sequence[str],
    queries: Float[Tensor, "num_words 2"],
    keys: Float[Tensor, "num_words 2"],
    values: Float[Tensor, "num_words 2"],
    *,
    deal: Sequence[str],
    weights: Float[Tensor, "3 3"],
) -> Drawing:
    """Draw what each hand asks for, what it is and what it passes on, and where three hands look.

    Args:
        words: what each vector belongs to: a colour and a kind of hand, with a hyphen between.
        queries: a place in the plane for each word.
        keys: a place in the same plane.
        values: a place in a plane of its own.
        deal: three of these words.
        weights: how much each of the three attends to each.

    Example:
        >>> import torch
        >>> plane, words = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ["red-rock", "blue-scissors"]
        >>> deal = ["red-rock", "blue-paper", "red-scissors"]
        >>> draw_gloves(words, plane, plane.flip(0), plane, deal=deal, weights=torch.eye(3).roll(1, 0)).alt
        "Queries and keys in one plane; which kind asks for the key of which: 'rock' of 'scissors',
        'scissors' of 'rock'. Values in another plane: for 0 of 2 words the nearest is one of the same
        colour. Weights of one deal: 'red-rock' attends most to 'red-scissors', 1.00; 'blue-paper' attends
        most to 'red-rock', 1.00; 'red-scissors' attends most to 'blue-paper', 1.00."
    """
    q, k, v, w = map(to_numpy, (queries, keys, values, weights))
    colours, kinds = (
        np.array(part) for part in zip(*(word.split("-") for word in words), strict=True)
    )
    with card() as page:
        labels = _Labels(page)
        middle = WIDTH / 2, MARGIN + LINE + 82
        page.heading(MARGIN, MARGIN + 6, "what each hand asks for (query) and is (key)")
        unit = 62 / max(np.linalg.norm(q, axis=1).max(), np.linalg.norm(k, axis=1).max())
        _draw_axes(page, labels, middle, 74)
        asked, found = _on_card(q, middle, unit), _on_card(k, middle, unit)
        for j, (tip, spot) in enumerate(zip(asked, found, strict=True)):
            page.arrow(middle, tip, color=QUERY.strong, label=f"query{j}")
            labels.avoid_line(middle, tip)
            page.box(spot[0] - 3, spot[1] - 3, 6, 6, fill=KEY.tint, edge=KEY.strong, zorder=3)
            labels.avoid_point(*spot, 4.0)
        top = middle[1] + 74 + LINE
        page.heading(MARGIN, top + 6, "its colour (value)")
        page.heading(MARGIN + 132, top + 6, "where three hands look")
        lower = MARGIN + 60, top + LINE + 72
        _draw_axes(page, labels, lower, 58)
        passed = _on_card(v, lower, 42 / np.linalg.norm(v, axis=1).max())
        for spot in passed:
            page.circle(*spot, 3, VALUE.tint, VALUE.strong)
            labels.avoid_point(*spot, 4.0)
        corner = WIDTH - MARGIN - 90, top + 2 * LINE
        bottom = draw_circle(page, deal, w, corner, color=BLUE, label="weight") + 8
        labels.avoid(WIDTH - MARGIN - 182, top, WIDTH, bottom)
        for kind in dict.fromkeys(kinds):
            for spots, part, colour in ((found, "key", KEY), (asked, "query", QUERY)):
                own = [spot for spot, is_own in zip(spots, kinds == kind, strict=True) if is_own]
                labels.write(
                    _mean(own), f"{kind}: {part}", 10.0, color=colour.strong, weight="bold"
                )
        for name in dict.fromkeys(colours):
            own = [spot for spot, is_own in zip(passed, colours == name, strict=True) if is_own]
            labels.write(_mean(own), str(name), 8.0, color=VALUE.strong)
        return page.finish(bottom + MARGIN, *_in_words(q, k, v, colours, kinds, deal, w))


def _mean(spots: Sequence[Point]) -> Point:
    across, down = np.mean(spots, axis=0)
    return float(across), float(down)


def _on_card(vectors: Array, middle: Point, unit: float) -> list[Point]:
    return [(middle[0] + unit * float(x), middle[1] - unit * float(y)) for x, y in vectors]


def _draw_axes(page: Card, labels: _Labels, middle: Point, reach: Real) -> None:
    x, y = middle
    labels.avoid(x - reach, y - 1, x + reach, y + 1)
    labels.avoid(x - 1, y - reach, x + 1, y + reach)
    page.line((x - reach, y), (x + reach, y), color=RULE, zorder=0)
    page.line((x, y - reach), (x, y + reach), color=RULE, zorder=0)


def _in_words(
    queries: Array,
    keys: Array,
    values: Array,
    colours: Array,
    kinds: Array,
    deal: Sequence[str],
    weights: Array,
) -> list[str]:
    names = list(dict.fromkeys(kinds))
    asked, found = (
        np.stack([vectors[kinds == name].mean(axis=0) for name in names])
        for vectors in (queries, keys)
    )
    best = (asked @ found.T).argmax(axis=1)
    fits = [f"'{name}' of '{names[j]}'" for name, j in zip(names, best, strict=True)]
    apart = np.linalg.norm(values[:, None] - values, axis=-1)
    np.fill_diagonal(apart, np.inf)
    alike = int((colours[apart.argmin(axis=1)] == colours).sum())
    looks = [
        f"{quote([word])} attends most to {quote([deal[row.argmax()]])}, {format_number(row.max())}"
        for word, row in zip(deal, weights, strict=True)
    ]
    nearest = f"for {alike} of {len(values)} words the nearest is one of the same colour"
    return [
        f"Queries and keys in one plane; which kind asks for the key of which: {', '.join(fits)}.",
        f"Values in another plane: {nearest}.",
        f"Weights of one deal: {'; '.join(looks)}.",
    ]
