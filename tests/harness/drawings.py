"""What a drawing was made of, read back from it: matrices, the lengths of bars, and where arrows lead."""

import re

import numpy as np
import torch
from matplotlib.collections import QuadMesh
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.text import Text


def meshes(drawing):
    """Return matrices by name; hidden cells are masked."""
    found = drawing.figure.findobj(QuadMesh)
    return {mesh.get_label(): mesh.get_array() for mesh in found}


def as_tensor(mesh):
    """Return a matrix whose hidden cells are nan."""
    return torch.from_numpy(np.ma.filled(mesh, np.nan)).float()


def lengths(drawing, name):
    """Return the lengths of the bars whose name matches, in the units of the data."""
    found = drawing.figure.findobj(Rectangle)
    return torch.tensor(
        [float(bar.get_width()) for bar in found if re.fullmatch(name, bar.get_label())]
    )


def ways(drawing, name=""):
    """Return from where to where the arrows lead whose names begin so, upwards being positive."""
    return [
        (arrow.get_label(), torch.tensor([float(to_x - x), float(y - to_y)]))
        for arrow in drawing.figure.findobj(FancyArrowPatch)
        if arrow.get_label().startswith(name)
        for (x, y), (to_x, to_y) in [arrow._posA_posB]
    ]


def written(drawing):
    """Return all texts, in the order in which they were written."""
    return [text.get_text() for text in drawing.figure.findobj(Text) if text.get_text()]


def arrow_widths(drawing, name):
    """Return how thick the arrows are whose names begin so."""
    found = drawing.figure.findobj(FancyArrowPatch)
    return torch.tensor([a.get_linewidth() for a in found if a.get_label().startswith(name)])


def in_the_dark(rgb):
    """Return colours as a dark page shows them: `invert(0.93) hue-rotate(180deg)` in book.css."""
    turned = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])
    return np.clip((0.93 + (1 - 2 * 0.93) * rgb) @ turned.T, 0.0, 1.0)


def contrast(one, other):
    """Compute the contrast of two colours, or of many, as WCAG 2 defines it."""
    one, other = (
        np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        @ np.array([0.2126, 0.7152, 0.0722])
        for rgb in map(np.asarray, (one, other))
    )
    return (np.maximum(one, other) + 0.05) / (np.minimum(one, other) + 0.05)
