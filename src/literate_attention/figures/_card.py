"""The card that every figure is drawn on: one palette, one lettering, a few shapes to draw with.

A card is measured in points, from its top left corner, so that every shape knows where it stands and
nothing is left to a layout engine. It is shown as wide as the text on a laptop and as the screen on a
phone, where its letters are still legible. It is opaque, so that it can be read on any page. One colour
means one thing in the whole book, and where colours tell things apart, a label or a shape does too.
"""

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import matplotlib.style
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]
Real = float | int
Point = tuple[Real, Real]

WIDTH: Final = 320.0
"""How wide a card is, in points."""
_ENLARGED: Final = 1.5
"""How much larger a page shows it, where there is room: 640 CSS pixels wide."""
MARGIN: Final = 10.0
TEXT: Final = 10.0
SMALL_TEXT: Final = 9.0
"""For numbers in narrow cells only; nothing is smaller."""
LINE: Final = 16.0
_LONGEST_LABEL: Final = 70.0

PAPER: Final = "#faf9f5"
INK: Final = "#22272e"
QUIET: Final = "#5a6069"
RULE: Final = "#c9c7c0"
SHADE: Final = "#ecebe6"


class Colour(NamedTuple):
    """What one thing is drawn in: a ground that carries ink, and a line or a letter that paper carries."""

    tint: str
    strong: str


BLUE: Final = "#14559c"
"""Weights, and numbers above zero."""
ORANGE: Final = "#a44303"
"""Numbers below zero."""
INPUT: Final = Colour(SHADE, QUIET)
QUERY: Final = Colour("#f6cbd0", "#b00f35")
KEY: Final = Colour("#fbd98c", "#7d5200")
VALUE: Final = Colour("#bfe6c0", "#1c6b2f")
CONTEXT: Final = Colour("#d6cdf7", "#5634b0")
HEADS: Final = (
    Colour("#a9e1ea", "#00636f"),
    Colour("#f7bfee", "#9c1587"),
    Colour("#dcea86", "#556000"),
)
"""The first, second and third head; further heads begin again at the first."""
COLOURS: Final[dict[str, Colour]] = {
    "input": INPUT,
    "query": QUERY,
    "key": KEY,
    "value": VALUE,
    "context": CONTEXT,
    **{f"head {number}": colour for number, colour in enumerate(HEADS, start=1)},
}
"""The code of colours that the notation page explains."""
SERIES: Final = (INK, BLUE, ORANGE, QUIET, "#4a3c8c", "#3d6b6b")
"""Lines of a chart; each has a dash and a marker of its own as well."""
HEAT: Final = LinearSegmentedColormap.from_list(
    "literate",
    [
        (0.0, "#7d2f00"),
        (0.13, "#a86232"),
        (0.13, "#d39564"),
        (0.25, "#eab07f"),
        (0.5, "#ffffff"),
        (0.75, "#8fbbe3"),
        (0.87, "#77a3cf"),
        (0.87, "#4976ab"),
        (1.0, "#123f7e"),
    ],
)
"""White is zero, blue is above, orange is below; the darker, the further away.

The shades between are left out that neither black nor white numbers can be read on, in the light and in the
dark, where a page turns light into dark.
"""

