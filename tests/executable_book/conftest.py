"""What tests of the tool chain share: one warm server, and books that run in its forks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.books import Book
from harness.kernels import PRELOAD, book_with_kernels

from executable_book.run.kernels import warm_server


@pytest.fixture(scope="session")
def warm() -> Iterator[None]:
    """Have one warm server for all tests that ask for it."""
    with warm_server(PRELOAD):
        yield


@pytest.fixture
def project(tmp_path: Path, warm: None) -> Book:
    """Return a book for one test, without pages."""
    return book_with_kernels(tmp_path)
