"""The folder of a build: one build at a time writes there, and one that was cut short is noticed by the next.

Killed at the wrong moment, a build leaves half a page, half a picture, or pages that do not know of each
other, and Sphinx takes what is there for right. So a build leaves a mark beside its doctrees until all is
written. One that finds the mark forgets what Sphinx knew, and removes the folders that only a build writes;
then every page is read and written again. Outputs of cells are kept, so no page that ran to its end runs
twice. All else in the output folder stays. Asked to end, a build ends as Ctrl-C would end it.
"""

import contextlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from myst_nb.sphinx_ext import OUTPUT_FOLDER  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
MARK = ".building"
_lock = contextlib.ExitStack()
"""What lets go of the folder; so does the end of this process, however it comes."""


def begin(app: Sphinx, config: Config) -> None:
    """Wait for other builds and mark the beginning of this; if the last one was cut short, begin afresh."""
    wait(app.outdir.parent)
    mark = Path(app.doctreedir, MARK)
    if mark.exists():
        LOGGER.info("the last build was cut short: beginning afresh")
        (app.outdir / ".buildinfo").unlink(missing_ok=True)
        for folder in (app.doctreedir, app.outdir.parent / OUTPUT_FOLDER, app.outdir / "_static"):
            shutil.rmtree(folder, ignore_errors=True)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    on_request_to_end(lambda number, frame: sys.exit(128 + number))


def end(app: Sphinx, exception: Exception | None) -> None:
    """Take the mark away, when all is written, and let the next build begin."""
    on_request_to_end(signal.SIG_DFL)
    if exception is None:
        Path(app.doctreedir, MARK).unlink(missing_ok=True)
    _lock.close()


def wait(folder: Path) -> None:
    """Take the folder that all builders share, as soon as no other build has it."""
    _lock.close()  # of a build that failed
    if sys.platform == "win32":
        return
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    _lock.callback(os.close, taken := os.open(folder, os.O_RDONLY))
    try:
        fcntl.flock(taken, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        LOGGER.info(f"another build is at work in {folder}: waiting for its end")
        fcntl.flock(taken, fcntl.LOCK_EX)


def on_request_to_end(handler: Callable[..., Any] | signal.Handlers) -> None:
    """Choose what SIGTERM does; only the main thread may."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)
