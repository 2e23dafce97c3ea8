"""What figures are handed: tensors, and labels for them."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from literate_attention.figures._lettering import shorten

Array = NDArray[Any]

_LONGEST_LABEL: Final = 70.0


def to_numpy(tensor: Tensor) -> Array:
    """Bring a tensor from its device and out of its graph; minus infinity may stay, for what a mask hides."""
    values: Array = tensor.detach().cpu().to(torch.float64).numpy()
    undrawable = np.isnan(values) | np.isposinf(values)
    if undrawable.any():  # what is nowhere would be missing without a word
        raise ValueError(f"{undrawable.sum()} of {values.size} numbers cannot be drawn")
    return values


def clean_labels(labels: Sequence[str], expected: int | None = None) -> tuple[str, ...]:
    """Shorten labels that are too long; refuse those that are not one for each thing that they name."""
    if expected not in (None, len(labels)):
        raise ValueError(f"{expected} things need as many labels, got {len(labels)}")
    return tuple(shorten(str(label).replace("\n", "⏎"), _LONGEST_LABEL) for label in labels)
