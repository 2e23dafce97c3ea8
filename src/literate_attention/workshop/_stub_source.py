"""Cut stubs from the library: a signature, a short docstring, and a body that is not written yet."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from literate_attention.workshop._plain_text import plain_formula, plain_text
from literate_attention.workshop._road import address, file_name
from literate_attention.workshop.pieces import BY_NAME, Piece

WIDTH = 88
WIDTH_OF_SUMMARY = 100
"""A first line that is a little too long reads better than a last word on a line of its own."""

INDENT = " " * 4
OWN_DECORATORS = ("property", "staticmethod", "classmethod")
NOT_WRITTEN = ast.parse("raise NotImplementedError")


@dataclass(frozen=True)
class Import:
    """A name that a file imports.

    Args:
        module: where from.
        name: what, or nothing if it is the module itself.
    """

    module: str
    name: str = ""

    @property
    def binds(self) -> str:
        """The name that the file has afterwards."""
        return self.name or self.module


ALWAYS = (Import("torch"), Import("torch", "Tensor"), Import("torch", "nn"))
"""What a solution needs, if the stub does not."""


@dataclass(frozen=True)
class Part:
    """A part of a file that defines one name.

    Args:
        name: what it defines.
        code: its source.
        imports: what must have been imported before it.
    """

    name: str
    code: str
    imports: tuple[Import, ...]


def stub(piece: Piece, hints: bool = True) -> Part:
    """Cut the stub of a piece from the library.

    Args:
        piece: what a reader will write.
        hints: whether the stub has the equation, and says where the book explains it.
    """
    source = textwrap.dedent(inspect.getsource(piece.library)).replace("*batch ", piece.batch)
    cut = Cutter(source, piece, hints).visit(ast.parse(source))
    where = f'# Explained in "{piece.section}":\n# {address(piece)}\n' if hints else ""
    lines = ast.unparse(cut).split("\n")
    code = "\n".join(
        broken(line.replace("'", '"')) if line.lstrip().startswith("def ") else line
        for line in lines
    )
    return Part(piece.name, f"{where}{code}\n", imports_of(code, piece))


class Cutter(ast.NodeTransformer):
    """Cuts definitions down to what a reader is given.

    Args:
        source: the code that holds them.
        piece: what they define.
        hints: whether the equation is shown.
    """

    def __init__(self, source: str, piece: Piece, hints: bool) -> None:
        self.source = source
        self.leave_out = piece.leave_out
        self.attributes = piece.attributes
        self.hints = hints

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Leave the docstring and the methods of a class."""
        methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
        kept = [self.visit_FunctionDef(one) for one in methods if one.name not in self.leave_out]
        node.body = [*self.docstring(node), *kept]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave the parameters that are asked for, and what is returned then."""
        given = node.args
        missing = [None] * (len(given.args) - len(given.defaults))
        given.args = self.asked(given.args, [*missing, *given.defaults])
        given.kwonlyargs = self.asked(given.kwonlyargs, given.kw_defaults)
        given.defaults, given.kw_defaults = [], [None] * len(given.kwonlyargs)
        if given.kwarg and given.kwarg.arg in self.leave_out:
            given.kwarg = None
        if isinstance(node.returns, ast.BinOp) and "need_weights" in self.leave_out:
            node.returns = node.returns.left
        node.decorator_list = [
            one for one in node.decorator_list if ast.unparse(one) in OWN_DECORATORS
        ]
        first = [one for one in node.body[:1] if "super().__init__" in ast.unparse(one)]
        node.body = [*self.docstring(node), *first, *NOT_WRITTEN.body]
        return node

    def asked(self, given: list[ast.arg], defaults: list[ast.expr | None]) -> list[ast.arg]:
        """Leave the parameters that are asked for; what stands behind the colon has the default, too."""
        for one, default in zip(given, defaults, strict=True):
            if default and one.annotation:
                value = ast.get_source_segment(self.source, default)
                one.annotation = ast.Name(f"{ast.unparse(one.annotation)} = {value}")
        return [one for one in given if one.arg not in self.leave_out]

    def docstring(self, node: ast.FunctionDef | ast.ClassDef) -> list[ast.stmt]:
        """Write what is left of a docstring, if there is one."""
        whole, indent = ast.get_docstring(node), " " * node.col_offset + INDENT
        if not whole:
            return []
        width = WIDTH - len(indent)
        paragraphs = list(self.paragraphs(whole, width))
        if isinstance(node, ast.ClassDef) and self.attributes:
            names = ", ".join(f"`{name}`" for name in self.attributes)
            by_names = f"A checkpoint is read by the names of these attributes: {names}."
            paragraphs.append(filled(by_names, width))
        quotes = '"""'
        paragraphs[0] = filled(quotes + paragraphs[0], WIDTH_OF_SUMMARY - len(indent))
        text = textwrap.indent("\n\n".join(paragraphs), indent).removeprefix(indent + quotes)
        end = f"\n{indent}" if len(paragraphs) > 1 else ""
        return [ast.Expr(ast.Constant(text + end))]

    def paragraphs(self, docstring: str, width: int) -> Iterator[str]:
        """Yield the summary, the equation and what its letters mean, what is given, and what is returned."""
        paragraphs = docstring.split("\n\n")
        yield plain_text(paragraphs[0])
        after_equation = False
        for paragraph in paragraphs[1:]:
            title, _, text = paragraph.partition("\n")
            if paragraph.startswith(".. math::") and self.hints:
                yield textwrap.indent(plain_formula(paragraph.removeprefix(".. math::")), INDENT)
            elif after_equation and self.hints:
                letters = [one for one in sentences(paragraph) if ":math:" in one]
                if letters and title != "Args:":
                    yield filled(plain_text(" ".join(letters)), width)
            if title == "Args:":
                items = re.split(r"\n(?=    \S)", text)
                given = [one for one in items if not self.is_left_out(one)]
                if given:
                    texts = map(self.asked_for, map(plain_text, given))
                    lines = (filled(one, width, INDENT, INDENT * 2) for one in texts)
                    yield "\n".join(["Args:", *lines])
            elif title == "Returns:":
                yield f"Returns:\n{filled(self.asked_for(plain_text(text)), width, INDENT)}"
            after_equation = paragraph.startswith(".. math::")

    def is_left_out(self, item: str) -> bool:
        """Tell whether an item of a list of arguments is of one that is not asked for."""
        return item.strip().partition(":")[0].lstrip("*") in self.leave_out

    def asked_for(self, text: str) -> str:
        """Say something up to the first clause on an argument that is not asked for."""
        said = []
        for clause in re.split(r"(?<=[;.]) ", text):
            if any(f"`{name}`" in clause for name in self.leave_out):
                break
            said.append(clause)
        return " ".join(said).rstrip(";.") + "."


