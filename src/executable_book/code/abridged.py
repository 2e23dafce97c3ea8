"""Code as a chapter shows it: without docstrings, types and refusals, and laid out anew.

What is left out is cut from the source, so that comments and the author's layout of all else survive; then
`ruff format` closes the gaps, in lines that fit a page. Pure: nothing is imported or run.

* Docstrings, types and overloads: the API reference has them.
* Refusals of bad input: calls of functions named `require_*`, branches and handlers that do nothing but
  raise an error, and loops and branches that hold nothing else.
* What a later chapter adds: the statements, arguments and branches that use certain names.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import subprocess
import textwrap
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

from ruff.__main__ import find_ruff_bin  # type: ignore[import-untyped]

LETTERS_ON_A_LINE = 80
DOCSTRINGS, TYPES, REFUSALS = "docstrings", "types", "refusals"
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Branching: TypeAlias = ast.If | ast.For | ast.While | ast.With | ast.Try
Place: TypeAlias = tuple[int, int]
"""Where a statement begins in its file: line and column."""
FOR_TOOLS = re.compile(r"\s*# (type: ignore|noqa)\b.*")
FIELDS = {"dataclass", "NamedTuple", "TypedDict", "Protocol"}
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
        refusals: whether refusals are shown, because they are what the definition is about.
    """
    scissors = _Scissors(text, frozenset(until), shows_refusals=refusals or is_refusal(node))
    scissors.definition(node)
    first, last = first_line(node), node.end_lineno or node.lineno
    cut = scissors.cut(scissors.starts[first - 1], scissors.starts[last])
    return Abridged(
        laid_out(textwrap.dedent(cut)),
        tuple(kind for kind in (DOCSTRINGS, TYPES, REFUSALS) if kind in scissors.left_out),
        frozenset(scissors.shown),
        bool(scissors.later),
    )


