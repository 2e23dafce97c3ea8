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
