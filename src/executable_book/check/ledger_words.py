"""What a role writes of the ledger into a sentence, with a link; what it cannot write is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from executable_book.check.source_ledger import Ledger, ledger_link, ledger_path, load


class FromLedger(nodes.inline):
    """Words from the ledger, or an account of the problem why there are none.

    With an `anchor`, they become a link to this place of the ledger's page, once it is known where that is.
    """


Fill: TypeAlias = Callable[[FromLedger, str, Ledger], None]
"""Puts what the ledger says of a text into a node, or raises a ValueError that says why it cannot."""


def written(role: SphinxRole, node: FromLedger, fill: Fill) -> list[nodes.Node]:
    """Return what a role writes; what goes wrong is reported with the page's other findings."""
    path = ledger_path(role.env)
    if path:
        role.env.note_dependency(path)
    role.set_source_info(node)
    try:
        fill(node, role.text, load(path)[0])
    except ValueError as error:
        node["problem"] = f"{{{role.name}}}: {error}"
        node += nodes.Text(role.text)
    return [node]


def problems(doctree: nodes.document, kind: type[FromLedger]) -> list[tuple[nodes.Node, str, str]]:
    """Return the nodes without words, what was typed there, and what to say of it."""
    return [
        (node, f"`{node.astext()}`", node["problem"])
        for node in doctree.findall(kind)
        if "problem" in node
    ]


def link_words(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link words to their place in the ledger."""
    for node in doctree.findall(FromLedger):
        if "anchor" in node:
            link = ledger_link(app, docname, node["anchor"], node.astext())
            node.clear()
            node += link
