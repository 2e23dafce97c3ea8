"""Drawings of heads that learn: how two of them work together, and how their maps grow."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    HEADS,
    INPUT,
    KEY,
    LINE,
    MARGIN,
    QUERY,
    QUIET,
    WIDTH,
    Drawing,
    array,
    card,
    column_label_height,
    column_label_overhang,
    count,
    label_width,
    labels,
    number,
    some,
    text_width,
)

_LONGEST_ROW = 14


def draw_induction(tokens: Sequence[str]) -> Drawing:
    """Draw how two heads copy: the first notes beside each token what came before, the second finds a note.

    Args:
        tokens: a text whose last token was there before.

    Returns:
        The drawing. Its text tells which note the last token finds, and where.

    Raises:
        TypeError: the tokens are a single string.
        ValueError: there are more than fourteen tokens, or the last one is new.

    Example:
        >>> draw_induction(["a", "b", "c", "a"]).alt
        "The first head tells each of 4 tokens which one came before it. The last token, 'a', looks for the
        note 'a' and finds it at place 2, beside 'b'. So 'b' comes next."
    """
    if not 1 <= len(tokens) <= _LONGEST_ROW:
        raise ValueError(f"tokens must be 1 to {_LONGEST_ROW}, got {len(tokens)}")
    names = labels("tokens", tokens, len(tokens), "tokens")
    last = len(names) - 1
    found = [j for j in range(1, last + 1) if names[j - 1] == names[last]]
    if not found:
        raise ValueError(f"the last token must have been there before, but {names[last]!r} is new")
    column = (WIDTH - 2 * MARGIN) / len(names)
    side = min(column - 5, 26.0)
    middles = [MARGIN + (place + 0.5) * column for place in range(len(names))]
    with card() as page:
        page.heading(MARGIN, MARGIN + 6, "layer 1: what came before me?")
        top = MARGIN + 6 + LINE
        stand = top + side + 34
        notes = stand + side
        for place, (x, name) in enumerate(zip(middles, names, strict=True)):
            for y in (top, stand):
                page.box(x - side / 2, y, side, side, fill=INPUT.tint, edge=INPUT.strong)
                page.text(x, y + side / 2, name)
            if place:
                page.box(x - side / 2, notes, side, side, fill=KEY.tint, edge=KEY.strong)
                page.text(x, notes + side / 2, names[place - 1])
                page.arrow(
                    (middles[place - 1] + 3, top + side + 2),
                    (x - 3, stand - 2),
                    color=HEADS[0].strong,
                    width=1.4,
                    name=f"note{place}",
                )
        asks = notes + side + 46
        for place in found:
            x = middles[place]
            page.frame(x - side / 2, stand, side, 2 * side, HEADS[1].strong)
            page.arrow(
                (x, notes + side + 3),
                (middles[last] - 3, asks - 3),
                color=HEADS[1].strong,
                width=2.2,
                name=f"found{place}",
            )
        x, asked = middles[last], names[last]
        page.box(x - side / 2, asks, side, side, fill=QUERY.tint, edge=QUERY.strong)
        page.text(x, asks + side / 2, asked)
        page.heading(MARGIN, asks + side / 2, f"layer 2: who has the note {asked}?")
        y = asks + side + LINE
        page.text(MARGIN, y, "grey: a letter, yellow: its note", ha="left", color=QUIET)
        answer = names[found[-1]]
        page.text(WIDTH - MARGIN, y, f"next comes {answer}", ha="right", weight="bold")
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"The first head tells each of {count(len(names), 'token', 'tokens')} which one came before it.",
            f"The last token, '{asked}', looks for the note '{asked}' and finds it at place "
            + " and ".join(f"{place + 1}, beside '{names[place]}'" for place in found)
            + f". So '{answer}' comes next.",
        )


def draw_growing_maps(
    maps: Mapping[str, Float[Tensor, "num_layers num_tokens num_tokens"]], tokens: Sequence[str]
) -> Drawing:
    """Draw the maps of a head in each layer, at several moments of a training, one below the other.

    White is 0 and the darkest blue is 1. Outlined is, in the first layer, where a previous-token head looks,
    and in the others where an induction head looks.

    Args:
        maps: for the name of each moment the map of one head in each layer.
        tokens: what each token is called.

    Returns:
        The drawing. Its text tells how much of the weight lies within the outlines.

    Raises:
        TypeError: maps are not a tensor, or the tokens are a single string.
        ValueError: there is no moment, or shapes do not fit.

    Example:
        >>> import torch
        >>> even = torch.ones(3, 3).tril() / torch.tensor([[1.0], [2.0], [3.0]])
        >>> draw_growing_maps({"step 0": torch.stack([even, even])}, ["a", "b", "a"]).alt
        'Within the outlines lies, on average, at step 0: layer 1 0.42, layer 2 0.33 of the weight.'
    """
    some("the number of moments", len(maps))
    first_name, first = next(iter(maps.items()))
    shape = array(first_name, first, "num_layers", "num_tokens", "num_tokens").shape
    num_layers, num_tokens, _ = shape
    panels = {
        name: array(name, found, num_layers, num_tokens, num_tokens) for name, found in maps.items()
    }
    names = labels("tokens", tokens, num_tokens, "tokens")
    before = np.eye(num_tokens, k=-1, dtype=bool)
    copies = np.array(
        [
            [j and i > j and names[j - 1] == names[i] for j in range(num_tokens)]
            for i in range(num_tokens)
        ],
        bool,
    )
    left, gap, cell = MARGIN + label_width(names) + 4, 14.0, 24.0
    for _ in range(2):  # narrower cells let the last label reach further
        cell = min(24.0, ((WIDTH - left + 4) / num_layers - gap) / num_tokens)
        gap = max(14.0, column_label_overhang(names, cell) + 4)
    upright = max(map(text_width, names)) < cell
    above = 2 * LINE + 2 if upright else LINE + column_label_height(names, cell)
    told = []
    with card() as page:
        y = MARGIN
        for moment, weights in panels.items():
            scores = []
            for layer in range(num_layers):
                x = left + layer * (num_tokens * cell + gap)
                page.text(x, y + 6, f"{moment}, layer {layer + 1}", ha="left", weight="bold")
                top = y + above
                if upright:
                    for place, name in enumerate(names):
                        page.text(x + (place + 0.5) * cell, top - LINE / 2, name)
                else:
                    page.column_labels(names, x, top, cell)
                if not layer:
                    page.row_labels(names, left - 4, top, cell)
                page.cells(
                    weights[layer],
                    x,
                    top,
                    cell,
                    cell,
                    name=f"{moment}, {layer}",
                    limit=1.0,
                    numbers=False,
                )
                targets = copies if layer else before
                for i, j in np.argwhere(targets):
                    page.box(
                        x + j * cell,
                        top + i * cell,
                        cell,
                        cell,
                        edge=HEADS[min(layer, 1)].strong,
                        line=1.0,
                        zorder=4,
                    )
                asked = targets.any(axis=1)
                score = (weights[layer] * targets).sum(axis=1)[asked].mean() if asked.any() else 0.0
                scores.append(f"layer {layer + 1} {number(score)}")
            told.append(f"at {moment}: {', '.join(scores)}")
            y += above + num_tokens * cell + 14
        page.colour_scale(left, y - 4, 1.0, signed=False, decimals=0)
        return page.finish(
            y + LINE + MARGIN,
            f"Within the outlines lies, on average, {'; '.join(told)} of the weight.",
        )
