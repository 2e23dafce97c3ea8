"""Cut stubs from the library: a signature, a short docstring, and a body that is not written yet."""

import ast
import inspect
import re
import textwrap
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from literate_attention.workshop._chapters import address
from literate_attention.workshop.pieces import Piece

WIDTH = 88
INDENT = " " * 4
NOT_WRITTEN = ast.parse("raise NotImplementedError").body
OWN_DECORATORS = ("property", "staticmethod", "classmethod")


def stub(piece: Piece, hints: bool = True) -> str:
    """Cut the stub of a piece from the library; hints are its equation, and where the book explains it."""
    source = textwrap.dedent(inspect.getsource(piece.library)).replace("*batch ", piece.batch)
    lines = ast.unparse(Cutter(source, piece, hints).visit(ast.parse(source))).split("\n")
    code = "\n".join(
        broken(line.replace("'", '"')) if line.lstrip().startswith("def ") else line
        for line in lines
    )
    where = f'# Explained in "{piece.section}":\n# {address(piece)}\n' if hints else ""
    return f"{where}{code}\n"


class Cutter(ast.NodeTransformer):
    """Cuts definitions down to what a reader is given."""

    def __init__(self, source: str, piece: Piece, hints: bool) -> None:
        self.source, self.piece, self.hints = source, piece, hints

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Leave the docstring and the methods of a class, but not how it prints."""
        leave_out = {*self.piece.leave_out, "__repr__", "extra_repr"}
        methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
        kept = [one for one in methods if one.name not in leave_out]
        node.body = [*self.docstring(node), *map(self.visit_FunctionDef, kept)]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave the parameters that are asked for, and what is returned then."""
        given, leave_out = node.args, self.piece.leave_out
        missing = [None] * (len(given.args) - len(given.defaults))
        given.args = self.asked(given.args, [*missing, *given.defaults])
        given.kwonlyargs = self.asked(given.kwonlyargs, given.kw_defaults)
        given.defaults, given.kw_defaults = [], [None] * len(given.kwonlyargs)
        if given.kwarg and given.kwarg.arg in leave_out:
            given.kwarg = None
        if isinstance(node.returns, ast.BinOp) and "need_weights" in leave_out:
            node.returns = node.returns.left
        node.decorator_list = [
            one for one in node.decorator_list if ast.unparse(one) in OWN_DECORATORS
        ]
        first = [one for one in node.body[:1] if "super().__init__" in ast.unparse(one)]
        node.body = [*self.docstring(node), *first, *NOT_WRITTEN]
        return node

    def asked(self, given: list[ast.arg], defaults: list[ast.expr | None]) -> list[ast.arg]:
        """Leave the parameters that are asked for; what stands behind the colon has the default, too."""
        for one, default in zip(given, defaults, strict=True):
            if default and one.annotation:
                value = ast.get_source_segment(self.source, default)
                one.annotation = ast.Name(f"{ast.unparse(one.annotation)} = {value}")
        return [one for one in given if one.arg not in self.piece.leave_out]

    def docstring(self, node: ast.FunctionDef | ast.ClassDef) -> list[ast.stmt]:
        """Write what is left of a docstring, if there is one."""
        whole, indent = ast.get_docstring(node), " " * node.col_offset + INDENT
        if not whole:
            return []
        paragraphs = [*self.paragraphs(whole, WIDTH - len(indent))]
        if isinstance(node, ast.ClassDef) and self.piece.attributes:
            names = ", ".join(f"`{name}`" for name in self.piece.attributes)
            by_names = f"A checkpoint is read by the names of these attributes: {names}."
            paragraphs.append(filled(by_names, WIDTH - len(indent)))
        text = textwrap.indent("\n\n".join(paragraphs), indent).lstrip()
        return [ast.Expr(ast.Constant(f"{text}\n{indent}" if len(paragraphs) > 1 else text))]

    def paragraphs(self, docstring: str, width: int) -> Iterator[str]:
        """Yield the summary, the equation and what its letters mean, what is given, and what is returned."""
        paragraphs = docstring.split("\n\n")
        yield filled(plain_text(paragraphs[0]), width + 9)  # better than a last word alone
        for before, paragraph in pairwise(paragraphs):
            title, _, text = paragraph.partition("\n")
            if title in ("Args:", "Returns:"):
                items = re.split(r"\n(?=    \S)", text) if title == "Args:" else [text]
                plain = [self.asked_for(plain_text(one)) for one in items if not self.leaves(one)]
                hanging = INDENT * (2 if title == "Args:" else 1)
                if plain:
                    yield "\n".join(
                        [title, *(filled(one, width, INDENT, hanging) for one in plain)]
                    )
            elif self.hints and paragraph.startswith(".. math::"):
                yield textwrap.indent(plain_formula(paragraph.removeprefix(".. math::")), INDENT)
            elif self.hints and before.startswith(".. math::"):
                sentences = re.split(r"(?<=\.)\s+", paragraph)
                if letters := [one for one in sentences if ":math:" in one]:
                    yield filled(plain_text(" ".join(letters)), width)

    def leaves(self, item: str) -> bool:
        """Tell whether an item of a list of arguments is of one that is not asked for."""
        return item.strip().partition(":")[0].lstrip("*") in self.piece.leave_out

    def asked_for(self, text: str) -> str:
        """Say something up to the first clause on an argument that is not asked for."""
        names = "|".join(self.piece.leave_out) or "nothing"
        return re.sub(rf"(?<=[;.]) [^;.]*`(?:{names})`.*", "", text).rstrip(";.") + "."


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


