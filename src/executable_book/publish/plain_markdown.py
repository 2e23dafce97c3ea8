"""Writes a page in the Markdown that every viewer reads.

A notebook, an editor or a program that reads text knows nothing of directives, labels and citations. So what
they get is the page as Sphinx resolved it: outputs and numbers are in their places, references are links to
the site, equations carry their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import indent
from urllib.parse import urljoin

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
SPECIAL = re.compile(r"[\\`*<$]|(?<![^\W_])_|_(?![^\W_])|\[(?=[^]]*\]\()")
LINE_START = re.compile(r"^(\d+(?=[.)]\s)|(?=[#>+-]\s))", re.MULTILINE)
SUMMARY = re.compile(r"<summary>(.*?)</summary>")
SILENT = (nodes.Invisible, nodes.meta, nodes.raw)
NOT_OURS = {"toctree-wrapper"}
"""What stands on the site only: tables of contents."""


@dataclass(frozen=True)
class PlainMarkdown:
    """Writes one page.

    Attributes:
        address: where the page is on the web; links start from there.
        numbers: the numbers of figures, equations and exercises, by kind and id.
        pictures: the addresses of pictures, by what the document calls them; a picture without an address
            is its alternative text.
        solutions: whether the solutions of exercises are written.
    """

    address: str
    numbers: Mapping[str, Mapping[str, tuple[int, ...]]]
    pictures: Mapping[str, str] = field(default_factory=dict)
    solutions: bool = True

    def text(self, page: nodes.Element) -> str:
        """Return a page as one text."""
        return "\n\n".join(map(str, self._blocks(page, level=0))) + "\n"

    # Blocks: each is a piece of Markdown, or a cell of a notebook

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
            case nodes.figure():
                yield from self._figure(node)
            case addnodes.desc_signature():
                yield f"{'#' * min(level, 6)} {code_span(node.astext())}"
            case addnodes.desc():
                yield from self._blocks(node, level + 1)
            case nodes.field_list():
                yield "\n".join(map(self._field, node.children))
            case nodes.citation() | nodes.footnote():
                yield f"**{node[0].astext()}.** {self._joined(node.children[1:])}"
            case nodes.image():
                yield self._inline(node)
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
            case nodes.raw() if found := SUMMARY.search(node.astext()):
                yield f"*{escape(found[1])}*"
            case nodes.transition():
                yield "---"
            case addnodes.desc_content() | addnodes.glossary() | HideCodeCellNode():
                yield from self._blocks(node, level)
            case nodes.container() | nodes.compound():
                yield from self._blocks(node, level)
            case nodes.Text() if not node.strip():
                pass
            case _ if isinstance(node, SILENT):
                pass
            case _:
                self._report(node)

    def _report(self, node: nodes.Node) -> None:
        LOGGER.warning(
            "plain Markdown cannot say <%s>",
            type(node).__name__,
            location=node,
            type="book",
            subtype="markdown",
        )

    def _cell(self, node: nodes.Element) -> Iterator[str | NotebookNode]:
        yield from self._blocks(node, level=0)

    def _figure(self, figure: nodes.Element) -> Iterator[str]:
        yield from map(self._inline, figure.findall(nodes.image))
        yield from self._caption(figure)

    def _caption(self, figure: nodes.Element) -> Iterator[str]:
        for caption in figure.findall(nodes.caption):
            number = self._number("figure", figure)
            yield f"*{f'Figure {number}'.strip()}.* {self._inline(caption)}"

    def _exercise(self, node: nodes.Element, level: int) -> Iterator[str | NotebookNode]:
        title = ["Exercise", self._number("exercise", node), node[0].astext().strip()]
        yield f"{'#' * (level + 1)} {escape(' '.join(filter(None, title)))}"
        yield from self._rest(node, level)

    def _rest(self, node: nodes.Element, level: int) -> Iterator[str | NotebookNode]:
        """Write what follows a title; it may lie in a section that is no chapter's."""
        for child in node.children[1:]:
            if isinstance(child, nodes.section):
                yield from self._blocks(child, level)
            else:
                yield from self._block(child, level)

    def _text(self, node: nodes.Element) -> str:
        """Write the blocks in a list, a quotation or the like, where there are no cells."""
        return self._joined(node.children)

    def _joined(self, parts: Iterable[nodes.Node]) -> str:
        return "\n\n".join(str(text) for part in parts for text in self._block(part, level=0))

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

    def _field(self, field: nodes.Node) -> str:
        name, body = field.children
        return f"- **{self._line(name)}**: {indent(self._text(body), '  ').lstrip()}"  # type: ignore[arg-type]

    def _admonition(self, node: nodes.Element) -> str:
        titles = [self._line(child) for child in node.children if isinstance(child, nodes.title)]
        title = titles[0] if titles else type(node).__name__.capitalize().replace("also", " also")
        rest = (child for child in node.children if not isinstance(child, nodes.title))
        return f"**{title}**\n\n{self._joined(rest)}"

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
                text = escape(node.get("alt", ""))
                where = self.pictures.get(node["uri"])
                return f"![{text}]({urljoin(self.address, where)})" if where else text
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
    name = {"default": "python", "ipython3": "python", "myst-ansi": "", "none": ""}.get(
        language, language
    )
    return f"{marks}{name}\n{text.rstrip()}\n{marks}"


def longest_run(text: str) -> int:
    """Return how many backticks a text holds in a row, at most."""
    return max(map(len, re.findall("`+", text)), default=0)


def quoted(text: str) -> str:
    """Return a text as a quotation."""
    return indent(text, "> ", lambda line: True).replace("> \n", ">\n")
