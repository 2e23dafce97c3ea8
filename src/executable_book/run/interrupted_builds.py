"""A build that was cut short is noticed by the next one, which starts anew.

Killed at the wrong moment, a build leaves half a page, half a stylesheet, or pages that do not know of each
other, and Sphinx takes what is there for right. So a build leaves a mark beside its doctrees until all is
written. One that finds the mark forgets what Sphinx knew, reads and writes every page again, and first clears
the output folder: but only one that was empty when a build first wrote it, as nothing else there can be ours.
Executions are stored one by one and whole, so they are not lost.

This comes with a duty: to another build, one that is at work looks as if it had been cut short. So only one
at a time may write a folder.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path

from myst_nb.sphinx_ext import OUTPUT_FOLDER  # type: ignore[import-untyped]
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.config import Config
from sphinx.errors import SphinxError
from sphinx.util import logging

from executable_book.files_on_disk import PARTIAL, disk_errors
from executable_book.run.execution_store import NOTE

LOGGER = logging.getLogger(__name__)
MARK = ".at-work"
"""Stands beside the doctrees while a build is at work."""
WAS_EMPTY = ".was-empty"
"""Stands beside the doctrees, and lists the output folders that were empty at first."""
PATIENCE_SECONDS = 10.0
DISK_ERRORS = (errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EROFS)


def make_folders(app: Sphinx) -> None:
    """Make the folders that a build writes, or say why it cannot."""
    for folder in (app.outdir, app.doctreedir):
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)


def begin(app: Sphinx, config: Config) -> None:
    """Mark the beginning of a build; if the last one was cut short, start anew."""
    keep_others_out(app)
    mark = app.doctreedir / MARK
    with disk_errors(mark):
        if mark.exists():
            LOGGER.info("the last build was cut short: starting anew", color=NOTE)
            start_anew(app)
        elif not any(app.outdir.iterdir()):
            with (app.doctreedir / WAS_EMPTY).open("a", encoding="utf-8") as known:
                known.write(f"{app.outdir}\n")
        mark.touch()


def keep_others_out(app: Sphinx) -> None:
    """Let one build at a time write the output folder, by a lock that ends with this process.

    Processes that other extensions fork do not inherit this kind of lock: some live on.
    """
    if sys.platform == "win32":
        return
    import fcntl

    path = app.outdir.with_name(f".{app.outdir.name}.lock")
    with disk_errors(path):
        lock = os.open(path, os.O_WRONLY | os.O_CREAT)
    _releases[app.outdir] = weakref.finalize(app, os.close, lock)
    end_of_patience = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except (BlockingIOError, PermissionError):
            if time.monotonic() > end_of_patience:
                let_others_in()
                raise SphinxError(f"Another build is writing {app.outdir} just now.") from None
            time.sleep(0.1)


_releases: dict[Path, Callable[[], object]] = {}


def let_others_in() -> None:
    """Release what this process locked: a build that fails early never gets to its end."""
    while _releases:
        _releases.popitem()[1]()


def start_anew(app: Sphinx) -> None:
    """Forget what Sphinx knew, and remove what may be half-written; other hidden files are not ours."""
    for known_to_sphinx in (app.doctreedir / ENV_PICKLE_FILENAME, app.outdir / ".buildinfo"):
        known_to_sphinx.unlink(missing_ok=True)
    known = app.doctreedir / WAS_EMPTY
    if known.exists() and str(app.outdir) in known.read_text(encoding="utf-8").splitlines():
        for path in app.outdir.iterdir():
            if not path.name.startswith("."):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    for partial in app.outdir.rglob(f"*{PARTIAL}"):
        partial.unlink()
    for image in (app.outdir.parent / OUTPUT_FOLDER).glob("?" * 64 + ".*"):
        if hashlib.sha256(image.read_bytes()).hexdigest() != image.stem:
            image.unlink()


def explain_disk_errors(app: Sphinx, exception: Exception | None) -> None:
    """Say in a sentence that it was the disk that cut the build short."""
    refusal = getattr(exception, "orig_exc", exception)
    if isinstance(refusal, OSError) and refusal.errno in DISK_ERRORS:
        raise SphinxError(f"The build cannot write its files: {refusal}.") from exception


def end(app: Sphinx, exception: Exception | None) -> None:
    """Take the mark away, when all is written."""
    if exception is None:
        (app.doctreedir / MARK).unlink(missing_ok=True)
    let_others_in()
