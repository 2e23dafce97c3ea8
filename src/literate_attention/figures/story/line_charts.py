"""The drawing of numbers over others: the course of a loss, or what a longer text costs."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Shaped
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, LogLocator
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Drawing, new_canvas
from .._lettering import LINE, TEXT, text_width
from .._palette import PAPER, QUIET, RULE, SERIES
from .._words import Array

__all__ = ["draw_lines"]

_MARKS = "os^DvP"


def draw_lines(
    x: Shaped[Tensor, "points"] | Sequence[float | int],
    series: Mapping[str, Shaped[Tensor, "points"] | Sequence[float | int]],
    *,
    x_label: str,
    y_label: str,
    log: bool | Literal["y"] = True,
) -> Drawing:
    """Draw several series over the same x, each with a colour and a marker of its own; constants are dashed.

    Where there are few points, the lines between them are thin: they guide the eye, and measure nothing.

    Args:
        x: where the points are, from left to right.
        series: for each name one number for each point; nan where nothing was measured. At most six.
        x_label: what `x` counts.
        y_label: what the series measure, and in what unit.
        log: whether both axes are logarithmic, or ``"y"`` if only the vertical one is.

    Example:
        >>> draw_lines([1, 10], {"loop": [2.0, 200.0]}, x_label="tokens", y_label="time in ms").alt
        'time in ms over tokens, on logarithmic axes, from 1 to 10. loop: from 2 to 200.'
    """
    places, *rows = (
        torch.as_tensor(values, dtype=torch.float64).detach().cpu().numpy()
        for values in (x, *series.values())
    )
    for name, values in zip(("x", *series), (places, *rows), strict=True):
        finite = np.isfinite(values).any() and not np.isinf(values).any()
        if values.shape != places.shape or not finite:
            raise ValueError(f"{name} needs a finite number for each point, got {values}")
    smallest, largest = np.nanmin(rows), np.nanmax(rows)
    if log and smallest <= 0:  # matplotlib would leave it out without a word
        raise ValueError(f"a logarithmic axis has no place for {smallest:g}; pass log=False")
    if not log:  # what nobody can see is zero: its digits and its sign are chance
        rows = [np.where(abs(row) < 1e-4 * np.nanmax(np.abs(rows)), 0.0, row) for row in rows]
    if len(rows) > len(_MARKS):
        raise ValueError(f"at most {len(_MARKS)} series can be told apart, got {len(rows)}")
    ys, in_legend = dict(zip(series, rows, strict=True)), {}
    styles: dict[str, dict[str, Any]] = {}
    start, row, every = MARGIN, 0, max(1, len(places) // 8)
    for number, (name, values) in enumerate(ys.items()):
        constant = np.nanmax(values) == np.nanmin(values)
        styles[name] = {
            "color": SERIES[number],
            "linestyle": "--" if constant else "-",
            "linewidth": 0.9 if len(places) < 5 else 1.8,
            "marker": "" if constant else _MARKS[number],
            "markersize": 5,
        }
        if start > MARGIN and start + 31 + text_width(name) > WIDTH - MARGIN:
            start, row = MARGIN, row + 1
        in_legend[name] = start, MARGIN + 6 + row * LINE
        start += 31 + text_width(name) + 14
    with new_canvas() as page:
        top = MARGIN + LINE * (row + 1) + LINE + 6
        height = top + 180 + 42
        page.resize(height)
        axes = page.figure.add_axes((0, 0, 1, 1), facecolor=PAPER)
        for number, (name, values) in enumerate(ys.items()):
            marked = (number * every // len(ys), every)  # not all in the same places
            axes.plot(places, values, label=name, markevery=marked, **styles[name])
        if not log and smallest >= 0:
            axes.set_ylim(bottom=0)
        elif not log and largest > 0:
            axes.axhline(0, color=QUIET, linewidth=1.4, zorder=1)
        _set_ticks(axes, places, log)
        left = MARGIN + 6 + max(text_width(_plain(tick)) for tick in axes.get_yticks())
        right = WIDTH - MARGIN - 8
        axes.set_position((left / WIDTH, 42 / height, (right - left) / WIDTH, 180 / height))
        for name, (start, y) in in_legend.items():
            line = (start, start + 13, start + 26)
            page.axes.plot(line, (y, y, y), markevery=[1], **styles[name])
            page.text(start + 31, y, name, ha="left")
        scales = [" (logarithmic)" if which else "" for which in (log, log is True)]
        page.note(MARGIN, top - LINE + 5, y_label + scales[0], "left")
        page.note((left + right) / 2, height - 14, x_label + scales[1])
        over = f"{' on a logarithmic axis' if log == 'y' else ''} over {x_label}"
        scale = ", on logarithmic axes," if log is True else ","
        return page.finish(
            height,
            f"{y_label}{over}{scale} from {_plain(places[0])} to {_plain(places[-1])}.",
            *(f"{name}: {_span(values, places)}." for name, values in ys.items()),
        )


def _span(values: Array, places: Array) -> str:
    """Say where a series begins and ends, and where it was measured, if not from end to end."""
    measured = np.flatnonzero(~np.isnan(values))[[0, -1]]
    first, last = (
        f"from {_plain(a)} to {_plain(b)}" for a, b in (values[measured], places[measured])
    )
    return first if (measured == (0, len(places) - 1)).all() else f"{first}, measured {last}"


def _set_ticks(axes: Axes, places: Array, log: bool | Literal["y"]) -> None:
    """Write numbers on the line: a raised exponent would be too small to read."""
    if log:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(
            LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0))
        )
    if log is True:
        axes.set_xscale("log")
        few, between = FixedLocator(list(places)), LogLocator(subs=(1.0, 2.0, 5.0))
        axes.xaxis.set_major_locator(few if len(places) <= 6 else between)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: _plain(value))
    axes.tick_params(labelsize=TEXT, colors=QUIET)
    axes.grid(color=RULE, linewidth=0.6)
    axes.spines[["right", "top"]].set_visible(False)
    axes.spines[:].set_color(QUIET)


def _plain(value: float) -> str:
    """Write a whole number in full and of others three digits; a tiny one as in code, ``1e-8``."""
    if value == round(value) and abs(value) < 1e7:
        return f"{value:.0f}"
    if abs(value) < 1e-4:
        return np.format_float_scientific(value, precision=2, trim="-", exp_digits=1)
    return np.format_float_positional(float(f"{value:.3g}"), trim="-")
