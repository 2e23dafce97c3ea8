"""What programs print as JSON, stored beside the output folder until what it depends on has changed.

So what a program of the library has to say costs a build nothing, unless the library has changed.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from executable_book.files_on_disk import write_if_changed
from executable_book.run.kernels import start_python

FOLDER = "prints"
_running: dict[Path, tuple[str, subprocess.Popen[str]]] = {}
"""What runs for a file: a digest of what its content depends on, and the program."""


def begin(outdir: Path, name: str, digest: str, *program: str) -> None:
    """Begin to run a program, if what it prints is missing or stale: meanwhile, pages are read."""
    path = _path(outdir, name)
    _running.pop(path, None)  # of a build that failed
    if stored(outdir, name).get("digest") != digest:
        _running[path] = digest, start_python(*program)


def finish(outdir: Path, name: str) -> dict[str, Any]:
    """Wait for the program, if it runs, and return what is stored; a failed one runs again next time."""
    path = _path(outdir, name)
    if path in _running:
        digest, program = _running.pop(path)
        output, errors = program.communicate()
        if program.returncode:
            made: dict[str, Any] = {"problem": error_in(errors)}
        else:
            try:
                made = {"digest": digest, "printed": json.loads(output)}
            except ValueError:
                made = {"problem": f"JSON is expected, got {output[:200]!r}"}
        write_if_changed(path, json.dumps(made))
    return stored(outdir, name)


def stored(outdir: Path, name: str) -> dict[str, Any]:
    """Return what a program `printed`, or what its `problem` was: nothing, if the file is damaged."""
    try:
        content = json.loads(_path(outdir, name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def error_in(said: str) -> str:
    """Return the line of a traceback that names the error."""
    errors = re.findall(r"^[\w.]+(?:Error|Exception|Exit)\b.*", said, re.MULTILINE)
    return errors[-1] if errors else said.strip()


def _path(outdir: Path, name: str) -> Path:
    return Path(outdir).parent / FOLDER / f"{name}.json"
