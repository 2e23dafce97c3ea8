"""What a program prints of the library's numbers, kept in the build folder until the library has changed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx

from executable_book.files_on_disk import write_atomically
from executable_book.run.fingerprint import fingerprint
from executable_book.run.page_execution import kernel_settings, package_in
from executable_book.run.programs import Program


class Computation(NamedTuple):
    """A program that computes numbers.

    Attributes:
        fingerprint: what it depends on.
        program: what runs.
    """

    fingerprint: str
    program: Program


_at_work: dict[Path, Computation] = {}
"""The computations of this build, by the file that is to hold their numbers."""


def are_stale(app: Sphinx, path: Path, now: str) -> bool:
    """Tell whether the numbers in a file are missing, or have another fingerprint than they would have now.

    They never are for a build that writes nothing: it shows none.
    """
    return bool(app.builder.format) and stored(path).get("fingerprint") != now


def fingerprint_of(app: Sphinx, script: Path) -> str:
    """Return the fingerprint of what numbers depend on."""
    depends = (Path(app.confdir, name) for name in app.config.book_depends)
    return fingerprint([Path(__file__), script, *depends])


def begin(app: Sphinx, script: Path, path: Path) -> None:
    """Begin to compute the numbers of a file, if they are stale: meanwhile, pages are read."""
    _at_work.pop(path, None)  # of a build that failed
    now = fingerprint_of(app, script)
    if are_stale(app, path, now):
        _at_work[path] = Computation(now, Program(kernel_settings(app.config), script))


def finish(app: Sphinx, script: Path, path: Path) -> bool:
    """Have the numbers in the file, or until the next build why there are none; tell if they are new.

    Why there are none is a problem, unless they need a package that the book may lack.
    """
    computation = _at_work.pop(path, None)
    if computation is None:
        return False
    before = stored(path)
    status, output, errors = computation.program.finish()
    if status:
        error = error_in(errors)
        kind, _, sentence = error.partition(": ")
        made: dict[str, Any] = {"problem": f"{script.name} failed: {error}"}
        if kind.endswith("ModuleNotFoundError") and package_in(sentence, app.config.book_may_lack):
            made = {"lacks": sentence}
    else:
        made = {"fingerprint": computation.fingerprint, "numbers": json.loads(output)}
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
