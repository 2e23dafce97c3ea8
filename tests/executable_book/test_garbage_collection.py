"""A build does not spend its time searching what it needs for garbage."""

import gc
from collections.abc import Callable, Iterator

import pytest
from harness.books import Book

from executable_book.garbage_collection import ALLOCATIONS_BETWEEN


@pytest.fixture
def by_default() -> Iterator[None]:
    """Collect garbage as often as Python does by default, until the test ends."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("by_default")
def test_a_build_collects_seldom(new_book: Callable[..., Book]) -> None:
    book = new_book()
    book.page("page", "# Page\n")
    book.build()
    assert gc.isenabled()
    assert gc.get_threshold()[0] == ALLOCATIONS_BETWEEN
