"""The code cells of a page that has been read, and the text that they printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.environment import BuildEnvironment

from executable_book.book_domain import page_data
from executable_book.run.kernels.notebook_runner import EXECUTED_WITH
from executable_book.run.page_execution import EXECUTIONS


@dataclass(frozen=True)
class ExecutedCell:
    """A code cell: its node in the page, its code, and what it printed."""

    node: nodes.container
    line: int
    code: str
    printed: str

    @property
    def options(self) -> dict[str, Any]:
        """The options of the cell, such as `:verifies:`."""
        options: dict[str, Any] = self.node["cell_metadata"]
        return options


def cells(env: BuildEnvironment, doctree: nodes.document) -> list[ExecutedCell]:
    """Return the code cells of the page that is being read, in order."""
    starts = env.metadata[env.docname].get("source_map", [])
    found = [node for node in doctree.findall(nodes.container) if _is(node, "cell_code")]
    return [_cell(node, starts) for node in found]


def executed_with(env: BuildEnvironment, docname: str) -> dict[str, str]:
    """Return the `device` and the versions that executed a page, by name.

    The notebook carries them in its metadata, of which myst-nb makes JSON in the page's metadata.
    """
    return dict(json.loads(env.metadata[docname].get(EXECUTED_WITH, "{}")))


def failed_pages(env: BuildEnvironment) -> set[str]:
    """Return the pages that went wrong or ended early: what they printed is not to be relied on."""
    pages = page_data(env, EXECUTIONS)
    return {docname for docname, page in pages.items() if page.findings or page.lacks}


def _cell(node: nodes.container, starts: list[int]) -> ExecutedCell:
    code = [child.astext() for child in node.children if _is(child, "cell_code_source")]
    outputs = [child for child in node.children if _is(child, "cell_code_output")]
    texts = [_text(output) for container in outputs for output in container.children]
    return ExecutedCell(
        node=node,
        line=starts[node["cell_index"]] if starts else node.line or 0,
        code="\n".join(code),
        printed="\n".join(text.rstrip() for text in texts if text.strip()),
    )


def _text(output: nodes.Node) -> str:
    """Return the text of an output, nothing for a picture."""
    if _is(output, "mime_bundle"):
        offers = [child for child in output.children if isinstance(child, nodes.container)]
        return _bundle_text({offer["mime_type"]: offer for offer in offers})
    return output.astext() if isinstance(output, nodes.literal_block) else ""


def _bundle_text(by_mime: dict[str, nodes.container]) -> str:
    if any(mime.startswith("image/") for mime in by_mime):
        return ""
    for mime in ("text/markdown", "text/latex", "text/html", "text/plain"):
        if mime in by_mime:
            return by_mime[mime].astext()
    return ""


def _is(node: nodes.Node, element: str) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == element
