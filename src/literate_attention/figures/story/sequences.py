"""Drawings about long sequences: why attention exists, and what its length costs."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Shaped
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, LogLocator
from torch import Tensor

from literate_attention.figures._card import MARGIN, WIDTH, Drawing, card, spread
from literate_attention.figures._lettering import LINE, TEXT, clean_labels, shorten, text_width
from literate_attention.figures._palette import BLUE, INK, INPUT, PAPER, QUIET, RULE, SERIES
from literate_attention.figures._words import Array, quote

__all__ = ["draw_bottleneck", "draw_lines"]

_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 1)), (0, (8, 3)))
_STYLES = [
    {"color": color, "linestyle": dash, "marker": marker, "markersize": 5, "linewidth": 1.8}
    for color, dash, marker in zip(SERIES, _DASHES, "os^DvP", strict=True)
]


def draw_bottleneck(
    source: Sequence[str], target: Sequence[str], *, translates: Sequence[int]
) -> Drawing:
    """Draw an encoder and a decoder with one hidden state between them; below it, the same with attention.

    Each token of the target has the place of the token in the source that it translates.
    """
    source, target = clean_labels(source), clean_labels(target, len(translates))
    read, written = spread(len(source)), spread(len(target))

    def draw_states(top: float, bottom: float) -> None:
        for tokens, across, y, below in ((source, read, top, -19), (target, written, bottom, 19)):
            column = (WIDTH - 2 * MARGIN) / len(tokens)
            for x, token in zip(across, tokens, strict=True):
                page.circle(x, y, 9, *INPUT)
                page.text(x, y + below, shorten(token, column - 2))
            for x, following in pairwise(across):
                page.arrow((x + 10, y), (following - 11, y))

    with card() as page:
        page.heading(MARGIN, MARGIN + 6, "one hidden state")
        top, bottom = 62.0, 152.0
        draw_states(top, bottom)
        middle = (top + bottom) / 2
        page.box(WIDTH / 2 - 42, middle - 11, 84, 22, fill=PAPER, edge=INK, line=1.5, rounding=4)
        page.text(WIDTH / 2, middle, "hidden state")
        page.arrow((read[-1] - 2, top + 11), (WIDTH / 2 + 45, middle - 2), width=2)
        page.arrow((WIDTH / 2 - 44, middle + 2), (written[0] + 4, bottom - 12), width=2)
        page.note(MARGIN, top + 24, "encoder", "left")
        page.note(WIDTH - MARGIN, bottom - 24, "decoder", "right")
        page.line((MARGIN, 192), (WIDTH - MARGIN, 192), color=RULE)
        page.heading(MARGIN, 210, "attention")
        top, bottom = 256.0, 350.0
        draw_states(top, bottom)
        for to, translated in zip(written, translates, strict=True):
            for origin in read:
                page.line((origin, top + 10), (to, bottom - 10), color=RULE, width=0.8, zorder=0)
            start, end = (read[translated], top + 10), (to, bottom - 12)
            page.arrow(start, end, color=BLUE, width=3.2, label="translates")
        pairs = [
            f"'{token}' at '{source[place]}'"
            for token, place in zip(target, translates, strict=True)
        ]
        return page.finish(
            bottom + 26 + MARGIN,
            f"Above: an encoder reads {quote(source)} and hands one hidden state to a decoder, which "
            f"writes {quote(target)}.",
            f"Below, with attention: each of the {len(target)} target tokens looks at all {len(source)} "
            f"source tokens itself, and most at the one that it translates: {', '.join(pairs)}.",
        )


def draw_lines(
    x: Shaped[Tensor, "points"] | Sequence[float | int],
    series: Mapping[str, Shaped[Tensor, "points"] | Sequence[float | int]],
    *,
    x_label: str,
    y_label: str,
    log: bool | Literal["y"] = True,
) -> Drawing:
    """Draw several series over the same x, each with a colour, a dash and a marker of its own.

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
    if not log:  # what nobody can see is zero: its digits and its sign are chance
        unseen = 1e-4 * np.nanmax(np.abs(rows))
        rows = [np.where(np.abs(values) < unseen, 0.0, values) for values in rows]
    ys = dict(zip(series, rows, strict=True))
    smallest = np.nanmin(list(ys.values()))
    if log and smallest <= 0:  # matplotlib would leave it out without a word
        raise ValueError(f"a logarithmic axis has no place for {smallest:g}; pass log=False")
    if len(ys) > len(_STYLES):
        raise ValueError(f"at most {len(_STYLES)} series can be told apart, got {len(ys)}")
    styles: dict[str, dict[str, Any]] = dict(zip(ys, _STYLES, strict=False))
    if len(places) > 16:
        styles = {name: style | {"marker": ""} for name, style in styles.items()}
    places_in_legend, start, row = [], MARGIN, 0
    for name in ys:
        if start > MARGIN and start + 31 + text_width(name) > WIDTH - MARGIN:
            start, row = MARGIN, row + 1
        places_in_legend.append((start, MARGIN + 6 + row * LINE))
        start += 31 + text_width(name) + 14
    with card() as page:
        top = MARGIN + LINE * (row + 1) + LINE + 6
        height = top + 180 + 42
        page.resize(height)
        axes = page.figure.add_axes((0, 0, 1, 1), facecolor=PAPER)
        for name, values in ys.items():
            axes.plot(places, values, label=name, **styles[name])
        if log:
            axes.set_yscale("log")
            if log is True:
                axes.set_xscale("log")
        elif smallest >= 0:
            axes.set_ylim(bottom=0)
        _set_ticks(axes, places, log)
        left = MARGIN + 6 + max(text_width(_plain(tick)) for tick in axes.get_yticks())
        axes.set_position(
            (left / WIDTH, 42 / height, 1 - (left + MARGIN + 8) / WIDTH, 180 / height)
        )
        for name, (start, y) in zip(ys, places_in_legend, strict=True):
            line = (start, start + 13, start + 26)
            page.axes.plot(line, (y, y, y), markevery=[1], **styles[name])
            page.text(start + 31, y, name, ha="left")
        page.note(MARGIN, top - LINE + 5, y_label, "left")
        page.note((left + WIDTH - MARGIN - 8) / 2, height - 14, x_label)
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
        low, high = axes.get_ylim()
        decades = np.log10(high / low)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2 else (1.0, 2.0, 5.0)))
    if log is True:
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
