"""Names sources of the ledger in a sentence: each with its title, and a link to what the ledger says of it.

`` {source}`002` `` becomes "Source 002 (its title)", and `` {source}`000 003` `` "Sources 000 and 003 (the
title of both)". A reader, of paper too, then knows which text that is; an author types no title.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from executable_book.check.numbers_in_prose import line_of
from executable_book.check.repeated_warnings import Finding
from executable_book.check.source_ledger import ledger_link, ledger_path, load, source_anchor
from executable_book.environment_facts import keep, kept

UNKNOWN = "unknown-sources"


class SourceName(nodes.inline):
    """The number of a source, which becomes a link once it is known where the ledger stands."""


class NamedSources(nodes.inline):
    """Sources, as a sentence names them, or an account of why it cannot."""


class SourceRole(SphinxRole):
    """Names sources by their numbers in the ledger."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the sources up; one that is unknown is reported with the page's other findings."""
        path = ledger_path(self.env)
        if path:
            self.env.note_dependency(path)
        titles = {one.id: one.title or one.kind for one in load(path)[0].sources}
        node = NamedSources(self.rawtext)
        self.set_source_info(node)
        ids = self.text.split()
        if unknown := [one for one in ids if one not in titles] or ([] if ids else [self.text]):
            node["problem"] = f"{{source}}: the ledger has no source {unknown[0]!r}"
            node += nodes.Text(self.text)
        else:
            node += _named([(one, titles[one]) for one in ids])
        return [node], []


def _named(sources: list[tuple[str, str]]) -> Iterator[nodes.Node]:
    """Yield the words for sources; neighbours with the same title share it."""
    last = len(sources) - 1
    for place, (number, title) in enumerate(sources):
        if place:
            yield nodes.Text(" and " if place == last else ", ")
        word = "" if place else "Sources " if last else "Source "
        yield SourceName("", f"{word}{number}", source_id=number)
        if place == last or sources[place + 1][1] != title:
            yield nodes.Text(f" ({title})")


def link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link each source to what the ledger says of it."""
    for node in doctree.findall(SourceName):
        link = ledger_link(app, docname, source_anchor(node["source_id"]), node.astext())
        node.clear()
        node += link


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Keep which sources of a page are unknown."""
    found = [node for node in doctree.findall(NamedSources) if "problem" in node]
    if found:
        lines = Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8").splitlines()
        findings = [(line_of(one, f"`{one.astext()}`", lines), one["problem"]) for one in found]
        keep(app.env, UNKNOWN, app.env.docname, findings)


def judge_names(app: Sphinx) -> Iterator[Finding]:
    """Report what was kept."""
    for docname, found in kept(app.env, UNKNOWN).items():
        yield from (Finding(docname, line, message) for line, message in found)
