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
import json, sys, torch
from harness.library.rungs import successes
torch.set_num_threads(1)
for rung, found in json.loads(sys.argv[1]).items():
    print(rung, len(successes(rung, range(1000, 1000 + found["seeds"]))))
"""


@pytest.mark.whole
@pytest.mark.parametrize("capability", [None, pytest.param("default", marks=pytest.mark.seeds)])
def test_as_many_trainings_succeed_as_the_pages_say(capability: str | None) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    if capability:
        environment["ATEN_CPU_CAPABILITY"] = capability
    counted = subprocess.run(
        [sys.executable, "-c", COUNT, json.dumps(MEASURED)],
        capture_output=True,
        check=True,
        text=True,
        env=environment,
    ).stdout
    said = [f"{rung} {MEASURED[rung]['succeeded']}" for rung in RUNGS]
    assert counted.splitlines() == said
