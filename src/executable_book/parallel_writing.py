"""Many pages are written side by side, though they were read one after the other.

While pages are read, others run, and all cores have work. Once all have run, one core would write, and the
others would wait.
"""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_book.run.kernels.warm_server import worker_count
from executable_book.site_builds import is_site

MANY = 12
"""Fewer, such as those that an edit changes, are written without starting a process."""
PIECES = 12
"""At least so many pieces are handed over: of two large ones, one core would write the second alone."""


class ParallelWriting:
    """Has Sphinx write many pages as if it had been started with `-j`, which it heeds when it reads too."""

    def __init__(self) -> None:
        self.pages = 0

    def count(self, _: Sphinx, __: BuildEnvironment, docnames: list[str]) -> None:
        """Remember how many pages are read, and thus written."""
        self.pages = len(docnames)

    def begin(self, app: Sphinx, _: BuildEnvironment) -> None:
        """Have this process resolve references and others write, unless the command said how many work."""
        safe = all(extension.parallel_write_safe for extension in app.extensions.values())
        may = safe and is_site(app) and app.parallel == 1 and worker_count() > 1
        if may and self.pages >= MANY:
            app.parallel = max(worker_count(), PIECES)
