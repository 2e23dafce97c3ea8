"""Executions, one file each, found by all that they depend on: the code of a page, and a fingerprint."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from sphinx.util import logging

from executable_book.files_on_disk import disk_errors, sha256, write_atomically

LOGGER = logging.getLogger(__name__)
NOTE = "brown"
"""The colour of what is worth a look and no fault of the book."""
KEPT_UNUSED_SECONDS = 14 * 24 * 3600
KEY_OF_SEAL = "executable_book_checksum"
SEAL = f'"{KEY_OF_SEAL}": "%s"'
SEALED = re.compile(SEAL % "([0-9a-f]{64})")
UNSEALED = "0" * 64
"""Stands where the checksum will, while it is computed of all that a file says."""


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

    def holds(self, key: str) -> bool:
        """Tell whether an execution is stored; a damaged one is reported and removed."""
        return self._read(key) is not None

    def load(self, key: str) -> NotebookNode | None:
        """Return a stored execution; a damaged one is reported and removed."""
        text = self._read(key)
        if text is None:
            return None
        content = json.loads(text)
        del content["metadata"][KEY_OF_SEAL]
        return nbformat.from_dict(content)

    def save(self, key: str, notebook: NotebookNode) -> None:
        """Store an execution."""
        content = json.loads(json.dumps(notebook))
        content["metadata"][KEY_OF_SEAL] = UNSEALED
        text = json.dumps(content, indent=1)
        write_atomically(self.path(key), text.replace(SEAL % UNSEALED, SEAL % sha256(text)))

    def _read(self, key: str) -> str | None:
        path = self.path(key)
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        if seal := SEALED.search(text):
            unsealed = text.replace(seal[0], SEAL % UNSEALED)
            if seal[1] == sha256(unsealed):
                return text
        LOGGER.info("stored execution %s is damaged: its page runs again", path.name, color=NOTE)
        with disk_errors(path):
            path.unlink()
        return None

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
