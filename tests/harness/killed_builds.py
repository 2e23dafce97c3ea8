"""Builds that are killed at a step that one chooses: just before they change a file, for the n-th time.

Builds run in forks of a process that has imported all, so that there can be many of them.
"""

import contextlib
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from harness import books
from sphinx.cmd.build import main

KILLED = 86
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.utime"}
"""What Python's audit calls the changes of a disk, besides files that are opened to be written."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__, "sphinx.builders.html", "myst_nb", "executable_book.build"])


def build(book: books.Book, *, kill_at: int | None = None, torn: bool = False) -> int:
    """Build, and return how many times the disk was changed; -1 if the build failed.

    Args:
        book: the book.
        kill_at: the change before which the build is killed. If it has fewer, it ends by itself.
        torn: a file that was opened to be written holds a part of something else when the build is killed.
    """
    receiver, sender = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=_build, args=(str(book.root), kill_at, torn, sender))
    process.start()
    sender.close()
    try:
        changes: int = receiver.recv()
    except EOFError:
        changes = kill_at or 0
    process.join()
    assert process.exitcode in (0, KILLED), f"the build ended with {process.exitcode}"
    return changes


def _build(root: str, kill_at: int | None, torn: bool, sender: Any) -> None:
    os.chdir(root)
    os.dup2(os.open(Path(root, "said"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.dup2(1, 2)
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    changes, watching = 0, True

    def watch(event: str, args: tuple[Any, ...]) -> None:
        nonlocal changes, watching
        writes = (
            event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if not watching or not (writes or event in CHANGES):
            return
        if not os.path.abspath(os.fsdecode(args[0])).startswith(root):
            return
        changes += 1
        if changes == kill_at:
            watching = False
            if torn and writes:
                with contextlib.suppress(
                    OSError
                ):  # some are opened in vain, to see whether they are there
                    Path(os.fsdecode(args[0])).write_bytes(b"{torn")
            os._exit(KILLED)

    with patch("executable_book.run.kernels.notebook_runner.execute", books.execute_here):
        sys.addaudithook(watch)
        status = main(books.Book(Path(root)).command()[3:])
    watching = False
    sender.send(-1 if status else changes)
