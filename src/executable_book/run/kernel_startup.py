"""What every kernel does before the first cell: record exact values, and draw the same bytes each time.

A printed tensor has lost digits. So each `repr` of a tensor also notes the values behind the text, and
at the end of the cell the notes follow as one more output, of the private type `VALUES`:

    [{"text": "tensor([0.4306, inf])", "values": [0.43062, "inf"]}, ...]

Integers and booleans are exact, floats are doubles; JSON knows no infinities and no NaN, they are
strings. A tensor that torch prints with gaps (`...`) has `null` for values. The build takes the output
away before a page is shown.
"""

from __future__ import annotations

import functools
import math
import platform
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from IPython.core.interactiveshell import InteractiveShell

VALUES = "application/vnd.literate-attention.values+json"
ABOUT = "_literate_about"
"""A hidden name in every page: a function that says what the page runs on."""
LARGEST_WITHOUT_GAPS = 1000


def install(shell: InteractiveShell) -> None:
    """Prepare a kernel's shell."""
    import matplotlib
    import torch
    from IPython.display import display

    matplotlib.rcParams["svg.hashsalt"] = "literate-attention"
    notes: list[dict[str, Any]] = []
    torch.Tensor.__repr__ = noting(torch.Tensor.__repr__, notes)  # type: ignore[method-assign]

    def publish(_: Any) -> None:
        if notes:
            display({VALUES: list(notes)}, raw=True)
            notes.clear()

    shell.events.register("post_run_cell", publish)
    shell.push({ABOUT: about}, interactive=False)


def about() -> dict[str, str]:
    """Say what a page runs on: the device that the library picks, where the page uses it."""
    import torch

    library = sys.modules.get("literate_attention.trust.reproducibility")
    return {
        "device": str(library.pick_device()) if library else "cpu",
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def noting(original: Any, notes: list[dict[str, Any]]) -> Any:
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
            notes.append({"text": text, "values": values_of(tensor)})
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
    return _json_safe((plain.double() if plain.is_floating_point() else plain).tolist())


def _json_safe(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_safe(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
