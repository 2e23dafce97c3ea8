"""Writes a page in the Markdown that every notebook viewer reads.

A notebook knows nothing of directives, labels and citations. So what it gets is the page as Sphinx resolved
it: numbers are in their places, references are links to the site, equations carry their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import indent
from urllib.parse import urljoin

import nbformat
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode  # type: ignore[import-untyped]
from nbformat import NotebookNode
from sphinx import addnodes
from sphinx.util import logging
from sphinx_exercise.nodes import (  # type: ignore[import-untyped]
    exercise_enumerable_node,
    exercise_node,
    solution_node,
)

from executable_book.html.proof_marks import ProofMark

LOGGER = logging.getLogger(__name__)
ANSWER = "# Your answer"
SPECIAL = re.compile(r"[\\`*<$]|(?<![^\W_])_|_(?![^\W_])|\[(?=[^]]*\]\()")
LINE_START = re.compile(r"^(\d+(?=[.)]\s)|(?=[#>+-]\s))", re.MULTILINE)
SILENT = (nodes.Invisible, nodes.meta, nodes.raw)
NOT_OURS = {"toctree-wrapper"}
"""What stands on the site only: tables of contents."""


@dataclass(frozen=True)
class PlainMarkdown:
    """Writes one page.

    Attributes:
        address: where the page is on the web; links start from there.
        numbers: the numbers of figures, equations and exercises, by kind and id.
        code: the executed code cells, by their place among all cells of the page.
        solutions: whether the solutions of exercises are written.
    """

    address: str
    numbers: Mapping[str, Mapping[str, tuple[int, ...]]]
    code: Mapping[int, NotebookNode]
    solutions: bool

    def cells(self, page: nodes.Element) -> list[NotebookNode]:
        """Return the cells of a page, in order: a heading begins a new one."""
        texts: list[str] = []
        cells: list[NotebookNode] = []

        def finish_text() -> None:
            if texts:
                cells.append(nbformat.v4.new_markdown_cell("\n\n".join(texts)))
                texts.clear()

        for part in self._blocks(page, level=0):
            if isinstance(part, NotebookNode):
                finish_text()
                cells.append(nbformat.from_dict(part))
            else:
                if part.startswith("#"):
                    finish_text()
                texts.append(part)
        finish_text()
        return cells

    # Blocks: each is a piece of Markdown, or a code cell

    def _blocks(self, parent: nodes.Element, level: int) -> Iterator[str | NotebookNode]:
        for node in parent.children:
            yield from self._block(node, level)

    def _block(self, node: nodes.Node, level: int) -> Iterator[str | NotebookNode]:
        match node:
            case nodes.Element() if NOT_OURS & set(node.get("classes", ())):
                pass
            case nodes.container(attributes={"nb_element": "cell_code"}):
                yield from self._cell(node)
            case ProofMark():
                yield f"*{node['sign']} {node['says']}.*"
            case nodes.section():
                yield from self._blocks(node, level + 1)
            case nodes.title():
                yield f"{'#' * level} {self._line(node)}"
            case exercise_node() | exercise_enumerable_node():
                yield from self._exercise(node, level)
            case solution_node():
                if self.solutions:
                    yield f"{'#' * (level + 1)} {escape(node[0].astext())}"
                    yield from self._rest(node, level)
            case nodes.paragraph() | nodes.caption():
                yield LINE_START.sub(r"\1\\", self._inline(node))
            case nodes.rubric():
                yield f"**{self._line(node)}**"
            case nodes.bullet_list() | nodes.enumerated_list():
                yield self._list(node)
            case nodes.definition_list():
                yield "\n".join(self._definition(item) for item in node.children)
            case nodes.block_quote():
                yield quoted(self._text(node))
            case nodes.Admonition():
                yield quoted(self._admonition(node))  # type: ignore[arg-type]
            case nodes.math_block():
                yield self._equation(node)
            case nodes.literal_block() | nodes.doctest_block():
                yield fenced(node.astext(), node.get("language", ""))
            case nodes.table():
                yield self._table(node)
            case nodes.transition():
                yield "---"
            case nodes.container() | nodes.compound() | addnodes.glossary() | HideCodeCellNode():
                yield from self._blocks(node, level)
            case nodes.Text() if not node.strip():
                pass
            case _ if isinstance(node, SILENT):
                pass
            case _:
                LOGGER.warning(
                    "a notebook cannot say <%s>",
                    type(node).__name__,
                    location=node,
                    type="book",
                    subtype="notebooks",
                )

    def _cell(self, node: nodes.Element) -> Iterator[str | NotebookNode]:
        yield self.code[node["cell_index"]]
        for figure in node.findall(nodes.figure):
            for caption in figure.findall(nodes.caption):
                number = self._number("figure", figure)
                yield f"*{f'Figure {number}'.strip()}.* {self._inline(caption)}"

    def _exercise(self, node: nodes.Element, level: int) -> Iterator[str | NotebookNode]:
        title = ["Exercise", self._number("exercise", node), node[0].astext().strip()]
        yield f"{'#' * (level + 1)} {escape(' '.join(filter(None, title)))}"
        yield from self._rest(node, level)
        if not self.solutions:
            yield nbformat.v4.new_code_cell(ANSWER)

    def _rest(self, node: nodes.Element, level: int) -> Iterator[str | NotebookNode]:
        """Write what follows a title; it may lie in a section that is no chapter's."""
        for child in node.children[1:]:
            if isinstance(child, nodes.section):
                yield from self._blocks(child, level)
            else:
                yield from self._block(child, level)

    def _text(self, node: nodes.Element) -> str:
        """Write the blocks in a list, a quotation or the like, where there are no cells."""
        return "\n\n".join(map(str, self._blocks(node, level=0)))

    def _list(self, node: nodes.Element) -> str:
        first = node.get("start", 1)
        ordered = isinstance(node, nodes.enumerated_list)
        items = []
        for number, item in enumerate(node.children, start=first):
            mark = f"{number}. " if ordered else "- "
            items.append(mark + indent(self._text(item), " " * len(mark)).lstrip())  # type: ignore[arg-type]
        return "\n".join(items)

    def _definition(self, item: nodes.Node) -> str:
        terms = [self._line(term) for term in item.findall(nodes.term)]
        meanings = [
            self._text(part) for part in item.children if isinstance(part, nodes.definition)
        ]
        return f"- **{', '.join(terms)}**: {indent((2 * chr(10)).join(meanings), '  ').lstrip()}"

    def _admonition(self, node: nodes.Element) -> str:
        titles = [self._line(child) for child in node.children if isinstance(child, nodes.title)]
        title = titles[0] if titles else type(node).__name__.capitalize().replace("also", " also")
        blocks = [
            text
            for child in node.children
            if not isinstance(child, nodes.title)
            for text in self._block(child, level=0)
        ]
        return "\n\n".join([f"**{title}**", *map(str, blocks)])

    def _equation(self, node: nodes.Element) -> str:
        number = self._number("displaymath", node) if node.get("number") else ""
        tag = f" \\tag{{{number}}}" if number else ""
        return f"$$\n{node.astext().strip()}{tag}\n$$"

    def _table(self, node: nodes.Element) -> str:
        rows = [
            [self._line(entry).replace("|", "\\|") for entry in row.children]  # type: ignore[arg-type]
            for row in node.findall(nodes.row)
        ]
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    # Text

    def _line(self, node: nodes.Element) -> str:
        return " ".join(self._inline(node).split())

    def _inline(self, node: nodes.Node) -> str:
        match node:
            case nodes.Text():
                return escape(node.astext())
            case nodes.literal():
                return code_span(node.astext())
            case nodes.math():
                return f"${node.astext()}$"
            case nodes.image():
                return escape(node.get("alt", ""))
            case _ if isinstance(node, SILENT):
                return ""
        text = "".join(map(self._inline, node.children))
        match node:
            case nodes.emphasis():
                return f"*{text}*"
            case nodes.strong():
                return f"**{text}**"
            case nodes.superscript():
                return f"<sup>{text}</sup>"
            case nodes.subscript():
                return f"<sub>{text}</sub>"
            case nodes.reference():
                target = node["refuri"] if "refuri" in node else f"#{node['refid']}"
                return f"[{text}]({urljoin(self.address, target)})"
        return text

    def _number(self, kind: str, node: nodes.Element) -> str:
        """Return the number of a figure, an equation or an exercise: nothing on a page in no contents."""
        (anchor, *_) = node["ids"] or [""]
        return ".".join(map(str, self.numbers.get(kind, {}).get(anchor, ())))


def escape(text: str) -> str:
    """Have Markdown take a text as it is."""
    return SPECIAL.sub(r"\\\g<0>", text)


def code_span(text: str) -> str:
    """Return code within a line."""
    marks = "`" * (longest_run(text) + 1) if "`" in text else "`"
    room = " " * (text.startswith("`") or text.endswith("`"))
    return f"{marks}{room}{text}{room}{marks}"


def fenced(text: str, language: str) -> str:
    """Return a block of code."""
    marks = "`" * max(3, longest_run(text) + 1)
    name = {"default": "python", "ipython3": "python", "none": ""}.get(language, language)
    return f"{marks}{name}\n{text.rstrip()}\n{marks}"


def longest_run(text: str) -> int:
    """Return how many backticks a text holds in a row, at most."""
    return max(map(len, re.findall("`+", text)), default=0)


def quoted(text: str) -> str:
    """Return a text as a quotation."""
    return indent(text, "> ", lambda line: True).replace("> \n", ">\n")
