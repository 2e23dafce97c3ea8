"""Drawings of measured lines, such as time and memory against the number of tokens."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from literate_attention.figures._card import (
    INK,
    LINE,
    MARGIN,
    PAPER,
    QUIET,
    RULE,
    STRONG,
    TEXT,
    WIDTH,
    Array,
    Drawing,
    card,
    text_width,
)

Series = Shaped[Tensor, "points"] | Sequence[float]
"""One number for each point, as a tensor or as a plain list."""

_MARKERS = "os^D"
_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


def lines(
    x: Series,
    series: Mapping[str, Series],
    *,
    x_label: str,
    y_label: str,
    log: bool = True,
) -> Drawing:
    """Draw several series against the same x, both axes in powers of ten.

    A series tells itself from the others by its colour, its dash and its marker.

    Args:
        x: where the points are.
        series: for each name one number for each point; nan where nothing was measured.
        x_label: what `x` is, with its unit.
        y_label: what the series are, with their unit.
        log: whether the axes are logarithmic; else they begin at zero.

    Returns:
        The drawing. Its text tells for each series the first and the last value.

    Raises:
        ValueError: there is no series or there are more than four, a series has not as many points as
            ``x``, or a logarithmic axis would have to show a number that is not positive.

    Example:
        >>> lines([1, 10], {"loop": [2.0, 200.0]}, x_label="tokens", y_label="ms").alt
        'ms against tokens, from 1 to 10, in powers of ten. loop: from 2 to 200.'
    """
    places = _series("x", x)
    if not 1 <= len(series) <= len(STRONG):
        raise ValueError(f"series must hold 1 to {len(STRONG)} lines, got {len(series)}")
    ys = {name: _series(name, values) for name, values in series.items()}
    for name, values in ys.items():
        if len(values) != len(places):
            raise ValueError(
                f"{name} must have one value for each of {len(places)} points, got {len(values)}"
            )
        if np.isnan(values).all():
            raise ValueError(f"{name} has no value among its {len(values)} points")
    if log:
        for name, values in {"x": places, **ys}.items():
            if (values <= 0).any():
                raise ValueError(
                    f"{name} must be positive on a logarithmic axis, got {np.nanmin(values):g}; pass log=False"
                )
    height, left = 190.0, 46.0
    with card() as page:
        rows = _legend_rows(list(ys))
        top = MARGIN + LINE * len(rows) + LINE + 4
        total = top + height + 3 * LINE
        page.resize(total)
        axes = page.figure.add_axes(
            (
                left / WIDTH,
                1 - (top + height) / total,
                (WIDTH - left - MARGIN - 6) / WIDTH,
                height / total,
            ),
            facecolor=PAPER,
        )
        if log:
            axes.set_xscale("log")
            axes.set_yscale("log")
        for place, (name, values) in enumerate(ys.items()):
            axes.plot(
                places, values, label=name, color=STRONG[place], linestyle=_DASHES[place],
                marker=_MARKERS[place] if len(places) <= 16 else "", markersize=5, linewidth=1.8,
            )  # fmt: skip
        if not log:
            axes.set_ylim(bottom=min(0.0, min(float(np.nanmin(values)) for values in ys.values())))
        axes.grid(color=RULE, linewidth=0.6)
        axes.tick_params(which="both", labelsize=TEXT, colors=QUIET)
        axes.tick_params(which="minor", labelleft=False, labelbottom=False)
        for edge in ("top", "right"):
            axes.spines[edge].set_visible(False)
        for edge in ("bottom", "left"):
            axes.spines[edge].set_color(QUIET)
        for y, row in enumerate(rows):
            x_place = MARGIN
            for name in row:
                place = list(ys).index(name)
                middle = MARGIN + 6 + y * LINE
                page.axes.plot(
                    (x_place, x_place + 13, x_place + 26), (middle,) * 3, color=STRONG[place],
                    linestyle=_DASHES[place], marker=_MARKERS[place] if len(places) <= 16 else "", markevery=[1],
                    markersize=5, linewidth=1.8,
                )  # fmt: skip
                page.text(x_place + 31, middle, name, ha="left", color=INK)
                x_place += 31 + text_width(name) + 14
        page.text(MARGIN, top - LINE + 4, y_label, ha="left", color=QUIET)
        page.text(left + (WIDTH - left - MARGIN) / 2, total - MARGIN - 4, x_label, color=QUIET)
        powers = ", in powers of ten" if log else ""
        ends = [
            f"{name}: from {_end(values, 0)} to {_end(values, -1)}." for name, values in ys.items()
        ]
        return page.finish(
            total,
            f"{y_label} against {x_label}, from {places[0]:g} to {places[-1]:g}{powers}. {' '.join(ends)}",
        )


def _series(name: str, values: Series) -> Array:
    tensor = (
        values if isinstance(values, Tensor) else torch.tensor(list(values), dtype=torch.float64)
    )
    if tensor.ndim != 1 or len(tensor) == 0:
        raise ValueError(f"{name} must be one row of numbers, got shape {tuple(tensor.shape)}")
    array: Array = tensor.detach().cpu().to(torch.float64).numpy()
    return array


def _end(values: Array, which: int) -> str:
    return f"{values[~np.isnan(values)][which]:.3g}"


def _legend_rows(names: Sequence[str]) -> list[list[str]]:
    rows: list[list[str]] = [[]]
    used = 0.0
    for name in names:
        width = 31 + text_width(name) + 14
        if rows[-1] and used + width > WIDTH - 2 * MARGIN + 14:
            rows.append([])
            used = 0.0
        rows[-1].append(name)
        used += width
    return rows
