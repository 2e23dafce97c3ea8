"""Programs that print what a build wants to know of its library, while it does other work.

The process that builds a book imports neither the library nor what that needs. A program does, in a process
of its own and in the environment of pages: in a fork of the server of warm kernels, if one is at hand, else
in a new interpreter.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from sphinx.application import Sphinx

from executable_book.run.kernels import warm_server
from executable_book.run.kernels.kernel_settings import KernelSettings
from executable_book.run.kernels.warm_server import ForkedProcess, ServerLostError


class Ended(NamedTuple):
    """A program that has ended: with which exit code, and what it wrote."""

    status: int
    output: str
    errors: str


class Program:
    """A program that has begun to run.

    Args:
        settings: what the book wants of its kernels.
        path: a Python file.
        *arguments: what it is called with.
    """

    def __init__(self, settings: KernelSettings, path: Path, *arguments: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="program-", ignore_cleanup_errors=True)
        self._files = [Path(self._folder.name, name) for name in ("output", "errors")]
        for file in self._files:
            file.touch()
        self._command = [str(path), *arguments]
        self._process = self._forked(settings) or self._started()
        at_work.append(self)

    def finish(self) -> Ended:
        """Wait for its end, and return how it ended."""
        status = self._process.wait()
        if isinstance(self._process, ForkedProcess) and self._process.lost:
            self._process = self._started()
            status = self._process.wait()
        ended = Ended(status, *(file.read_text(encoding="utf-8") for file in self._files))
        self._forget()
        return ended

    def end(self) -> None:
        """End it before its time."""
        self._process.kill()
        if isinstance(self._process, subprocess.Popen):
            self._process.wait()
        self._forget()

    def _forget(self) -> None:
        self._folder.cleanup()
        at_work.remove(self)

    def _forked(self, settings: KernelSettings) -> ForkedProcess | None:
        output, errors = map(str, self._files)
        with contextlib.suppress(ServerLostError):
            if address := warm_server.running(settings):
                return ForkedProcess(
                    address,
                    os.getcwd(),
                    warm_server.environment(),
                    command=self._command,
                    output=output,
                    errors=errors,
                )
        return None

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", *self._command]
        with self._files[0].open("wb") as output, self._files[1].open("wb") as errors:
            return subprocess.Popen(
                command, stdout=output, stderr=errors, env=warm_server.environment()
            )


at_work: list[Program] = []
"""The programs of this build that nobody has finished yet."""


def end(app: Sphinx, exception: Exception | None) -> None:
    """End the programs for which a build that failed did not wait."""
    for program in [*at_work]:
        program.end()
