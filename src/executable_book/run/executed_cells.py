"""The code cells of a page that has been read: what they printed, and what went wrong."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_book.remembered import book_data, page_data

EXECUTIONS, EXECUTED_WITH = "executions", "executed with"
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")
FIGURE_TEXT = re.compile(r"<!-- (.+?) -->", re.DOTALL)
TITLE = ".//{http://creativecommons.org/ns#}Work/{http://purl.org/dc/elements/1.1/}title"


Problem = tuple[int, str]
"""A line of a page, and what to say of it."""
NOT_EXECUTED = (0, "")
"""What ended a page that was not to be executed."""


@dataclass(frozen=True)
class ExecutedCell:
    """A code cell: its node in the page, the line on which it begins, and its code."""

    node: nodes.container
    line: int
    code: str

    @property
    def options(self) -> dict[str, Any]:
        """The options of the cell, such as `:verifies:`."""
        options: dict[str, Any] = self.node["cell_metadata"]
        return options

    @cached_property
    def outputs(self) -> list[nodes.Node]:
        """What the cell shows."""
        found = [child for child in self.node.children if _is(child, "cell_code_output")]
        return [output for container in found for output in container.children]

    @cached_property
    def printed(self) -> str:
        """The text that the cell shows."""
        texts = [_text(output).rstrip() for output in self.outputs]
        return "\n".join(text for text in texts if text.strip())

    @property
    def images(self) -> list[nodes.image]:
        """The pictures that the cell shows."""
        return [image for output in self.outputs for image in output.findall(nodes.image)]

    def drawings(self, app: Sphinx) -> list[tuple[nodes.image, str]]:
        """The pictures that the cell shows, where they are SVG, and their files' text."""
        found = [(image, Path(app.srcdir, image["uri"])) for image in self.images]
        return [
            (image, file.read_text("utf-8"))
            for image, file in found
            if file.suffix == ".svg" and file.is_file()
        ]

    def written(self, kind: str) -> str:
        """Return what the cell wrote to `stderr`, or the `traceback` of what it raised."""
        blocks = (one for one in self.outputs if isinstance(one, nodes.literal_block))
        return "\n".join(one.astext() for one in blocks if kind in one["classes"])


def cells(env: BuildEnvironment, doctree: nodes.document) -> list[ExecutedCell]:
    """Return the code cells of the page that is being read, in order."""
    lines = env.metadata[env.docname].get("source_map", ())
    return [
        ExecutedCell(
            node,
            lines[node["cell_index"]],
            "\n".join(one.astext() for one in node.children if _is(one, "cell_code_source")),
        )
        for node in doctree.findall(nodes.container)
        if is_cell(node)
    ]


def executed_with(env: BuildEnvironment, docname: str) -> dict[str, str]:
    """Return the `device` and the versions that executed a page, by name; nothing if it failed."""
    about: dict[str, str] | None = book_data(env, EXECUTED_WITH)
    return about if about and docname not in failed_pages(env) else {}


def failed_pages(env: BuildEnvironment) -> set[str]:
    """Return the pages that did not run to their end: what they printed is not all that they print."""
    failures: dict[str, Problem | None] = page_data(env, EXECUTIONS)
    return {docname for docname, failure in failures.items() if failure}


# What went wrong


def problems_of_page(found: list[ExecutedCell], executed: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with a page, by its cells and by what MyST-NB says; at last, what ended it."""
    end, why = (len(found), "") if executed["succeeded"] else failure_of(found, executed)
    for cell in found[:end]:
        yield from problems(cell)
    if why:
        yield found[end].line if end < len(found) else 1, f"this cell failed: {why}"


def failure_of(found: list[ExecutedCell], executed: Mapping[str, Any]) -> tuple[int, str]:
    """Return the number of the cell that ended a page, and why it did; none is seen of a removed output."""
    for number, cell in enumerate(found):
        traceback = cell.written("traceback").strip()
        if traceback and "raises-exception" not in cell.options.get("tags", ()):
            return number, traceback.splitlines()[-1]
    return len(found), str(executed["error"])


def problems(cell: ExecutedCell) -> Iterator[Problem]:
    """Yield what is wrong with the outputs of a cell."""
    if text := cell.written("stderr").strip():
        yield cell.line, f"this cell wrote to stderr: {text.splitlines()[0]}"
    if ADDRESS.search(cell.printed):
        yield cell.line, "this cell prints a memory address, another one at every build"
    if any("alt" not in image for image in cell.images):
        yield cell.line, "this cell's figure has no alternative text"


def describe_figures(app: Sphinx, doctree: nodes.document) -> None:
    """Give each figure of a cell the title that its file bears as its alternative text."""
    for cell in cells(app.env, doctree):
        for image, svg in cell.drawings(app):
            if "alt" not in image and (title := title_of(svg)):
                image["alt"] = title


def title_of(svg: str) -> str:
    """Return the title that a drawing bears."""
    return (ElementTree.fromstring(svg).findtext(TITLE) or "").strip()


def figure_in_words(svg: str) -> str:
    """Return what a drawing says: its title, and those of its texts that hold a number."""
    texts = [text for text in FIGURE_TEXT.findall(svg) if re.search(r"\d", text)]
    return f"figure: {title_of(svg)}\nin it: {' '.join(texts)}"


def is_cell(node: nodes.Node) -> bool:
    """Tell whether a node is a code cell."""
    return _is(node, "cell_code")


def _is(node: nodes.Node, element: str) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == element


def _text(output: nodes.Node) -> str:
    """Return the text of an output, nothing for a picture."""
    if not _is(output, "mime_bundle"):
        return output.astext() if isinstance(output, nodes.literal_block) else ""
    offers = {one["mime_type"]: one for one in output.children if isinstance(one, nodes.container)}
    if any(mime.startswith("image/") for mime in offers):
        return ""
    kinds = ("text/markdown", "text/html", "text/plain")
    return next((offers[mime].astext() for mime in kinds if mime in offers), "")