def broken(line: str) -> str:
    """Break a line that is too long at its first brackets, and again what is too long then."""
    if len(line) <= WIDTH:
        return line
    opened = len(re.split(r"[(\[]", line)[0]) + 1
    parts, depth, closed = [""], 1, opened
    while depth := depth + (line[closed] in "([") - (line[closed] in ")]"):
        if line[closed] == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += line[closed]
        closed += 1
    indent = " " * (len(line) - len(line.lstrip()))
    inside = [broken(f"{indent}{INDENT}{part.strip()},") for part in parts]
    return "\n".join([line[:opened], *inside, broken(indent + line[closed:])])


def filled(text: str, width: int, first: str = "", rest: str | None = None) -> str:
    """Wrap a paragraph."""
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def sentences(paragraph: str) -> list[str]:
    """Split a paragraph into sentences."""
    return re.split(r"(?<=\.)\s+", paragraph)


def imports_of(code: str, piece: Piece) -> tuple[Import, ...]:
    """Find what a stub's annotations need: from the reader's own files, where these have it."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    module = sys.modules[piece.library.__module__]
    imported = ast.parse(inspect.getsource(module)).body
    found = list(ALWAYS)
    for statement in imported:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                if (alias.asname or alias.name) in used:
                    found.append(own_or_theirs(statement.module, alias.name))
    return tuple(dict.fromkeys(found))


def own_or_theirs(module: str, name: str) -> Import:
    """Say where a stub takes a name of the library from."""
    if name in BY_NAME:
        return Import(file_name(BY_NAME[name].chapter), name)
    return Import(
        "literate_attention" if module.startswith("literate_attention.") else module, name
    )


def import_lines(imports: Collection[Import], own: Collection[str]) -> str:
    """Write imports as they stand at the head of a file: the standard library, others, and one's own."""
    blocks: list[list[str]] = [[], [], []]
    for module in sorted({one.module for one in imports}):
        kind = 2 if module in own else 0 if module.split(".")[0] in sys.stdlib_module_names else 1
        names = sorted({one.name for one in imports if one.module == module} - {""})
        if Import(module) in imports:
            blocks[kind].append(f"import {module}")
        if names:
            blocks[kind].append(f"from {module} import {', '.join(names)}")
    return "\n\n".join("\n".join(sorted(block, key=by_module)) for block in blocks if block) + "\n"


def by_module(line: str) -> tuple[bool, str]:
    """Sort imports as ruff does: modules before what is taken from them."""
    return line.startswith("from"), line
