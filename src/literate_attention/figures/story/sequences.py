"""Drawings about long sequences: why attention exists, and what its length costs."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Shaped
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    INK,
    INPUT,
    LINE,
    MARGIN,
    PAPER,
    QUERY,
    QUIET,
    RULE,
    SERIES,
    TEXT,
    WIDTH,
    Array,
    Card,
    Drawing,
    array,
    card,
    index,
    labels,
    largest,
    not_negative,
    shorten,
    some,
    text_width,
)

_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 1)), (0, (8, 3)))
_MOST_MARKERS = 16


def draw_bottleneck(
    source: Sequence[str],
    target: Sequence[str] | None = None,
    weights: Float[Tensor, "target_len source_len"] | None = None,
    *,
    step: int | None = None,
) -> Drawing:
    """Draw an encoder and a decoder with one hidden state between them; below it, the same with attention.

    Args:
        source: the tokens that the encoder reads.
        target: the tokens that the decoder writes; by default as many, by number.
        weights: how much each target token attends to each source token; by default all alike.
        step: which target token's arrows are set off, counted from 0; by default the middle one.

    Returns:
        The drawing. Its text tells through how much the source reaches the target, above and below.

    Raises:
        TypeError: the weights are not a tensor, or labels are a single string.
        ValueError: there are no tokens, or shapes or the position do not fit.

    Example:
        >>> draw_bottleneck(["guten", "Tag"], ["good", "day"]).alt
        "Above: an encoder reads 2 tokens and hands one hidden state to a decoder, which writes 2. Below,
        with attention: each of the 2 target tokens looks at all 2 source tokens itself; the arrows of
        'day' are set off."
    """
    some("the number of source tokens", len(source))
    source = labels("source", source, len(source), "tokens")
    target = [str(i + 1) for i in range(len(source))] if target is None else target
    some("the number of target tokens", len(target))
    target = labels("target", target, len(target), "tokens")
    shape = len(target), len(source)
    strength = np.ones(shape) if weights is None else array("weights", weights, *shape)
    not_negative("weights", strength)
    step = index("step", len(target) // 2 if step is None else step, len(target))
    with card() as page:
        page.heading(MARGIN, MARGIN + 6, "one hidden state")
        top, bottom = 62.0, 152.0
        encoder, decoder = _draw_chains(page, source, target, top, bottom)
        middle = (top + bottom) / 2
        page.box(WIDTH / 2 - 42, middle - 11, 84, 22, fill=PAPER, edge=INK, line=1.5, rounding=4)
        page.text(WIDTH / 2, middle, "hidden state")
        page.arrow((encoder[-1] - 2, top + 11), (WIDTH / 2 + 45, middle - 2), width=2)
        page.arrow((WIDTH / 2 - 44, middle + 2), (decoder[0] + 4, bottom - 12), width=2)
        page.text(MARGIN, top + 24, "encoder", ha="left", color=QUIET)
        page.text(WIDTH - MARGIN, bottom - 24, "decoder", ha="right", color=QUIET)
        page.line((MARGIN, 192), (WIDTH - MARGIN, 192), color=RULE)
        page.heading(MARGIN, 210, "attention")
        top, bottom = 256.0, 350.0
        encoder, decoder = _draw_chains(page, source, target, top, bottom, step)
        for i, to in enumerate(decoder):
            for j, origin in enumerate(encoder):
                if i == step:
                    width = 3.2 * strength[i, j] / (strength[i].max() or 1.0)
                    # the arrows land side by side, not one upon the other
                    end = (to + 14 * ((j + 0.5) / len(encoder) - 0.5), bottom - 13)
                    page.arrow((origin, top + 10), end, color=BLUE, width=width, name=f"weight{j}")
                else:
                    page.line(
                        (origin, top + 10), (to, bottom - 10), color=RULE, width=0.6, zorder=0
                    )
        most = "" if weights is None else f", most from {largest(strength[step], source)}"
        return page.finish(
            bottom + 26 + MARGIN,
            f"Above: an encoder reads {len(source)} tokens and hands one hidden state to a decoder, which "
            f"writes {len(target)}.",
            f"Below, with attention: each of the {len(target)} target tokens looks at all {len(source)} "
            f"source tokens itself; the arrows of '{target[step]}' are set off{most}.",
        )


def _draw_chains(
    page: Card,
    source: Sequence[str],
    target: Sequence[str],
    top: float,
    bottom: float,
    asks: int | None = None,
) -> tuple[list[float], list[float]]:
    """Draw the states of encoder and decoder, each handing over to the next; return where they stand."""
    places = []
    for tokens, y, side in ((source, top, -1), (target, bottom, 1)):
        column = (WIDTH - 2 * MARGIN) / len(tokens)
        middles = [MARGIN + (i + 0.5) * column for i in range(len(tokens))]
        for i, (x, token) in enumerate(zip(middles, tokens, strict=True)):
            colour = QUERY if side == 1 and i == asks else INPUT
            page.circle(x, y, 9, *colour)
            page.text(x, y + side * 19, shorten(token, column - 2))
        for x, following in pairwise(middles):
            page.arrow((x + 10, y), (following - 11, y))
        places.append(middles)
    return places[0], places[1]


def draw_lines(
    x: Shaped[Tensor, "points"] | Sequence[float | int],
    series: Mapping[str, Shaped[Tensor, "points"] | Sequence[float | int]],
    *,
    x_label: str,
    y_label: str,
    log: bool | Literal["y"] = True,
) -> Drawing:
    """Draw several series over the same x, such as time and memory over the number of tokens.

    Each series has a colour, a dash and a marker of its own.

    Args:
        x: where the points are, from left to right.
        series: for each name one number for each point; nan where nothing was measured.
        x_label: what `x` counts.
        y_label: what the series measure, and in what unit.
        log: whether both axes are logarithmic, or ``"y"`` if only the vertical one is; else that one begins
            at zero.

    Returns:
        The drawing. Its text tells where each series begins and ends.

    Raises:
        ValueError: there is no series or there are more than six, a series does not have as many points as
            ``x``, a number is infinite, or a logarithmic axis would have to show a number that is not
            positive.

    Example:
        >>> draw_lines([1, 10], {"loop": [2.0, 200.0]}, x_label="tokens", y_label="time in ms").alt
        'time in ms over tokens, on logarithmic axes, from 1 to 10. loop: from 2 to 200.'
    """
    places = _row("x", x)
    if not 1 <= len(series) <= len(SERIES):
        raise ValueError(f"series must hold 1 to {len(SERIES)} lines, got {len(series)}")
    ys = {name: _row(name, values) for name, values in series.items()}
    for name, values in ys.items():
        if len(values) != len(places):
            raise ValueError(f"{name} must have {len(places)} values, as x has, got {len(values)}")
        if np.isnan(values).all():
            raise ValueError(f"{name} must have a value, but all {len(values)} are nan")
    if not np.isfinite(places).all():
        raise ValueError(f"x must hold finite numbers, got {places.tolist()}")
    everything = np.concatenate(list(ys.values()))
    if np.isinf(everything).any():
        raise ValueError(
            "series must hold finite numbers, or nan where nothing was measured; got inf"
        )
    smallest = min(places.min() if log is True else np.inf, np.nanmin(everything))
    if log and smallest <= 0:
        raise ValueError(
            f"numbers must be positive on logarithmic axes, got {smallest:g}; pass log=False"
        )
    rows = _legend_rows(list(ys))
    styles: dict[str, dict[str, Any]] = {
        name: {
            "color": SERIES[i],
            "linestyle": _DASHES[i],
            "marker": _MARKERS[i] if len(places) <= _MOST_MARKERS else "",
            "markersize": 5,
            "linewidth": 1.8,
        }
        for i, name in enumerate(ys)
    }
    with card() as page:
        top = MARGIN + LINE * len(rows) + LINE + 6
        height = top + 180 + 42
        page.resize(height)
        axes = page.figure.add_axes((0, 0, 1, 1), facecolor=PAPER)
        for name, values in ys.items():
            axes.plot(places, values, label=name, **styles[name])
        if log:
            axes.set_yscale("log")
            if log is True:
                axes.set_xscale("log")
        elif everything[~np.isnan(everything)].min() >= 0:
            axes.set_ylim(bottom=0)
        _set_ticks(axes, places, log)
        left = MARGIN + 6 + max(text_width(_plain(tick)) for tick in axes.get_yticks())
        axes.set_position(
            (left / WIDTH, 42 / height, 1 - (left + MARGIN + 8) / WIDTH, 180 / height)
        )
        for y, row in enumerate(rows):
            start = MARGIN
            for name in row:
                middle = MARGIN + 6 + y * LINE
                page.axes.plot(
                    (start, start + 13, start + 26), (middle,) * 3, markevery=[1], **styles[name]
                )
                page.text(start + 31, middle, name, ha="left")
                start += _legend_width(name)
        page.text(MARGIN, top - LINE + 5, y_label, ha="left", color=QUIET)
        page.text((left + WIDTH - MARGIN - 8) / 2, height - 14, x_label, color=QUIET)
        scale = ", on logarithmic axes," if log is True else ","
        upright = " on a logarithmic axis" if log == "y" else ""
        return page.finish(
            height,
            f"{y_label}{upright} over {x_label}{scale} from {_plain(places[0])} to {_plain(places[-1])}.",
            *(
                f"{name}: from {_plain(measured[0])} to {_plain(measured[-1])}{_reach(there, places)}."
                for name, values in ys.items()
                for measured, there in ((values[~np.isnan(values)], places[~np.isnan(values)]),)
            ),
        )


def _reach(there: Array, places: Array) -> str:
    """Say where a series was measured, if not from end to end."""
    if (there[0], there[-1]) == (places[0], places[-1]):
        return ""
    return f", measured from {_plain(there[0])} to {_plain(there[-1])}"


def _row(name: str, values: Tensor | Sequence[float | int]) -> Array:
    tensor = values if isinstance(values, Tensor) else torch.tensor(values, dtype=torch.float64)
    if tensor.ndim != 1 or len(tensor) == 0:
        raise ValueError(f"{name} must be a row of numbers, got shape {tuple(tensor.shape)}")
    row: Array = tensor.detach().cpu().to(torch.float64).numpy()
    return row


def _set_ticks(axes: Axes, places: Array, log: bool | Literal["y"]) -> None:
    """Write numbers on the line: a raised exponent would be too small to read."""
    if log:
        low, high = axes.get_ylim()
        decades = np.log10(high / low)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2 else (1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_locator(NullLocator())
    if log is True:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        if len(places) <= 6:
            axes.xaxis.set_major_locator(FixedLocator(list(places)))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
    axes.tick_params(labelsize=TEXT, colors=QUIET)
    axes.grid(color=RULE, linewidth=0.6)
    for edge, spine in axes.spines.items():
        spine.set_visible(edge in ("left", "bottom"))
        spine.set_color(QUIET)


def _plain(value: float) -> str:
    """Write a whole number in full and of others three digits; a tiny one as in code, ``1e-8``."""
    if value == round(value) and abs(value) < 1e7:
        return f"{value:.0f}"
    if abs(value) < 1e-4:
        return np.format_float_scientific(value, precision=2, trim="-", exp_digits=1)
    return np.format_float_positional(float(f"{value:.3g}"), trim="-")


def _legend_width(name: str) -> float:
    return 31 + text_width(name) + 14


def _legend_rows(names: Sequence[str]) -> list[list[str]]:
    """Break the legend into lines that fit."""
    rows: list[list[str]] = [[]]
    for name in names:
        if rows[-1] and sum(map(_legend_width, [*rows[-1], name])) - 14 > WIDTH - 2 * MARGIN:
            rows.append([])
        rows[-1].append(name)
    return rows
