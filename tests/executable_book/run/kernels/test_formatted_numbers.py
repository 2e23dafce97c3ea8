"""An f-string notes the exact numbers that it formats, and is the same f-string in all else."""

import ast
import functools
import math
import traceback
from typing import Any

import numpy as np
import pytest
import torch

from executable_book.run.kernels.formatted_numbers import NOTE, NotesNumbers, note_number


def run(code: str, **names: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """Run code as a kernel does; return what its last line is, and the notes."""
    notes: list[dict[str, Any]] = []
    names = {**names, NOTE: functools.partial(note_number, notes.append)}
    tree = NotesNumbers().visit(ast.parse(code))
    *rest, last = tree.body
    exec(compile(ast.Module(rest, []), "cell", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return value, [(note["number"], note["values"]) for note in notes]


@pytest.mark.parametrize(
    ("code", "text", "notes"),
    [
        ("f'{x:.4f}'", "0.1235", [("0.1235", 0.123456)]),
        ("f'{x:8.2f}|{x:+.1f}|{-x:<8.1e}|'", "    0.12|+0.1|-1.2e-01|", 3),
        ("f'{x:.1%} of {n:d}'", "12.3% of 7", [("12.3", 12.3456)]),
        ("f'{x:.{digits}f} {x:{width}.{digits}f}'", "0.123    0.123", 2),
        ("f'{f\"{x:.1f}\":>5}'", "  0.1", [("0.1", 0.123456)]),
        ("f'{x=:.2f}'", "x=0.12", [("0.12", 0.123456)]),
        ("f'{1e400:.1f} {float(\"nan\"):.1f}'", "inf nan", [("inf", "inf"), ("nan", "nan")]),
        ("f'{t:.2f} {a:.2f}'", "0.12 0.12", 2),
        ("f'{x} {x!r:>10} {x!s}'", "0.123456   0.123456 0.123456", []),
        ("f'{n:3d} {n:.1f} {name:>4} {2.5:*>6} {1e6:,.1f}'", "  7 7.0   it ***2.5 1,000,000.0", []),
        ("f'{next(numbers):.0f}{next(numbers):.0f}'", "12", [("1", 1.0), ("2", 2.0)]),
    ],
)
def test_an_f_string_says_the_same_and_leaves_notes(code: str, text: str, notes: Any) -> None:
    names = {
        "x": 0.123456,
        "n": 7,
        "digits": 3,
        "width": 8,
        "name": "it",
        "t": torch.tensor(0.125, requires_grad=True),
        "a": np.float32(0.125),
    }
    plain = eval(code, {**names, "numbers": iter([1.0, 2.0])})
    found, noted = run(code, **names, numbers=iter([1.0, 2.0]))
    assert found == plain == text
    assert len(noted) == notes if isinstance(notes, int) else _close(noted, notes)


def _close(found: list[tuple[str, Any]], wanted: list[tuple[str, Any]]) -> bool:
    return [text for text, _ in found] == [text for text, _ in wanted] and all(
        math.isclose(float(a), float(b)) or a == b
        for (_, a), (_, b) in zip(found, wanted, strict=True)
    )


def test_a_specification_with_effects_is_evaluated_once() -> None:
    widths = iter([5, 6])
    assert run("f'{x:{next(widths)}.1f}'", x=0.5, widths=widths) == ("  0.5", [])
    assert next(widths) == 6


@pytest.mark.parametrize(
    "code", ["f'{x:nonsense}'", "f'{x:{missing}f}'", "f'{1 / 0:.2f}'", "f'{[]:.2f}'"]
)
def test_errors_come_from_where_they_came_from(code: str) -> None:
    with pytest.raises(Exception) as plain:  # noqa: PT011 - which, is what is compared
        exec(compile(f"y = 1\n{code}", "cell", "exec"), {"x": 0.5})
    with pytest.raises(type(plain.value)) as noted:
        run(f"y = 1\n{code}", x=0.5)
    assert str(noted.value) == str(plain.value)
    last = traceback.extract_tb(noted.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == ("cell", 2)
