"""What a book wants of its kernels, as its conf.py says it. It travels to them as JSON."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any

ALWAYS = ("ipykernel", "ipython")
"""The distributions that every kernel is made of."""


@dataclass(frozen=True)
class KernelSettings:
    """What a book wants of its kernels.

    Attributes:
        preload: modules that the warm server imports once, for all kernels.
        startup: functions that each kernel calls before the first cell, as `module:function`.
        versions: distributions whose versions a page names at its foot.
        device: the function that says what a page runs on, as `module:function`; pages that do not import
            the module run on the CPU.
    """

    preload: tuple[str, ...] = ()
    startup: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    device: str = ""

    def to_json(self) -> str:
        """Return the settings as they travel."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> KernelSettings:
        """Return the settings that have travelled."""
        given: dict[str, Any] = json.loads(text)
        device = str(given.pop("device"))
        return cls(device=device, **{name: tuple(value) for name, value in given.items()})

    def installed(self) -> dict[str, str | None]:
        """Return the versions of what may change an output: of kernels, and of what is preloaded."""
        named = {module.partition(".")[0] for module in self.preload} | {*self.versions, *ALWAYS}
        found: dict[str, str | None] = dict.fromkeys(sorted(named))
        for name in found:
            with contextlib.suppress(metadata.PackageNotFoundError):
                found[name] = metadata.version(name)
        return found

    def files(self) -> list[Path]:
        """Return the files of the modules that act at startup; nothing is imported."""
        specs = (util.find_spec(name.partition(":")[0]) for name in self.startup)
        return [Path(spec.origin) for spec in specs if spec and spec.origin]
