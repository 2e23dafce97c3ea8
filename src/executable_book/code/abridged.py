"""Code as a chapter shows it: without docstrings, types and refusals, and laid out anew.

What is left out is cut from the source, so that comments and the author's layout of all else survive; then
`ruff format` closes the gaps, in lines that fit a page. Pure: nothing is imported or run.

* Docstrings, types and overloads: the API reference has them.
* Refusals of bad input: calls of functions named `require_*`, branches that do nothing but raise an error,
  and loops and branches that hold nothing else.
* What a later chapter adds: the arguments with certain names, and the statements that use them otherwise.
"""

import ast
import difflib
import re
import subprocess
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import TypeAlias

from ruff.__main__ import find_ruff_bin  # type: ignore[import-untyped]

LETTERS_ON_A_LINE = 80
DOCSTRINGS, TYPES, REFUSALS = "docstrings", "types", "refusals"
Branching: TypeAlias = ast.If | ast.For | ast.While | ast.With | ast.Try
Place: TypeAlias = tuple[int, int]
"""Where a statement begins in its file: line and column."""
FOR_TOOLS = re.compile(r"[ \t]*# (?:type: ignore|noqa)\b.*")
COMMENT_BESIDE_CODE = re.compile(r"^( *)(\S.*?)  (# .*)$", re.MULTILINE)
FIELDS = {"dataclass", "NamedTuple"}
"""What makes fields of a class's annotations: there they are more than types."""


@dataclass(frozen=True)
class Abridged:
    """A definition as a chapter shows it.

    Attributes:
        code: what is shown.
        left_out: what kinds of things are not.
        statements: where the statements begin, in the file, that are shown whole.
        later: whether something waits for a later chapter.
    """

    code: str
    left_out: tuple[str, ...]
    statements: frozenset[Place]
    later: bool


def abridge(
    text: str, node: ast.stmt, until: Iterable[str] = (), *, refusals: bool = False
) -> Abridged:
    """Abridge a definition.

    Args:
        text: the file that it stands in.
        node: the definition, as `ast` found it there.
        until: names that a later chapter adds.
        refusals: whether refusals are shown.
    """
    cutter = _Cutter(text, frozenset(until), refusals=refusals or is_refusal(node))
    cutter.parts_of(node)
    code = cutter.code(first_line(node), _last_line(node))
    return Abridged(
        laid_out(textwrap.dedent(code)),
        tuple(kind for kind in (DOCSTRINGS, TYPES, REFUSALS) if kind in cutter.left_out),
        frozenset(cutter.shown),
        cutter.later,
    )


def taught_statements(text: str, module: ast.Module) -> dict[Place, ast.stmt]:
    """Return the statements of a module that a book has to show: all but what `abridge` leaves out."""
    cutter = _Cutter(text)
    cutter.block([one for one in module.body if not is_plumbing(one)])
    return cutter.shown


def new_lines(before: str, after: str) -> list[int]:
    """Return the lines of a listing, from 1, that an earlier listing did not have."""
    lines = after.splitlines()
    matcher = difflib.SequenceMatcher(None, before.splitlines(), lines, autojunk=False)
    return [
        number + 1
        for what, _, _, first, end in matcher.get_opcodes()
        for number in range(first, end)
        if what != "equal" and lines[number].strip()
    ]


