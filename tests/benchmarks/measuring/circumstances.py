"""Where and with what something was measured."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import torch

ROOT = Path(__file__).parents[3]
MEASURED = ("src", "tests", "docs", ".ci", "pyproject.toml", "noxfile.py", ":!docs/measurements")
"""What a measurement depends on."""


def cores():
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def now():
    """Return the date, the commit that is checked out, and how busy the machine is.

    It says as well whether what is measured was changed since that commit, and how many processes wanted a
    core in the last minute, on average.
    """
    head = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", *MEASURED)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": f"{head} with changes" if changed else head,
        "load": {"before": round(os.getloadavg()[0], 2)},
    }


def machine():
    """Describe the machine, without its name."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
    }


def versions(*packages):
    """Return the versions of Python, of torch and of the named packages."""
    found = {"python": platform.python_version(), "torch": torch.__version__}
    return found | {name: metadata.version(name) for name in packages}


def _git(*command):
    result = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True)
    return result.stdout.strip()


def _processor():
    if (cpuinfo := Path("/proc/cpuinfo")).exists() and (
        named := re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(), re.MULTILINE)
    ):
        return named[1].strip()
    return platform.processor()
