"""What a program prints of the library's numbers, kept in the build folder until the library has changed.

The program runs in a process of its own, because the one that builds the book never imports torch.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from executable_book.files_on_disk import write_atomically
from executable_book.run.fingerprint import fingerprint
from executable_book.run.page_execution import package_in


def compute(app: Sphinx, program: Path, path: Path) -> bool:
    """Have the numbers in a file, fresh, or until the next build why there are none; tell if they are new.

    Why there are none is a problem, unless they need a package that the book may lack. A build that writes
    nothing shows none, and computes none.
    """
    if not app.builder.format:
        return False
    depends = (Path(app.confdir, name) for name in app.config.book_depends)
    now = fingerprint([Path(__file__), program, *depends])
    before = stored(path)
    if before.get("fingerprint") == now:
        return False
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    if run.returncode:
        error = error_in(run.stderr)
        kind, _, sentence = error.partition(": ")
        made: dict[str, Any] = {"problem": f"{program.name} failed: {error}"}
        if kind.endswith("ModuleNotFoundError") and package_in(sentence, app.config.book_may_lack):
            made = {"lacks": sentence}
    else:
        made = {"fingerprint": now, "numbers": json.loads(run.stdout)}
    write_atomically(path, json.dumps(made))
    return made.get("numbers") != before.get("numbers")


def stored(path: Path) -> dict[str, Any]:
    """Return what is kept in a file, `numbers` or a `problem`: nothing, if it is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def error_in(said: str) -> str:
    """Return the line of a traceback that names the error."""
    errors = re.findall(r"^[\w.]+(?:Error|Exception|Exit)\b.*", said, re.MULTILINE)
    return errors[-1] if errors else said.strip()
