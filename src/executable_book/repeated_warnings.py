"""What is found wrong is said again at every build, until it is mended.

Sphinx does not read an unchanged page twice, and skips its consistency check when nothing changed: a warning
given while reading is heard once, and the second build of a broken book passes. So pages that somebody warned
about (of an output that differs, an unknown role, a dead reference) are read again by the next build. A
warning that names no page is taken to be about the page at hand, or else about all. What is said before that
is about settings, which every build reads.

What is wrong with no page alone is judged at the end of every build, by what is stored of all pages (see
`remembered`).
"""

import json
import logging as stdlib_logging
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
ANY = ""
"""The page of a warning that names none."""
NOTE = "warned.json"
"""Where the pages are noted that somebody warned about."""


class Finding(NamedTuple):
    """One thing that is wrong: the page or file, the line (0: all of it), and what to say."""

    where: str
    line: int
    message: str


def warn(app: Sphinx, check: str, where: str, line: int, message: str) -> None:
    """Give a warning such as `book.ledger`, which is an error under `-W`."""
    path = app.env.doc2path(where) if where in app.env.found_docs else where
    # Without a line, Sphinx would take the path for the name of a page.
    LOGGER.warning(message, location=f"{path}:{line or 1}", type="book", subtype=check)


def reporter(
    check: str, judge: Callable[[Sphinx], Iterable[Finding]]
) -> Callable[[Sphinx, Exception | None], None]:
    """Return what reports a check's findings at the end of every build."""

    def report(app: Sphinx, exception: Exception | None) -> None:
        if exception is None:
            for found in sorted(set(judge(app))):
                warn(app, check, *found)

    return report


class PagesWithWarnings(stdlib_logging.Handler):
    """Notes the pages that somebody warns about, and has the next build read them again."""

    def __init__(self, app: Sphinx) -> None:
        super().__init__(stdlib_logging.WARNING)
        self.app = app
        self.note = Path(app.doctreedir, NOTE)
        self.pages: set[str] | None = None
        stdlib_logging.getLogger(logging.NAMESPACE).addHandler(self)

    def emit(self, record: stdlib_logging.LogRecord) -> None:
        """Note the page of one warning."""
        kind, subtype = getattr(record, "type", ""), getattr(record, "subtype", "")
        if self.pages is None:
            return  # no page has been read
        if not logging.is_suppressed_warning(kind, subtype, self.app.config.suppress_warnings):
            # Sphinx hands most records over twice: at once, and when no page is at hand any more.
            page = self._page_of(getattr(record, "location", None))
            self.pages.add(record.__dict__.setdefault("page", page))

    def _page_of(self, location: object) -> str:
        """Return the page of a place, as Sphinx takes it: a node, or a name or path, perhaps with a line."""
        if isinstance(location, nodes.Node):
            location = logging.get_node_location(location)
        name = location[0] if isinstance(location, tuple) else location
        path = re.sub(r":\d*$", "", str(name or ""))
        names = (path, self.app.env.path2doc(path))
        found = (one for one in names if one in self.app.env.found_docs)
        return next(found, self.app.env.current_document.docname or ANY)

    def store(self, app: Sphinx, exception: Exception | None) -> None:
        """Leave a note for the next build: what is said from now on, the next says by itself."""
        if exception is None:
            self.note.write_text(json.dumps(sorted(self.pages or ())), encoding="utf-8")

    def outdated(self, app: Sphinx, env: BuildEnvironment, *_: set[str]) -> set[str]:
        """Return the pages that the last build ended with warnings about."""
        self.pages = set()
        try:
            noted = json.loads(self.note.read_text(encoding="utf-8"))
        except FileNotFoundError:
            noted = []
        except ValueError:  # damaged
            noted = [ANY]
        return env.found_docs if ANY in noted else env.found_docs & {*noted}