def filled(text: str, width: int, first: str = "", rest: str = "") -> str:
    """Wrap a paragraph between words."""
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    wrapper.initial_indent, wrapper.subsequent_indent = first, rest
    return wrapper.fill(text)


# Docstrings as plain text: what Sphinx would set, as it is read in an editor

SYMBOLS = {
    "qquad": "\n",
    "dots": "...",
    "cdots": "...",
    "top": "T",
    "cdot": "·",
    "odot": "⊙",
    "sum": "Σ",
    "infty": "∞",
    "le": "≤",
    "to": "→",
    "wedge": "and",
    "vee": "or",
    "langle": "⟨",
    "rangle": "⟩",
    "lambda": "λ",  # which Unicode spells lamda
}
"""What commands of TeX look like, beside those that are names of Greek letters."""

FROM_THE_INSIDE = (
    (r"\\(?:text|operatorname)\{([^{}]*)\}", r"\1"),
    (r"\\sqrt\{([^{}]*)\}", r"√(\1)"),
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda found: fraction(found[1], found[2])),
    (r"([_^])\{([^\W_]+)\}", r"\1\2"),
    (r"([_^])\{([^{}]*)\}", r"\1(\2)"),
)
"""What takes a group, and how it is written if no other group is inside."""

AT_LAST = (
    (r"(?<=[a-z])\\(?=[a-z])", r" \\"),
    (r"\\([a-zA-Z]+)", lambda found: SYMBOLS.get(found[1]) or greek(found[1])),
    (r"([(\[⟨]) +| +([)\]⟩,;])", r"\1\2"),
    (r"(?<!\w)e\^\(", "exp("),
    (r"([_^])\(([^\W_]+)\)|(√)\((\w+)\)", r"\1\2\3\4"),
    (r" *\n *", "\n"),
    (r"  +", " "),
)


def plain_text(text: str) -> str:
    """Write a paragraph of reStructuredText on one line, without roles, citations and formulas."""
    text = re.sub(r"\s*:cite:p:`[^`]*`", "", text)
    text = re.sub(r":math:`([^`]*)`", lambda formula: plain_formula(formula[1]), text)
    text = re.sub(r":[a-z]+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return " ".join(text.replace("``", "`").split())


def plain_formula(tex: str) -> str:
    """Write a formula on one line, or on as many as there are equations in it."""
    text = re.sub(r"\\(?:left|right|[bB]ig[lr])|\\!", "", " ".join(tex.split()))
    text = re.sub(r"\\begin\{(\w+)\}(.*?)\\end\{\w+\}", table, re.sub(r"\\[,;]", " ", text))
    before = ""
    while before != text:
        before = text
        for pattern, plain in FROM_THE_INSIDE:
            text = re.sub(pattern, plain, text)
    for pattern, written in AT_LAST:
        text = re.sub(pattern, written, text)
    return text.strip()


def table(found: "re.Match[str]") -> str:
    """Write the cases of a definition, or a matrix."""
    rows = [[cell.strip() for cell in row.split("&")] for row in found[2].split(r"\\")]
    if found[1] != "cases":
        return "[" + "; ".join(map(", ".join, rows)) + "]"
    return "; ".join(
        f"{value} {condition if re.match(r'.text.(if|else)', condition) else f'if {condition}'}"
        for value, condition in rows
    )


def fraction(above: str, below: str) -> str:
    """Write a fraction on one line, with brackets where something has to be computed first."""
    if above.isalnum() and below.isalnum():
        return f"{above}/{below}"
    return f"{in_brackets(above, '+-')} / {in_brackets(below, ' +-/')}"


def in_brackets(text: str, signs: str) -> str:
    """Put brackets around what has one of some signs outside of brackets."""
    outside = re.sub(r"\([^()]*\)", "", text)
    return f"({text})" if any(sign in outside for sign in signs) else text


def greek(name: str) -> str:
    """Return a Greek letter by its name, and any other name as it is."""
    size = "SMALL" if name.islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name}")
    except KeyError:
        return name
