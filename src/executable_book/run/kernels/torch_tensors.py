"""For books about torch: notes the exact values behind each printed tensor.

A printed tensor has lost digits. So each `repr` of a tensor also notes the values behind the text:

    {"text": "tensor([0.4306, inf])", "values": [0.43062, "inf"]}

Integers and booleans are exact, floats are doubles; JSON knows no infinities and no NaN, they are strings. A
tensor that torch prints with gaps (`...`) has `null` for values.

    book_kernel_startup = ["executable_book.run.kernels.torch_tensors:install"]
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from executable_book.run.kernels.formatted_numbers import json_safe

if TYPE_CHECKING:
    import torch

LARGEST_WITHOUT_GAPS = 1000
Note = Callable[[dict[str, Any]], None]


def install(note: Note) -> None:
    """Have every printed tensor noted."""
    import torch

    torch.Tensor.__repr__ = noting(torch.Tensor.__repr__, note)  # type: ignore[method-assign]


def noting(original: Any, note: Note) -> Any:
    """Wrap a tensor's `__repr__` so that each outermost call leaves a note."""
    depth = 0

    @functools.wraps(original)
    def wrapped(tensor: torch.Tensor, **options: Any) -> str:
        nonlocal depth
        depth += 1
        try:
            text: str = original(tensor, **options)
        finally:
            depth -= 1
        if depth == 0:
            note({"text": text, "values": values_of(tensor)})
        return text

    return wrapped


def values_of(tensor: torch.Tensor) -> Any:
    """Return a tensor's values as nested lists, or None where torch does not print them all."""
    if (
        tensor.numel() > LARGEST_WITHOUT_GAPS
        or tensor.is_meta
        or tensor.is_complex()
        or tensor.is_sparse
    ):
        return None
    plain = tensor.detach().cpu()
    return json_safe((plain.double() if plain.is_floating_point() else plain).tolist())
