"""What is found wrong is said again at every build.

Sphinx does not read an unchanged page twice, and skips its consistency check when nothing changed: a warning
given while reading is heard once, and the second build of a broken book passes. So a check here works in two
steps. While a page is read it *keeps* facts about it (see `book_domain`). At the end of every build it
*judges* all facts of all pages anew, and each finding becomes a warning (an error under `-W`). What is judged
must not depend on which pages were read in this build.

Warnings of others (an unknown role, a dead reference) are said again in another way: a build that follows one
with such warnings reads and writes all pages.
"""

from __future__ import annotations

import logging as stdlib_logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from docutils import nodes
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from executable_book.book_domain import page_data, set_page_data
from executable_book.files_on_disk import digest_of

LOGGER = logging.getLogger(__name__)
KIND = "book"
"""The type of our warnings; the subtype is the name of the check: `suppress_warnings = ["book.ledger"]`."""


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong: the page or file, the line (0: all of it), and what to say."""

    where: str
    line: int
    message: str


Judge: TypeAlias = Callable[[Sphinx], Iterable[Finding]]


def judge(app: Sphinx, check: str, function: Judge) -> None:
    """Have a check's findings reported as warnings of type `book` at the end of every build."""
    _judged.add(f"{KIND}.{check}")

    def report(app: Sphinx, exception: Exception | None) -> None:
        if exception is None:
            for one in sorted(set(function(app))):
                LOGGER.warning(one.message, location=_place(app.env, one), type=KIND, subtype=check)

    app.connect("build-finished", report)


def store_findings(
    env: BuildEnvironment, subject: str, found: list[tuple[nodes.Node, str, str]]
) -> None:
    """Keep what is wrong with the page that is read: at which node, what was typed there, what to say."""
    if found:
        lines = Path(env.doc2path(env.docname)).read_text(encoding="utf-8").splitlines()
        findings = [(_line(node, typed, lines), message) for node, typed, message in found]
        set_page_data(env, subject, env.docname, findings)


def stored_findings(env: BuildEnvironment, subject: str) -> Iterator[Finding]:
    """Yield what was kept."""
    for docname, found in page_data(env, subject).items():
        yield from (Finding(docname, line, message) for line, message in found)


def _line(node: nodes.Node, typed: str, lines: list[str]) -> int:
    """Return the line on which something was typed: docutils knows it only roughly."""
    near = next((one.line for one in (node, *ancestors(node)) if one.line), 0)
    found = [number for number, line in enumerate(lines, start=1) if typed in line]
    return min(found, key=lambda number: abs(number - near), default=near)


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    """Yield what a node stands in, from near to far."""
    while node.parent is not None:
        node = node.parent
        yield node


_judged: set[str] = set()
"""The kinds of warning that are given again by every build."""


def _place(env: BuildEnvironment, one: Finding) -> str:
    path = str(env.doc2path(one.where)) if one.where in env.found_docs else one.where
    # Without a line, Sphinx would take the path for the name of a page.
    return f"{path}:{one.line or 1}"


class WarningCounter(stdlib_logging.Handler):
    """Counts the warnings that nobody judges again."""

    def __init__(self, app: Sphinx) -> None:
        super().__init__(stdlib_logging.WARNING)
        self.app = app
        self.count = 0
        stdlib_logging.getLogger(logging.NAMESPACE).addHandler(self)

    def emit(self, record: stdlib_logging.LogRecord) -> None:
        """Count one warning."""
        kind, subtype = getattr(record, "type", ""), getattr(record, "subtype", "")
        suppressed = [*self.app.config.suppress_warnings, *_judged]
        self.count += not logging.is_suppressed_warning(kind, subtype, suppressed)

    def remember(self, app: Sphinx, exception: Exception | None) -> None:
        """Leave a mark for the next build if there was a warning."""
        if exception is None:
            if self.count:
                _mark(app).touch()
            else:
                _mark(app).unlink(missing_ok=True)


def start_afresh(app: Sphinx, config: Config) -> None:
    """Forget all pages if the last build ended with warnings."""
    if _mark(app).exists():
        (app.doctreedir / ENV_PICKLE_FILENAME).unlink(missing_ok=True)


def _mark(app: Sphinx) -> Path:
    return Path(app.doctreedir) / ".warned"


def digest_of_tools() -> str | None:
    """Return a digest of this tool chain, all of it: facts that an older check kept are no facts."""
    return digest_of(Path(__file__).parents[1])
