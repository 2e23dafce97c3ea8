"""The drawing of attention weights, or scores, as heat maps."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from .._canvas import GAP, MARGIN, WIDTH, Canvas, Drawing, Look, column_width, new_canvas
from .._lettering import LINE, TEXT, clean_labels, label_height, label_width, text_width, wrap
from .._palette import INK
from .._words import Array, format_number, name_largest, plural, to_numpy

__all__ = ["draw_attention_matrix"]


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
    axes: tuple[str, str] = ("query", "attends to"),
) -> Drawing:
    """Draw attention weights or scores as a heat map, a row for each query; several stand in twos.

    White is zero and the darkest blue is 1, or the largest number, so that weights look alike in all figures
    and an even row looks even. Numbers below zero are orange, minus infinity is grey. Of many rows, the
    alternative text tells only the last: under a causal mask, it alone may look at all.

    Args:
        weights: the weights or the scores; several matrices of one shape go by their titles.
        tokens: what each query is called.
        keys: what each key is called; by default as the queries.
        attn_mask: True in row i, column j: query i may attend to key j. The border of what is allowed is
            drawn, and every zero beyond it is hatched.
        targets: True in row i, column j: a frame is drawn there; in the same places of all matrices, or
            for each title in its own.
        decimals: how many decimals are written, where they fit; None for no numbers.
        axes: what a row is, and what is true of its columns.

    Example:
        >>> import torch
        >>> weights, mask = torch.tensor([[1.0, 0.0], [0.4, 0.6]]), torch.ones(2, 2).tril() > 0
        >>> draw_attention_matrix(weights, ["one", "step"], attn_mask=mask).alt
        "Attention weights, 2 queries by 2 keys, 1 of 4 pairs hidden. Row 1, 'one', attends only to 'one',
        1.00. Row 2, 'step', attends most to 'step', 0.60."
    """
    given = weights if isinstance(weights, Mapping) else {"Attention weights": weights}
    panels = {title: to_numpy(matrix, 2) for title, matrix in given.items()}
    titles = list(panels)
    framed = {
        title: np.zeros((1, 1)) if target is None else to_numpy(target, 2)
        for title in titles
        for target in [targets.get(title) if isinstance(targets, Mapping) else targets]
    }
    num_queries, num_keys = panels[titles[0]].shape
    queries, keys = clean_labels(tokens, num_queries), clean_labels(keys or tokens, num_keys)
    allowed = np.ones((num_queries, num_keys)) if attn_mask is None else to_numpy(attn_mask, 2)
    beyond = allowed == 0
    hidden = {title: np.isneginf(m) | (beyond & (m == 0)) for title, m in panels.items()}
    shown = np.concatenate([matrix[~hidden[title]] for title, matrix in panels.items()])
    limit, columns = float(abs(shown).max(initial=1.0)), min(2, len(panels))
    left = MARGIN + label_width(queries) + 5
    down, across = f"{axes[0]} ↓", f"{axes[1]} →"
    beside = max(left, MARGIN + text_width(down) + 5)
    cell = column_width(keys, left, 44.0, panels=columns)
    height = min(22.0, max(cell, min(TEXT, WIDTH / num_queries)))
    width = num_keys * cell
    many = len(panels) * num_queries > 18

    def in_words(title: str) -> str:
        matrix, is_hidden, frames = panels[title], hidden[title] | beyond, framed[title]
        blank, numbered = hidden[title].sum(), int((beyond & ~hidden[title]).sum())
        size = f"{plural(num_queries, 'query', 'queries')} by {plural(num_keys, 'key')}"
        sentences = [
            f"{title}, {size}{f', {blank} of {matrix.size} pairs hidden' if blank else ''}."
        ]
        if numbered:
            sentences.append(f"Numbers of {plural(numbered, 'pair')} stand beyond the mask.")
        told = range(num_queries) if not many else [] if frames.any() else [num_queries - 1]
        for i in told:
            row, where = np.where(is_hidden[i], -np.inf, matrix[i]), "to nothing"
            if row[~is_hidden[i]].any():
                largest = format_number(row.max(), 2 if decimals is None else decimals)
                how = "only" if is_hidden[i].sum() == num_keys - 1 else "most"
                where = f"{how} to {name_largest(row, keys)}, {largest}"
            sentences.append(f"Row {i + 1}, '{queries[i]}', attends {where}.")
        if frames.any():
            share = format_number((matrix * frames)[frames.any(axis=1)].sum(axis=1).mean())
            cells = plural(int(frames.sum()), "cell is", "cells are")
            sentences.append(f"{cells} framed; on average {share} of a row's weight lies there.")
        return " ".join(sentences)

    with new_canvas() as page:
        y, written = MARGIN, True
        for start in range(0, len(panels), columns):
            row = titles[start : start + columns]
            lefts = [left + place * (width + GAP) for place in range(len(row))]
            if len(panels) > 1:
                wrapped = [wrap(title, width + GAP - 6, "bold") for title in row]
                for x, lines in zip(lefts, wrapped, strict=True):
                    page.lines(x, y + 6, lines, weight="bold", ha="left")
                y += 12 * max(map(len, wrapped)) + 4
            if not start:
                page.note(beside - 5, y + 6, down, "right")
                page.note(beside, y + 6, across, "left")
                y += LINE + 2
            y += label_height(keys, cell)
            page.row_labels(queries, left - 5, y, height)
            for x, title in zip(lefts, row, strict=True):
                page.column_labels(keys, x, y, cell)
                look: Look = {"limit": limit, "hidden": hidden[title], "alike": shown}
                look |= {"name": title, "decimals": decimals}
                written &= page.cells(panels[title], x, y, cell, height, **look)
                _draw_border(page, allowed, x, y, cell, height)
                for i, j in np.argwhere(framed[title]):
                    page.frame(x + j * cell, y + i * height, cell, height, INK, min(2.0, cell / 10))
            y += num_queries * height + GAP
        if not written:
            page.colour_scale(left, y, limit, decimals if limit > 1 and decimals else 0)
            y += LINE + GAP
        return page.finish(y - GAP + MARGIN, *map(in_words, titles))


def _draw_border(
    page: Canvas, allowed: Array, x: float, y: float, width: float, high: float
) -> None:
    """Draw the border between the cells that a mask allows and those that it hides."""
    look: Look = {"color": INK, "width": 2, "zorder": 4}
    for i, j in np.argwhere(allowed[:, 1:] != allowed[:, :-1]):
        edge, top = x + (j + 1) * width, y + i * high
        page.line((edge, top), (edge, top + high), **look)
    for i, j in np.argwhere(allowed[1:] != allowed[:-1]):
        edge, start = y + (i + 1) * high, x + j * width
        page.line((start, edge), (start + width, edge), **look)
