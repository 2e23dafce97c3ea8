"""Figures that take too long, or another machine, to measure at each build: `docs/measurements/*.json`.

Each file says on which machine and with which versions it was measured, and carries a checksum over all
that it says. So a figure that was edited by hand, or damaged, is noticed, and every build reports it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from executable_book.check.repeated_warnings import Finding

FOLDER = "measurements"
SEAL = "sha256"
EVERYWHERE = ("machine", "versions")


def seal(measurement: dict[str, Any]) -> str:
    """Return the checksum of all that a measurement says."""
    said = {name: measurement[name] for name in sorted(measurement) if name != SEAL}
    return hashlib.sha256(json.dumps(said, allow_nan=False).encode()).hexdigest()


def write(path: Path, measurement: dict[str, Any]) -> None:
    """Seal a measurement, and put it in place in one step."""
    sealed = {**measurement, SEAL: seal(measurement)}
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(sealed, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, path)


def read(path: Path) -> dict[str, Any]:
    """Return a measurement.

    Raises:
        ValueError: It is damaged, incomplete, or not what was measured.
    """
    measurement = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(measurement, dict):
        raise ValueError(f"a measurement must be an object, got {type(measurement).__name__}")
    for name in EVERYWHERE:
        if not isinstance(measurement.get(name), dict):
            raise ValueError(f"{name!r} must be an object, got {measurement.get(name)!r}")
    if measurement.get(SEAL) != seal(measurement):
        raise ValueError("its checksum does not fit: it was changed after it was measured")
    return measurement


def judge_measurements(app: Sphinx) -> Iterator[Finding]:
    """Report the files that are not what was measured."""
    for path in sorted(Path(app.srcdir, FOLDER).glob("*.json")):
        try:
            read(path)
        except ValueError as error:
            yield Finding(str(path), 0, f"not a measurement: {error}; measure again")
