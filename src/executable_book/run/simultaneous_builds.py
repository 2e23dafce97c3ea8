"""Two builds in one folder would write the same files: the second one waits for the first to end."""

import contextlib
import os
import sys

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
_lock = contextlib.ExitStack()
"""What lets go of the folder; so does the end of this process, however it comes."""


def wait(app: Sphinx, config: Config) -> None:
    """Take the folder that all builders share, as soon as no other build has it."""
    _lock.close()  # of a build that failed
    if sys.platform == "win32":
        return
    import fcntl

    folder = app.outdir.parent
    folder.mkdir(parents=True, exist_ok=True)
    _lock.callback(os.close, taken := os.open(folder, os.O_RDONLY))
    try:
        fcntl.flock(taken, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        LOGGER.info(f"another build is at work in {folder}: waiting for its end")
        fcntl.flock(taken, fcntl.LOCK_EX)


def end(app: Sphinx, exception: Exception | None) -> None:
    """Let the next build begin."""
    _lock.close()
