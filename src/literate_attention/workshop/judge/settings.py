"""What a reader's file sets for all that runs beside it, and how it is undone."""

import builtins
import contextlib
import math
import re
import signal
import sys
from collections.abc import Iterator

import torch
from torch import nn

CLASSES = tuple(one for one in vars(nn).values() if isinstance(one, type))
SHARED = (builtins, math, torch, nn, nn.functional, nn.init, torch.Tensor, *CLASSES)
"""Where what one file puts in the place of something else would be met by all."""

HOOKS = [one for name, one in vars(nn.modules.module).items() if re.match("_global_.*hooks$", name)]
"""What is called with each module, by the numbers of hooks."""


def kind_of_device() -> str:
    """Say where tensors are made by default; torch raises if it is a device that is not there."""
    with contextlib.suppress(AssertionError, RuntimeError):
        return torch.get_default_device().type
    return "not there"


@contextlib.contextmanager
def settings_undone() -> Iterator[None]:
    """Undo what one file sets for all: the others are not judged by that."""
    before, path = [(space, dict(vars(space))) for space in SHARED], sys.path[:]
    hooks = [one.copy() for one in HOOKS]
    device, dtype, learns = (
        torch.get_default_device(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
    )
    try:
        yield
    finally:
        for timer in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF"):
            if hasattr(signal, timer):  # it would ring while another piece is judged
                signal.setitimer(getattr(signal, timer), 0)
        for space, own in before:
            for name in [one for one, it in vars(space).items() if it is not own.get(one, own)]:
                if name in own:
                    setattr(space, name, own[name])
                elif space is torch.Tensor and hasattr(torch.Tensor.__base__, name):  # covered
                    delattr(space, name)
        for one, own in zip(HOOKS, hooks, strict=True):
            one.clear()
            one.update(own)
        sys.path[:] = path
        if kind_of_device() != device.type:
            torch.set_default_device(None)
        while kind_of_device() not in ("cpu", device.type):  # as a context
            torch.device("cpu").__exit__(None, None, None)
        if torch.is_inference_mode_enabled():
            torch.inference_mode(False).__enter__()
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(learns)
        torch.set_autocast_enabled("cpu", False)
        # To ask is cheap, to set imports a compiler.
        if torch.are_deterministic_algorithms_enabled():
            torch.use_deterministic_algorithms(False)
