"""What a check says of an answer, and how it compares one with the right answer and with wrong ones."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

Mistakes = Iterable[tuple[str, Tensor | int]]
"""What to say of wrong answers, the likeliest first."""


@dataclass(frozen=True)
class Verdict:
    """What a check says of an answer. It is true if the answer is right, and prints as a sentence.

    Args:
        right: whether the answer is right.
        says: what is wrong, in words, or what can be said of a right answer.
        case: the smallest input that shows it, what came, and what should have come.
        is_written: whether there is an answer at all.
        first: what has to be written or mended before: another piece, or a line of a file.

    Example:
        >>> Verdict(False, "The scores are not scaled.")
        Not yet. The scores are not scaled.
        >>> bool(Verdict(True))
        True
    """

    right: bool
    says: str = ""
    case: str = ""
    is_written: bool = True
    first: str = ""

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        case = f"\n{self.case}" if self.case else ""
        return f"{'Right.' if self.right else 'Not yet.'} {self.says}{case}".rstrip()


RIGHT = Verdict(True)


def wrong(*says: str, case: str = "") -> Verdict:
    """Put together what is wrong with an answer."""
    sentence = capitalized(", and ".join(says))
    return Verdict(False, sentence if sentence.endswith("?") else f"{sentence}.", case)


def remark(says: str) -> Verdict:
    """Say something of an answer that is right."""
    return Verdict(True, f"{capitalized(says)}.")


def capitalized(text: str) -> str:
    """Begin a sentence with a capital, unless it begins with a name of code."""
    word = text.partition(" ")[0]
    return text if re.search(r"[_=.\d]", word) else f"{text[0].upper()}{text[1:]}"


def judge(answer: object, right: Tensor | int, mistakes: Mistakes) -> Verdict:
    """Compare an answer with the right one, then with wrong ones, then say where it differs.

    What is a verdict already stays what it is.
    """
    if isinstance(answer, Verdict):
        return answer
    try:
        given = float64(answer)
    except (TypeError, ValueError, RuntimeError):
        return wrong(f"a tensor is expected, got {type(answer).__name__}")
    expected = float64(right)
    if same(given, expected):
        is_table = isinstance(right, Tensor) and right.dtype == torch.bool
        if is_table and not (isinstance(answer, Tensor) and answer.dtype == torch.bool):
            return wrong("the right places, but true and false are expected: add .bool()")
        return RIGHT
    for says, mistake in mistakes:
        if same(given, mistake):
            return wrong(says)
    if given.shape != expected.shape:
        return wrong(f"the shape is {tuple(given.shape)}, expected {tuple(expected.shape)}")
    if not expected.ndim:
        return wrong(f"the number is not {given.item():g}")
    differs = ~torch.isclose(given, expected, rtol=0, atol=TOLERANCE)
    first = differs.nonzero()[0].tolist()
    nan = "; some are not a number" if given.isnan().any() else ""
    return wrong(
        f"{int(differs.sum())} of {expected.numel()} numbers differ, the first at {first}{nan}"
    )


TOLERANCE = 1e-4
"""Loose enough for an answer that was typed from what torch prints."""


def same(one: Tensor, other: Tensor | int) -> bool:
    """Tell whether two tensors hold the same numbers, as far as they are printed."""
    one, other = float64(one), float64(other)
    return one.shape == other.shape and torch.allclose(
        one, other, rtol=0, atol=TOLERANCE, equal_nan=True
    )


def float64(given: Any) -> Tensor:
    """Return a number or several as a tensor of float64."""
    return torch.as_tensor(given).detach().cpu().double()


def result_of(function: object, *arguments: object, **options: object) -> object:
    """Call what a reader wrote; an error becomes a verdict."""
    if not callable(function):
        return wrong(f"a function is expected, got {type(function).__name__}")
    try:
        return function(*arguments, **options)
    except Exception as error:
        return wrong(f"it stops with {type(error).__name__}: {str(error).rstrip('.')}")


def about(what: str, verdict: Verdict) -> Verdict:
    """Say of what a verdict is."""
    return replace(
        verdict, says=capitalized(f"{what}: {verdict.says[0].lower()}{verdict.says[1:]}")
    )
