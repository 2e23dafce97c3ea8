"""A drawing of a mask whose allowed pairs have different reasons."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool
from torch import Tensor

from .._canvas import MARGIN, Canvas, Drawing, column_width, new_canvas
from .._lettering import LINE, clean_labels, label_height, label_width, text_width
from .._palette import BLUE, INK, PAPER, RULE, SHADE, WEIGHT_TINT
from .._words import plural, quote, to_numpy

__all__ = ["draw_mask_parts"]


def draw_mask_parts(
    parts: Mapping[str, Bool[Tensor, "num_tokens num_tokens"]], tokens: Sequence[str]
) -> Drawing:
    """Draw which query may attend to which key, and why: a mask in one or two parts.

    A row is a query, a column is a key: True where it may attend to it. What belongs to no part is hatched.
    """
    allowed = {name: to_numpy(part, 2) != 0 for name, part in parts.items()}
    size = len(tokens)
    names = clean_labels(tokens, len(next(iter(allowed.values()))))
    reasons = np.sum(list(allowed.values()), axis=0)
    if (reasons > 1).any():  # one sign would cover the other
        raise ValueError(f"each pair must be in one part, got {(reasons > 1).sum()} in both")
    left = MARGIN + label_width(names) + 6
    cell = column_width(names, left, 36.0)
    top = MARGIN + label_height(names, cell)
    with new_canvas() as page:
        page.note(MARGIN, top + size * cell + LINE, "row: query; column: key", "left")
        page.column_labels(names, left, top, cell)
        page.row_labels(names, left - 6, top, cell)
        page.hatched(left, top, size * cell, size * cell)
        x, y = MARGIN, top + size * cell + 2 * LINE + 4
        for number, (name, part) in enumerate(allowed.items()):
            for i, j in np.argwhere(part):
                _draw_sign(page, number, left + j * cell, top + i * cell, cell, 0.17 * cell)
            _draw_sign(page, number, x, y - 8, 16.0, 3.4)
            page.text(x + 22, y, name, ha="left")
            x += 22 + text_width(name) + 16
        page.hatched(x, y - 8, 16, 16)
        page.note(x + 22, y, "hidden", "left")
        counts = {name: int(part.sum()) for name, part in allowed.items()}
        counts["hidden"] = int((reasons == 0).sum())
        seen = (
            f"{quote(names[j] for j in part[-1].nonzero()[0])} ({name})"
            for name, part in allowed.items()
            if part[-1].any()
        )
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"Which of {size} keys each of {size} queries may attend to.",
            "; ".join(f"{name}: {plural(n, 'pair')}" for name, n in counts.items()) + ".",
            f"The last query, '{names[-1]}', sees {' and '.join(seen)}.",
        )


def _draw_sign(page: Canvas, part: int, x: float, y: float, side: float, radius: float) -> None:
    """Tell two parts apart: by a ground, and by a shape for those who do not see its colour."""
    page.box(x, y, side, side, fill=(WEIGHT_TINT, SHADE)[part], edge=RULE, line=0.8)
    if part:
        page.diamond(x + side / 2, y + side / 2, radius + 1, PAPER, INK)
    else:
        page.circle(x + side / 2, y + side / 2, radius, BLUE, BLUE)
