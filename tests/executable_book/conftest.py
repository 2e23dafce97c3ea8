"""What tests of the tool chain share: one server of warm kernels, and books that run in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.books import Book
from harness.kernels import KERNELS, book_with_kernels

from executable_book.run.kernels import warm_server


@pytest.fixture(scope="session")
def warm() -> Iterator[None]:
    """Have one server of warm kernels for all tests that ask for it."""
    with warm_server.server(KERNELS) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv(warm_server.ADDRESS, address)
        yield


@pytest.fixture
def project(tmp_path: Path, warm: None) -> Book:
    """Return a book for one test, without pages."""
    return book_with_kernels(tmp_path)
