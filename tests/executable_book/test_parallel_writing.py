"""Many pages are written by several processes, though one has read them; what is written stays the same."""

import os
import shutil
from collections.abc import Callable

import pytest
from harness.books import Book, Build

from executable_book import parallel_writing
from executable_book.parallel_writing import PIECES

WHO_READS_AND_WRITES = """
import os
from pathlib import Path

def note(name):
    with Path(name).open("a") as noted:
        print(os.getpid(), file=noted)

def setup(app):
    app.connect("source-read", lambda app, *_: note(app.srcdir / "_build/readers"))
    app.connect("html-page-context", lambda app, *_: note(app.srcdir / "_build/writers"))
"""


def build(book: Book, jobs: int = 1) -> tuple[Build, set[int], set[int]]:
    """Build anew; return which processes have read pages, and which have written some."""
    shutil.rmtree(book.built, ignore_errors=True)
    ended = book.build(jobs)
    readers, writers = (
        {*map(int, (book.built / name).read_text().split())} for name in ("readers", "writers")
    )
    return ended, readers, writers


@pytest.fixture
def book(new_book: Callable[..., Book]) -> Book:
    book = new_book()
    book.add("conf.py", WHO_READS_AND_WRITES)
    for number in range(parallel_writing.MANY):
        book.page(f"page{number}", f"# Page {number}\n\nSee {{doc}}`page0`.\n")
    return book


def test_many_pages_are_written_side_by_side_to_the_same_bytes(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_writing, "worker_count", lambda: 2)
    ended, readers, writers = build(book)
    assert (ended.status, ended.err) == (0, "")
    assert readers == {os.getpid()}
    assert writers > readers
    assert len(writers) > PIECES / 2
    side_by_side = book.published()

    monkeypatch.setattr(parallel_writing, "MANY", 100)
    _, _, writers = build(book)
    assert writers == {os.getpid()}
    assert book.published() == side_by_side


def test_a_book_with_an_extension_that_cannot_is_written_by_one_process(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_writing, "worker_count", lambda: 2)
    book.add("conf.py", "    app.extensions['myst_nb'].parallel_write_safe = False\n")
    ended, _, writers = build(book)
    assert (ended.status, ended.err) == (0, "")
    assert writers == {os.getpid()}


def test_who_says_how_many_processes_work_is_heeded(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_writing, "worker_count", lambda: 2)
    _, _, writers = build(book, jobs=2)
    assert 1 < len(writers) < PIECES / 2


def test_one_core_writes_by_one_process(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_writing, "worker_count", lambda: 1)
    _, _, writers = build(book)
    assert writers == {os.getpid()}
