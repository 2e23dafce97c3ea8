"""What every kernel does before the first cell: record exact values, and draw the same bytes each time.

A printed tensor has lost digits. So each `repr` of a tensor also notes the values behind the text, and
at the end of the cell the notes follow as one more output, of the private type `VALUES`:

    [{"text": "tensor([0.4306, inf])", "values": [0.43062, "inf"]}, ...]

So does each number that an f-string of a cell formats: `f"{x:.4f}"` notes

    {"number": "0.4306", "values": 0.43062}

Integers and booleans are exact, floats are doubles; JSON knows no infinities and no NaN, they are
strings. A tensor that torch prints with gaps (`...`) has `null` for values. The build takes the output
away before a page is shown.
"""

from __future__ import annotations

import ast
import copy
import functools
import math
import platform
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from IPython.core.interactiveshell import InteractiveShell

VALUES = "application/vnd.literate-attention.values+json"
ABOUT = "_literate_about"
"""A hidden name in every page: a function that says what the page runs on."""
NOTE = "_literate_note"
"""A hidden name in every page: a function that notes what an f-string formats."""
LARGEST_WITHOUT_GAPS = 1000
FORMATTED = re.compile(r"\+?(?P<number>-?(?:inf|nan|\d+(?:\.\d+)?(?:e[-+]\d+)?))(?P<percent>%?)")


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
    shell.ast_transformers.append(NotesNumbers())
    note = functools.partial(note_number, notes)
    shell.push({ABOUT: about, NOTE: note}, interactive=False)


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


class NotesNumbers(ast.NodeTransformer):
    """Has the f-strings of a cell note the numbers that they format: `f"{x:.4f}"` passes on what notes `x`.

    The f-string still does the formatting, so that its errors come from where they came from.
    """

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        """Pass a value on by way of a note, if formatting it twice does no harm."""
        self.generic_visit(node)
        if node.conversion == -1 and node.format_spec and _is_harmless(node.format_spec):
            spec = copy.deepcopy(node.format_spec)
            call = ast.Call(ast.Name(NOTE, ast.Load()), [node.value, spec], [])
            node.value = ast.fix_missing_locations(ast.copy_location(call, node.value))
        return node


def _is_harmless(spec: ast.expr) -> bool:
    """Tell whether a specification is made of constants and plain names alone."""
    if not isinstance(spec, ast.JoinedStr):
        return False
    inner = [part.value for part in spec.values if isinstance(part, ast.FormattedValue)]
    return all(isinstance(value, ast.Name | ast.Constant) for value in inner)


def note_number(notes: list[dict[str, Any]], value: Any, spec: str) -> Any:
    """Note a floating-point number that is about to be formatted, and return it."""
    try:
        number = value if isinstance(value, float) else value.item()  # torch's, or NumPy's
        found = FORMATTED.fullmatch(format(number, spec).strip())
        if isinstance(number, float) and found:
            exact = number * (100 if found["percent"] else 1)
            notes.append({"number": found["number"], "values": _json_safe(exact)})
    except Exception:
        pass  # what cannot be formatted fails in a moment, where it always did
    return value


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
