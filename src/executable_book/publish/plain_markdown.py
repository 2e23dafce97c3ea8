"""Writes a page in the Markdown that every viewer reads, as a text or as the cells of a notebook.

It is the page as Sphinx resolved it: outputs and numbers are in their places, and references are links to the
site. sphinx-markdown-builder and sphinx-llm-friendly write Markdown too, but for documents without cells,
exercises and numbered equations, and with links that lead nowhere from a notebook.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from textwrap import indent
from urllib.parse import urljoin

import nbformat
from docutils import nodes
from nbformat import NotebookNode
from sphinx import addnodes
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node, solution_node  # type: ignore[import-untyped]

from executable_book.check.proof_marks import ProofMark

SPECIAL = re.compile(r"[\\`*<$]|(?<![^\W_])_|_(?![^\W_])|\[(?=[^]]*\]\()")
LINE_START = re.compile(r"^(\d+(?=[.)]\s)|(?=[#>+-]\s))", re.MULTILINE)
LIST_START = re.compile(r"(?:[-*]|\d+\.) ")
SUMMARY = re.compile(r"<summary>(.*?)</summary>")
STYLES = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL)
SILENT = (nodes.Invisible, nodes.meta, nodes.raw)
LANGUAGES = {"default": "python", "ipython3": "python", "myst-ansi": "", "none": ""}
MARKS: dict[type[nodes.Node], tuple[str, str]] = {
    nodes.emphasis: ("*", "*"),
    nodes.strong: ("**", "**"),
    nodes.superscript: ("<sup>", "</sup>"),
    nodes.subscript: ("<sub>", "</sub>"),
}
ANSWER = "# Your answer"


@dataclass(frozen=True)
class PlainMarkdown:
    """Writes one page.

    Attributes:
        address: where the page is on the web; links start from there.
        numbers: the numbers of figures, equations and exercises, by kind and id.
        pictures: the addresses of pictures, by what the document calls them; one without is its text.
        solutions: whether the solutions of exercises are written.
        code: for a notebook alone, the executed code cells, by their place among all cells of the page, each
            with those behind it that the page leaves out.
        site: where the site is, with the files that pages offer.
    """

    address: str
    numbers: Mapping[str, Mapping[str, tuple[int, ...]]]
    pictures: Mapping[str, str] = field(default_factory=dict)
    solutions: bool = True
    code: Mapping[int, Sequence[NotebookNode]] | None = None
    site: str = ""

    def text(self, page: nodes.Element) -> str:
        """Return a page as one text."""
        return self._joined(page.children) + "\n"

    def cells(self, page: nodes.Element) -> list[NotebookNode]:
        """Return a page as the cells of a notebook: a heading begins a new one."""
        cells: list[NotebookNode] = []
        for part in self._blocks(page.children):
            if isinstance(part, NotebookNode):
                cells.append(part)
            elif part.startswith("#") or not cells or cells[-1].cell_type == "code":
                cells.append(nbformat.v4.new_markdown_cell(part))
            else:
                cells[-1].source += f"\n\n{part}"
        return cells

    # Blocks: each is a piece of Markdown, or a cell of a notebook

    def _blocks(self, parts: Iterable[nodes.Node], level: int = 0) -> Iterator[str | NotebookNode]:
        for node in parts:
            yield from self._block(node, level)

    def _block(self, node: nodes.Node, level: int) -> Iterator[str | NotebookNode]:
        match node:
            case nodes.container(attributes={"nb_element": "cell_code"}) if self.code is not None:
                cell, *left_out = self.code[node["cell_index"]]
                if any("text/markdown" in output.get("data", ()) for output in cell.outputs):
                    # It writes text of the page, with links and roles that only this book knows.
                    yield nbformat.from_dict(cell | {"outputs": []})
                    yield from self._blocks(node.children[1:], level)
                else:
                    yield cell
                    for figure in node.findall(nodes.figure):
                        yield from self._caption(figure)
                yield from left_out
            case nodes.container(attributes={"nb_element": "cell_code_output"}):
                for child in node.children:
                    if isinstance(child, nodes.raw) and child.get("format") == "html":
                        yield plain_html(child.astext())
                    else:
                        yield from self._block(child, level)
            case ProofMark():
                yield f"*{node['sign']} {node['says']}.*"
            case nodes.section() | addnodes.desc():
                yield from self._blocks(node.children, level + 1)
            case nodes.title():
                yield f"{'#' * level} {self._line(node)}"
            case exercise_node() | exercise_enumerable_node():
                title = ["Exercise", self._number("exercise", node), node[0].astext().strip()]
                yield f"{'#' * (level + 1)} {escape(' '.join(filter(None, title)))}"
                yield from self._below_title(node, level)
                if self.code is not None and not self.solutions:
                    yield nbformat.v4.new_code_cell(ANSWER)
            case solution_node():
                if self.solutions:
                    yield f"{'#' * (level + 1)} {escape(node[0].astext())}"
                    yield from self._below_title(node, level)
            case nodes.figure():
                yield from map(self._inline, node.findall(nodes.image))
                yield from self._caption(node)
            case addnodes.desc_signature():
                yield f"{'#' * min(level, 6)} {code_span(node.astext())}"
            case nodes.field_list() | nodes.definition_list():
                yield "\n".join(map(self._described, node.children))
            case nodes.citation() | nodes.footnote():
                yield f"**{node[0].astext()}.** {self._joined(node.children[1:])}"
            case nodes.rubric():
                yield f"**{self._line(node)}**"
            case nodes.bullet_list():
                yield "\n".join(list_item("- ", self._joined(one.children)) for one in node)
            case nodes.enumerated_list():
                items = enumerate(node.children, start=node.get("start", 1))
                yield "\n".join(list_item(f"{n}. ", self._joined(one.children)) for n, one in items)
            case nodes.Admonition():
                yield quoted(self._admonition(node))  # type: ignore[arg-type]
            case nodes.math_block():
                number = self._number("displaymath", node) if node.get("number") else ""
                tag = f" \\tag{{{number}}}" if number else ""
                yield f"$$\n{node.astext().strip()}{tag}\n$$"
            case nodes.literal_block() | nodes.doctest_block():
                yield fenced(marked(node), node.get("language", ""))
            case nodes.table():
                yield self._table(node)
            case nodes.raw() if found := SUMMARY.search(node.astext()):
                yield f"*{escape(unescape(found[1]))}*"
            case nodes.image() | nodes.TextElement() if not isinstance(node, SILENT):
                yield LINE_START.sub(r"\1\\", self._inline(node))
            case nodes.Element() if not isinstance(node, SILENT):
                yield from self._blocks(node.children, level)

    def _below_title(self, node: nodes.Element, level: int) -> Iterator[str | NotebookNode]:
        """Write what follows a title; it may lie in a section that is no chapter's."""
        for child in node.children[1:]:
            children = child.children if isinstance(child, nodes.section) else [child]
            yield from self._blocks(children, level)

    def _caption(self, figure: nodes.Element) -> Iterator[str]:
        for caption in figure.findall(nodes.caption):
            number = self._number("figure", figure)
            yield f"*{f'Figure {number}'.strip()}.* {self._inline(caption)}"

    def _joined(self, parts: Iterable[nodes.Node]) -> str:
        """Write blocks as one text."""
        return "\n\n".join(map(str, self._blocks(parts)))

    def _described(self, item: nodes.Node) -> str:
        """Write what is said of some terms, or of a field such as the parameters of a function."""
        names = (nodes.term, nodes.field_name)
        terms = [self._line(child) for child in item.children if isinstance(child, names)]
        bodies = (nodes.definition, nodes.field_body)
        meaning = [part for child in item.children if isinstance(child, bodies) for part in child]
        text = self._joined(meaning)
        separator = "\n" if LIST_START.match(text) else " "
        return list_item("- ", f"**{', '.join(terms)}**:{separator}{text}")

    def _admonition(self, node: nodes.Element) -> str:
        titles = [self._line(child) for child in node.children if isinstance(child, nodes.title)]
        title = titles[0] if titles else type(node).__name__.capitalize().replace("also", " also")
        rest = (child for child in node.children if not isinstance(child, nodes.title))
        return f"**{title}**\n\n{self._joined(rest)}"

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
        if isinstance(node, nodes.reference):
            target = node.get("refuri") or f"#{node.get('refid', '')}"
            if "filename" in node:
                target = urljoin(self.site, f"_downloads/{node['filename']}")
            return f"[{text}]({urljoin(self.address, target)})"
        marks = (marks for kind, marks in MARKS.items() if isinstance(node, kind))
        before, after = next(marks, ("", ""))
        return f"{before}{text}{after}"

    def _number(self, kind: str, node: nodes.Element) -> str:
        """Return the number of a figure, an equation or an exercise: nothing on a page in no contents."""
        (anchor, *_) = node["ids"] or [""]
        return ".".join(map(str, self.numbers.get(kind, {}).get(anchor, ())))


