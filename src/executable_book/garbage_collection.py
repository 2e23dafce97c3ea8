"""Garbage is collected seldom: nearly all that a build makes is needed until its end, and goes at once."""

import atexit
import gc

from sphinx.application import Sphinx
from sphinx.config import Config

ALLOCATIONS_BETWEEN, YOUNG_BETWEEN_OLDER, OLDER_BETWEEN_FULL = 50_000, 20, 20


def collect_seldom(_: Sphinx, __: Config) -> None:
    """Let Python look for garbage less often than after 700 allocations, and leave all as it is at the end.

    A build makes millions of nodes that refer to each other, and each full search goes through all of them.
    """
    gc.set_threshold(ALLOCATIONS_BETWEEN, YOUNG_BETWEEN_OLDER, OLDER_BETWEEN_FULL)
    atexit.unregister(gc.freeze)  # of an earlier build in this process
    atexit.register(gc.freeze)
