"""Code as a chapter shows it: without docstrings, types and refusals, and laid out anew.

What is left out is cut from the source, so that comments and the author's layout of all else survive; then
`ruff format` closes the gaps, in lines that fit a page. Pure: nothing is imported or run.

* Docstrings, types and overloads: the API reference has them. How an object prints.
* Refusals of bad input: calls of functions named `require_*`, branches that do nothing but raise an error,
  and loops and branches that hold nothing else.
* What a later chapter adds: the arguments with certain names, and the statements that use them otherwise.
"""

import ast
import difflib
import io
import re
import subprocess
import tokenize
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import NamedTuple

from ruff.__main__ import find_ruff_bin  # type: ignore[import-untyped]

LETTERS_ON_A_LINE = 80
DOCSTRINGS, TYPES, PRINTING, REFUSALS = "docstrings", "types", "how it prints", "refusals"
FIELDS = {"dataclass", "NamedTuple"}
"""What makes fields of a class's annotations: there they are more than types."""


class Abridged(NamedTuple):
    """Definitions as a chapter shows them, and the kinds of things that are left out."""

    code: str
    left_out: list[str]


def abridge(
    text: str, definitions: Sequence[ast.stmt], until: Iterable[str] = (), *, refusals: bool = False
) -> Abridged:
    """Abridge definitions that stand at the top of a text, as one listing.

    What a later chapter adds is left out by its names, `until` then. A definition that is a refusal is shown.
    """
    cutter = _Cutter(text, until, refusals=refusals or REFUSALS in map(kind_of, definitions))
    parts = [cutter.code(node) for node in definitions if cutter.parts_of(node)]
    # What is longer than a line stands apart; `ruff` allows no more than two blank lines.
    code = "".join(part if part.count("\n") == 1 else f"\n\n{part}\n\n" for part in parts)
    kinds = [kind for kind in (DOCSTRINGS, TYPES, PRINTING, REFUSALS) if kind in cutter.left_out]
    return Abridged(laid_out(code), kinds)


def is_taught(statement: ast.stmt) -> bool:
    """Tell whether a book has to show a statement: it is no import, and nothing that `abridge` leaves out."""
    match statement:
        case (
            ast.Import()
            | ast.ImportFrom()
            | ast.If(test=ast.Compare(left=ast.Name(id="__name__")))
            | ast.Assign(targets=[ast.Name(id="__all__")])
        ):
            return False
    return not kind_of(statement)


def new_lines(before: str, after: str) -> list[int]:
    """Return the lines of a listing, from 1, that an earlier listing did not have."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    after_lines = (line for line in lines if line.startswith((" ", "+")))
    return [
        number
        for number, line in enumerate(after_lines, start=1)
        if line.startswith("+") and line[1:].strip()
    ]


@lru_cache(maxsize=1024)
def laid_out(code: str) -> str:
    """Lay code out as `ruff format` does, in lines that fit a page.

    A comment that makes its line too long moves above it, or else the code would be broken for its sake.
    """
    lines = code.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        row, column = token.start[0] - 1, token.start[1]
        if token.type == tokenize.COMMENT and len(lines[row]) > LETTERS_ON_A_LINE:
            statement = lines[row][:column].rstrip()
            indent = statement[: len(statement) - len(statement.lstrip())]
            lines[row] = f"{indent}{token.string}\n{statement}" if statement else lines[row]
    ran = subprocess.run(
        [find_ruff_bin(), "format", "--isolated", "--line-length", str(LETTERS_ON_A_LINE), "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return ran.stdout.strip("\n")


def first_line(statement: ast.stmt) -> int:
    """Return where a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(statement: ast.stmt) -> int:
    """Return where a statement ends."""
    return statement.end_lineno or statement.lineno


class Positions:
    """Where nodes of `ast`, which counts the columns of a line in bytes, are in their text."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)
        self.starts = [0, *accumulate(map(len, self.lines))]

    def start(self, node: ast.expr | ast.alias | ast.arg | ast.keyword) -> int:
        """Return where a node begins."""
        return self._at(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.alias | ast.arg | ast.keyword) -> int:
        """Return where a node ends."""
        return self._at(node.end_lineno or 0, node.end_col_offset or 0)

    def _at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())


def kind_of(statement: ast.stmt) -> str:
    """Return what kind of thing a statement is that listings leave out; nothing for any other."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return DOCSTRINGS
        case ast.If(body=[ast.Raise()], orelse=[]):
            return REFUSALS
        case (
            ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)))
            | ast.FunctionDef(name=name)
        ) if requires(name):
            return REFUSALS
        case ast.FunctionDef(name="__repr__" | "extra_repr"):
            return PRINTING
        case ast.FunctionDef(decorator_list=decorators):
            return TYPES if "overload" in map(_last_name, decorators) else ""
        case ast.AnnAssign(value=None):
            return TYPES
        case ast.Assign(value=ast.Subscript(value=value)):
            return TYPES if _last_name(value) == "Literal" else ""
    return ""


def requires(name: str) -> bool:
    """Tell by its name whether a function asks that input be good."""
    return name.lstrip("_").startswith("require_")


def bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the blocks of statements within a statement."""
    parts = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    handlers = [handler.body for handler in getattr(statement, "handlers", [])]
    return [block for block in (*parts, *handlers) if block]


def _last_name(node: ast.expr) -> str:
    """Return the name before the first bracket, without what it belongs to: `field` for `a.field(b)`."""
    return re.split(r"[^\w.]", ast.unparse(node))[0].rpartition(".")[2]


class _Cutter:
    """Walks through statements, and notes what is to be cut from the text."""

    def __init__(self, text: str, until: Iterable[str], *, refusals: bool) -> None:
        self.text, self.until, self.refusals = text, {*until}, refusals
        self.positions = Positions(text)
        self.lines, self.starts = self.positions.lines, self.positions.starts
        self.cuts: list[tuple[int, int]] = []
        self.fields: set[ast.stmt] = set()
        self.left_out: set[str] = set()

    def code(self, node: ast.stmt) -> str:
        """Return the lines of a statement without what is to be cut."""
        at, end = self.starts[first_line(node) - 1], self.starts[last_line(node)]
        pieces = []
        for start, stop in sorted(self.cuts, key=lambda cut: (cut[0], -cut[1])):
            if at <= start < end:
                pieces.append(self.text[at:start])
                at = stop
        return "".join([*pieces, self.text[at:end]])

    def block(self, statements: list[ast.stmt]) -> bool:
        """Cut what is to be left out of a block, unless that is all; tell whether anything is left."""
        cuts_before = len(self.cuts)
        is_left = False
        for node in statements:
            kind = "" if node in self.fields else kind_of(node)
            if kind and not (kind == REFUSALS and self.refusals):
                self.left_out.add(kind)
            elif not self._uses_later_names(node) and self.parts_of(node):
                is_left = True
                continue
            self._cut_lines(first_line(node), last_line(node), opens_block=not is_left)
        if not is_left:
            del self.cuts[cuts_before:]
        return is_left

    def parts_of(self, node: ast.stmt) -> bool:
        """Cut what is to be left out of the parts of a statement; tell whether anything is left."""
        end = self.positions.end
        match node:
            case ast.FunctionDef():
                self._signature(node)
            case ast.ClassDef(bases=bases, body=body):
                for base in bases:
                    if isinstance(base, ast.Subscript):
                        self._cut_type(end(base.value), end(base))
                if FIELDS & {*map(_last_name, (*node.decorator_list, *bases))}:
                    self.fields |= {one for one in body if isinstance(one, ast.AnnAssign)}
            case ast.AnnAssign(target=target, annotation=annotation) if node not in self.fields:
                self._cut_type(end(target), end(annotation))
        for keyword in self._later_keywords(node):
            self._cut_argument(keyword, end(keyword))
        left = [self.block(block) for block in bodies(node)]
        return any(left) or not left or isinstance(node, ast.FunctionDef | ast.ClassDef)

    def _uses_later_names(self, node: ast.stmt) -> bool:
        """Tell whether a statement, or the head of one that holds others, uses what comes later."""
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            return node.name in self.until
        parts = {
            part
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.stmt | ast.ExceptHandler)
            for part in ast.walk(child)
        }
        for keyword in self._later_keywords(node):
            parts -= {*ast.walk(keyword)}  # it is cut alone
        return any(getattr(one, "id", getattr(one, "attr", "")) in self.until for one in parts)

    def _later_keywords(self, node: ast.stmt) -> list[ast.keyword]:
        keywords = (one for one in ast.walk(node) if isinstance(one, ast.keyword))
        return [] if bodies(node) else [one for one in keywords if one.arg in self.until]

    def _signature(self, node: ast.FunctionDef) -> None:
        """Cut types, and arguments that come later."""
        args, end = node.args, self.positions.end
        named = [*args.posonlyargs, *args.args]
        defaults = [*[None] * (len(named) - len(args.defaults)), *args.defaults]
        named += [*args.kwonlyargs, *(one for one in (args.vararg, args.kwarg) if one)]
        pairs = [*zip_longest(named, [*defaults, *args.kw_defaults])]
        ends = [max(end(part) for part in pair if part) for pair in pairs]
        for (one, _), stop in zip(pairs, ends, strict=True):
            if one.arg in self.until:
                self._cut_argument(one, stop)
            elif one.annotation:
                self._cut_type(self.positions.start(one) + len(one.arg), end(one.annotation))
        if comma := re.compile(r"\s*,(?=\s*\))").match(self.text, max(ends, default=0)):
            self.cuts.append(comma.span())
        if node.returns:
            arrow = self.text.rindex("->", 0, self.positions.start(node.returns))
            colon = re.compile(r"[\s)]*(?=:)").match(self.text, end(node.returns))
            assert colon
            self._cut_type(arrow, colon.end())

    def _cut_type(self, start: int, end: int) -> None:
        self.left_out.add(TYPES)
        self.cuts.append((start, end))

    def _cut_argument(self, argument: ast.arg | ast.keyword, end: int) -> None:
        """Cut an argument, and the comma that parts it from the next, or else from the last."""
        start = self.positions.start(argument)
        if after := re.compile(r"\s*,\s*").match(self.text, end):
            end = after.end()
        else:
            start = len(self.text[:start].rstrip().removesuffix(",").rstrip())
        self.cuts.append((start, end))

    def _cut_lines(self, first: int, last: int, *, opens_block: bool) -> None:
        """Cut lines, and blank lines that would open a block."""
        while opens_block and last < len(self.lines) and not self.lines[last].strip():
            last += 1
        self.cuts.append((self.starts[first - 1], self.starts[last]))
