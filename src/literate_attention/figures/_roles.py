"""What plays a part in attention, and its colour: one colour means one thing in the whole book."""

from typing import Final, NamedTuple

from literate_attention.figures._palette import QUIET, SHADE


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
