"""Nodes that stand on a page until all pages are known, when what they stand for can be said.

A part leaves a `Placeholder` of its kind where something is to stand, and offers a function that says what.
`build_order` knows which function goes with which kind, and which kinds authors write as directives.
"""

from collections.abc import Callable, Iterable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from executable_book.book_domain import set_page_data


class Placeholder(nodes.General, nodes.Inline, nodes.Element):
    """Stands for something of a `kind`; further attributes say of what."""


Fill = Callable[[Sphinx, str, Placeholder], Iterable[nodes.Node]]
"""Given the page's name and the placeholder, returns the nodes that come in its place."""


class PlaceholderDirective(SphinxDirective):
    """Puts a placeholder of its name on a page, and notes that the page shows it."""

    def run(self) -> list[nodes.Node]:
        """Put the placeholder."""
        set_page_data(self.env, self.name, self.env.docname, True)
        return [Placeholder(kind=self.name)]