MINUS: Final = "\N{MINUS SIGN}"
_FONT: Final = "DejaVu Sans"
_STYLE: Final = {
    "font.family": _FONT,
    "hatch.linewidth": 0.7,
    "svg.fonttype": "path",
    "svg.hashsalt": "literate-attention",
}
_UNDATED: Final[dict[str, dict[str, str | None]]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


@dataclass(frozen=True)
class Drawing:
    """A finished figure, and the same in words for whoever cannot see it.

    A notebook shows it as SVG. All lettering is drawn as outlines of DejaVu Sans, the font that comes with
    matplotlib, so that a figure is legible wherever it goes and looks the same there, whatever fonts a
    machine has. Each letter is stored once; compressed, a figure takes a few kilobytes. Its bytes depend on
    the data and on the version of matplotlib, on nothing else: no date, no random names, none of the
    caller's settings.

    Args:
        figure: the matplotlib figure.
        alt: what it shows, computed from what was drawn.

    Example:
        >>> from literate_attention import figures
        >>> drawing = figures.draw_attention_matrix(torch.tensor([[0.25, 0.75]]), ["it"], keys=["a", "b"])
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
            raise ValueError(f"path must end in one of {', '.join(_UNDATED)}, got {str(path)!r}")
        Path(path).write_bytes(self._render(kind))

    def _render(self, kind: str) -> bytes:
        metadata = _UNDATED[kind] | {"Title": self.alt}
        buffer = io.BytesIO()
        with _house_style():
            self.figure.savefig(buffer, format=kind, metadata=metadata, dpi=2 * 96)
        return buffer.getvalue()

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        svg = re.sub(
            r'( (?:width|height)=")([\d.]+)(?=pt")',
            lambda side: f"{side[1]}{_ENLARGED * float(side[2]):g}",
            self._render("svg").decode(),
            count=2,
        )
        # isolated: ids stay apart where a notebook puts several figures into one page
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
        expected = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise ValueError(f"{name} must have shape ({expected}), got {tuple(tensor.shape)}")
    values: Array = tensor.detach().cpu().to(torch.float64).numpy()
    undrawable = ~(np.isfinite(values) | (hidden & np.isneginf(values)))
    if undrawable.any():
        raise ValueError(
            f"{name} must hold numbers that can be drawn, "
            f"but {undrawable.sum()} of {values.size} are nan or infinite"
        )
    return values


def allowed_pairs(attn_mask: Tensor | None, shape: tuple[int, ...]) -> Array:
    """Bring a mask to the shape of what it masks; without one, every query may attend to every key."""
    return np.ones(shape, bool) if attn_mask is None else array("attn_mask", attn_mask, *shape) != 0


def labels(name: str, given: Sequence[str], expected: int, what: str) -> tuple[str, ...]:
    """Refuse labels that are not one for each of the things that they name."""
    if isinstance(given, str):
        raise TypeError(f"{name} must be a sequence of labels, got one string: {given!r}")
    if len(given) != expected:
        raise ValueError(f"{name} must name {expected} {what}, got {len(given)} labels")
    return tuple(shorten(str(label).replace("\n", "⏎"), _LONGEST_LABEL) for label in given)


def index(name: str, given: int, length: int) -> int:
    """Refuse a position outside of what it counts."""
    if not 0 <= given < length:
        raise ValueError(f"{name} must lie between 0 and {length - 1}, got {given}")
    return given


def not_negative(name: str, weights: Array) -> None:
    """Refuse weights that no arrow can be as thick as."""
    if (weights < 0).any():
        raise ValueError(
            f"{name} must not be negative to be drawn as arrows, got {weights.min():g}"
        )


def some(name: str, given: int) -> int:
    """Refuse to draw nothing at all."""
    if given < 1:
        raise ValueError(f"{name} must be at least 1, got {given}")
    return given


def number(value: Real, decimals: int = 2) -> str:
    """Write a number as the figures do, in pictures and in words."""
    if np.isneginf(value):
        return f"{MINUS}\N{INFINITY}"
    return f"{value:z.{decimals}f}".replace("-", MINUS)


def vector(values: Array, decimals: int = 2) -> str:
    """Write a vector as the figures do."""
    return f"({', '.join(number(value, decimals) for value in values)})"


def count(quantity: int, one: str, many: str) -> str:
    """Say how many there are."""
    return f"{quantity} {one if quantity == 1 else many}"


def largest(values: Array, names: Sequence[str]) -> str:
    """Name the largest of some values, or all that share the first place."""
    best = [
        f"'{name}'"
        for name, value in zip(names, values, strict=True)
        if np.isclose(value, values.max(), rtol=1e-6, atol=0.0)
    ]
    return best[0] if len(best) == 1 else f"{', '.join(best[:-1])} and {best[-1]}"


def subscript(position: int) -> str:
    """Write a token's place, counted from 1, as the formulas do: a small 2 below the line for position 1."""
    return str(position + 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def products(a: Array, b: Array, colors: tuple[str, str], room: Real) -> list[tuple[str, str]]:
    """Spell out the products of a dot product in two colours, as far as there is room."""
    shown = [
        [(number(left), colors[0]), ("·", QUIET), (number(right), colors[1])]
        for left, right in zip(a, b, strict=True)
    ]
    rest: list[list[tuple[str, str]]] = []
    while True:
        pieces = [piece for term in shown + rest for piece in (*term, (" + ", QUIET))][:-1]
        if len(shown) < 2 or sum(text_width(text) for text, _ in pieces) <= room:
            return pieces
        shown, rest = shown[:-1], [[("…", QUIET)]]


def text_width(text: str, size: Real = TEXT, weight: str = "normal") -> float:
    """Measure a line of text, in points."""
    return _text_width(text, size, weight) if text else 0.0


@cache
def _text_width(text: str, size: Real, weight: str) -> float:
    font = FontProperties(family=_FONT, size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def shorten(text: str, room: Real, weight: str = "normal") -> str:
    """Cut a text off where it no longer fits."""
    shown = text
    while shown and text_width(shown, weight=weight) > room:
        shown = f"{shown[:-2]}…" if len(shown) > 1 else ""
    return shown


def wrap(text: str, room: Real, weight: str = "normal") -> list[str]:
    """Break a text into lines that fit, between words."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, weight=weight) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def label_width(tokens: Sequence[str]) -> float:
    """Measure the widest label, as if it were bold."""
    return max(text_width(token, weight="bold") for token in tokens)


def column_label_height(tokens: Sequence[str], width: Real) -> float:
    """Measure how much room labels need above columns of the given width."""
    slope = np.radians(_slant(tokens, width))
    if not slope:
        return LINE
    return 4 + float(max(map(text_width, tokens)) * np.sin(slope) + 0.8 * TEXT * np.cos(slope))


def column_label_overhang(tokens: Sequence[str], width: Real) -> float:
    """Measure how far labels reach beyond the last column."""
    slope = np.radians(_slant(tokens, width))
    reaches = [
        3 + text_width(token) * np.cos(slope) + 0.25 * TEXT * np.sin(slope)
        if slope
        else text_width(token) / 2
        for token in tokens
    ]
    columns_beside = np.arange(len(tokens))[::-1] + 0.5
    return max(0.0, float((reaches - columns_beside * width).max()))


def _slant(tokens: Sequence[str], width: Real) -> float:
    widths = [text_width(token) for token in tokens]
    if max(widths) <= width + 8 and all((a + b) / 2 + 4 <= width for a, b in pairwise(widths)):
        return 0.0
    return 45.0 if width >= 22 else 60.0 if width >= 14 else 90.0


def luminance(colour: Any) -> float:
    """Compute the relative luminance of a colour, as WCAG 2 defines it."""
    channels = np.asarray(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def ink_on(colour: Any) -> str:
    """Choose black or white, whichever contrasts more; on no colour is that less than 4.58."""
    return "black" if (luminance(colour) + 0.05) ** 2 > 0.05 * 1.05 else "white"


class Ruler(NamedTuple):
    """How a stretch of the card stands for a stretch of numbers."""

    low: Real
    high: Real
    room: Real

    @classmethod
    def over(cls, values: Array, room: Real) -> "Ruler":
        """Reach from the lowest to the highest value, zero included."""
        low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
        return cls(low, high if high > low else 1.0, room)

    @property
    def scale(self) -> float:
        """How many points one unit takes."""
        return self.room / (self.high - self.low)


@contextmanager
def _house_style() -> Iterator[None]:
    with matplotlib.style.context(["default", _STYLE]):
        yield


@contextmanager
def card() -> Iterator["Card"]:
    """Open an empty card; what is drawn on it takes nothing from the caller's settings."""
    with _house_style():
        yield Card()


class Card:
    """A sheet of paper that is measured in points, from its top left corner."""

    def __init__(self) -> None:
        self.figure = Figure(facecolor=PAPER)
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, WIDTH)
        self.resize(WIDTH)

    def resize(self, height: Real) -> None:
        """Cut the paper, or add to it, at the bottom."""
        self.figure.set_size_inches(WIDTH / 72, height / 72)
        self.axes.set_ylim(height, 0)

    def finish(self, height: Real, *sentences: str) -> Drawing:
        """Cut the paper to its final height and hand it out, with what it shows in words."""
        self.resize(height)
        return Drawing(self.figure, " ".join(sentences))

    def text(
        self,
        x: Real,
        y: Real,
        text: str,
        *,
        color: str = INK,
        weight: str = "normal",
        size: Real = TEXT,
        ha: Literal["left", "center", "right"] = "center",
    ) -> None:
        """Write a line whose capitals are centred on `y`."""
        self.axes.text(
            x,
            y + 0.36 * size,
            text,
            color=color,
            weight=weight,
            size=size,
            ha=ha,
            va="baseline",
            zorder=5,
            parse_math=False,
        )

    def heading(self, x: Real, y: Real, text: str) -> None:
        """Write the title of a part."""
        self.text(x, y, text, weight="bold", ha="left")

    def words(self, x: Real, y: Real, pieces: Sequence[tuple[str, str]]) -> None:
        """Write a line in several colours."""
        for text, color in pieces:
            self.text(x, y, text, color=color, ha="left")
            x += text_width(text)

    def row_labels(
        self, tokens: Sequence[str], x: Real, y: Real, height: Real, bold: int | None = None
    ) -> None:
        """Write a token beside each row, so that it ends at `x`."""
        for i, token in enumerate(tokens):
            weight = "bold" if i == bold else "normal"
            self.text(x, y + (i + 0.5) * height, token, ha="right", weight=weight)

    def column_labels(self, tokens: Sequence[str], x: Real, y: Real, width: Real) -> None:
        """Write a token above each column, or above some if they are many; slanted where they collide."""
        slant = _slant(tokens, width)
        every = math.ceil(1.15 * TEXT / width)
        for j, token in list(enumerate(tokens))[::every]:
            middle = x + (j + 0.5) * width
            if not slant:
                self.text(middle, y - LINE / 2, token)
                continue
            self.axes.text(
                middle + (3 if slant < 90 else 0.36 * TEXT),
                y - 4,
                token,
                color=INK,
                size=TEXT,
                rotation=slant,
                rotation_mode="anchor",
                ha="left",
                va="baseline",
                zorder=5,
                parse_math=False,
            )

    def box(
        self,
        x: Real,
        y: Real,
        width: Real,
        height: Real,
        *,
        fill: str = "none",
        edge: str = "none",
        line: Real = 1.0,
        rounding: Real = 0.0,
        zorder: Real = 1,
        hatch: str | None = None,
    ) -> None:
        """Draw a rectangle."""
        self.axes.add_artist(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle=f"round,pad=0,rounding_size={rounding}" if rounding else "square,pad=0",
                facecolor=fill,
                edgecolor=edge,
                linewidth=line,
                zorder=zorder,
                hatch=hatch,
            )
        )

    def hatched(self, x: Real, y: Real, width: Real, height: Real, hatch: str = "//////") -> None:
        """Draw where there is nothing: what a mask hides, or, with another hatch, time that is lost."""
        self.box(x, y, width, height, fill="#e9e7e1", edge="#b9b6ad", line=0, hatch=hatch)

    def frame(self, x: Real, y: Real, width: Real, height: Real, color: str) -> None:
        """Set something off."""
        self.box(x, y, width, height, edge=color, line=2, zorder=4)

    def circle(self, x: Real, y: Real, radius: Real, fill: str, edge: str) -> None:
        """Draw a circle."""
        self.axes.add_artist(
            Circle((x, y), radius, facecolor=fill, edgecolor=edge, linewidth=1.2, zorder=3)
        )

    def line(
        self, start: Point, end: Point, *, color: str = QUIET, width: Real = 1.0, zorder: Real = 1
    ) -> None:
        """Draw a straight line."""
        self.axes.plot(
            *zip(start, end, strict=True),
            color=color,
            linewidth=width,
            zorder=zorder,
            solid_capstyle="projecting",
        )

    def dashes(self, start: Point, end: Point) -> None:
        """Draw what is only there to guide the eye."""
        self.axes.plot(
            *zip(start, end, strict=True),
            color=RULE,
            linewidth=1.0,
            linestyle=(0, (2, 3)),
            zorder=1,
        )

    def diamond(self, x: Real, y: Real, radius: Real, fill: str, edge: str) -> None:
        """Draw a diamond."""
        corners = ((x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius))
        self.axes.fill(
            *zip(*corners, strict=True), facecolor=fill, edgecolor=edge, linewidth=1.2, zorder=4
        )

    def arrow(
        self,
        start: Point,
        end: Point,
        *,
        color: str = QUIET,
        width: Real = 1.2,
        zorder: Real = 2,
        name: str = "",
    ) -> None:
        """Draw an arrow from one point to the other."""
        # matplotlib draws the head's border as thick as the line, which adds to the head
        style = f"-|>,head_length={2.5 + 0.8 * width:.3f},head_width={1.0 + 0.35 * width:.3f}"
        self.axes.add_artist(
            FancyArrowPatch(
                start,
                end,
                arrowstyle=style,
                mutation_scale=1,
                shrinkA=0,
                shrinkB=0,
                linewidth=width,
                color=color,
                capstyle="butt",
                joinstyle="miter",
                zorder=zorder,
                label=name,
            )
        )

    def colour_scale(self, x: Real, y: Real, limit: Real, *, signed: bool, decimals: int) -> None:
        """Explain the colours of cells that are too narrow for numbers."""
        low, high = (number(-limit, decimals) if signed else "0"), number(limit, decimals)
        self.text(x, y + LINE / 2, low, ha="left")
        x += text_width(low) + 6
        steps = np.linspace(-limit if signed else 0.0, limit, 7)
        self.cells(steps[None], x, y + 2, 14, 12, name="scale", limit=limit, numbers=False)
        self.text(x + 7 * 14 + 6, y + LINE / 2, high, ha="left")

    def border(self, allowed: Array, x: Real, y: Real, width: Real, height: Real) -> None:
        """Draw the border between the cells that a mask allows and those that it hides."""
        for i, j in np.argwhere(allowed[:, 1:] != allowed[:, :-1]):
            edge, top = x + (j + 1) * width, y + i * height
            self.line((edge, top), (edge, top + height), color=INK, width=2, zorder=4)
        for i, j in np.argwhere(allowed[1:] != allowed[:-1]):
            edge, start = y + (i + 1) * height, x + j * width
            self.line((start, edge), (start + width, edge), color=INK, width=2, zorder=4)

    def bar(
        self,
        x: Real,
        y: Real,
        height: Real,
        ruler: Ruler,
        length: Real,
        *,
        start: Real = 0.0,
        color: str,
        edge: str = "none",
        name: str,
    ) -> None:
        """Draw a bar that keeps its start and length as they are in the data; the ruler begins at `x`."""
        bar = Rectangle(
            (start, -height / 2), length, height, facecolor=color, edgecolor=edge, label=name
        )
        place = Affine2D().translate(-ruler.low, 0).scale(ruler.scale, 1).translate(x, y)
        bar.set_transform(place + self.axes.transData)
        self.axes.add_artist(bar)

    def cells(
        self,
        values: Array,
        x: Real,
        y: Real,
        width: Real,
        height: Real,
        *,
        name: str,
        decimals: int = 2,
        limit: Real | None = None,
        tint: str | None = None,
        hidden: Array | None = None,
        numbers: bool = True,
        alike: Array | None = None,
    ) -> bool:
        """Draw a matrix, each number in a cell that is coloured by it; minus infinity is grey.

        Args:
            values: the matrix.
            x: where its left edge is.
            y: where its upper edge is.
            width: how wide a cell is.
            height: how high a cell is.
            name: the label of the mesh that keeps the values.
            decimals: how many decimals are written.
            limit: how far from zero the darkest colours are; by default as far as any of the values.
            tint: one colour for all cells, instead.
            hidden: True where a cell is hatched instead.
            numbers: whether numbers are written, where they fit.
            alike: all numbers that are to be written in the same size; by default those of the matrix.

        Returns:
            Whether the numbers were written.
        """
        infinite = np.isneginf(values)
        hatched = np.zeros_like(infinite) if hidden is None else hidden & ~infinite
        visible = np.ma.masked_array(values, infinite | hatched)
        if limit is None:
            limit = float(abs(visible).max()) if visible.count() else 0.0
        colours: Colormap = HEAT if tint is None else ListedColormap([tint])
        scale = Normalize(-(limit or 1.0), limit or 1.0)
        for i, j in np.argwhere(hatched):
            self.hatched(x + j * width, y + i * height, width, height)
        for i, j in np.argwhere(infinite):
            self.box(x + j * width, y + i * height, width, height, fill="#e9e7e1", line=0)
        self.axes.pcolormesh(
            x + width * np.arange(values.shape[1] + 1),
            y + height * np.arange(values.shape[0] + 1),
            visible,
            cmap=colours,
            norm=scale,
            edgecolors=PAPER,
            linewidth=1.0,
            label=name,
            zorder=2,
        )
        lettering = _fitting(visible if alike is None else alike, decimals, width - 1.0)
        if lettering is None or not numbers:
            return False
        size, bare = lettering
        for i, j in np.argwhere(~hatched):
            ink = QUIET if infinite[i, j] else ink_on(tint or colours(scale(values[i, j])))
            written = number(values[i, j], decimals)
            self.text(
                x + (j + 0.5) * width,
                y + (i + 0.5) * height,
                _bare(written) if bare else written,
                size=size,
                color=ink,
            )
        return True


def decimals_that_fit(values: Array, room: Real, most: int) -> int | None:
    """Find how many decimals there is room for; None if there is none even for whole numbers."""
    for decimals in range(most, -1, -1):
        if all(text_width(number(value, decimals), weight="bold") <= room for value in values.flat):
            return decimals
    return None


def _fitting(values: Array, decimals: int, room: Real) -> tuple[float, bool] | None:
    """Find how numbers fit their cells: the size of the letters, and whether the leading zero goes."""
    for bare, size in product((False, True), (TEXT, SMALL_TEXT)):
        written = (number(value, decimals) for value in np.ma.compressed(values))
        shown = map(_bare, written) if bare else written
        if all(text_width(text, size) <= room for text in shown):
            return size, bare
    return None


def _bare(written: str) -> str:
    """Leave a leading zero out."""
    return re.sub(rf"^({MINUS}?)0\.", r"\1.", written)
