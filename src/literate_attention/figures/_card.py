"""The card that every figure is drawn on: one palette, one lettering, a few shapes to draw with.

A card is as wide as a phone's column and measured in points, from its top left corner, so that every
shape knows where it stands and nothing is left to a layout engine. The card is opaque: a figure looks the
same on a light and on a dark page. No two colours that must be told apart differ in hue alone.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal

import matplotlib.style
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]

WIDTH: Final = 270.0
"""How wide a card is, in points: 360 CSS pixels."""
MARGIN: Final = 10.0
TEXT: Final = 10.0
"""The size of all lettering but headings; no text is smaller."""
LINE: Final = 16.0

PAPER: Final = "#faf9f5"
INK: Final = "#22272e"
QUIET: Final = "#5a6069"
RULE: Final = "#c9c7c0"
BLUE: Final = "#0b5fa5"
ORANGE: Final = "#b04a00"
PALE_BLUE: Final = "#c5dcf0"
HIDDEN: Final = "#e6e4de"
TINTS: Final = ("#c5dcf0", "#f8d3ab", "#bfe3d6", "#e8cbe2")
"""Backgrounds that tell heads apart; each carries ink."""
STRONG: Final = (BLUE, ORANGE, "#00705a", "#8a3c7c")
"""Lines that tell series apart, in the order of `TINTS`."""
HEAT: Final = LinearSegmentedColormap.from_list(
    "literate", ["#7a3300", "#e39a5f", "#ffffff", "#82b4de", "#08407a"]
)
"""White is zero, blue is above, orange is below; the darker, the further away."""

MINUS: Final = "\N{MINUS SIGN}"
_FONT: Final = "DejaVu Sans"
_STYLE: Final = {
    "font.family": _FONT,
    "svg.fonttype": "path",
    "svg.hashsalt": "literate-attention",
    "hatch.linewidth": 0.7,
}
_UNDATED: Final = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


@dataclass(frozen=True)
class Drawing:
    """A finished figure, and the same in words for whoever cannot see it.

    A notebook shows it as SVG. All lettering is drawn as outlines of DejaVu Sans, the font that comes with
    matplotlib: a figure is then legible wherever it goes, and looks the same there, whatever fonts a
    machine has. It costs little, as each letter is stored once and the file compresses to a few
    kilobytes. The bytes depend on the data and on matplotlib's version, on nothing else: no date, no random
    names, none of the caller's settings.

    Args:
        figure: the matplotlib figure.
        alt: what it shows, computed from what was drawn.

    Example:
        >>> from literate_attention import figures
        >>> drawing = figures.attention_matrix(torch.tensor([[0.25, 0.75]]), ["it"], keys=["a", "b"])
        >>> drawing.alt
        "Attention weights, 1 query by 2 keys. Row 1, 'it', attends most to 'b', 0.75."
    """

    figure: Figure
    alt: str

    def save(self, path: str | PathLike[str]) -> None:
        """Write the figure to a file.

        Args:
            path: where to; it ends in ``.svg``, ``.pdf`` or ``.png``.

        Raises:
            ValueError: the path ends in something else.
        """
        kind = Path(path).suffix.removeprefix(".")
        if kind not in _UNDATED:
            raise ValueError(f"path must end in one of {tuple(_UNDATED)}, got {str(path)!r}")
        Path(path).write_bytes(self._render(kind))

    def _render(self, kind: str) -> bytes:
        metadata: dict[str, str | None] = dict(_UNDATED[kind])
        metadata["Title"] = self.alt
        buffer = io.BytesIO()
        with _house_style():
            self.figure.savefig(buffer, format=kind, facecolor=PAPER, metadata=metadata, dpi=2 * 96)
        return buffer.getvalue()

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        svg = self._render("svg").decode()
        # isolated: each figure keeps its ids to itself where a notebook puts several into one page
        return {"image/svg+xml": svg}, {"image/svg+xml": {"isolated": True}, "alt": self.alt}


def array(name: str, tensor: Tensor, *shape: int | str, hidden: bool = False) -> Array:
    """Bring a tensor from its device and out of its graph; refuse what cannot be drawn.

    Args:
        name: what the caller calls it.
        tensor: the tensor.
        shape: for each dimension how long it must be, or, if any length will do, what it is called.
        hidden: whether minus infinity is allowed; it stands for what a mask hides.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    fits = tensor.ndim == len(shape) and all(
        size == wanted if isinstance(wanted, int) else size > 0
        for size, wanted in zip(tensor.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise ValueError(f"{name} must have shape ({wanted}), got {tuple(tensor.shape)}")
    values: Array = tensor.detach().cpu().to(torch.float64).numpy()
    undrawable = ~(np.isfinite(values) | (hidden & np.isneginf(values)))
    if undrawable.any():
        raise ValueError(
            f"{name} must hold numbers that can be drawn, "
            f"but {undrawable.sum()} of {values.size} are nan or infinite"
        )
    return values


def labels(name: str, given: Sequence[str], count: int, what: str) -> tuple[str, ...]:
    """Refuse labels that are not one for each of the things that they name."""
    if isinstance(given, str):
        raise TypeError(f"{name} must be a sequence of labels, got one string: {given!r}")
    if len(given) != count:
        raise ValueError(f"{name} must name {count} {what}, got {len(given)} labels")
    return tuple(map(str, given))


def index(name: str, given: int, count: int) -> int:
    """Refuse a position outside of what it counts."""
    if not 0 <= given < count:
        raise ValueError(f"{name} must lie between 0 and {count - 1}, got {given}")
    return given


def number(value: float, decimals: int) -> str:
    """Write a number as the figures do, in pictures and in words."""
    if np.isneginf(value):
        return f"{MINUS}\N{INFINITY}"
    return f"{value:.{decimals}f}".replace("-", MINUS)


def count(quantity: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{quantity} {what}" if quantity == 1 else f"{quantity} {_plural(what)}"


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"


def superscript(token: int) -> str:
    """Write the position of a token, counted from 1, as the equations do: x with a small (2)."""
    digits = str(token + 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"⁽{digits}⁾"


def text_width(text: str, size: float = TEXT, weight: str = "normal") -> float:
    """Measure a line of text, in points."""
    return max((_text_width(line, size, weight) for line in text.split("\n")), default=0.0)


@cache
def _text_width(text: str, size: float, weight: str) -> float:
    font = FontProperties(family=_FONT, size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def luminance(colour: Any) -> float:
    """Compute the relative luminance of a colour, as WCAG 2 defines it."""
    channels = np.asarray(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def ink_on(colour: Any) -> str:
    """Choose black or white, whichever contrasts more; the worse of all colours still has 4.58."""
    return "black" if (luminance(colour) + 0.05) ** 2 > 0.05 * 1.05 else "white"


@contextmanager
def _house_style() -> Iterator[None]:
    with matplotlib.style.context(["default", _STYLE]):
        yield


@contextmanager
def card(width: float = WIDTH) -> Iterator["Card"]:
    """Open an empty card; what is drawn on it takes nothing from the caller's settings."""
    with _house_style():
        yield Card(width)


class Card:
    """A sheet of paper that is measured in points, from its top left corner."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.figure = Figure(facecolor=PAPER)
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, width)
        self.resize(width)

    def resize(self, height: float) -> None:
        """Cut the paper, or add to it, at the bottom."""
        self.figure.set_size_inches(self.width / 72, height / 72)
        self.axes.set_ylim(height, 0)

    def finish(self, height: float, alt: str) -> Drawing:
        """Cut the paper to its final height and hand it out."""
        self.resize(height)
        return Drawing(self.figure, alt)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = TEXT,
        color: str = INK,
        weight: str = "normal",
        ha: Literal["left", "center", "right"] = "center",
        rotation: float = 0.0,
        zorder: float = 5,
    ) -> None:
        """Write a line whose capitals are centred on `y`."""
        self.axes.text(
            x,
            y if rotation else y + 0.36 * size,
            text,
            size=size,
            color=color,
            weight=weight,
            ha=ha,
            va="bottom" if rotation else "baseline",
            rotation=rotation,
            rotation_mode="anchor",
            zorder=zorder,
        )

    def heading(self, y: float, text: str, x: float = MARGIN) -> None:
        """Write the title of a part."""
        self.text(x, y, text, weight="bold", ha="left")

    def words(self, x: float, y: float, pieces: Sequence[tuple[str, str]]) -> float:
        """Write a line in several colours; return where it ends."""
        for text, color in pieces:
            self.text(x, y, text, color=color, ha="left")
            x += text_width(text)
        return x

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        edge: str = "none",
        line: float = 1.0,
        rounding: float = 0.0,
        zorder: float = 1,
        **style: Any,
    ) -> None:
        """Draw a rectangle."""
        self.axes.add_patch(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle=f"round,pad=0,rounding_size={rounding}" if rounding else "square,pad=0",
                facecolor=fill,
                edgecolor=edge,
                linewidth=line,
                zorder=zorder,
                **style,
            )
        )

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        color: str = QUIET,
        width: float = 1.0,
        zorder: float = 1,
        **style: Any,
    ) -> None:
        """Draw a straight line."""
        self.axes.plot(
            *zip(start, end, strict=True),
            color=color,
            linewidth=width,
            zorder=zorder,
            solid_capstyle="butt",
            **style,
        )

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        color: str = QUIET,
        width: float = 1.2,
        bend: float = 0.0,
        zorder: float = 2,
        gid: str | None = None,
    ) -> None:
        """Draw an arrow from one point to the other."""
        head = 2.2 + 1.1 * width
        self.axes.add_patch(
            FancyArrowPatch(
                start,
                end,
                arrowstyle=f"-|>,head_length={head:.3f},head_width={0.6 * head:.3f}",
                connectionstyle=f"arc3,rad={bend}",
                mutation_scale=1,
                shrinkA=0,
                shrinkB=0,
                linewidth=width,
                color=color,
                capstyle="butt",
                joinstyle="miter",
                zorder=zorder,
                gid=gid,
            )
        )

    def bar(
        self,
        x: float,
        y: float,
        start: float,
        length: float,
        *,
        scale: float,
        height: float,
        gid: str,
        **style: Any,
    ) -> None:
        """Draw a bar that keeps its length in the data's own units; `scale` is points for one unit."""
        bar = Rectangle((start, 0), length, height, gid=gid, **style)
        bar.set_transform(Affine2D().scale(scale, 1).translate(x, y) + self.axes.transData)
        self.axes.add_patch(bar)

    def cells(
        self,
        values: Array,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        gid: str,
        decimals: int = 2,
        limit: float | None = None,
        tint: str | None = None,
        hidden: Array | None = None,
        numbers: bool = True,
    ) -> QuadMesh:
        """Draw a matrix, each number in a cell that is coloured by it.

        Args:
            values: the matrix.
            x: where its left edge is.
            y: where its upper edge is.
            width: how wide a cell is.
            height: how high a cell is.
            gid: the name of the mesh that keeps the values.
            decimals: how many decimals are written.
            limit: how far from zero the darkest colours are; by default as far as any of the values.
            tint: one colour for all cells, instead.
            hidden: True where a cell is hatched instead.
            numbers: whether the numbers are written; they are left out, too, where they do not fit.
        """
        infinite = np.isneginf(values)
        concealed = infinite if hidden is None else hidden | infinite
        visible = np.ma.masked_array(values, concealed)
        colours: Colormap = HEAT if tint is None else ListedColormap([tint])
        if limit is None:
            limit = float(abs(visible).max()) if visible.count() else 1.0
        scale = Normalize(-(limit or 1.0), limit or 1.0)
        rows, columns = values.shape
        for i, j in np.argwhere(concealed):
            self.box(
                x + j * width,
                y + i * height,
                width,
                height,
                fill=HIDDEN,
                edge=PAPER if infinite[i, j] else "#b9b6ad",
                line=0.0,
                hatch=None if infinite[i, j] else "//////",
            )
        mesh: QuadMesh = self.axes.pcolormesh(
            x + width * np.arange(columns + 1),
            y + height * np.arange(rows + 1),
            visible,
            cmap=colours,
            norm=scale,
            edgecolors=PAPER,
            linewidth=1.0,
            gid=gid,
            zorder=2,
        )
        written = [[number(value, decimals) for value in row] for row in values]
        room = width - 2.0
        if not _fit(written, room):
            written = [[text.replace("0.", ".", 1) for text in row] for row in written]
        if numbers and _fit(written, room):
            for i, j in np.argwhere(~concealed | infinite):
                self.text(
                    x + (j + 0.5) * width,
                    y + (i + 0.5) * height,
                    written[i][j],
                    color=QUIET if infinite[i, j] else ink_on(tint or colours(scale(values[i, j]))),
                )
        return mesh

    def row_labels(
        self, tokens: Sequence[str], x: float, y: float, height: float, bold: int | None = None
    ) -> None:
        """Write a token beside each row, right-aligned at `x`."""
        for i, token in enumerate(tokens):
            weight = "bold" if i == bold else "normal"
            self.text(x, y + (i + 0.5) * height, token, ha="right", weight=weight)

    def column_labels(self, tokens: Sequence[str], x: float, y: float, width: float) -> None:
        """Write a token above each column, so that none is lower than `y`; slanted where they are long."""
        slanted = _slanted(tokens, width)
        for j, token in enumerate(tokens):
            if slanted:
                self.text(x + (j + 0.42) * width, y - 3, token, ha="left", rotation=45)
            else:
                self.text(x + (j + 0.5) * width, y - LINE / 2, token)


def label_width(tokens: Sequence[str]) -> float:
    """Measure the widest label."""
    return max(text_width(token, weight="bold") for token in tokens)


def column_label_height(tokens: Sequence[str], width: float) -> float:
    """Measure how much room column labels need above cells of the given width."""
    return 0.71 * (label_width(tokens) + TEXT) + 3 if _slanted(tokens, width) else LINE


def _slanted(tokens: Sequence[str], width: float) -> bool:
    widths = [text_width(token) for token in tokens]
    return any(
        (left + right) / 2 + 3 > width for left, right in zip(widths, widths[1:], strict=False)
    )


def _fit(written: Sequence[Sequence[str]], room: float) -> bool:
    return all(text_width(text) <= room for row in written for text in row)
