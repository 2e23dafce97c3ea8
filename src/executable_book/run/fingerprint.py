"""What all executions of a build depend on, other than the cells themselves.

What changed gives another fingerprint, an execution is found by it, so nothing that is found is stale. It is
found by rule: every file of the folder `kernels`, at any depth, and all that the book's conf.py names.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from executable_book.files_on_disk import digest_of, sha256
from executable_book.run.kernels import warm_server
from executable_book.run.kernels.kernel_settings import KernelSettings

KERNELS = warm_server.FOLDER


def fingerprint(
    depends: Iterable[Path],
    settings: KernelSettings = KernelSettings(),  # noqa: B008 - it is frozen
    variables: Iterable[str] = (),
) -> str:
    """Return a digest of all that executions depend on.

    Args:
        depends: files, and folders with all that is in them.
        settings: what the book wants of its kernels.
        variables: environment variables that pages read.
    """
    facts = {
        "files": [digest_of(path) for path in (KERNELS, *settings.files(), *depends)],
        "settings": settings.to_json(),
        "python": sys.version,
        "packages": settings.installed(),
        "machine": [platform.platform(), platform.machine(), _processor(), _accelerators()],
        "environment": [os.environ.get(name) for name in (*variables, "CUDA_VISIBLE_DEVICES")],
        "threads": warm_server.environment()["OMP_NUM_THREADS"],
    }
    return sha256(json.dumps(facts, sort_keys=True))


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
