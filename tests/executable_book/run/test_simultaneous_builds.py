"""Of two builds in one folder, the second waits until the first has ended."""

import fcntl
import os
import subprocess

from harness.books import make_book


def test_a_build_waits_until_another_has_ended(tmp_path) -> None:
    book = make_book(tmp_path, nb_execution_mode="off")
    book.page("page", "# Page\n")
    book.built.mkdir()
    other = os.open(book.built, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with subprocess.Popen(book.command(), cwd=tmp_path, stdout=subprocess.PIPE, text=True) as build:
        assert build.stdout is not None
        waits = any("waiting for its end" in line for line in build.stdout)
        before = book.published()
        os.close(other)
        build.communicate()
    assert (waits, before, build.returncode) == (True, {}, 0)
    assert book.published()
