"""The drawing of attention weights, or scores, as heat maps."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from literate_attention.figures._arguments import Array, clean_labels, to_numpy
from literate_attention.figures._card import MARGIN, Card, Drawing, card, column_width
from literate_attention.figures._lettering import (
    LINE,
    TEXT,
    column_label_height,
    label_width,
    text_width,
    wrap,
)
from literate_attention.figures._palette import INK
from literate_attention.figures._words import format_number, name_largest, plural

_GAP = 14.0
_MOST_ROWS_IN_WORDS = 18


def draw_attention_matrix(
    weights: Float[Tensor, "q_len kv_len"] | Mapping[str, Float[Tensor, "q_len kv_len"]],
    tokens: Sequence[str],
    *,
    keys: Sequence[str] | None = None,
    attn_mask: Bool[Tensor, "q_len kv_len"] | None = None,
    targets: Bool[Tensor, "q_len kv_len"]
    | Mapping[str, Bool[Tensor, "q_len kv_len"]]
    | None = None,
    decimals: int | None = 2,
    columns: int = 1,
) -> Drawing:
    """Draw attention weights or scores as a heat map, one row for each query, or several in the same colours.

    White is zero and the darkest blue is 1, so that weights look alike in all figures and an even row looks
    even. If a number is larger, the darkest blue is that number. Numbers below zero are orange. Minus
    infinity is a grey cell. Where no numbers are written, a scale explains the colours. Where there are many
    rows, the alternative text tells only of the last: under a causal mask, it alone may look at all.

    Args:
        weights: the weights or the scores; several matrices of one shape go by their titles.
        tokens: what each query is called.
        keys: what each key is called; by default as the queries.
        attn_mask: True in row i, column j: query i may attend to key j. The border of what is allowed is
            drawn, and every zero beyond it is hatched.
        targets: True in row i, column j: a frame is drawn there; in the same places of all matrices, or
            for each title in its own.
        decimals: how many decimals are written, where they fit; None for no numbers.
        columns: how many matrices stand side by side.

    Example:
        >>> import torch
        >>> scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> mask = torch.tensor([[True, False], [True, True]])
        >>> after = scores.masked_fill(~mask, -torch.inf)
        >>> draw_attention_matrix({"After": after}, ["one", "step"], attn_mask=mask).alt
        "After, 2 queries by 2 keys, 1 of 4 pairs hidden. Row 1, 'one', attends only to 'one', 1.00.
        Row 2, 'step', attends most to 'step', 4.00."
    """
    given = weights if isinstance(weights, Mapping) else {"Attention weights": weights}
    panels = {title: to_numpy(matrix) for title, matrix in given.items()}
    titles = list(panels)
    framed = {
        title: np.zeros((1, 1)) if target is None else to_numpy(target)
        for title in titles
        for target in [targets.get(title) if isinstance(targets, Mapping) else targets]
    }
    num_queries, num_keys = panels[titles[0]].shape
    queries = clean_labels(tokens, num_queries)
    keys = clean_labels(tokens if keys is None else keys, num_keys)
    allowed = np.ones((num_queries, num_keys)) if attn_mask is None else to_numpy(attn_mask)
    hidden = {
        title: np.isneginf(matrix) | ((allowed == 0) & (matrix == 0))
        for title, matrix in panels.items()
    }
    shown = np.concatenate([matrix[~hidden[title]] for title, matrix in panels.items()])
    limit = float(abs(shown).max(initial=1.0))
    columns = min(columns, len(panels))
    left = MARGIN + label_width(queries) + 5
    beside_query = max(left, MARGIN + text_width("query ↓") + 5)
    cell = column_width(keys, left, 44.0, side_by_side=columns, gap=_GAP)
    height = min(22.0, max(TEXT, cell))
    width = num_keys * cell
    with card() as page:
        y, written = MARGIN, True
        for start in range(0, len(panels), columns):
            row = titles[start : start + columns]
            if len(panels) > 1:
                y += _write_titles(page, row, left, y, width)
            if not start:
                page.note(beside_query - 5, y + 6, "query ↓", "right")
                page.note(beside_query, y + 6, "attends to →", "left")
                y += LINE + 2
            y += column_label_height(keys, cell)
            page.row_labels(queries, left - 5, y, height)
            for place, title in enumerate(row):
                x = left + place * (width + _GAP)
                page.column_labels(keys, x, y, cell)
                written &= page.cells(
                    *(panels[title], x, y, cell, height),
                    name=title,
                    decimals=decimals,
                    limit=limit,
                    hidden=hidden[title],
                    alike=shown,
                )
                page.border(allowed, x, y, cell, height)
                for i, j in np.argwhere(framed[title]):
                    page.frame(x + j * cell, y + i * height, cell, height, INK, min(2.0, cell / 10))
            y += num_queries * height + _GAP
        if not written:
            signed = bool((shown < 0).any())
            page.colour_scale(left, y, limit, signed=signed, decimals=decimals or 0)
            y += LINE + _GAP
        decimals = 2 if decimals is None else decimals
        many = len(panels) * num_queries > _MOST_ROWS_IN_WORDS
        return page.finish(
            y - _GAP + MARGIN,
            *(
                _in_words(
                    title, matrix, hidden[title], framed[title], queries, keys, decimals, many
                )
                for title, matrix in panels.items()
            ),
        )


def _write_titles(page: Card, titles: Sequence[str], x: float, y: float, width: float) -> float:
    """Write titles side by side, each over its own matrix; return how much room they take."""
    wrapped = [wrap(title, width + _GAP - 6, "bold") for title in titles]
    for place, lines in enumerate(wrapped):
        for line, text in enumerate(lines):
            page.heading(x + place * (width + _GAP), y + 6 + line * LINE, text)
    return LINE * max(map(len, wrapped))


def _in_words(
    title: str,
    matrix: Array,
    hidden: Array,
    framed: Array,
    queries: Sequence[str],
    keys: Sequence[str],
    decimals: int,
    many: bool,
) -> str:
    size = f"{plural(len(queries), 'query', 'queries')} by {plural(len(keys), 'key')}"
    concealed = f", {hidden.sum()} of {hidden.size} pairs hidden" if hidden.any() else ""
    sentences = [f"{title}, {size}{concealed}."]
    visible = np.where(hidden, -np.inf, matrix)
    told = [] if many and framed.any() else [len(queries) - 1] if many else range(len(queries))
    for i in told:
        where = "to nothing"
        if matrix[i][~hidden[i]].any():
            how = "only" if hidden[i].sum() == len(keys) - 1 else "most"
            largest = format_number(visible[i].max(), decimals)
            where = f"{how} to {name_largest(visible[i], keys)}, {largest}"
        sentences.append(f"Row {i + 1}, '{queries[i]}', attends {where}.")
    if framed.any():
        rows = framed.any(axis=1)
        share = format_number((matrix * framed)[rows].sum(axis=1).mean())
        cells = plural(int(framed.sum()), "cell is", "cells are")
        sentences.append(f"{cells} framed; on average {share} of a row's weight lies there.")
    return " ".join(sentences)
