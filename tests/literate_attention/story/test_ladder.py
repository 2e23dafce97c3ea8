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
seeds = json.loads(sys.argv[1])
print(json.dumps({rung: len(successes(rung, range(1000, 1000 + n))) for rung, n in seeds.items()}))
"""


@pytest.mark.parametrize(
    ("most_seeds", "instructions"),
    [
        pytest.param(10, {}, marks=pytest.mark.whole),
        pytest.param(40, {}, marks=pytest.mark.seeds),
        pytest.param(40, {"ATEN_CPU_CAPABILITY": "default"}, marks=pytest.mark.seeds),
    ],
)
def test_no_more_trainings_succeed_or_fail_than_the_pages_say(most_seeds, instructions) -> None:
    """Of all forty exactly as many do; the first ten of them cannot hold more successes or failures.

    Where rounding decides, the page says of how many it does, and that most fail.
    """
    seeds = {rung: min(MEASURED[rung]["seeds"], most_seeds) for rung in RUNGS}
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")} | instructions
    count = [sys.executable, "-c", COUNT, json.dumps(seeds)]
    found = json.loads(subprocess.check_output(count, text=True, env=environment))
    for rung, measured in MEASURED.items():
        if "under_noise" in measured:
            assert found[rung] < seeds[rung] / 2, f"{rung}: most of them fail, says the page"
            continue
        failed = seeds[rung] - found[rung]
        assert found[rung] <= measured["succeeded"], rung
        assert failed <= measured["seeds"] - measured["succeeded"], rung
