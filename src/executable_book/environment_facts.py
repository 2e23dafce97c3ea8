"""Facts that are kept in Sphinx's environment, from build to build.

Sphinx does not read an unchanged page twice. So what a page says is *kept* while it is read, until it is read
again: forgotten with the page, merged from parallel readers. What all pages say together is kept of the
book, and a part that finds it changed has the pages written again that show it.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


@dataclass
class KeptFacts:
    """What the environment keeps: by subject, of each page and of the book."""

    of_pages: dict[str, dict[str, Any]] = field(default_factory=dict)
    of_book: dict[str, Any] = field(default_factory=dict)


def keep(env: BuildEnvironment, subject: str, docname: str, fact: Any) -> None:
    """Remember a fact about a page, until the page is read again."""
    _facts(env).of_pages.setdefault(subject, {})[docname] = fact


def kept(env: BuildEnvironment, subject: str) -> dict[str, Any]:
    """Return what is kept of each page, in the order of their names."""
    return dict(sorted(_facts(env).of_pages.get(subject, {}).items()))


def keep_of_book(env: BuildEnvironment, subject: str, fact: Any) -> Any:
    """Remember a fact about the book, and return what was kept before; None if there was nothing."""
    of_book = _facts(env).of_book
    before = of_book.get(subject)
    of_book[subject] = fact
    return before


def kept_of_book(env: BuildEnvironment, subject: str) -> Any:
    """Return what is kept of the book; None if there is nothing."""
    return _facts(env).of_book.get(subject)


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget the facts about a page that is read again, or gone."""
    for pages in _facts(env).of_pages.values():
        pages.pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: Set[str], other: BuildEnvironment) -> None:
    """Take over what a parallel reader has learnt about its pages."""
    for subject, pages in _facts(other).of_pages.items():
        for docname in docnames & pages.keys():
            keep(env, subject, docname, pages[docname])


def _facts(env: BuildEnvironment) -> KeptFacts:
    if not hasattr(env, "executable_book_facts"):
        env.executable_book_facts = KeptFacts()  # type: ignore[attr-defined]
    facts: KeptFacts = env.executable_book_facts  # type: ignore[attr-defined]
    return facts