def escape(text: str) -> str:
    """Have Markdown take a text as it is."""
    return SPECIAL.sub(r"\\\g<0>", text)


def plain_html(text: str) -> str:
    """Return HTML that Markdown takes as it is: without styles and scripts, and without empty lines."""
    shown = STYLES.sub("", text)
    return "\n".join(line for line in shown.splitlines() if line.strip())


def code_span(text: str) -> str:
    """Return code within a line."""
    marks = "`" * (longest_run(text) + 1)
    space = " " * (text.startswith("`") or text.endswith("`"))
    return f"{marks}{space}{text}{space}{marks}"


def marked(code: nodes.Element) -> str:
    """Return code in which a comment marks the lines that a page marks with a colour."""
    lines = code.astext().splitlines()
    arguments: dict[str, list[int]] = code.get("highlight_args", {})
    for number in arguments.get("hl_lines", ()):
        lines[number - 1] += "  # new"
    return "\n".join(lines)


def fenced(text: str, language: str) -> str:
    """Return a block of code."""
    marks = "`" * max(3, longest_run(text) + 1)
    return f"{marks}{LANGUAGES.get(language, language)}\n{text.rstrip()}\n{marks}"


def longest_run(text: str) -> int:
    """Return how many backticks a text holds in a row, at most."""
    return max(map(len, re.findall("`+", text)), default=0)


def list_item(mark: str, text: str) -> str:
    """Return an item of a list, whose further lines stand below the first one's text."""
    return mark + indent(text, " " * len(mark)).lstrip()


def quoted(text: str) -> str:
    """Return a text as a quotation."""
    return indent(text, "> ", lambda line: True).replace("> \n", ">\n")
