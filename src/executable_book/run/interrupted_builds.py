"""A build that was cut short is noticed by the next one, which starts anew.

Killed at the wrong moment, a build leaves half a page, half a stylesheet, or pages that do not know of each
other, and Sphinx takes what is there for right. So a build marks its output folder until all is written. One
that finds the mark clears the folder, and reads every page again; executions are stored one by one and
whole, so they are not lost.

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
from typing import Any

from myst_nb.sphinx_ext import OUTPUT_FOLDER  # type: ignore[import-untyped]
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.config import Config
from sphinx.errors import SphinxError
from sphinx.util import logging

from executable_book.run.output_store import NOTE, disk_errors

LOGGER = logging.getLogger(__name__)
MARK = ".unfinished"
PATIENCE_SECONDS = 10.0
DISK_ERRORS = (errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EROFS)
LAST = 1000
"""The priority of what comes after all other extensions."""


def claim(app: Sphinx, config: Config) -> None:
    """Mark the output folder as unfinished; if it is already, clear what the last build left there.

    A folder that holds something else than a site of ours gets no mark, so it can never be cleared.
    """
    mark = app.outdir / MARK
    with disk_errors(mark):
        keep_others_out(app)
        if mark.exists():
            LOGGER.info("the last build was cut short: starting anew", color=NOTE)
            clear(app)
        elif (app.outdir / ".buildinfo").exists() or not any(app.outdir.iterdir()):
            mark.touch()


def keep_others_out(app: Sphinx) -> None:
    """Let one build at a time write the output folder, by a lock that ends with this process.

    Processes that other extensions fork do not inherit this kind of lock: some live on.
    """
    if sys.platform == "win32":
        return
    import fcntl

    lock = os.open(app.outdir.with_name(f".{app.outdir.name}.lock"), os.O_WRONLY | os.O_CREAT)
    release = weakref.finalize(app, os.close, lock)
    _releases.append(release)
    app.connect("build-finished", lambda app, exception: release(), priority=LAST)
    end_of_patience = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except (BlockingIOError, PermissionError):
            if time.monotonic() > end_of_patience:
                release()
                raise SphinxError(f"Another build is writing {app.outdir} just now.") from None
            time.sleep(0.1)


_releases: list[Callable[[], object]] = []


def let_others_in() -> None:
    """Release what this process locked: a build that fails early never gets to its end."""
    while _releases:
        _releases.pop()()


def clear(app: Sphinx) -> None:
    """Remove what a build that was cut short may have left half-written; hidden files are not ours."""
    for path in app.outdir.iterdir():
        if not path.name.startswith("."):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (app.doctreedir / ENV_PICKLE_FILENAME).unlink(missing_ok=True)
    for image in (app.outdir.parent / OUTPUT_FOLDER).glob("?" * 64 + ".*"):
        if hashlib.sha256(image.read_bytes()).hexdigest() != image.stem:
            image.unlink()


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Take the mark away, or say in a sentence that it was the disk that cut the build short."""
    refusal = getattr(exception, "orig_exc", exception)
    if isinstance(refusal, OSError) and refusal.errno in DISK_ERRORS:
        raise SphinxError(f"The build cannot write its files: {refusal}.") from exception
    if exception is None:
        (app.outdir / MARK).unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Notice builds that were cut short."""
    for folder in (app.outdir, app.doctreedir):
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
    app.connect("config-inited", claim)
    app.connect("build-finished", finish, priority=LAST)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
