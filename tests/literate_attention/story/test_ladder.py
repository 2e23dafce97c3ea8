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
FORTY, TEN = range(1000, 1040), range(1000, 1010)
TRAIN = """
import json, sys, torch
from harness.library.rungs import successes
torch.set_num_threads(1)
print(json.dumps({rung: successes(rung, seeds) for rung, seeds in json.loads(sys.argv[1]).items()}))
"""


@pytest.mark.whole
def test_as_many_trainings_succeed_as_the_pages_say() -> None:
    """With the oldest instructions, ten seeds and those that fail: the others are far from failing."""
    succeeded = trained({rung: [*FORTY] for rung in RUNGS})
    said = {rung: (found["seeds"], found["succeeded"]) for rung, found in MEASURED.items()}
    assert {rung: (len(FORTY), len(seeds)) for rung, seeds in succeeded.items()} == said
    again = {rung: sorted({*TEN} | {*FORTY} - {*seeds}) for rung, seeds in succeeded.items()}
    expected = {rung: [seed for seed in again[rung] if seed in succeeded[rung]] for rung in RUNGS}
    assert trained(again, ATEN_CPU_CAPABILITY="default") == expected


def trained(seeds: dict[str, list[int]], **instructions: str) -> dict[str, list[int]]:
    """Train in a process of its own; return the seeds that succeed, by rung."""
    ran = subprocess.run(
        [sys.executable, "-c", TRAIN, json.dumps(seeds)],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")} | instructions,
    )
    return dict(json.loads(ran.stdout))
