"""A drawing of a mask whose allowed pairs have different reasons."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Bool
from torch import Tensor

from .._canvas import MARGIN, Canvas, Drawing, column_width, new_canvas
from .._lettering import LINE, clean_labels, label_height, label_width, text_width
from .._palette import BLUE, INK, PAPER, RULE, SHADE, WEIGHT_TINT
from .._words import plural, quote, to_numpy

__all__ = ["draw_mask_parts"]

Sign = Callable[[Canvas, float, float, float], None]

_SIGNS: Final[tuple[tuple[str, Sign], ...]] = (
    (WEIGHT_TINT, lambda page, x, y, radius: page.circle(x, y, radius, BLUE, BLUE)),
    (SHADE, lambda page, x, y, radius: page.diamond(x, y, radius + 1, PAPER, INK)),
)
"""What tells the parts apart: a ground, and a shape for those who do not see its colour."""


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
    signs = dict(zip(allowed, _SIGNS[: len(allowed)], strict=True))
    with new_canvas() as page:
        page.note(MARGIN, top + size * cell + LINE, "row: query; column: key", "left")
        page.column_labels(names, left, top, cell)
        page.row_labels(names, left - 6, top, cell)
        page.hatched(left, top, size * cell, size * cell)
        x, y = MARGIN, top + size * cell + 2 * LINE + 4
        for name, (ground, sign) in signs.items():
            for i, j in np.argwhere(allowed[name]):
                across, down = left + j * cell, top + i * cell
                page.box(across, down, cell, cell, fill=ground, edge=RULE, line=0.8)
                sign(page, across + cell / 2, down + cell / 2, 0.17 * cell)
            page.box(x, y - 8, 16, 16, fill=ground, edge=RULE, line=0.8)
            sign(page, x + 8, y, 3.4)
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
