"""One colour means one thing, and numbers can be read on it."""

from itertools import combinations

import numpy as np
import pytest
from harness.drawings import contrast, in_the_dark
from harness.paths import DOCS
from matplotlib.colors import to_rgb

from literate_attention.figures._palette import (
    BLUE,
    COLOURS,
    HEAT,
    ORANGE,
    PALE_BLUE,
    PALE_ORANGE,
    Colour,
    ink_on,
)


@pytest.mark.parametrize("shade", [0, 1], ids=["tint", "strong"])
def test_no_two_things_look_alike(shade) -> None:
    """A difference of 2.3 in CIELAB is just noticeable; these are told apart at a glance."""
    numbers = {"above": Colour(PALE_BLUE, BLUE), "below": Colour(PALE_ORANGE, ORANGE)}
    colours = {name: lab(colour[shade]) for name, colour in (COLOURS | numbers).items()}
    for one, other in combinations(colours, 2):
        difference = np.linalg.norm(colours[one] - colours[other])
        assert difference > 15, f"{one} and {other} differ by {difference:.1f}"


def lab(colour):
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = np.cbrt(to_xyz @ linear / (0.9505, 1.0, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("mode", [lambda rgb: rgb, in_the_dark], ids=["light", "dark"])
def test_numbers_can_be_read_on_every_shade(mode) -> None:
    for place in np.linspace(0, 1, 257):
        shade = np.array(HEAT(place)[:3])
        ink = np.array(to_rgb(ink_on(shade)))
        assert contrast(mode(shade), mode(ink)) >= 4.5, f"{place} is {shade}"


def test_the_dark_is_that_of_the_pages() -> None:
    styles = (DOCS / "_static" / "book.css").read_text(encoding="utf-8")
    assert "filter: invert(0.93) hue-rotate(180deg);" in styles
