"""What tests of the tool chain share: one warm server, and books that run in its forks."""

import pytest
from harness.kernels import PRELOAD, book_with_kernels

from executable_book.run.kernels import warm_server


@pytest.fixture(scope="session")
def warm():
    """Have one warm server for all tests that ask for it."""
    with warm_server(PRELOAD):
        yield


@pytest.fixture
def project(tmp_path, warm):
    """Return a book for one test, without pages."""
    return book_with_kernels(tmp_path)
