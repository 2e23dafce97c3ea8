"""Citations, and the entries of a bibliography as items of a list.

The role that docutils gives to entries is on its way out: DPUB-ARIA 1.1 deprecates `doc-biblioentry`
(w3c/dpub-aria#22). Its replacement can go when docutils writes another role.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator


def name_text_writer(app: Sphinx, _: BuildEnvironment) -> None:
    """Tell pybtex what writes plain text.

    It would search the metadata of all packages for every citation. This can go when it remembers its find.
    """
    if "sphinxcontrib.bibtex" in app.extensions:
        from pybtex import plugin  # type: ignore[import-untyped]
        from pybtex.backends.plaintext import Backend  # type: ignore[import-untyped]

        plugin.register_plugin("pybtex.backends", "plaintext", Backend, force=True)


def visit(self: HTML5Translator, node: nodes.citation) -> None:
    """Open an entry."""
    HTML5Translator.visit_citation(self, node)
    self.body[-1] = self.body[-1].replace('role="doc-biblioentry"', 'role="listitem"')


def depart(self: HTML5Translator, node: nodes.citation) -> None:
    """Close an entry."""
    HTML5Translator.depart_citation(self, node)


def drop_anchors(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take the anchors off citations: nothing leads there, and every docstring counts them from one."""
    for node in doctree.findall(nodes.inline):
        if "bibtex-citation" in node["classes"]:
            node["ids"] = []
