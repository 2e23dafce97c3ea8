"""What the pages say of forty trainings is so, whatever instructions the processor has."""

import json
import os
import subprocess
import sys

import pytest
from harness.library.rungs import RUNGS
from harness.paths import ROOT

MEASURED = json.loads((ROOT / "docs" / "measurements" / "ladder.json").read_text("utf-8"))[
    "results"
]
COUNT = """
import sys, torch
from harness.library.rungs import successes
torch.set_num_threads(1)
print(len(successes(sys.argv[1], range(1000, 1000 + int(sys.argv[2])))))
"""


@pytest.mark.whole
@pytest.mark.parametrize("capability", [None, "default"])
@pytest.mark.parametrize("rung", RUNGS)
def test_as_many_trainings_succeed_as_the_page_says(rung: str, capability: str | None) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    if capability:
        environment["ATEN_CPU_CAPABILITY"] = capability
    said = MEASURED[rung]
    counted = subprocess.run(
        [sys.executable, "-c", COUNT, rung, str(said["seeds"])],
        capture_output=True,
        check=True,
        text=True,
        env=environment,
    ).stdout
    assert int(counted.splitlines()[-1]) == said["succeeded"]
