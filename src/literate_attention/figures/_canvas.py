"""The canvas that every figure is drawn on, with the shapes that figures are made of.

It is measured in points, from its top left corner, and as wide as the text on a laptop and as the screen on a
phone, where its letters are still legible. It is opaque, so that it can be read on any page.
"""

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from ._lettering import FONT, LINE, SMALL_TEXT, TEXT, label_overhang, slant, text_width
from ._palette import HEAT, INK, PALE_BLUE, PALE_ORANGE, PAPER, QUIET, RULE, SHADE, ink_on
from ._words import Array, format_number

Real = float | int
Point = tuple[Real, Real]
Look = dict[str, Any]
"""How something is drawn, in matplotlib's words."""

WIDTH: Final = 320.0
"""How wide a figure is, in points."""
MARGIN: Final = 10.0
GAP: Final = 14.0
_HIGHEST: Final = 1600.0
_NARROWEST: Final = 8.0
_HIDDEN: Final = "#e9e7e1"
_MOST_CELLS: Final = 2500  # a larger matrix is a picture of pixels: as shapes it would be megabytes
_ENLARGED: Final = 1.5  # where there is room, a page shows it 640 CSS pixels wide
_STYLE: Final[list[str | dict[str, Any]]] = [
    "default",
    {
        "font.family": FONT,
        "hatch.linewidth": 0.7,
        "svg.fonttype": "path",
        "svg.hashsalt": "literate-attention",
    },
]
_UNDATED: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}


@dataclass(frozen=True)
class Drawing:
    """A finished figure, and the same in words for whoever cannot see it.

    A notebook shows it as SVG. All lettering is drawn as outlines of DejaVu Sans, the font that comes with
    matplotlib, so that a figure looks the same whatever fonts a machine has. Its bytes depend on the data
    and on the version of matplotlib, on nothing else: no date, no random names, none of the caller's
    settings.

    Args:
        figure: the matplotlib figure.
        alt: what it shows, computed from what was drawn.

    Example:
        >>> import torch
        >>> from literate_attention import figures
        >>> drawing = figures.draw_attention_matrix(torch.tensor([[0.25, 0.75]]), ["it"], keys=["a", "b"])
        >>> drawing.alt
        "Attention weights, 1 query by 2 keys. Row 1, 'it', attends most to 'b', 0.75."
    """

    figure: Figure
    alt: str

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        buffer, metadata = io.StringIO(), _UNDATED | {"Title": self.alt}
        with matplotlib.style.context(_STYLE):
            self.figure.savefig(buffer, format="svg", dpi=300, metadata=metadata)
        svg, side = buffer.getvalue(), r'( (?:width|height)=")([\d.]+)(?=pt")'
        svg = re.sub(side, lambda of: f"{of[1]}{_ENLARGED * float(of[2]):g}", svg, count=2)
        # isolated: ids stay apart where a notebook puts several figures into one page
        return {"image/svg+xml": svg}, {"image/svg+xml": {"isolated": True}, "alt": self.alt}


class Ruler(NamedTuple):
    """How a stretch of the canvas stands for a stretch of numbers."""

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


def column_width(labels: Sequence[str], left: Real, most: Real = WIDTH, panels: int = 1) -> float:
    """Find how wide columns can be from `left` on, so that a slanted last label stays on it as well."""
    room, columns = WIDTH - left - (panels - 1) * GAP, panels * len(labels)
    width = min(most, (room - MARGIN) / columns)
    for _ in range(2):  # narrower columns let the last label reach further
        right = max(MARGIN, label_overhang(labels, width) + 4)
        width = min(most, (room - right) / columns)
    return width


def spread(number: int, left: Real = MARGIN, right: Real = WIDTH - MARGIN) -> list[float]:
    """Spread so many things from `left` to `right`, side by side; return the middle of each."""
    width = (right - left) / number
    if width < _NARROWEST:
        most = int((right - left) / _NARROWEST)
        raise ValueError(f"{number} things do not fit side by side, at most {most} do")
    return [left + (place + 0.5) * width for place in range(number)]


