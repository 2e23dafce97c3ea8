"""Weights of a model on their way to a page: whole numbers, and what to multiply those of each row by."""

import base64
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def packed(weights: Mapping[str, Tensor], bits: int) -> dict[str, str]:
    """Return weights as whole numbers of 8 or 16 bits, for `unpack` in `parts/language_model.js`.

    A vector is one row. The largest number of a row becomes the largest that the bits hold.
    """
    largest = 2 ** (bits - 1) - 1
    factors, numbers = [], []
    for weight in weights.values():
        rows = weight.reshape(-1, weight.shape[-1])
        factor = rows.abs().amax(dim=-1).float().clamp(min=1e-30) / largest
        factors.append(factor)
        numbers.append((rows / factor[:, None]).round().clamp(-largest, largest).flatten())
    return {
        "factors": _base64(torch.cat(factors), "<f4"),
        "numbers": _base64(torch.cat(numbers), f"<i{bits // 8}"),
    }


def _base64(numbers: Tensor, kind: str) -> str:
    return base64.b64encode(numbers.numpy().astype(kind).tobytes()).decode()


def shapes(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the shapes of weights by their names, in the order in which they are packed."""
    return {name: list(weight.shape) for name, weight in weights.items()}