@lru_cache(maxsize=1024)
def laid_out(code: str) -> str:
    """Lay code out as `ruff format` does, in lines that fit a page.

    A comment that makes its line too long moves above it, or else the code would be broken for its sake.
    """

    def above(line: re.Match[str]) -> str:
        indent, statement, comment = line.groups()
        is_long = len(line[0]) > LETTERS_ON_A_LINE
        return f"{indent}{comment}\n{indent}{statement}" if is_long else line[0]

    ran = subprocess.run(
        [find_ruff_bin(), "format", "--isolated", "--line-length", str(LETTERS_ON_A_LINE), "-"],
        input=COMMENT_BESIDE_CODE.sub(above, code),
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


def _last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


# What is left out


def is_docstring(statement: ast.stmt) -> bool:
    """Tell whether a statement is a bare string."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def is_refusal(statement: ast.stmt) -> bool:
    """Tell whether a statement asks that input be good, or defines how that is asked."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return requires(name)
        case ast.FunctionDef(name=name):
            return requires(name)
        case ast.If(body=[ast.Raise()], orelse=[]):
            return True
    return False


def requires(name: str) -> bool:
    """Tell by its name whether a function asks that input be good."""
    return name.lstrip("_").startswith("require_")


def is_type(statement: ast.stmt, *, of_fields: bool = False) -> bool:
    """Tell whether a statement is about types alone."""
    match statement:
        case ast.FunctionDef(decorator_list=decorators):
            return any(_last_name(one) == "overload" for one in decorators)
        case ast.AnnAssign(value=None):
            return not of_fields
        case ast.AnnAssign(annotation=annotation):
            return _last_name(annotation) == "TypeAlias"
        case ast.Assign(value=ast.Subscript(value=value)):
            return _last_name(value) == "Literal"
    return False


def is_plumbing(statement: ast.stmt) -> bool:
    """Tell whether a statement of a module is an import, says what is public, or starts it as a program."""
    match statement:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


def bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the blocks of statements within a statement."""
    parts = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    handlers = [handler.body for handler in getattr(statement, "handlers", [])]
    cases = [case.body for case in getattr(statement, "cases", [])]
    return [block for block in (parts[0], *handlers, *cases, *parts[1:]) if block]


def has_fields(statement: ast.stmt) -> bool:
    """Tell whether the annotations in a class are its fields."""
    if not isinstance(statement, ast.ClassDef):
        return False
    return any(_last_name(one) in FIELDS for one in (*statement.decorator_list, *statement.bases))


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _last_name(inner)
    return ""


# Cutting


class _Cutter:
    """Walks through statements, and notes what is to be cut from the text.

    Attributes:
        left_out: the kinds of things that are cut.
        later: whether something is cut that a later chapter adds.
        shown: the statements that are shown whole, by their places.
    """

    def __init__(
        self, text: str, until: frozenset[str] = frozenset(), *, refusals: bool = False
    ) -> None:
        self.until, self.refusals = until, refusals
        self.text, self.lines = text, text.splitlines(keepends=True)
        self.starts = [0, *accumulate(map(len, self.lines))]
        self.cuts: list[tuple[int, int, str]] = []
        self.left_out: set[str] = set()
        self.later = False
        self.shown: dict[Place, ast.stmt] = {}

    def code(self, first: int, last: int) -> str:
        """Return some lines of the text without what is to be cut."""
        at, end = self.starts[first - 1], self.starts[last]
        pieces = []
        for start, stop, instead in sorted(self.cuts, key=lambda cut: (cut[0], -cut[1])):
            if at <= start <= end:
                pieces.append(self.text[at:start])
            pieces.append(instead)  # also what stands for a block of which all is cut
            at = max(at, stop)
        return FOR_TOOLS.sub("", "".join([*pieces, self.text[at:end]]))

    def block(self, statements: list[ast.stmt], *, of_fields: bool = False) -> bool:
        """Cut what is to be left out of a block; tell whether anything of it is left."""
        is_left = False
        for statement in statements:
            opens = not is_left and statement is not statements[-1]
            is_left |= self.statement(statement, of_fields=of_fields, opens_block=opens)
        return is_left

    def statement(self, node: ast.stmt, *, of_fields: bool, opens_block: bool) -> bool:
        """Cut what is to be left out of a statement; tell whether anything of it is left."""
        if kind := self._kind_left_out(node, of_fields):
            self.left_out.add(kind)
        elif self._uses_later_names(node):
            self.later = True
        elif self.parts_of(node, of_fields=of_fields):
            return True
        self._cut_lines(first_line(node), _last_line(node), with_blank_lines=opens_block)
        return False

    def parts_of(self, node: ast.stmt, *, of_fields: bool = False) -> bool:
        """Cut what is to be left out of the parts of a statement; tell whether anything is left."""
        is_whole = True
        match node:
            case ast.FunctionDef():
                is_whole = self._signature(node)
            case ast.ClassDef(bases=bases):
                for base in bases:
                    if isinstance(base, ast.Subscript):
                        self._cut_type(self._end(base.value), self._end(base))
            case ast.AnnAssign(target=target, annotation=annotation) if not of_fields:
                self._cut_type(self._end(target), self._end(annotation))
        for keyword in self._later_keywords(node):
            self.later, is_whole = True, False
            self._cut_argument(self._start(keyword), self._end(keyword))
        blocks = bodies(node)
        left = [self.block(block, of_fields=has_fields(node)) for block in blocks]
        if isinstance(node, Branching) and not any(left):
            return False
        for block, is_left in zip(blocks, left, strict=True):
            if not is_left:
                after = self.starts[_last_line(block[-1])]
                self.cuts.append((after, after, " " * block[0].col_offset + "...\n"))
        if is_whole:
            self.shown[node.lineno, node.col_offset] = node
        return True

    def _kind_left_out(self, node: ast.stmt, of_fields: bool) -> str:
        if is_docstring(node):
            return DOCSTRINGS
        if is_refusal(node) and not self.refusals:
            return REFUSALS
        return TYPES if is_type(node, of_fields=of_fields) else ""

    def _uses_later_names(self, node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                return name in self.until
            case ast.If(test=head) | ast.While(test=head) | ast.For(iter=head):
                searched: list[ast.AST] = [head]
            case ast.With(items=items):
                searched = [*items]
            case ast.Try() | ast.Match():
                searched = []
            case _:
                searched = [node]
        parts = {part for one in searched for part in ast.walk(one)}
        for keyword in self._later_keywords(node):
            parts -= {*ast.walk(keyword)}  # it is cut alone
        return any(getattr(one, "id", getattr(one, "attr", "")) in self.until for one in parts)

    def _later_keywords(self, node: ast.stmt) -> list[ast.keyword]:
        if bodies(node):
            return []
        keywords = (one for one in ast.walk(node) if isinstance(one, ast.keyword))
        return [one for one in keywords if one.arg in self.until]

    def _signature(self, node: ast.FunctionDef) -> bool:
        """Cut types, and arguments that come later; tell whether all arguments stay."""
        found = node.args
        named = [*found.posonlyargs, *found.args]
        defaults = [*[None] * (len(named) - len(found.defaults)), *found.defaults]
        named += [*found.kwonlyargs, *(one for one in (found.vararg, found.kwarg) if one)]
        is_whole = True
        last = 0
        for one, default in zip_longest(named, [*defaults, *found.kw_defaults]):
            end = max(self._end(part) for part in (one, default) if part)
            last = max(last, end)
            if one.arg in self.until:
                self.later, is_whole = True, False
                self._cut_argument(self._start(one), end)
            elif one.annotation:
                self._cut_type(self._start(one) + len(one.arg), self._end(one.annotation))
        if comma := re.compile(r"\s*,(?=\s*\))").match(self.text, last):
            self.cuts.append((comma.start(), comma.end(), ""))
        if node.returns:
            arrow = self.text.rindex("->", 0, self._start(node.returns))
            colon = re.compile(r"[\s)]*(?=:)").match(self.text, self._end(node.returns))
            assert colon
            self._cut_type(arrow, colon.end())
        return is_whole

    # The text

    def _cut_type(self, start: int, end: int) -> None:
        self.left_out.add(TYPES)
        self.cuts.append((start, end, ""))

    def _cut_argument(self, start: int, end: int) -> None:
        """Cut an argument, and the comma that parts it from the next, or else from the last."""
        if after := re.compile(r"\s*,\s*").match(self.text, end):
            self.cuts.append((start, after.end(), ""))
        else:
            before = re.compile(r"(\s*,)?\s*$").search(self.text, 0, start)
            assert before
            self.cuts.append((before.start(), end, ""))

    def _cut_lines(self, first: int, last: int, *, with_blank_lines: bool) -> None:
        """Cut lines, the comment right above that is about them, and perhaps the blank lines below."""
        indent = len(self.lines[first - 1]) - len(self.lines[first - 1].lstrip())
        while first > 1 and self.lines[first - 2].startswith(" " * indent + "#"):
            first -= 1
        while with_blank_lines and last < len(self.lines) and not self.lines[last].strip():
            last += 1
        self.cuts.append((self.starts[first - 1], self.starts[last], ""))

    def _start(self, node: ast.AST) -> int:
        return self._at(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _at(self, line: int, column: int) -> int:
        """Return the place of a column, which `ast` counts in bytes."""
        start = self.starts[line - 1]
        return start + len(self.lines[line - 1].encode()[:column].decode())
