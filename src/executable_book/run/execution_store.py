"""Executions, one file each, found by all that they depend on: the code of a page, and a fingerprint."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from sphinx.util import logging

from executable_book.files_on_disk import disk_errors, sha256, write_atomically

LOGGER = logging.getLogger(__name__)
NOTE = "brown"
"""The colour of what is worth a look and no fault of the book."""
KEPT_UNUSED_SECONDS = 14 * 24 * 3600


def key_of(digest: str, fingerprint: str) -> str:
    """Return the key of an execution in the store."""
    return sha256(digest + fingerprint)


class ExecutionStore:
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
