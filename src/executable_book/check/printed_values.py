"""Read the values that a program printed, and compare them as values.

Text equality would fail at rounding boundaries: another device computes another seventh digit, and
the fourth flips. So a text is read into numbers, each of which still knows how it was printed, and
two texts agree when structure, shape, integers and booleans are equal, infinities and NaNs are the
same, and each float differs by at most half of the last printed place, plus `eps`.

Three finer rules:

* `1.` has no decimals: torch prints it so only when every value is whole. It must be met within
  `eps`.
* In scientific notation `eps` is relative to the largest number of the value: it must not swallow
  a tensor of `1.0000e-08`.
* A bare number comes from Python, which prints every digit of a float. It must be met within `eps`
  (relative to numbers greater than one); there is no half place to be generous with, unless an f-string
  formatted it.

What counts as a value: `tensor(...)`, `torch.Size(...)`, a list or tuple of numbers or tensors, a bare
number that stands alone on a line or ends it after a colon or an equals sign, and a number that an
f-string formatted, wherever it stands: its exact value was noted. All else, labels above all, is text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

Kind = Literal["bool", "int", "float", "gap"]
ROWS_SHOWN = 8


def eps_for(device: str) -> float:
    """Return by how much float32 results may differ from those printed elsewhere.

    Args:
        device: `cpu`, or the name of an accelerator such as `cuda:0` or `mps`.
    """
    return 2e-6 if device == "cpu" else 5e-6


@dataclass(frozen=True)
class Number:
    """One number, as printed, and its exact value where that is known."""

    text: str
    exact: float | None = None

    @property
    def kind(self) -> Kind:
        """What the digits say: `True`, `3`, `3.`; a gap is the `...` of a long tensor."""
        if self.text == "...":
            return "gap"
        if self.text in ("True", "False"):
            return "bool"
        return "int" if self.text.lstrip("-").isdigit() else "float"

    @property
    def value(self) -> float:
        """The exact value, or else the printed one."""
        if self.exact is not None:
            return self.exact
        match self.kind:
            case "gap":
                return math.nan
            case "bool":
                return self.text == "True"
            case "int":
                return int(self.text)
        return float(self.text)


# A number, a value inside a list, or a row of either.
Tree = Any


@dataclass(frozen=True)
class Value:
    """One printed value: its kind, its numbers in their nesting, and where in the text it stands."""

    kind: str
    content: Tree
    dtype: str
    start: int = field(compare=False)
    end: int = field(compare=False)

    def numbers(self) -> Iterator[tuple[tuple[int, ...], Number]]:
        """Yield each number with its index."""
        return _leaves(self.content, ())

    def at(self, index: Sequence[int]) -> Number:
        """Return the number at an index.

        Raises:
            ValueError: No single number stands there.
        """
        found = dict(self.numbers()).get(tuple(index))
        if found is None:
            raise ValueError(f"no number at {_index(tuple(index))} in a {self.structure()}")
        return found

    def structure(self) -> str:
        """Say in words what must agree before any number is looked at."""
        dtype = f" of {self.dtype}" if self.dtype else ""
        return f"{self.kind}{_shape(self.content)}{dtype}"


@dataclass(frozen=True)
class Difference:
    """What was printed at an index, what we got, and the distance where there is one."""

    index: str
    printed: str
    got: str
    delta: float | None = None


def parse(text: str, exact: Sequence[Mapping[str, Any]] = ()) -> list[Value]:
    """Read all values in a text.

    Args:
        text: What a program printed.
        exact: The exact values of the tensors in the text, in the order in which they were printed,
            each as `{"text": as printed, "values": nested lists}`, and of the numbers that f-strings
            formatted, each as `{"number": as printed, "values": a number}`.

    Returns:
        The values in the order in which they stand.
    """
    return [piece for piece in split(text, exact) if isinstance(piece, Value)]


def split(
    text: str, exact: Sequence[Mapping[str, Any]] = (), formatted: Iterable[int] = ()
) -> list[str | Value]:
    """Cut a text into its values and the text between them (see `parse`).

    Args:
        text: What a program printed.
        exact: The exact values of what is in it.
        formatted: Which of its figures are values too, wherever they stand (see `formatted_figures`).
    """
    figures = [found.span() for found in FIGURE.finditer(text)]
    known: dict[tuple[int, int], Any] = {figures[n]: None for n in formatted if n < len(figures)}
    known |= {figures[n]: value for n, value in formatted_figures(text, exact).items()}
    pieces: list[str | Value] = []
    end = 0
    for value in _Reader(text, _spans(text, exact), known).values():
        pieces += [text[end : value.start], value]
        end = value.end
    return [*pieces, text[end:]]


def formatted_figures(text: str, exact: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """Find the figures in a text that f-strings formatted: which they are, counted from 0, and their values.

    What is formatted need not be printed, nor in that order. But a figure can be taken for another only if
    both are the same to the last digit that is printed.
    """
    figures = [(found.start(), found[0]) for found in FIGURE.finditer(text)]
    tensors = _spans(text, exact)
    free = {
        number
        for number, (start, _) in enumerate(figures)
        if not any(first <= start < end for first, end, _ in tensors)
    }
    found: dict[int, float] = {}
    at = 0
    for known in exact:
        if "number" in known:
            same = [n for n in sorted(free) if figures[n][1] == known["number"]]
            if same:
                at = next((n for n in same if n >= at), same[0])
                found[at] = _exact(known["values"])
                free.remove(at)
    return found


def differences(got: Value, expected: Value, eps: float) -> list[Difference]:
    """Compare two values.

    Args:
        got: What was computed.
        expected: What had been printed; its last printed place sets the tolerance.
        eps: What is allowed on top of half of that place (see `eps_for`).

    Returns:
        Nothing if they agree; one difference without a delta if the structures differ; else the
        numbers that do.
    """
    if got.structure() != expected.structure():
        return [Difference("structure", expected.structure(), got.structure())]
    bare = expected.kind == "number"
    eps *= _scale(expected)
    pairs = zip(expected.numbers(), got.numbers(), strict=True)
    return [
        _difference(index, printed, ours)
        for (index, printed), (_, ours) in pairs
        if not _agree(ours, printed, eps, bare)
    ]


def difference_table(found: Sequence[Difference]) -> str:
    """Lay differences out in columns, the first few of them."""
    rows = [("index", "printed", "got", "delta")]
    for one in found[:ROWS_SHOWN]:
        delta = "" if one.delta is None else f"{one.delta:+.2e}"
        rows.append((one.index, one.printed, one.got, delta))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    if len(found) > ROWS_SHOWN:
        lines.append(f"and {len(found) - ROWS_SHOWN} more")
    return "\n".join("    " + line.rstrip() for line in lines)


def _difference(index: tuple[int, ...], printed: Number, got: Number) -> Difference:
    shown = f"{got.exact:.9g}" if isinstance(got.exact, float) else got.text
    delta = got.value - printed.value
    return Difference(_index(index), printed.text, shown, delta if math.isfinite(delta) else None)


def _index(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"


def _agree(got: Number, printed: Number, eps: float, bare: bool) -> bool:
    kind, value, expected = printed.kind, got.value, printed.value
    if got.kind != kind:
        return False
    if kind == "gap" or (math.isnan(expected) and math.isnan(value)):
        return True
    if kind == "int" and isinstance(got.exact, float):  # an f-string left the decimals out
        return abs(value - expected) <= eps + _half_place(printed.text, formatted=True)
    if kind != "float" or math.isinf(expected):
        return value == expected
    if bare:
        eps *= max(1.0, abs(expected))
        slack = 0.0 if got.exact is None else _half_place(printed.text, formatted=True)
    else:
        slack = _half_place(printed.text)
    return abs(value - expected) <= eps + slack


def _scale(value: Value) -> float:
    """Return the size of the largest number of a value in scientific notation, one at most."""
    numbers = [number for _, number in value.numbers()]
    sizes = [abs(number.value) for number in numbers if math.isfinite(number.value)]
    scientific = any("e" in number.text for number in numbers if number.kind == "float")
    return min(1.0, max(sizes)) if scientific else 1.0


def _half_place(text: str, *, formatted: bool = False) -> float:
    """Return half of the last printed place; `1.` has no place to round to, unless it was asked for."""
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals) if decimals or formatted else 0.0


def _leaves(tree: Tree, index: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Number]]:
    if isinstance(tree, Number):
        yield index, tree
    elif isinstance(tree, Value):
        yield from _leaves(tree.content, index)
    else:
        for position, child in enumerate(tree):
            yield from _leaves(child, (*index, position))


def _shape(tree: Tree) -> str:
    """Return ` of shape (2, 3)` or, where there is no such shape, a description of each item."""
    if isinstance(tree, Number):
        return ""
    if any(isinstance(child, Value) for child in tree):
        return f" of [{', '.join(map(_item, tree))}]"
    sizes = _sizes(tree)
    if sizes is None:
        return f" of unequal rows ({' | '.join(map(_item, tree))})"
    return f" of shape {sizes}"


def _item(tree: Tree) -> str:
    return tree.structure() if isinstance(tree, Value) else _shape(tree)[4:] or "one number"


def _sizes(tree: Tree) -> tuple[int, ...] | None:
    """Return the shape of a rectangular nesting, None for any other."""
    if isinstance(tree, Number):
        return ()
    if isinstance(tree, Value):
        return None
    rows = {_sizes(child) for child in tree} or {()}
    inner = rows.pop()
    return None if rows or inner is None else (len(tree), *inner)


# Exact values ----------------------------------------------------------------------------------


def _spans(text: str, exact: Sequence[Mapping[str, Any]]) -> list[tuple[int, int, Any]]:
    """Find where each exactly known tensor stands in the text."""
    spans, start = [], 0
    for known in exact:
        found = text.find(known["text"], start) if "text" in known else -1
        if found >= 0:
            start = found + len(known["text"])
            spans.append((found, start, known["values"]))
    return spans


def _overlay(tree: Tree, values: Any) -> Tree:
    """Give each number its exact value; leave alone what does not fit."""
    if isinstance(tree, Number):
        fits = tree.kind != "gap" and not isinstance(values, list)
        return Number(tree.text, _exact(values)) if fits else tree
    if not isinstance(values, list) or not isinstance(tree, tuple):
        return tree
    if len(tree) == len(values):
        return tuple(_overlay(child, value) for child, value in zip(tree, values, strict=True))
    if Number("...") not in tree:
        return tree
    # The `...` of a long tensor stands for many: count from both ends.
    head = tree.index(Number("..."))
    tail = len(values) - (len(tree) - head - 1)
    aligned = [*values[:head], None, *values[tail:]]
    return tuple(_overlay(child, value) for child, value in zip(tree, aligned, strict=True))


def _exact(value: Any) -> float:
    return float(value) if isinstance(value, str) else value


# Reading ---------------------------------------------------------------------------------------


TokenKind = Literal["newline", "number", "word", "symbol"]
JOINT = r"(?<=[^\W_])[.-](?=[^\W_])"
"""A dot or a hyphen that joins two parts of a word."""
TOKEN = re.compile(
    r"(?P<newline>\n)"
    r"|(?P<number>-?(?>inf|nan|[0-9]+(?:\.(?!\.)[0-9]*)?(?:e[-+]?[0-9]+)?)"
    rf"(?!\w|\.|{JOINT}))"  # "2nd", "6x6" and "2.13.0" are words
    rf"|(?P<word>\w(?:\w|{JOINT})*)"
    r"|(?P<symbol>\.\.\.|\S)"
)


class _Token(NamedTuple):
    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


FIGURE = re.compile(r"(?<![\w.])-?(?:inf|nan|[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?)")
"""What looks like a number, whatever follows it."""


def _tokens(text: str, figures: Iterable[tuple[int, int]]) -> list[_Token]:
    """Cut a text into tokens; known figures are numbers, even in `1.5x`."""
    tokens, at = [], 0
    for start, end in [*sorted(figures), (len(text), len(text))]:
        between = TOKEN.finditer(text, at, start)
        tokens += [_Token(_kind(found), found[0], found.start()) for found in between]
        if start < end:
            tokens.append(_Token("number", text[start:end], start))
        at = end
    return tokens


def _kind(found: re.Match[str]) -> TokenKind:
    if found[0] in ("...", "True", "False"):
        return "number"
    return cast(TokenKind, found.lastgroup)


class _NotAValueError(Exception):
    """What looked like a value is text."""


class _Reader:
    """Walks over the tokens of one text."""

    def __init__(
        self,
        text: str,
        exact: Sequence[tuple[int, int, Any]],
        figures: Mapping[tuple[int, int], float | None],
    ) -> None:
        self.tokens = _tokens(text, figures)
        self.exact = exact
        self.figures = {start: value for (start, _), value in figures.items()}
        self.at = 0

    def values(self) -> Iterator[Value]:
        while self.at < len(self.tokens):
            start = self.at
            try:
                yield self._value()
            except _NotAValueError:
                self.at = start + 1

    def _value(self) -> Value:
        token = self._peek()
        if token.kind == "number":
            if token.start not in self.figures and not self._ends_its_line():
                raise _NotAValueError
            return Value("number", self._number(), "", token.start, token.end)
        if token.text in ("tensor", "torch.Size"):
            return self._call()
        if token.text in ("[", "(") and not self._follows_a_name():
            return self._list()
        raise _NotAValueError

    def _call(self) -> Value:
        """Read `tensor(...)` or `torch.Size(...)`, with its suffixes."""
        name = self._take()
        self._expect("(")
        content = self._tree()
        for start, end, values in self.exact:
            if start <= name.start < end:
                content = _overlay(content, values)
        dtype, last = self._suffixes()
        return Value(name.text, content, dtype, name.start, last.end)

    def _suffixes(self) -> tuple[str, _Token]:
        """Pass over `grad_fn=...` and its like, up to the closing parenthesis; keep the dtype."""
        dtype, depth = "", 1
        while True:
            token = self._take()
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0:
                return dtype, token
            if token.text == "dtype":
                self._expect("=")
                dtype = self._peek().text

    def _list(self) -> Value:
        opening = self._peek()
        content = self._tree()
        last = self.tokens[self.at - 1]
        # A parenthesis around one number is punctuation.
        if opening.text == "(" and len(content) < 2:
            raise _NotAValueError
        return Value(
            "list" if opening.text == "[" else "tuple", content, "", opening.start, last.end
        )

    def _tree(self) -> Tree:
        """Read a number, a tensor, or a bracket with commas between its items."""
        self._skip_newlines()
        token = self._peek()
        if token.kind == "number":
            return self._number()
        if token.text in ("tensor", "torch.Size"):
            return self._call()
        closing = {"[": "]", "(": ")"}.get(token.text)
        if closing is None:
            raise _NotAValueError
        self.at += 1
        items: list[Tree] = []
        while True:
            self._skip_newlines()
            if self._peek().text == closing:
                self.at += 1
                return tuple(items)
            if items:
                self._expect(",")
            items.append(self._tree())
            self._skip_newlines()

    def _number(self) -> Number:
        token = self._take()
        return Number(token.text, self.figures.get(token.start))

    def _ends_its_line(self) -> bool:
        """Tell whether a number stands alone on its line, or ends it after a colon or equals."""
        after = self.tokens[self.at + 1 : self.at + 2]
        before = self.tokens[self.at - 1 : self.at] if self.at else []
        return all(t.kind == "newline" for t in after) and all(
            t.kind == "newline" or t.text in (":", "=") for t in before
        )

    def _follows_a_name(self) -> bool:
        """Tell whether this bracket is an index or a call, as in `x[0]`."""
        token = self._peek()
        before = self.tokens[self.at - 1] if self.at else None
        touches = before is not None and before.end == token.start
        return touches and before is not None and (before.kind == "word" or before.text in ")]")

    def _peek(self) -> _Token:
        if self.at >= len(self.tokens):
            raise _NotAValueError
        return self.tokens[self.at]

    def _take(self) -> _Token:
        token = self._peek()
        self.at += 1
        return token

    def _expect(self, text: str) -> None:
        if self._take().text != text:
            raise _NotAValueError

    def _skip_newlines(self) -> None:
        while self._peek().kind == "newline":
            self.at += 1
