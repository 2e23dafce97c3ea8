"""Executions by all that they depend on, one file each.

An execution is found by its key. The key is made of the code and a fingerprint: of the files that the code
may use, of versions, machine and device. What changed has another key, so nothing that is found is stale.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from sphinx.errors import SphinxError
from sphinx.util import logging

from executable_book.run import warm_server

LOGGER = logging.getLogger(__name__)
NOTE = "brown"
"""The colour of what is worth a look and no fault of the book."""
KEPT_UNUSED_SECONDS = 14 * 24 * 3600


# What an execution depends on


def key_of(digest: str, fingerprint: str) -> str:
    """Return the key of an execution in the store."""
    return sha256(digest + fingerprint)


def fingerprint(depends: Iterable[Path]) -> str:
    """Return a digest of all that executions depend on, other than the cells themselves."""
    here = Path(__file__).parent
    ours = ("warm_server.py", "kernel_startup.py", "notebook_runner.py")
    files = [*(here / name for name in ours), *depends]
    facts = {
        "files": {str(number): _digest_of(path) for number, path in enumerate(files)},
        "python": sys.version,
        "packages": warm_server.versions(),
        "machine": [platform.platform(), platform.machine(), _processor()],
        "device": [
            *map(os.environ.get, ("LITERATE_DEVICE", "CUDA_VISIBLE_DEVICES")),
            _accelerators(),
        ],
        "threads": warm_server.environment()["OMP_NUM_THREADS"],
    }
    return sha256(json.dumps(facts, sort_keys=True))


def _digest_of(path: Path) -> str | None:
    """Return a digest of a file, or of all files under a folder; None where there is nothing."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(
        file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )
    digests = [f"{file.relative_to(path).as_posix()} {_digest_of(file)}" for file in files]
    return sha256("\n".join(digests)) if files else None


def _processor() -> str:
    """Name the processor: some random streams depend on its maker."""
    with contextlib.suppress(OSError):
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if found:
            return found[1]
    return platform.processor()


def _accelerators() -> list[str]:
    """Name the GPUs without touching them."""
    gpus = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    return [re.sub(r"(?m)^(?!Model).*\n?", "", gpu.read_text()) for gpu in gpus]


def sha256(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


# The store


class Store:
    """Executions by key, one file each; a file is whole and sound, or it is not there."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, key: str) -> Path:
        """Return where an execution is."""
        return self.folder / f"{key}.ipynb"

    def load(self, key: str) -> NotebookNode | None:
        """Return a stored execution; a damaged one is reported and removed."""
        path = self.path(key)
        try:
            content = json.loads(path.read_bytes())
            if content["metadata"].pop("checksum") == _checksum(content):
                return nbformat.from_dict(content)
        except OSError:
            return None
        except (ValueError, LookupError, TypeError, AttributeError):
            pass
        LOGGER.info("stored execution %s is damaged: its page runs again", path.name, color=NOTE)
        with disk_errors(path):
            path.unlink()
        return None

    def save(self, key: str, notebook: NotebookNode) -> None:
        """Store an execution."""
        content = json.loads(json.dumps(notebook))
        content["metadata"]["checksum"] = _checksum(content)
        write_atomically(self.path(key), json.dumps(content, indent=1))

    def prune(self, used: Iterable[str]) -> None:
        """Forget what no page uses and nobody has used for two weeks."""
        now = time.time()
        for key in used:
            with contextlib.suppress(OSError):
                os.utime(self.path(key))
        for path in self.folder.glob("*"):
            with contextlib.suppress(OSError):
                if now - path.stat().st_mtime > KEPT_UNUSED_SECONDS:
                    path.unlink()


def _checksum(content: dict[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True))


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees a part of it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with disk_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(text, encoding="utf-8")
            os.replace(partial, path)
        except OSError:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Say what the disk refuses in one sentence."""
    try:
        yield
    except OSError as error:
        raise SphinxError(f"The build cannot write {path}: {error.strerror}.") from error
