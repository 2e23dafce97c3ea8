"""A build does not spend its time searching what it needs for garbage, or taking it apart at its end."""

import atexit
import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from unittest.mock import Mock, call

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
def test_a_build_collects_seldom(
    new_book: Callable[..., Book], monkeypatch: pytest.MonkeyPatch
) -> None:
    register = Mock(wraps=atexit.register)
    monkeypatch.setattr(atexit, "register", register)
    book = new_book()
    book.page("page", "# Page\n")
    book.build()
    assert gc.isenabled()
    assert gc.get_threshold()[0] == ALLOCATIONS_BETWEEN
    assert register.call_args_list.count(call(gc.freeze)) == 1


MAKES_NODES = """
from executable_book.garbage_collection import collect_seldom

class Node:
    def __init__(self):
        self.parent = self
    def __del__(self):
        print("taken apart")

node = Node()
"""


@pytest.mark.parametrize(
    ("ends", "said"), [("", "taken apart\n"), ("collect_seldom(None, None)", "")]
)
def test_nothing_is_taken_apart_at_the_end(ends: str, said: str) -> None:
    command = [sys.executable, "-c", MAKES_NODES + ends]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == said
