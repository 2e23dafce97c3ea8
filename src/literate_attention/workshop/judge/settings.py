"""What a reader's file sets for all that runs beside it, and how it is undone."""

import contextlib
import sys
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def settings_undone() -> Iterator[None]:
    """Undo what one file sets for all: the others are not judged by that."""
    path, device, dtype = sys.path[:], torch.get_default_device(), torch.get_default_dtype()
    learns = torch.is_grad_enabled()
    try:
        yield
    finally:
        sys.path[:] = path
        if torch.get_default_device() != device:
            torch.set_default_device(None)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(learns)
        # To ask is cheap, to set imports a compiler.
        if torch.are_deterministic_algorithms_enabled():
            torch.use_deterministic_algorithms(False)
