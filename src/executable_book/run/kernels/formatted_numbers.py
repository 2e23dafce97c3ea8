"""F-strings of a cell note the exact numbers that they format.

`f"{x:.4f}"` prints four places, and notes

{"number": "0.4306", "values": 0.43062}
"""

from __future__ import annotations

import ast
import copy
import math
import re
from collections.abc import Callable
from typing import Any

NOTE = "_note_number"
"""A hidden name in every page: a function that notes what an f-string formats."""
FORMATTED = re.compile(r"\+?(?P<number>-?(?:inf|nan|\d+(?:\.\d+)?(?:e[-+]\d+)?))(?P<percent>%?)")


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


def note_number(note: Callable[[dict[str, Any]], None], value: Any, spec: str) -> Any:
    """Note a floating-point number that is about to be formatted, and return it."""
    try:
        number = value if isinstance(value, float) else value.item()  # NumPy's, or the like
        found = FORMATTED.fullmatch(format(number, spec).strip())
        if isinstance(number, float) and found:
            exact = number * (100 if found["percent"] else 1)
            note({"number": found["number"], "values": json_safe(exact)})
    except Exception:
        pass  # what cannot be formatted fails in a moment, where it always did
    return value


def json_safe(value: Any) -> Any:
    """Return numbers, perhaps in lists, as JSON can say them: infinities and NaN are strings."""
    if isinstance(value, list):
        return [json_safe(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
