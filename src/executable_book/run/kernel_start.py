"""What the kernel of a page does before its first cell.

Where a stream would come in pieces is chance, and MyST-NB puts the end of a line between any two: so streams
are flushed at the end of a cell.

The environment variable `BOOK_NOISE` names another machine, whose rounding a function of the book imitates:
`SEED package.module:function`, a function that takes the seed and returns a context manager.
"""

import contextlib
import os
import sys
from importlib import import_module

NOISE = "BOOK_NOISE"
_context = contextlib.ExitStack()
"""What lasts as long as the kernel."""


def begin() -> None:
    """Prepare this process."""
    sys.stdout.flush_interval = sys.stderr.flush_interval = 600  # type: ignore[union-attr]
    make_noise()


def make_noise() -> None:
    """Round as another machine does, if that is asked for."""
    if os.environ.get(NOISE):
        seed, _, name = os.environ[NOISE].partition(" ")
        module, _, function = name.partition(":")
        _context.enter_context(getattr(import_module(module), function)(int(seed)))
