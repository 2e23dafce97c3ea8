"""A drawing of a mask whose allowed pairs have different reasons."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Bool
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    INK,
    LINE,
    MARGIN,
    PAPER,
    QUIET,
    RULE,
    SHADE,
    WIDTH,
    Card,
    Drawing,
    array,
    card,
    column_label_height,
    column_label_overhang,
    count,
    label_width,
    labels,
    text_width,
)

Sign = Callable[[Card, float, float, float], None]

_LARGEST_CELL = 36.0
_SIGNS: Final[tuple[tuple[str, Sign], ...]] = (
    ("#c5dcf0", lambda page, x, y, radius: page.circle(x, y, radius, BLUE, BLUE)),
    (SHADE, lambda page, x, y, radius: page.diamond(x, y, radius + 1, PAPER, INK)),
)
"""What tells the parts apart: a ground, and a shape for those who do not see its colour."""


def draw_mask_parts(
    parts: Mapping[str, Bool[Tensor, "num_tokens num_tokens"]], tokens: Sequence[str]
) -> Drawing:
    """Draw which query may attend to which key, and why: a mask in one or two parts.

    A row is a query, a column is a key; what belongs to no part is hatched.

    Args:
        parts: for the name of each part, True in row i, column j: query i may attend to key j.
        tokens: what each query and each key is called.

    Returns:
        The drawing. Its text counts the pairs of each part, and tells what the last query sees.

    Raises:
        TypeError: a part is not a tensor, or the tokens are a single string.
        ValueError: there are not one or two parts, shapes or labels do not fit, or a pair is in both parts.

    Example:
        >>> import torch
        >>> last = torch.tensor([[True, False], [False, True]])
        >>> draw_mask_parts({"itself": last, "the past": last.flip(1).tril()}, ["one", "step"]).alt
        "Which of 2 keys each of 2 queries may attend to. itself: 2 pairs; the past: 1 pair; hidden: 1 pair.
        The last query, 'step', sees 'step' (itself) and 'one' (the past)."
    """
    if not 1 <= len(parts) <= len(_SIGNS):
        raise ValueError(f"parts must be 1 to {len(_SIGNS)}, got {len(parts)}")
    names = labels("tokens", tokens, len(tokens), "tokens")
    size = len(names)
    allowed = {name: array(name, part, size, size) != 0 for name, part in parts.items()}
    reasons = np.sum(list(allowed.values()), axis=0)
    if (reasons > 1).any():
        raise ValueError(f"each pair must be in one part, got {(reasons > 1).sum()} in both")
    left = MARGIN + label_width(names) + 6
    cell = min(_LARGEST_CELL, (WIDTH - left - MARGIN) / size)
    cell = min(cell, (WIDTH - left - MARGIN - column_label_overhang(names, cell)) / size)
    top = MARGIN + column_label_height(names, cell)
    with card() as page:
        page.column_labels(names, left, top, cell)
        page.row_labels(names, left - 6, top, cell)
        page.hatched(left, top, size * cell, size * cell)
        for (ground, sign), part in zip(_SIGNS, allowed.values(), strict=False):
            for i, j in np.argwhere(part):
                x, y = left + j * cell, top + i * cell
                page.box(x, y, cell, cell, fill=ground, edge=RULE, line=0.8)
                sign(page, x + cell / 2, y + cell / 2, 0.17 * cell)
        y = top + size * cell + LINE
        x = MARGIN
        for (ground, sign), name in zip(_SIGNS, allowed, strict=False):
            page.box(x, y - 8, 16, 16, fill=ground, edge=RULE, line=0.8)
            sign(page, x + 8, y, 3.4)
            page.text(x + 22, y, name, ha="left")
            x += 22 + text_width(name) + 16
        page.hatched(x, y - 8, 16, 16)
        page.text(x + 22, y, "hidden", ha="left", color=QUIET)
        counts = {name: int(part.sum()) for name, part in allowed.items()}
        counts["hidden"] = int((reasons == 0).sum())
        seen = (
            f"{_listed([names[j] for j in part[-1].nonzero()[0]])} ({name})"
            for name, part in allowed.items()
            if part[-1].any()
        )
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"Which of {size} keys each of {size} queries may attend to.",
            "; ".join(f"{name}: {count(n, 'pair', 'pairs')}" for name, n in counts.items()) + ".",
            f"The last query, '{names[-1]}', sees {' and '.join(seen)}.",
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
