"""The drawing of what training does: the loss falls, and attention learns where to look."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._arguments import to_numpy
from literate_attention.figures._card import MARGIN, WIDTH, Drawing, Look, card
from literate_attention.figures._labels import clean_labels, label_width
from literate_attention.figures._lettering import LINE, SMALL_TEXT, TEXT, shorten
from literate_attention.figures._palette import BLUE, INK, PAPER, RULE
from literate_attention.figures._words import format_number, name_largest
from literate_attention.figures.story.looks import LEAST, draw_arc, places_of

_HEIGHT = 90.0
_HIGH = 34.0


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

    Example:
        >>> import torch
        >>> looks = {0: torch.tensor([0.5, 0.5]), 2: torch.tensor([0.9, 0.1])}
        >>> draw_training([1.5, 0.5], looks, ["one", "step?"], query=1).alt
        "The loss falls from 1.50 to 0.50 in 2 steps. Where 'step?' looks: after 0 steps most to 'one' and
        'step?', 0.50; after 2 steps most to 'one', 0.90."
    """
    rows = {steps: to_numpy(weights) for steps, weights in looks.items()}
    tokens = clean_labels(tokens, len(next(iter(rows.values()))))
    first, last = format_number(losses[0]), format_number(losses[-1])
    left = MARGIN + label_width([first]) + 6
    right = WIDTH - MARGIN - 6
    top = MARGIN + LINE + 6
    bottom = top + _HEIGHT
    highest = max(losses)
    middles = places_of(len(tokens))
    pitch = (WIDTH - 2 * MARGIN) / len(tokens)
    size = SMALL_TEXT if pitch < 30 else TEXT

    def place(steps: int) -> tuple[float, float]:
        """Where the curve is after so many steps; the loss after the last one is not known."""
        step = min(steps, len(losses) - 1)
        across = left + (right - left) * step / max(1, len(losses) - 1)
        return across, bottom - _HEIGHT * losses[step] / highest

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
            y_arcs += LINE + _HIGH
            for j, (across, token) in enumerate(zip(middles, tokens, strict=True)):
                if row[j] >= LEAST:
                    look: Look = {"high": _HIGH, "color": BLUE, "label": f"look {title}{j}"}
                    draw_arc(page, middles, (query, j), row[j], y_arcs - 2, **look)
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
