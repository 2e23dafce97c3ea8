"""What all tests share: throwaway books, the same random numbers, one thread.

torch is imported where it is needed: a process that only hands tests out to others need not wait for it.
"""

import atexit
import gc
import logging
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xdist


def pytest_configure() -> None:
    """Collect no garbage while all is imported, and keep what Sphinx tells its developers to itself."""
    gc.disable()
    logging.disable(logging.DEBUG)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compute on one thread, also what tests compute where they are collected.

    For tensors this small, waiting for others costs many times what it saves.
    """
    if not xdist.is_xdist_controller(session):
        import torch

        torch.set_num_threads(1)
    if xdist.is_xdist_worker(session):
        atexit.register(end_at_once)


def end_at_once() -> None:
    """Tidy up, and end: to take apart all that a worker has imported would take seconds more."""
    atexit.unregister(end_at_once)
    atexit._run_exitfuncs()
    os._exit(0)


def pytest_collection_finish() -> None:
    """Keep what was imported, hundreds of thousands of objects, out of each collection of garbage."""
    gc.freeze()
    gc.set_threshold(200_000)
    gc.enable()


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Look for garbage that complains when it is taken away, while this can still fail a test of a worker."""
    if nextitem is None:
        gc.collect()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Do without the ten times that pytest looks for garbage where no worker can tell of it any more."""
    gc.freeze()


@pytest.fixture
def new_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that makes a book: under which checks, with which extensions and settings.

    Its cells run in this process: quick, and all that most tests need of kernels.
    """
    from harness import books

    monkeypatch.setattr("executable_book.run.kernels.notebook_runner.executing", books.execute_here)

    def make(*checks: str, extensions: tuple[str, ...] = (), **settings: Any) -> books.Book:
        return books.make_book(tmp_path, *extensions, **books.settings_for(*checks), **settings)

    return make


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """Begin each test with the same random numbers, whichever tests ran in its process before.

    Where there is no accelerator, `torch.manual_seed` would keep each call, and the way to it, for one
    that may come yet.
    """
    import numpy as np
    import torch

    random.seed(2017)
    np.random.seed(2017)
    seed = torch if torch.accelerator.is_available() else torch.default_generator
    seed.manual_seed(2017)
