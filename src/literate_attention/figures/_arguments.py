"""What figures are handed."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


def to_numpy(tensor: Tensor) -> Array:
    """Bring a tensor from its device and out of its graph; minus infinity may stay, for what a mask hides."""
    values: Array = tensor.detach().cpu().to(torch.float64).numpy()
    undrawable = np.isnan(values) | np.isposinf(values)
    if undrawable.any():  # what is nowhere would be missing without a word
        raise ValueError(f"{undrawable.sum()} of {values.size} numbers cannot be drawn")
    return values
