"""Names sources of the ledger in a sentence: each with its title, and a link to what the ledger says of it.

`` {source}`002` `` becomes "Source 002 (its title)", and `` {source}`000 003` `` "Sources 000 and 003 (the
title of both)". A reader, of paper too, then knows which text that is; an author types no title.
"""

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from executable_book.check.repeated_warnings import Finding, store_findings, stored_findings
from executable_book.check.source_ledger import ledger_link, ledger_path, load, source_anchor

UNKNOWN = "unknown-sources"


class SourceName(nodes.inline):
    """A source as a sentence names it: a link, once it is known where the ledger is; or its `problem`."""


class SourceRole(SphinxRole):
    """Names sources by their numbers in the ledger."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the sources up."""
        path = ledger_path(self.env)
        if path:
            self.env.note_dependency(path)
        titles = {one.id: one.title or one.kind for one in load(path).sources}
        ids = self.text.split()
        if unknown := next((one for one in ids or [self.text] if one not in titles), None):
            problem = f"{{{self.name}}}: the ledger has no source {unknown!r}"
            node: nodes.inline = SourceName("", self.text, problem=problem)
        else:
            node = nodes.inline("", "", *_named([(one, titles[one]) for one in ids]))
        self.set_source_info(node)
        return [node], []


def _named(sources: list[tuple[str, str]]) -> Iterator[nodes.Node]:
    """Yield the words for sources; neighbours with the same title share it."""
    last = len(sources) - 1
    for place, (number, title) in enumerate(sources):
        if place:
            yield nodes.Text(" and " if place == last else ", ")
        word = "" if place else "Sources " if last else "Source "
        yield SourceName("", f"{word}{number}", anchor=source_anchor(number))
        if place == last or sources[place + 1][1] != title:
            yield nodes.Text(f" ({title})")


def link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link names to their places in the ledger."""
    for node in doctree.findall(SourceName):
        if "anchor" in node:
            name = node.astext()
            node.children = []
            node += ledger_link(app, docname, node["anchor"], name)


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Store which sources of a page are unknown."""
    unknown = (node for node in doctree.findall(SourceName) if "problem" in node)
    found = ((node, f"`{node.astext()}`", node["problem"]) for node in unknown)
    store_findings(app.env, UNKNOWN, found)


def judge_names(app: Sphinx) -> Iterator[Finding]:
    """Report what was stored."""
    return stored_findings(app.env, UNKNOWN)
