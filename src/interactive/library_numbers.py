"""Numbers of the library that a program prints, stored in the build folder until the library has changed."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from executable_book.files_on_disk import write_if_changed
from executable_book.run.kernels import start_python
from executable_book.run.page_execution import execution_digest

_running: dict[Path, tuple[str, subprocess.Popen[str]]] = {}
"""What runs for a file that stores numbers: the fingerprint of what they depend on, and the program."""


def begin(app: Sphinx, module: Path, path: Path) -> None:
    """Begin to compute the numbers of a file, if they are missing or stale: meanwhile, pages are read.

    They never are for a build that writes nothing: it shows none.
    """
    _running.pop(path, None)  # of a build that failed
    depends = (Path(app.confdir, name) for name in app.config.book_depends)
    now = execution_digest(app.config, [Path(__file__), module, *depends])
    if app.builder.format and stored(path).get("fingerprint") != now:
        _running[path] = now, start_python(str(module))


def finish(app: Sphinx, module: Path, path: Path) -> None:
    """Have the numbers in the file, or until the next build why there are none."""
    if path not in _running:
        return
    now, program = _running.pop(path)
    output, errors = program.communicate()
    if program.returncode:
        made: dict[str, Any] = {"problem": f"{module.name} failed: {error_in(errors)}"}
    else:
        made = {"fingerprint": now, "numbers": json.loads(output)}
    write_if_changed(path, json.dumps(made))


def stored(path: Path) -> dict[str, Any]:
    """Return what is stored in a file, `numbers` or a `problem`: nothing, if it is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def error_in(said: str) -> str:
    """Return the line of a traceback that names the error."""
    errors = re.findall(r"^[\w.]+(?:Error|Exception|Exit)\b.*", said, re.MULTILINE)
    return errors[-1] if errors else said.strip()
