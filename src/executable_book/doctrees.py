"""What is kept of a page for later builds is the page alone."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def own_all_nodes(_: Sphinx, doctree: nodes.document) -> None:
    """Make a page the document of all its nodes.

    Those that describe an object in an `eval-rst` block belong to another document, which MyST makes for the
    block and which knows the build: all that is known of all pages would be kept with this one, and be read
    again by each later build. It can go once such a block is merged into its page:
    https://github.com/executablebooks/MyST-Parser/issues/953
    """
    for node in doctree.findall():
        node.document = doctree


def part_exercises_from_pages(app: Sphinx, doctree: nodes.document) -> None:
    """Make what sphinx-exercise keeps of a page's exercises and solutions copies that hold no page.

    It keeps the nodes to look up their titles, each with the document that it stands in, and every build
    reads what is kept. It can go once `sphinx_exercise.directive` registers nodes without a document.
    """
    for one in getattr(app.env, "sphinx_exercise_registry", {}).values():
        if one["docname"] == app.env.docname:
            one["node"] = copy_without_page(one["node"])


def copy_without_page(node: nodes.Node) -> nodes.Node:
    """Return a copy of a node, and of all within it, that does not hold the page where it stands."""
    copy: nodes.Node = node.deepcopy()
    for one in copy.findall():
        one.document = None  # type: ignore[assignment]
    return copy