def told(module: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements of a module that are part of its story: all but what `abridge` leaves out."""
    for statement in module.body:
        yield from _told(statement, of_module=True)


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
    ran = subprocess.run(
        [find_ruff_bin(), "format", "--isolated", "--line-length", str(LETTERS_ON_A_LINE), "-"],
        input=_comments_above(code),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return ran.stdout.strip("\n")


def _comments_above(code: str) -> str:
    lines = code.splitlines(keepends=True)
    above: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        number, column = token.start
        line = lines[number - 1] if number <= len(lines) else ""
        before = line[:column].rstrip()
        if token.type == tokenize.COMMENT and before and len(line.rstrip()) > LETTERS_ON_A_LINE:
            indent = line[: len(line) - len(line.lstrip())]
            above[number - 1] = f"{indent}{token.string}\n{before}\n"
    return "".join(above.get(number, line) for number, line in enumerate(lines))


def first_line(statement: ast.stmt) -> int:
    """Return where a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def place_of(statement: ast.stmt) -> Place:
    """Return what tells a statement from all others of its file."""
    return statement.lineno, statement.col_offset


# What is no story


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


def is_only_refused(statement: ast.stmt) -> bool:
    """Tell whether a statement tries something, and does nothing but raise an error if that fails."""
    match statement:
        case ast.Try(handlers=[_, *_] as handlers, orelse=[], finalbody=[]):
            return all(isinstance(one.body[0], ast.Raise) for one in handlers)
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
        case ast.AnnAssign(annotation=annotation) if _last_name(annotation) == "TypeAlias":
            return True
        case ast.Assign(value=ast.Subscript(value=value)) if _last_name(value) in {
            "Literal",
            "Union",
        }:
            return True
        case ast.Assign(value=ast.Call(func=func)) if _last_name(func) in {"TypeVar", "NewType"}:
            return True
        case ast.If(test=test):
            return _last_name(test) == "TYPE_CHECKING"
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


def _told(
    statement: ast.stmt, *, of_module: bool = False, of_fields: bool = False
) -> Iterator[ast.stmt]:
    if (
        is_docstring(statement)
        or is_refusal(statement)
        or is_type(statement, of_fields=of_fields)
        or (of_module and is_plumbing(statement))
    ):
        return
    if isinstance(statement, ast.Try) and is_only_refused(statement):
        for part in statement.body:
            yield from _told(part)
        return
    of_fields = has_fields(statement)
    inner = [one for part in bodies(statement) for one in part]
    found = [one for part in inner for one in _told(part, of_fields=of_fields)]
    if found or not isinstance(statement, Branching):
        yield statement
    yield from found


def bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the blocks of statements within a statement."""
    parts = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    handlers = [handler.body for handler in getattr(statement, "handlers", [])]
    cases = [case.body for case in getattr(statement, "cases", [])]
    return [parts[0], *handlers, *cases, *parts[1:]]


def has_fields(statement: ast.stmt) -> bool:
    """Tell whether the annotations in a class are its fields."""
    if not isinstance(statement, ast.ClassDef):
        return False
    return any(_last_name(one) in FIELDS for one in (*statement.decorator_list, *statement.bases))


@lru_cache(maxsize=1)  # a file is abridged one definition after another
def comments_for_tools(text: str) -> list[tokenize.TokenInfo]:
    """Return the comments of a file that only tools read."""
    if not FOR_TOOLS.search(text):
        return []
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = (token for token in tokens if token.type == tokenize.COMMENT)
    return [comment for comment in comments if FOR_TOOLS.match(comment.string)]


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _last_name(inner)
    return ""


# Cutting


@dataclass
class _Scissors:
    """Walks through a definition, and notes what is to be cut from the text."""

    text: str
    until: frozenset[str]
    shows_refusals: bool = False
    cuts: list[tuple[int, int, str]] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    shown: set[Place] = field(default_factory=set)
    later: int = 0

    def __post_init__(self) -> None:
        self.lines = self.text.splitlines(keepends=True)
        self.starts = [0, *accumulate(map(len, self.lines))]

    def cut(self, start: int, end: int) -> str:
        """Return a part of the text without what is to be cut."""
        self._cut_comments_for_tools()
        pieces, at = [], start
        for first, last, instead in sorted(self.cuts, key=lambda cut: (cut[0], -cut[1])):
            if at <= first <= last <= end:
                pieces += [self.text[at:first], instead]
                at = last
        return "".join([*pieces, self.text[at:end]])

    # Statements

    def statement(self, node: ast.stmt, *, of_fields: bool = False) -> bool:
        """Cut what is to be left out of a statement; tell whether anything of it is left."""
        if kind := self._kind_left_out(node, of_fields):
            self.left_out.add(kind)
            self._cut_lines(first_line(node), node.end_lineno or node.lineno)
            return False
        if self._belongs_to_a_later_chapter(node):
            self.later += 1
            self._cut_lines(first_line(node), node.end_lineno or node.lineno)
            return False
        if isinstance(node, ast.If):
            return self._if(node)
        if is_only_refused(node) and not self.shows_refusals:
            assert isinstance(node, ast.Try)
            return self._try(node)
        return self.definition(node, of_fields=of_fields)

    def definition(self, node: ast.stmt, *, of_fields: bool = False) -> bool:
        """Cut what is to be left out of the parts of a statement; tell whether anything is left."""
        whole = self.later
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._signature(node)
            case ast.ClassDef():
                self._bases(node)
            case ast.AnnAssign() if not of_fields:
                self.left_out.add(TYPES)
                self.cuts.append((self._end(node.target), self._end(node.annotation), ""))
            case ast.Match() | ast.For() | ast.While() | ast.With() | ast.Try():
                pass
            case _:
                self._pieces(node)
        whole = self.later == whole
        blocks = [self._block(part, has_fields(node)) for part in bodies(node)]
        if isinstance(node, Branching) and not any(blocks):
            self._cut_lines(node.lineno, node.end_lineno or node.lineno)
            return False
        if isinstance(node, Definition) and not any(blocks):
            indent = " " * (node.col_offset + 4)
            after = self.starts[node.end_lineno or node.lineno]
            self.cuts.append((after, after, f"{indent}...\n"))
        if whole:
            self.shown.add(place_of(node))
        return True

    def _block(self, statements: list[ast.stmt], of_fields: bool = False) -> bool:
        left = [self.statement(one, of_fields=of_fields) for one in statements]
        return any(left)

    def _kind_left_out(self, node: ast.stmt, of_fields: bool) -> str:
        if is_docstring(node):
            return DOCSTRINGS
        if is_refusal(node) and not self.shows_refusals:
            return REFUSALS
        return TYPES if is_type(node, of_fields=of_fields) else ""

    def _belongs_to_a_later_chapter(self, node: ast.stmt) -> bool:
        if not self.until:
            return False
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                return name in self.until
            case ast.For(iter=head) | ast.While(test=head):
                return self._uses(head)
            case ast.With(items=items):
                return any(self._uses(item.context_expr) for item in items)
            case ast.If() | ast.Try() | ast.Match() | ast.AsyncFunctionDef():
                return False
        return self._uses(node, but_pieces=True)

    def _if(self, node: ast.If) -> bool:
        """Keep the branches that are left; what stands under `else` alone moves out of it."""
        if self.until and self._uses(node.test):
            self.later += 1
            here, whole = False, False
        else:
            before = self.later
            here, whole = self._block(node.body), True
            whole = here or self.later == before
        there = self._block(node.orelse)
        last = node.end_lineno or node.lineno
        if not node.orelse:
            if not here:
                self._cut_lines(node.lineno, last)
        elif not here and not there:
            self._cut_lines(node.lineno, last)
        elif not here:
            self._hoist(node)
        elif not there:
            self._cut_lines((node.body[-1].end_lineno or 0) + 1, last)
        if here and whole:
            self.shown.add(place_of(node))
        return here or there

    def _hoist(self, node: ast.If) -> None:
        """Let what stands under `else` stand alone."""
        other = node.orelse[0]
        is_elif = self.lines[other.lineno - 1].lstrip().startswith("elif ")
        if is_elif:
            self._cut_lines(node.lineno, other.lineno - 1)
            start = self.starts[other.lineno - 1] + other.col_offset
            self.cuts.append((start, start + len("elif"), "if"))
            return
        header = node.body[-1].end_lineno or node.lineno
        while self.lines[header].strip() != "else:":
            header += 1
        self._cut_lines(node.lineno, header + 1)
        last = node.end_lineno or node.lineno
        self._dedent(header + 2, last, other.col_offset - node.col_offset)

    def _try(self, node: ast.Try) -> bool:
        """Keep what is tried, where what follows if it fails is an error all the same."""
        self.left_out.add(REFUSALS)
        last = node.body[-1].end_lineno or 0
        self.cuts.append((self.starts[node.lineno - 1], self.starts[node.lineno], ""))
        self._dedent(node.lineno + 1, last, node.body[0].col_offset - node.col_offset)
        self._cut_lines(last + 1, node.end_lineno or 0)
        return self._block(node.body)

    def _dedent(self, first: int, last: int, step: int) -> None:
        for start, line in zip(
            self.starts[first - 1 : last], self.lines[first - 1 : last], strict=False
        ):
            if line.strip():
                self.cuts.append((start, start + step, ""))

    # Parts of statements

    def _signature(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = node.args
        last = 0
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        defaults = [
            *[None] * (len(arguments.posonlyargs + arguments.args) - len(arguments.defaults)),
            *arguments.defaults,
            *arguments.kw_defaults,
        ]
        starred = [one for one in (arguments.vararg, arguments.kwarg) if one]
        for one, default in zip([*named, *starred], [*defaults, None, None], strict=False):
            ends = [self._end(part) for part in (one, one.annotation, default) if part]
            last = max(last, *ends)
            if one.arg in self.until:
                self.later += 1
                self._cut_piece(self._start(one), max(ends))
            elif one.annotation:
                self.left_out.add(TYPES)
                name_ends = self._start(one) + len(one.arg)
                self.cuts.append((name_ends, self._end(one.annotation), ""))
        if last and (comma := re.compile(r"\s*,(?=\s*\))").match(self.text, last)):
            self.cuts.append((comma.start(), comma.end(), ""))
        if node.returns:
            self.left_out.add(TYPES)
            arrow = self.text.rindex("->", 0, self._start(node.returns))
            colon = re.compile(r"[\s)]*(?=:)").match(self.text, self._end(node.returns))
            assert colon
            self.cuts.append((arrow, colon.end(), ""))

    def _bases(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            if isinstance(base, ast.Subscript):
                self.left_out.add(TYPES)
                self.cuts.append((self._end(base.value), self._end(base), ""))

    def _pieces(self, node: ast.stmt) -> None:
        """Cut what a later chapter adds to a statement that stands already."""
        for piece, instead in self._later_pieces(node):
            self.later += 1
            if instead is None:
                self._cut_piece(self._start(piece), self._end(piece))
            else:
                self.cuts.append((self._start(piece), self._start(instead), ""))
                self.cuts.append((self._end(instead), self._end(piece), ""))

    def _later_pieces(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.expr | None]]:
        """Yield what can be cut from an expression, and what stays of it."""
        if not self.until:
            return
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.keyword(arg=name, value=value) if name in self.until or self._uses(value):
                    yield child, None
                case ast.IfExp(test=test, body=body, orelse=other) if not self._uses(other) and (
                    self._uses(test) or self._uses(body)
                ):
                    yield child, other
                case _:
                    yield from self._later_pieces(child)

    def _uses(self, node: ast.AST, *, but_pieces: bool = False) -> bool:
        """Tell whether code uses a name that a later chapter adds, outside of pieces that can be cut."""
        cut = {id(piece) for piece, _ in self._later_pieces(node)} if but_pieces else set()
        kept = {id(instead) for _, instead in self._later_pieces(node)} if but_pieces else set()

        def search(part: ast.AST) -> bool:
            if id(part) in cut:
                return any(id(one) in kept and search(one) for one in ast.iter_child_nodes(part))
            match part:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                    if name in self.until:
                        return True
            return any(search(child) for child in ast.iter_child_nodes(part))

        return search(node)

    # The text

    def _cut_lines(self, first: int, last: int) -> None:
        """Cut lines, and the comment right above that is about them."""
        indent = len(self.lines[first - 1]) - len(self.lines[first - 1].lstrip())
        while first > 1 and self.lines[first - 2].startswith(" " * indent + "#"):
            first -= 1
        above = self._kept_above(first).strip()
        if not above or above.endswith(":"):
            last = self._blank_below(last, indent)
        self.cuts.append((self.starts[first - 1], self.starts[last], ""))

    def _kept_above(self, line: int) -> str:
        """Return the last line above one that is not cut."""
        start = self.starts[line - 1]
        for first, last, _ in reversed(self.cuts):
            start = first if last == start else start
        above = self.starts.index(start) if start in self.starts else line - 1
        return self.lines[above - 1] if above else ""

    def _blank_below(self, last: int, indent: int) -> int:
        """Return the last of the blank lines below a line, if its block goes on after them."""
        below = last
        while below < len(self.lines) and not self.lines[below].strip():
            below += 1
        goes_on = below < len(self.lines) and self.lines[below].startswith(" " * indent)
        return below if goes_on else last

    def _cut_piece(self, start: int, end: int) -> None:
        """Cut an argument, and the comma that parts it from the next, or else from the last."""
        if after := re.compile(r"\s*,\s*").match(self.text, end):
            self.cuts.append((start, after.end(), ""))
        else:
            before = re.compile(r"(\s*,)?\s*$").search(self.text, 0, start)
            assert before
            self.cuts.append((before.start(), end, ""))

    def _cut_comments_for_tools(self) -> None:
        for comment in comments_for_tools(self.text):
            line, column = comment.start
            start = self.starts[line - 1] + column
            self.cuts.append((start, start + len(comment.string), ""))

    def _start(self, node: ast.AST) -> int:
        return self._at(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _at(self, line: int, column: int) -> int:
        """Return the place of a column, which `ast` counts in bytes."""
        start = self.starts[line - 1]
        return start + len(self.lines[line - 1].encode()[:column].decode())
