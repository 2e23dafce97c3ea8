"""Where things are in this repository."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SECOND_DEVICE = ROOT / "tests/harness/second_device.py"
