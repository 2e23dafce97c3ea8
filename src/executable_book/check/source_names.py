"""Names sources of the ledger in a sentence: each with its title, and a link to what the ledger says of it.

`` {source}`002` `` becomes "Source 002 (its title)", and `` {source}`000 003` `` "Sources 000 and 003 (the
title of both)". A reader, of paper too, then knows which text that is; an author types no title.
"""

from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxRole

from executable_book.check.source_ledger import ledger_path, load, source_label


class SourceRole(SphinxRole):
    """Names sources by their numbers in the ledger."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the sources up; a label that the ledger does not have is reported by Sphinx."""
        path = ledger_path(self.env)
        if path:
            self.env.note_dependency(path)
        titles = {one.id: one.title or one.kind for one in load(path).sources}
        numbers = self.text.split() or [self.text]
        named = self._named([(one, titles.get(one, "unknown")) for one in numbers])
        return [nodes.inline("", "", *named)], []

    def _named(self, sources: list[tuple[str, str]]) -> Iterator[nodes.Node]:
        """Yield the words for sources; neighbours with the same title share it."""
        last = len(sources) - 1
        for place, (number, title) in enumerate(sources):
            if place:
                yield nodes.Text(" and " if place == last else ", ")
            word = "" if place else "Sources " if last else "Source "
            text = nodes.inline("", f"{word}{number}")
            about = {"refdomain": "std", "reftype": "ref", "refdoc": self.env.docname}
            label = addnodes.pending_xref(
                "", text, reftarget=source_label(number), refexplicit=True, refwarn=True, **about
            )
            self.set_source_info(label)
            yield label
            if place == last or sources[place + 1][1] != title:
                yield nodes.Text(f" ({title})")
