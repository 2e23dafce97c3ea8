"""Names sources of the ledger in a sentence: each with its title, and a link to what the ledger says of it.

`` {source}`002` `` becomes "Source 002 (its title)", and `` {source}`000 003` `` "Sources 000 and 003 (the
title of both)". A reader, of paper too, then knows which text that is; an author types no title.
"""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from executable_book.check.ledger_words import FromLedger, problems, written
from executable_book.check.repeated_warnings import Finding, store_findings, stored_findings
from executable_book.check.source_ledger import Ledger, source_anchor

UNKNOWN = "unknown-sources"


class NamedSources(FromLedger):
    """Sources, as a sentence names them."""


class SourceRole(SphinxRole):
    """Names sources by their numbers in the ledger."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the sources up."""
        return written(self, NamedSources(self.rawtext), _fill), []


def _fill(node: FromLedger, numbers: str, ledger: Ledger) -> None:
    titles = {one.id: one.title or one.kind for one in ledger.sources}
    ids = numbers.split()
    if unknown := [one for one in ids if one not in titles] or ([] if ids else [numbers]):
        raise ValueError(f"the ledger has no source {unknown[0]!r}")
    node += _named([(one, titles[one]) for one in ids])


def _named(sources: list[tuple[str, str]]) -> Iterator[nodes.Node]:
    """Yield the words for sources; neighbours with the same title share it."""
    last = len(sources) - 1
    for place, (number, title) in enumerate(sources):
        if place:
            yield nodes.Text(" and " if place == last else ", ")
        word = "" if place else "Sources " if last else "Source "
        yield FromLedger("", f"{word}{number}", anchor=source_anchor(number))
        if place == last or sources[place + 1][1] != title:
            yield nodes.Text(f" ({title})")


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Keep which sources of a page are unknown."""
    store_findings(app.env, UNKNOWN, problems(doctree, NamedSources))


def judge_names(app: Sphinx) -> Iterator[Finding]:
    """Report what was kept."""
    return stored_findings(app.env, UNKNOWN)
