"""Compare what programs print, as values.

Text equality would be too strict: torch breaks a tensor into lines, and says on which device it is and what
made it. So a text is taken apart into its numbers and what stands between them. What stands between has to be
the same, white space and these notes aside, and so have structure and shape. Integers, booleans and
infinities have to be equal, and floats may differ by half of their last printed place and a little more,
which is less for a number below a tenth.

On an accelerator, results differ in the seventh digit from those of a CPU. So of numbers with four decimals,
one in a hundred lies so near to a boundary of rounding that it is printed differently: a whole place is
allowed there, and not where there are fewer decimals.
"""

import difflib
import math
import re
from textwrap import indent

NUMBER = re.compile(r"(?<![\w.])(?<!\w-)-?(?:inf|nan|\d+(?:\.(?!\.)\d*)?(?:e[-+]?\d+)?)(?![\w.])")
"""Versions such as 2.13.0 and names such as GPT-3.5 and 6x6 hold none."""
DECIMAL = re.compile(r"(?<![\w.])(?<![A-Za-z]-)\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)(?!\.?\d)")
"""A number with a decimal point or an exponent, in text; versions and names hold none."""
NOTES = re.compile(r",\s*(?:grad_fn=<\w+>|requires_grad=True|device='[^']*')")
BEGINNING = re.compile(
    r"(?<![\w.)\]])(?:tensor\(|torch\.Size\(|\[)"
    rf"|(?:^|[:=])[ \t]*(?P<number>True|False|{NUMBER.pattern})[ \t]*$",
    re.MULTILINE,
)
IN_A_VALUE = re.compile(
    rf"(?:{NUMBER.pattern}|[\s\[\](),]|tensor|torch\.Size|True|False|\.\.\.|\w+=[\w.]+|size=)*"
)
LINES_SHOWN = 12


def values_in(text: str) -> tuple[list[str], list[str]]:
    """Find the values in a text, in their order; return them, and the text between them.

    Values are tensors, `torch.Size`, lists of numbers or tensors, and a number that stands alone on a line or
    ends it after a colon or an equals sign. All else is text.
    """
    values, between = [], []
    end = at = 0
    while begins := BEGINNING.search(text, at):
        start, stop = begins.span("number")
        if start < 0:
            start, stop = begins.start(), _closing(text, begins.start())
        at = begins.start() + 1
        if stop and IN_A_VALUE.fullmatch(NOTES.sub("", text[start:stop])):
            between.append(text[end:start])
            values.append(text[start:stop])
            end = at = stop
    return values, [*between, text[end:]]


def difference(printed: str, got: str, device: str = "cpu") -> str:
    """Show how a text differs from one that was printed before; return nothing if it agrees."""
    between, numbers = _taken_apart(printed)
    between_now, numbers_now = _taken_apart(got)
    if between == between_now:
        pairs = zip(numbers, numbers_now, strict=True)
        if all(_agree(before, now, device) for before, now in pairs):
            return ""
    compared = difflib.ndiff(printed.splitlines(), got.splitlines())
    changed = [line.rstrip() for line in compared if not line.startswith(" ")]
    more = [f"and {len(changed) - LINES_SHOWN} more lines"] * (len(changed) > LINES_SHOWN)
    return indent("\n".join([*changed[:LINES_SHOWN], *more]), "    ")


def _closing(text: str, start: int) -> int:
    """Return where the bracket closes that opens first; 0 if it never does."""
    depth = 0
    for bracket in re.finditer(r"[\[\]()]", text[start:]):
        depth += 1 if bracket[0] in "[(" else -1
        if not depth:
            return start + bracket.end()
    return 0


def _taken_apart(text: str) -> tuple[str, list[str]]:
    text = NOTES.sub("", text)
    between = " ".join(NUMBER.sub("\0", text).split())
    return re.sub(r" ?([\[\](),]) ?", r"\1", between), NUMBER.findall(text)


def _agree(printed: str, got: str, device: str) -> bool:
    if printed == got:
        return True
    if printed.lstrip("-").isdigit() or got.lstrip("-").isdigit():
        return False
    before, now = float(printed), float(got)
    if not (math.isfinite(before) and math.isfinite(now)):
        return False
    half = _last_place(printed) / 2
    finer = min(half, _last_place(got) / 2)
    eps = 2e-6 if device == "cpu" else 5e-6
    # What is small has digits of its own, unless it was printed with so few that it reads as zero.
    eps = max(eps * min(1.0, 10 * abs(before)), min(eps, half - finer))
    turns_over = device != "cpu" and 2 * finer <= 100 * eps
    return abs(before - now) <= (2 * finer if turns_over else finer) + eps


def _last_place(number: str) -> float:
    """Return what a unit of the last printed place is worth; `1.` stands for `1.0000`, as torch prints it.

    A zero in scientific notation stands for no other number, however small.
    """
    mantissa, _, exponent = number.partition("e")
    if exponent and not float(mantissa):
        return 0.0
    decimals = len(mantissa.partition(".")[2]) or 4 * mantissa.endswith(".")
    return 10.0 ** (int(exponent or 0) - decimals)
