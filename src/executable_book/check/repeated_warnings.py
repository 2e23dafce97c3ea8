"""What is found wrong is said again at every build.

Sphinx does not read an unchanged page twice, and skips its consistency check when nothing changed: a warning
given while reading is heard once, and the second build of a broken book passes. So a check here works in two
steps. While a page is read, it stores what it must know of it (see `remembered`). At the end of every build
it judges all that is stored of all pages anew, and each finding becomes a warning (an error under `-W`). What
is judged must not depend on which pages were read in this build.

Where others warned (of an unknown role, of a dead reference), the next build reads all pages again.
"""

import logging as stdlib_logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
KIND = "book"


class Finding(NamedTuple):
    """One thing that is wrong: the page or file, the line (0: all of it), and what to say."""

    where: str
    line: int
    message: str


_judged: set[str] = set()
"""The kinds of warning that are given again by every build."""
Judge = Callable[[Sphinx], Iterable[Finding]]


def judge(app: Sphinx, check: str, function: Judge) -> None:
    """Have a check's findings reported at the end of every build, as warnings such as `book.ledger`."""
    _judged.add(f"{KIND}.{check}")

    def report(app: Sphinx, exception: Exception | None) -> None:
        if exception is None:
            for where, line, message in sorted(set(function(app))):
                path = app.env.doc2path(where) if where in app.env.found_docs else where
                # Without a line, Sphinx would take the path for the name of a page.
                place = f"{path}:{line or 1}"
                LOGGER.warning(message, location=place, type=KIND, subtype=check)

    app.connect("build-finished", report)


class WarningsOfOthers(stdlib_logging.Handler):
    """Hears what others warn about."""

    def __init__(self, app: Sphinx) -> None:
        super().__init__(stdlib_logging.WARNING)
        self.app, self.heard = app, False
        stdlib_logging.getLogger(logging.NAMESPACE).addHandler(self)

    def emit(self, record: stdlib_logging.LogRecord) -> None:
        """Hear a warning that no check of ours will give again."""
        kind, subtype = getattr(record, "type", ""), getattr(record, "subtype", "")
        again = [*self.app.config.suppress_warnings, *_judged]
        self.heard |= not logging.is_suppressed_warning(kind, subtype, again)

    def forget_pages(self, app: Sphinx, exception: Exception | None) -> None:
        """Have the next build read all pages, if there was such a warning."""
        if self.heard:
            Path(app.doctreedir, ENV_PICKLE_FILENAME).unlink(missing_ok=True)
