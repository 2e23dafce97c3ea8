"""What a drawing was made of, read back from it: matrices, the lengths of bars, and where arrows lead."""

import re
from typing import Any

import numpy as np
import torch
from matplotlib.collections import QuadMesh
from matplotlib.patches import FancyArrowPatch, Rectangle
from torch import Tensor

from literate_attention.figures import Drawing


def meshes(drawing: Drawing) -> dict[str, Any]:
    """Return matrices by name; hidden cells are masked."""
    found = drawing.figure.findobj(QuadMesh)
    return {mesh.get_label(): mesh.get_array() for mesh in found}


def as_tensor(mesh: Any) -> Tensor:
    """Return a matrix whose hidden cells are nan."""
    return torch.from_numpy(np.ma.filled(mesh, np.nan)).float()


def lengths(drawing: Drawing, name: str) -> Tensor:
    """Return the lengths of the bars whose name matches, in the units of the data."""
    found = drawing.figure.findobj(Rectangle)
    return torch.tensor(
        [float(bar.get_width()) for bar in found if re.fullmatch(name, bar.get_label())]
    )


def ways(drawing: Drawing, name: str = "") -> list[tuple[str, Tensor]]:
    """Return from where to where the arrows lead whose names begin so, upwards being positive."""
    return [
        (arrow.get_label(), torch.tensor([float(to_x - x), float(y - to_y)]))
        for arrow in drawing.figure.findobj(FancyArrowPatch)
        if arrow.get_label().startswith(name)
        for (x, y), (to_x, to_y) in [arrow._posA_posB]
    ]
