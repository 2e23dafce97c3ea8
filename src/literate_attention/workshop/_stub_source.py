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

Function = ast.FunctionDef


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
    (node,) = ast.parse(source).body
    cutter = Cutter(source, piece, hints)
    where = f'# Explained in "{piece.section}":\n# {address(piece)}\n' if hints else ""
    code = "\n".join(cutter.definition(node, ""))
    return Part(piece.name, f"{where}{code}\n", imports_of(code, piece))


class Cutter:
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

    def definition(self, node: ast.AST, indent: str) -> Iterator[str]:
        """Write a function or a class."""
        inside = indent + INDENT
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(map(ast.unparse, node.bases))
            yield f"{indent}class {node.name}({bases}):" if bases else f"{indent}class {node.name}:"
            yield from self.docstring(node, inside)
            for method in node.body:
                if isinstance(method, Function) and method.name not in self.leave_out:
                    yield ""
                    yield from self.definition(method, inside)
        elif isinstance(node, Function):
            for decorator in map(ast.unparse, node.decorator_list):
                if decorator in OWN_DECORATORS:
                    yield f"{indent}@{decorator}"
            yield from self.signature(node, indent)
            yield from self.docstring(node, inside)
            if ast.unparse(node.body[0]).startswith("super().__init__"):
                yield f"{inside}super().__init__()"
            yield f"{inside}raise NotImplementedError"

    def signature(self, node: Function, indent: str) -> Iterator[str]:
        """Write the first line of a function, on as many lines as it needs."""
        returns = self.returned(node)
        end = f" -> {quoted(returns)}:" if returns else ":"
        parameters = list(self.parameters(node))
        texts = [text for text, _ in parameters]
        begin = f"{indent}def {node.name}("
        if len(line := f"{begin}{', '.join(texts)}){end}") <= WIDTH:
            yield line
            return
        yield begin
        together = f"{indent}{INDENT}{', '.join(texts)}{',' * (len(texts) == 1)}"
        if len(together) <= WIDTH:
            yield together
        else:
            for text, annotation in parameters:
                yield from laid_out(text, annotation, ",", indent + INDENT)
        yield from laid_out(f"){end[:-1]}", returns, ":", indent)

    def parameters(self, node: Function) -> Iterator[tuple[str, ast.expr | None]]:
        """Yield what is written for each parameter, and its annotation."""
        given = node.args
        positional = [*given.posonlyargs, *given.args]
        missing = [None] * (len(positional) - len(given.defaults))
        for one, default in zip(positional, [*missing, *given.defaults], strict=True):
            if one.arg not in self.leave_out:
                yield self.parameter(one, default)
        keyword_only = [
            self.parameter(one, default)
            for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
            if one.arg not in self.leave_out
        ]
        if given.vararg:
            yield self.parameter(given.vararg, stars="*")
        elif keyword_only:
            yield "*", None
        yield from keyword_only
        if given.kwarg and given.kwarg.arg not in self.leave_out:
            yield self.parameter(given.kwarg, stars="**")

    def parameter(
        self, one: ast.arg, default: ast.expr | None = None, stars: str = ""
    ) -> tuple[str, ast.expr | None]:
        """Write a parameter, and return its annotation too."""
        annotation = f": {quoted(one.annotation)}" if one.annotation else ""
        equals = " = " if annotation else "="
        value = f"{equals}{ast.get_source_segment(self.source, default)}" if default else ""
        return f"{stars}{one.arg}{annotation}{value}", one.annotation

    def returned(self, node: Function) -> ast.expr | None:
        """Return the type of what a function returns: one tensor, unless it can be asked for weights."""
        match node.returns:
            case ast.BinOp(left=alone) if "need_weights" in self.leave_out:
                return alone
        return node.returns

    def docstring(self, node: Function | ast.ClassDef, indent: str) -> Iterator[str]:
        """Write what is left of a docstring, if there is one."""
        whole = ast.get_docstring(node)
        if whole:
            paragraphs = list(self.paragraphs(whole, WIDTH - len(indent)))
            if isinstance(node, ast.ClassDef) and self.attributes:
                names = ", ".join(f"`{name}`" for name in self.attributes)
                by_names = f"A checkpoint is read by the names of these attributes: {names}."
                paragraphs.append(filled(by_names, WIDTH - len(indent)))
            paragraphs[0] = filled(f'"""{paragraphs[0]}', WIDTH_OF_SUMMARY - len(indent))
            end = "\n" if len(paragraphs) > 1 else ""
            yield textwrap.indent("\n\n".join(paragraphs) + f'{end}"""', indent)

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


def quoted(expression: ast.expr | None) -> str:
    """Write an expression on one line, with the quotes that the library has."""
    return ast.unparse(expression).replace("'", '"') if expression else ""


def laid_out(text: str, annotation: ast.expr | None, end: str, indent: str) -> Iterator[str]:
    """Write what has an annotation; if it is too long, the parts of a tuple go on lines of their own."""
    if len(f"{indent}{text}{end}") <= WIDTH or not isinstance(annotation, ast.Subscript):
        yield f"{indent}{text}{end}"
        return
    before, _, _ = text.partition(quoted(annotation))
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    yield f"{indent}{before}{ast.unparse(annotation.value)}["
    together = f"{indent}{INDENT}{', '.join(map(quoted, parts))}"
    if len(together) <= WIDTH:
        yield together
    else:
        for one in parts:
            yield from laid_out(quoted(one), one, ",", indent + INDENT)
    yield f"{indent}]{end}"


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
