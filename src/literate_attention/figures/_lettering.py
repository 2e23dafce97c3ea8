"""The lettering of all figures: how wide words are, and where they fit."""

from functools import cache
from typing import Final

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

FONT: Final = "DejaVu Sans"
TEXT: Final = 10.0
SMALL_TEXT: Final = 9.0
"""For numbers in narrow cells and for notes; nothing is smaller."""
LINE: Final = 16.0


@cache
def text_width(text: str, size: float = TEXT, weight: str = "normal") -> float:
    """Measure a line of text, in points."""
    if not text:
        return 0.0
    font = FontProperties(family=FONT, size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def shorten(text: str, room: float, weight: str = "normal") -> str:
    """Cut a text off where it no longer fits."""
    while text and text_width(text, weight=weight) > room:
        text = f"{text[:-2]}…" if len(text) > 1 else ""
    return text


def wrap(text: str, room: float, weight: str = "normal") -> list[str]:
    """Break a text into lines that fit, between words."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, weight=weight) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
