"""The lettering of all figures: how wide words are, where they fit, and which labels are slanted."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

FONT: Final = "DejaVu Sans"
TEXT: Final = 10.0
SMALL_TEXT: Final = 9.0
"""For numbers in narrow cells and for notes; nothing is smaller."""
LINE: Final = 16.0
_LONGEST_LABEL: Final = 70.0


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


def clean_labels(labels: Sequence[str], expected: int | None = None) -> tuple[str, ...]:
    """Shorten labels that are too long; refuse those that are not one for each thing that they name."""
    if expected not in (None, len(labels)):
        raise ValueError(f"{expected} things need as many labels, got {len(labels)}")
    return tuple(shorten(str(label).replace("\n", "⏎"), _LONGEST_LABEL) for label in labels)


def label_width(labels: Iterable[str]) -> float:
    """Measure the widest label, as if it were bold."""
    return max(text_width(label, weight="bold") for label in labels)


def slant(labels: Sequence[str], width: float) -> float:
    """Choose by how many degrees labels are turned above columns of the given width: by none if they fit."""
    widths = [text_width(label) for label in labels]
    gap = min(4.0, width / 4)
    if max(widths) <= width + 8 and all((a + b) / 2 + gap <= width for a, b in pairwise(widths)):
        return 0.0
    return 45.0 if width >= 22 else 60.0 if width >= 14 else 90.0


def label_height(labels: Sequence[str], width: float) -> float:
    """Measure how much room labels need above columns of the given width."""
    angle = np.radians(slant(labels, width))
    if not angle:
        return LINE
    return 4 + float(max(map(text_width, labels)) * np.sin(angle) + 0.8 * TEXT * np.cos(angle))


def label_overhang(labels: Sequence[str], width: float) -> float:
    """Measure how far labels reach beyond the last column."""
    angle = np.radians(slant(labels, width))
    widths = np.array([text_width(label) for label in labels])
    reaches = 3 + widths * np.cos(angle) + 0.25 * TEXT * np.sin(angle) if angle else widths / 2
    columns_beside = np.arange(len(labels))[::-1] + 0.5
    return max(0.0, float((reaches - columns_beside * width).max()))
