"""The line at the foot of each executed page: what ran it, and how much of it is vouched for."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.check.source_ledger import report_of
from executable_book.run.executed_cells import cells, executed_with


class PageFoot(nodes.General, nodes.Element):
    """Stands at the foot of a page until it is known what to say there."""


def make_room(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the foot of a page that has code cells."""
    if cells(app.env, doctree):
        chapter: nodes.Element = next(doctree.findall(nodes.section), doctree)
        chapter += PageFoot()


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Say on which device and versions the page ran, and how many source outputs it verifies."""
    for foot in list(doctree.findall(PageFoot)):
        checks = report_of(app.env).on_page(docname)
        failed = {check.output_id for check in checks if check.problem}
        count = len({check.output_id for check in checks} - failed)
        text = sentence(executed_with(app.env, docname), count)
        foot.replace_self(nodes.paragraph("", text, classes=["page-foot"]))


def sentence(about: dict[str, str], verified: int) -> str:
    """Put the facts in words.

    Args:
        about: the `device` and the versions of `torch` and `python`, as far as they are known.
        verified: how many source outputs were verified on the page.
    """
    outputs = f"{verified} source output{'' if verified == 1 else 's'} verified on this page."
    if not about:
        return f"Not executed to its end; {outputs}"
    versions = f"torch {about['torch']} and Python {about['python']}"
    return f"Executed on {about['device']} with {versions}; {outputs}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the line."""
    app.setup_extension("executable_book.check.source_ledger")
    app.connect("doctree-read", make_room)
    app.connect("doctree-resolved", resolve)
    return {
        "version": "1",
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
