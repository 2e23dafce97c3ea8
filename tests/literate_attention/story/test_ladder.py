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


ALL = {rung: MEASURED[rung]["seeds"] for rung in RUNGS}
FIVE = dict.fromkeys((rung for rung in ALL if not rung.startswith("root")), 5)


@pytest.mark.parametrize(
    ("seeds", "instructions"),
    [
        pytest.param(FIVE, {}, marks=pytest.mark.whole),
        pytest.param(ALL, {}, marks=pytest.mark.seeds),
        pytest.param(ALL, {"ATEN_CPU_CAPABILITY": "default"}, marks=pytest.mark.seeds),
    ],
)
def test_no_more_trainings_succeed_or_fail_than_the_pages_say(seeds, instructions) -> None:
    """Of all exactly as many do; the first of them cannot hold more successes or failures.

    Where rounding decides, the page says of how many it does, and that most fail.
    """
    assert MEASURED.keys() == RUNGS.keys()
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")} | instructions
    count = [sys.executable, "-c", COUNT, json.dumps(seeds)]
    found = json.loads(subprocess.check_output(count, text=True, env=environment))
    for rung, trained in seeds.items():
        measured = MEASURED[rung]
        if "under_noise" in measured:
            assert found[rung] < trained / 2, f"{rung}: most of them fail, says the page"
            continue
        assert found[rung] <= measured["succeeded"], rung
        assert trained - found[rung] <= measured["seeds"] - measured["succeeded"], rung
