"""What is found wrong is said again at every build.

Sphinx does not read an unchanged page twice, and skips its consistency check when nothing changed: a warning
given while reading is heard once, and the second build of a broken book passes. So a check here stores what
it must know of a page as that is read, and judges all pages anew at the end of every build. And after a build
in which others warned (of an unknown role, a dead reference), the next one reads all pages again.
"""

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


Judge = Callable[[Sphinx], Iterable[Finding]]


def judge(app: Sphinx, check: str, function: Judge) -> None:
    """Have a check's findings reported at the end of every build, as warnings such as `book.ledger`."""

    def report(app: Sphinx, exception: Exception | None) -> None:
        if exception is None:
            for where, line, message in sorted(set(function(app))):
                path = app.env.doc2path(where) if where in app.env.found_docs else where
                # Without a line, Sphinx would take the path for the name of a page.
                place = f"{path}:{line or 1}"
                LOGGER.warning(message, location=place, type=KIND, subtype=check)

    app.connect("build-finished", report)


def forget_if_others_warned(app: Sphinx, exception: Exception | None) -> None:
    """Have the next build read all pages, if somebody has warned before any finding is reported."""
    if app._warncount:
        Path(app.doctreedir, ENV_PICKLE_FILENAME).unlink(missing_ok=True)
