"""Figures are numbered by outlines of the pages.

To number figures, Sphinx opens every page at each build and goes through all that it holds
(sphinx-doc/sphinx#11908; #10316 tells what that costs others). So an outline of each page is kept as it is
read, and stands for the page while Sphinx numbers. This can go when Sphinx looks only at what has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from executable_book.doctrees import copy_without_page
from executable_book.environment_facts import keep, kept

OUTLINES = "outlines"


def keep_outline(app: Sphinx, doctree: nodes.document) -> None:
    """Keep what of a page decides how its figures, tables, listings and exercises are numbered."""
    if app.config.numfig:
        standard = app.env.domains.standard_domain
        others = [one for one in app.env.domains.sorted() if one is not standard]

        def is_numbered(node: nodes.Element) -> bool:
            return bool(node["ids"]) and (
                bool(standard.get_numfig_title(node))
                or any(domain.get_enumerable_node_type(node) for domain in others)
            )

        keep(app.env, OUTLINES, app.env.docname, outline(doctree, is_numbered))


def outline(node: nodes.Element, is_numbered: Callable[[nodes.Element], bool]) -> nodes.Element:
    """Return a copy of a node that holds its sections, its contents and what bears a number, and no more."""
    is_section = isinstance(node, nodes.section)
    copy: nodes.Element = nodes.section(ids=node["ids"]) if is_section else nodes.container()
    for child in node.children:
        if isinstance(child, nodes.section):
            copy += outline(child, is_numbered)
        elif isinstance(child, nodes.Element):
            if isinstance(child, addnodes.toctree) or is_numbered(child):
                copy += copy_without_page(child)
            else:
                copy += outline(child, is_numbered).children
    return copy


def show_outlines(app: Sphinx, env: Any) -> list[str]:
    """Have outlines stand for pages, where there are some."""
    open_page, outlines = env.get_doctree, kept(env, OUTLINES)
    env.get_doctree = lambda docname: outlines.get(docname) or open_page(docname)
    return []


def show_pages(app: Sphinx, env: Any) -> list[str]:
    """Have pages stand for themselves again."""
    del env.get_doctree
    return []
