"""Writes a page as the cells of a notebook: Markdown between the code that was executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import nbformat
from docutils import nodes
from nbformat import NotebookNode

from executable_book.publish.plain_markdown import PlainMarkdown

ANSWER = "# Your answer"


@dataclass(frozen=True)
class NotebookCells(PlainMarkdown):
    """Writes one page.

    Attributes:
        code: the executed code cells, by their place among all cells of the page.
    """

    code: Mapping[int, NotebookNode] = field(default_factory=dict)

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

    def _cell(self, node: nodes.Element) -> Iterator[str | NotebookNode]:
        """Write a cell, whose outputs hold the picture of a figure already."""
        yield self.code[node["cell_index"]]
        for figure in node.findall(nodes.figure):
            yield from self._caption(figure)

    def _exercise(self, node: nodes.Element, level: int) -> Iterator[str | NotebookNode]:
        yield from super()._exercise(node, level)
        if not self.solutions:
            yield nbformat.v4.new_code_cell(ANSWER)

    def _report(self, node: nodes.Node) -> None:
        """Say nothing: the page as plain Markdown has said it already."""
