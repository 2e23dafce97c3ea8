"""What all tests share: throwaway books, the same random numbers, one thread.

torch is imported where it is needed: a process that only hands tests out to others need not wait for it.
"""

import gc
import logging
import random
import subprocess
import sys
from pathlib import Path

import pytest
import xdist


def pytest_configure() -> None:
    """Collect no garbage while all is imported, and keep what Sphinx tells its developers to itself."""
    gc.disable()
    logging.disable(logging.DEBUG)


def pytest_sessionstart(session) -> None:
    """Compute on one thread: for tensors this small, waiting for others costs many times what it saves."""
    if not xdist.is_xdist_controller(session):
        import torch

        torch.set_num_threads(1)


def pytest_collection_finish() -> None:
    """Keep what was imported, hundreds of thousands of objects, out of each collection of garbage."""
    gc.freeze()
    gc.set_threshold(200_000)
    gc.enable()


@pytest.fixture
def new_book(tmp_path, monkeypatch):
    """Return a function that makes a book: under which checks, with which extensions and settings.

    Its cells run in this process: quick, and all that most tests need of kernels.
    """
    from harness import books

    books.execute_without_kernels(monkeypatch.setattr)

    def make(*checks, extensions=(), **settings):
        return books.make_book(tmp_path, *extensions, **(books.settings_for(*checks) | settings))

    return make


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Return the wheel of this package."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=Path(__file__).parents[1], check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


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
