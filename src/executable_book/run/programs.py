"""Programs that print what a build wants to know of its library, while it does other work.

The process that builds a book imports neither the library nor what that needs. A program does, in a process
of its own and in the environment of pages.
"""

import os
import subprocess
import tempfile
from typing import NamedTuple

from executable_book.run.kernels import WARM_PYTHON, environment


class Result(NamedTuple):
    """A program that has ended: with which exit code, and what it wrote."""

    status: int
    output: str
    errors: str


class Program:
    """A program that has begun to run.

    Args:
        *arguments: what `python` is called with.
    """

    def __init__(self, *arguments: str) -> None:
        self._streams = [tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2)]  # noqa: SIM115
        self._process = subprocess.Popen(
            [*WARM_PYTHON, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._streams[0],
            stderr=self._streams[1],
            env=os.environ | environment(),
        )

    def finish(self) -> Result:
        """Wait for its end, and return how it ended."""
        status = self._process.wait()
        texts = []
        for stream in self._streams:
            with stream:
                stream.seek(0)
                texts.append(stream.read())
        return Result(status, *texts)

    def kill(self) -> None:
        """End it before its time."""
        self._process.kill()
        self._process.wait()
