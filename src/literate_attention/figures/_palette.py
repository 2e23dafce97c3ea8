"""Paper, ink, the shades of numbers, and the code of colours: one colour means one thing in the book."""

from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgb

PAPER: Final = "#faf9f5"
INK: Final = "#22272e"
QUIET: Final = "#5a6069"
RULE: Final = "#c9c7c0"
SHADE: Final = "#ecebe6"

BLUE: Final = "#14559c"
"""Weights, and numbers above zero."""
ORANGE: Final = "#a44303"
"""Numbers below zero."""
PALE_BLUE: Final = "#8fbbe3"
PALE_ORANGE: Final = "#eab07f"
GREY_BAR: Final = "#d5d3cb"
"""Scores, which are no weights yet."""
WEIGHT_TINT: Final = "#c5dcf0"
SERIES: Final = (INK, BLUE, ORANGE, QUIET, "#4a3c8c", "#3d6b6b")
"""Lines of a chart; each has a dash and a marker of its own as well."""
HEAT: Final = LinearSegmentedColormap.from_list(
    "literate",
    [
        (0.0, "#7d2f00"),
        (0.13, "#a86232"),
        (0.13, "#d39564"),
        (0.25, PALE_ORANGE),
        (0.5, "#ffffff"),
        (0.75, PALE_BLUE),
        (0.87, "#77a3cf"),
        (0.87, "#4976ab"),
        (1.0, "#123f7e"),
    ],
)
"""White is zero, blue is above, orange is below; the darker, the further away.

The shades between are left out that neither black nor white numbers can be read on, in the light and in the
dark, where a page turns light into dark.
"""


def ink_on(colour: Any) -> str:
    """Choose black or white, whichever contrasts more; on no colour is that less than 4.58."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = linear @ (0.2126, 0.7152, 0.0722)
    return "black" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "white"


class Colour(NamedTuple):
    """What one thing is drawn in: a ground that carries ink, and a line or a letter that paper carries."""

    tint: str
    strong: str


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
COLOURS: Final[dict[str, Colour]] = {
    "input": INPUT,
    "query": QUERY,
    "key": KEY,
    "value": VALUE,
    "context": CONTEXT,
    **{f"head {number}": colour for number, colour in enumerate(HEADS, start=1)},
}
"""The code of colours that the notation page explains."""


def head_colour(head: int) -> Colour:
    """Return the colour of a head, counted from 0; the fourth has that of the first again."""
    return HEADS[head % len(HEADS)]
