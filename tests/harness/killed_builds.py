"""Builds that are killed at a step that one chooses: just before they change a file, for the n-th time.

Builds run in forks of a process that has imported all, so that there can be many of them.
"""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import books
from harness.forks import forks
from sphinx.cmd.build import main

KILLED = 86
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir"}
"""What Python's audit calls the changes of a disk, besides files that are opened to be written."""


def build(book: books.Book, *, kill_at: str = "", torn: bool = False) -> list[str] | None:
    """Build, and return the kinds of changes of the disk, in their order; None if the build was killed.

    Of one kind are the same doings in one folder, with files of one suffix. A build that fails is an error.

    Args:
        book: the book.
        kill_at: the build is killed before its first change of this kind; if it has any.
        torn: a file that was opened to be written holds a part of something else when the build is killed.
    """
    receiver, sender = forks().Pipe(duplex=False)
    process = forks().Process(target=_build, args=(str(book.root), kill_at, torn, sender))
    process.start()
    sender.close()
    try:
        status, kinds = receiver.recv()
    except EOFError:
        status, kinds = 0, None
    process.join()
    assert process.exitcode == (KILLED if kinds is None else 0)
    assert status == 0, Path(book.root, "said").read_text()
    return kinds


def _build(root: str, kill_at: str, torn: bool, sender: Any) -> None:
    os.chdir(root)
    os.dup2(os.open(Path(root, "said"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.dup2(1, 2)
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    kinds: list[str] = []
    watching = True

    def watch(event: str, args: tuple[Any, ...]) -> None:
        nonlocal watching
        writes = (
            event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if not watching or not (writes or event in CHANGES):
            return
        path = Path(os.path.abspath(os.fsdecode(args[0])))
        in_vain = {"os.mkdir": path.exists(), "os.remove": not path.exists()}
        if not path.is_relative_to(root) or in_vain.get(event):
            return
        kinds.append(f"{event} {path.parent.relative_to(root)} {path.suffix}")
        if kinds[-1] == kill_at:
            watching = False
            if torn and writes:
                with contextlib.suppress(OSError):  # a folder, which is opened in vain
                    path.write_bytes(b"{torn")
            os._exit(KILLED)

    with pytest.MonkeyPatch.context() as monkeypatch:
        books.execute_without_kernels(monkeypatch.setattr)
        sys.addaudithook(watch)
        status = main(books.Book(Path(root)).command()[3:])
    watching = False
    sender.send((status, kinds))