@contextmanager
def new_canvas() -> Iterator["Canvas"]:
    """Open an empty canvas; what is drawn on it takes nothing from the caller's settings."""
    with matplotlib.style.context(_STYLE):
        yield Canvas()


class Canvas:
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
        if height > _HIGHEST:
            raise ValueError(
                f"it would be {height / 72:.0f} inches high; draw fewer rows at a time"
            )
        self.resize(height)
        return Drawing(self.figure, " ".join(filter(None, sentences)))

    def text(self, x: Real, y: Real, text: str, *, size: Real = TEXT, **look: Any) -> None:
        """Write a line whose capitals are centred on `y`; its look is that of a text of matplotlib."""
        drawn: Look = {"color": INK, "ha": "center", "va": "baseline", "zorder": 5} | look
        self.axes.text(x, y + 0.36 * size, text, size=size, parse_math=False, **drawn)

    def heading(self, x: Real, y: Real, text: str, color: str = INK) -> None:
        """Write the title of a part."""
        self.text(x, y, text, color=color, weight="bold", ha="left")

    def note(self, x: Real, y: Real, text: str, ha: str = "center", size: Real = TEXT) -> None:
        """Write what explains the rest, in a quiet colour."""
        self.text(x, y, text, color=QUIET, ha=ha, size=size)

    def lines(self, x: Real, y: Real, lines: Sequence[str], **look: Any) -> None:
        """Write lines, one below the other, the first of them on `y`."""
        for place, line in enumerate(lines):
            self.text(x, y + 12 * place, line, **look)

    def paragraph(self, x: Real, y: Real, lines: Sequence[str], ha: str) -> None:
        """Write small lines that explain the rest."""
        self.lines(x, y, lines, color=QUIET, ha=ha, size=SMALL_TEXT)

    def words(self, x: Real, y: Real, *pieces: tuple[str, str], centred: bool = False) -> None:
        """Write a line in several colours, from `x` on or centred on it."""
        x -= sum(text_width(text) for text, _ in pieces) / 2 if centred else 0
        for text, color in pieces:
            self.text(x, y, text, color=color, ha="left")
            x += text_width(text)

    def row_labels(
        self, labels: Sequence[str], x: Real, y: Real, height: Real, bold: int | None = None
    ) -> None:
        """Write a label beside each row, or beside some if they are many, so that it ends at `x`."""
        every = math.ceil(0.95 * TEXT / height)
        for i, label in list(enumerate(labels))[::every]:
            weight = "bold" if i == bold else "normal"
            self.text(x, y + (i + 0.5) * height, label, ha="right", weight=weight)

    def column_labels(self, labels: Sequence[str], x: Real, y: Real, width: Real) -> None:
        """Write a label above each column, or above some if they are many; slanted where they collide."""
        angle = slant(labels, width)
        every = math.ceil(1.15 * TEXT / width) if angle else 1
        for j, label in list(enumerate(labels))[::every]:
            middle = x + (j + 0.5) * width
            if angle:
                look: Look = {"rotation": angle, "rotation_mode": "anchor", "ha": "left"}
                aside = 3 if angle < 90 else 0.36 * TEXT
                self.text(middle + aside, y - 4 - 0.36 * TEXT, label, **look)
            else:
                self.text(middle, y - LINE / 2, label)

    def box(self, x: Real, y: Real, width: Real, height: Real, **look: Any) -> None:
        """Draw a rectangle: its look is a `fill`, an `edge`, a `line` and a `rounding`, or matplotlib's."""
        rounding = look.pop("rounding", 0)
        style = f"round,pad=0,rounding_size={rounding}" if rounding else "square,pad=0"
        drawn: Look = {"facecolor": look.pop("fill", "none"), "edgecolor": look.pop("edge", "none")}
        drawn |= {"linewidth": look.pop("line", 1.0), "zorder": 1} | look
        self.axes.add_artist(FancyBboxPatch((x, y), width, height, boxstyle=style, **drawn))

    def hatched(self, x: Real, y: Real, width: Real, height: Real, hatch: str = "//////") -> None:
        """Draw where there is nothing: what a mask hides, or, with another hatch, time that is lost."""
        self.box(x, y, width, height, fill=_HIDDEN, edge="#b9b6ad", line=0, hatch=hatch)

    def frame(self, x: Real, y: Real, wide: Real, high: Real, color: str, line: Real = 2.0) -> None:
        """Set something off."""
        self.box(x, y, wide, high, edge=color, line=line, zorder=4)

    def circle(self, x: Real, y: Real, radius: Real, fill: str, edge: str) -> None:
        look: Look = {"facecolor": fill, "edgecolor": edge, "linewidth": 1.2, "zorder": 3}
        self.axes.add_artist(Circle((x, y), radius, **look))

    def diamond(self, x: Real, y: Real, radius: Real, fill: str, edge: str) -> None:
        across, down = (x - radius, x, x + radius, x), (y, y - radius, y, y + radius)
        self.axes.fill(across, down, facecolor=fill, edgecolor=edge, linewidth=1.2, zorder=4)

    def line(self, *points: Point, color: str = QUIET, width: Real = 1.0, **look: Any) -> None:
        """Draw a line from point to point."""
        drawn: Look = {"zorder": 1, "solid_capstyle": "projecting"} | look
        self.axes.plot(*zip(*points, strict=True), color=color, linewidth=width, **drawn)

    def cross(self, x: Real, y: Real, reach: Real) -> None:
        """Draw the axes of a plane."""
        self.line((x - reach, y), (x + reach, y), color=RULE, zorder=0)
        self.line((x, y - reach), (x, y + reach), color=RULE, zorder=0)

    def rules(self, x: Real, y: Real, size: tuple[int, int], unit: Real, color: str) -> None:
        """Divide a block into squares, so many rows and columns of them."""
        rows, columns = size
        right, bottom = x + columns * unit, y + rows * unit
        look: Look = {"color": color, "width": min(1.0, unit / 9), "zorder": 3}
        for down in (y + unit * np.arange(1, rows)).tolist():
            self.line((x, down), (right, down), **look)
        for across in (x + unit * np.arange(1, columns)).tolist():
            self.line((across, y), (across, bottom), **look)

    def dashes(self, start: Point, end: Point) -> None:
        """Draw what is only there to guide the eye."""
        self.line(start, end, color=RULE, linestyle=(0, (2, 3)))

    def arrow(
        self, start: Point, end: Point, *, color: str = QUIET, width: Real = 1.2, **look: Any
    ) -> None:
        """Draw an arrow from one point to the other."""
        if width < 0:
            raise ValueError(f"no arrow can be as thick as {width:g}: is a weight below zero?")
        # matplotlib draws the head's border as thick as the line, which adds to the head
        style = f"-|>,head_length={2.5 + 0.8 * width:.3f},head_width={1.0 + 0.35 * width:.3f}"
        drawn: Look = {"mutation_scale": 1, "shrinkA": 0, "shrinkB": 0, "zorder": 2}
        drawn |= {
            "capstyle": "butt",
            "joinstyle": "miter",
            "color": color,
            "linewidth": width,
        } | look
        self.axes.add_artist(FancyArrowPatch(start, end, arrowstyle=style, **drawn))

    def arch(self, start: Point, end: Point, rise: Real, **look: Any) -> None:
        """Draw an arrow that rises above the line between its ends, or falls below it, and lands steeply."""
        height = rise / 0.75 / (end[0] - start[0])  # of a curve, three quarters are reached

        def bow(a: Array, b: Array, **_: object) -> Path:
            lean, up = (b[0] - a[0]) * np.array([(0.15, 0), (0, height)])
            return Path([a, a + lean + up, b - lean + up, b], [1, 4, 4, 4])

        self.arrow(start, end, connectionstyle=bow, **look)

    def bar(self, x: Real, y: Real, height: Real, ruler: Ruler, length: Real, **look: Any) -> None:
        """Draw a bar that keeps its length as it is in the data; the ruler begins at `x`."""
        bar = Rectangle((0.0, -height / 2), length, height, **look)
        place = Affine2D().translate(-ruler.low, 0).scale(ruler.scale, 1).translate(x, y)
        bar.set_transform(place + self.axes.transData)
        self.axes.add_artist(bar)

    def bars(
        self, values: Array, x: Real, y: Real, row: Real, ruler: Ruler, *, name: str, **look: Any
    ) -> None:
        """Draw a bar in each row, each with its number, on a ground as long as the ruler."""
        color, weight = look.get("color", PALE_BLUE), look.get("weight", "normal")
        for i, value in enumerate(values):
            middle, shade = y + (i + 0.5) * row, color if value >= 0 else PALE_ORANGE
            self.box(x, middle - 9, ruler.room, 18, fill=SHADE, zorder=0)
            self.bar(x, middle, 18, ruler, value, facecolor=shade, label=f"{name}{i}")
            self.text(x + 4, middle, format_number(value), ha="left", weight=weight)

    def cells(
        self,
        values: Array,
        x: Real,
        y: Real,
        width: Real,
        height: Real,
        *,
        name: str,
        decimals: int | None = 2,
        limit: Real | None = None,
        tint: str | None = None,
        hidden: Array | None = None,
        alike: Array | None = None,
    ) -> bool:
        """Draw a matrix, each number in a cell that is coloured by it; minus infinity is grey.

        Numbers are written with so many `decimals`, where they fit; None is for no numbers. Further numbers
        that are to be `alike` have a say in the size. The darkest colours are `limit` away from zero, or as
        far as any of the values; `tint` is one colour for all cells, instead. Cells that are `hidden` are
        hatched. The `name` is that of the mesh that keeps the values. Return whether numbers were written.
        """
        infinite = np.isneginf(values)
        hatched = np.zeros_like(infinite) if hidden is None else hidden & ~infinite
        visible = np.ma.masked_array(values, infinite | hatched)
        limit = limit or (float(abs(visible).max()) if visible.count() else 0.0) or 1.0
        colours: Colormap = HEAT if tint is None else ListedColormap([tint])
        scale, is_large = Normalize(-limit, limit), values.size > _MOST_CELLS
        if is_large:
            colours = colours.with_extremes(bad=_HIDDEN)
        for i, j in np.argwhere((hatched | infinite) & (not is_large)):
            place = x + j * width, y + i * height, width, height
            if hatched[i, j]:
                self.hatched(*place)
            else:
                self.box(*place, fill=_HIDDEN, line=0)
        self.axes.pcolormesh(
            x + width * np.arange(values.shape[1] + 1),
            y + height * np.arange(values.shape[0] + 1),
            visible,
            cmap=colours,
            norm=scale,
            edgecolors=PAPER,
            linewidth=min(1.0, width / 8, height / 8),
            rasterized=is_large,
            label=name,
            zorder=2,
        )
        shown = np.ma.compressed(visible if alike is None else alike)
        written = [format_number(number, decimals or 0) for number in shown]
        sizes = [
            size
            for size in (TEXT, SMALL_TEXT)
            if decimals is not None and all(text_width(n, size) <= width - 1 for n in written)
        ]
        for i, j in np.argwhere(~hatched if sizes else np.zeros_like(hatched)):
            ink = QUIET if infinite[i, j] else ink_on(tint or colours(scale(values[i, j])))
            number = format_number(values[i, j], decimals or 0)
            middle = x + (j + 0.5) * width, y + (i + 0.5) * height
            self.text(*middle, number, size=sizes[0], color=ink)
        return bool(sizes)

    def colour_scale(self, x: Real, y: Real, limit: Real = 1.0, decimals: int = 0) -> None:
        """Explain the colours of cells without numbers."""
        self.text(x, y + LINE / 2, "0", ha="left")
        x += text_width("0") + 6
        steps = np.linspace(0.0, limit, 7)[None]
        self.cells(steps, x, y + 2, 14, 12, name="scale", limit=limit, decimals=None)
        self.text(x + 7 * 14 + 6, y + LINE / 2, format_number(limit, decimals), ha="left")
