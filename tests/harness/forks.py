"""Processes that are forked from one that has done what takes long at first."""

import os
import sys
from functools import cache
from multiprocessing import forkserver, get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

FIRST = ["torch", "literate_attention", "harness.imported_build"]


@cache
def forks():
    """Return the context of such processes; they have one parent, which is at work, with its own hashes."""
    context = get_context("forkserver")
    context.set_forkserver_preload(FIRST)
    # Python 3.11 looks for what is to be imported where this variable says, and passes over what it misses:
    # https://github.com/python/cpython/issues/117378
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), PYTHONHASHSEED="random"):
        forkserver.ensure_running()
    return context


def build(root, arguments, environment):
    """Run Sphinx in such a process, in a folder; return its status and what it wrote, on either stream."""
    return run(_build, root, arguments, dict(os.environ | environment))


def run(work, *arguments):
    """Do work in such a process; return its status and what it wrote, on either stream."""
    with TemporaryDirectory() as folder:
        streams = [os.path.join(folder, name) for name in ("stdout", "stderr")]
        process = forks().Process(target=_run, args=(streams, work, arguments))
        process.start()
        process.join()
        said, complained = (Path(path).read_text(encoding="utf-8") for path in streams)
    assert process.exitcode is not None
    return process.exitcode, said, complained


def _run(streams, work, arguments) -> None:
    for number, path in enumerate(streams, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    work(*arguments)


def _build(root, arguments, environment) -> None:
    from sphinx.cmd.build import main

    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    os.chdir(root)
    sys.exit(main(arguments))
