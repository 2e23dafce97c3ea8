"""Nodes that stand on a page until all pages are known, when what they stand for can be said.

A part leaves a `Placeholder` of its kind where something is to stand, and offers a function that says what.
`build_order` knows which function goes with which kind.
"""

from collections.abc import Callable, Iterable

from docutils import nodes
from sphinx.application import Sphinx


class Placeholder(nodes.General, nodes.Inline, nodes.Element):
    """Stands for something of a `kind`; further attributes say of what."""


Fill = Callable[[Sphinx, str, Placeholder], Iterable[nodes.Node]]
"""Given the page's name and the placeholder, returns the nodes that come in its place."""
