"""Weights that a page was handed, unpacked by other means than the page's."""

import base64
from typing import Any

import torch
from torch import Tensor


def unpacked(
    packed: dict[str, Any], shapes: dict[str, list[int]], kind: torch.dtype
) -> dict[str, Tensor]:
    """Return weights by their names, from whole numbers of a kind and a factor for each row."""

    def numbers(name: str, kind: torch.dtype) -> Tensor:
        return torch.frombuffer(bytearray(base64.b64decode(packed[name])), dtype=kind).double()

    factors = numbers("factors", torch.float32)
    sizes = [torch.Size(shape).numel() for shape in shapes.values()]
    weights = {}
    for (name, shape), whole in zip(
        shapes.items(), numbers("numbers", kind).split(sizes), strict=True
    ):
        rows = torch.Size(shape[:-1]).numel()
        weights[name] = (whole.reshape(rows, -1) * factors[:rows, None]).reshape(shape)
        factors = factors[rows:]
    assert len(factors) == 0
    return weights
