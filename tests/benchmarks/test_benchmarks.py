"""What is measured is the same work, and what is written of it can be judged."""

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from harness.paths import ROOT
from torch import Tensor

from literate_attention import MultiHeadAttention

sys.path.insert(0, str(ROOT / "tests" / "benchmarks"))

import attention
from measuring import contenders

COMMAND = runpy.run_path(str(ROOT / "tests" / "benchmarks" / "__main__.py"))
MEASUREMENTS = sorted((ROOT / "docs" / "measurements").glob("*.json"))
WIDTH, HEADS, TOKENS = 22, 2, 7


@pytest.mark.parametrize("path", MEASUREMENTS, ids=lambda path: path.stem)
def test_a_measurement_says_all_that_is_needed_to_judge_it(path: Path) -> None:
    measured = json.loads(path.read_text(encoding="utf-8"))
    assert path.stem in COMMAND["NAMES"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", measured["date"])
    assert re.fullmatch(r"[0-9a-f]{40}( with changes)?", measured["commit"])
    about = {"system", "processor", "cores", "memory", "device", "threads"}
    assert about <= set(measured["machine"])
    assert {"python", "torch"} <= set(measured["versions"])
    assert measured["question"] and measured["method"] and measured["results"]  # noqa: PT018
    for target in measured["targets"]:
        assert target["met"] == (target["measured"] <= target["most"]), target


@pytest.fixture
def ours() -> tuple[MultiHeadAttention, MultiHeadAttention]:
    torch.manual_seed(123)
    plain, biased = (
        MultiHeadAttention(WIDTH, WIDTH, 11, 0.0, HEADS, qkv_bias=bias) for bias in (False, True)
    )
    return plain, biased


@pytest.fixture
def x() -> Tensor:
    return torch.randn(3, TOKENS, WIDTH, generator=torch.Generator().manual_seed(7))


@pytest.mark.filterwarnings("ignore")  # others' imports may warn
def test_all_contenders_compute_the_same_with_as_many_parameters(
    ours: tuple[MultiHeadAttention, MultiHeadAttention], x: Tensor
) -> None:
    entrants = list(contenders.contenders(*ours))
    names = {one.name for one in entrants}
    assert {"ours", "the sources' class", "bare matmuls and kernel"} < names
    for one in entrants:
        twin = ours[one.biased]
        attention.require_equal(one, twin, x, backward=True)
        missing = WIDTH if one.name == "x-transformers" else 0
        assert one.parameters() == sum(p.numel() for p in twin.parameters()) - missing, one.name


@pytest.mark.filterwarnings("ignore")
def test_a_case_is_measured_and_judged() -> None:
    case = attention.Case(batch=2, tokens=16, rounds=(3, 3))
    rows: list[dict[str, Any]] = list(attention.measure_case(case, with_flex=False))
    assert {row["step"] for row in rows} == {"forward", "training step"}
    for row in rows:
        assert row["ms"]["least"] <= row["ms"]["low"] <= row["ms"]["median"] <= row["ms"]["high"]
        if row["part"] == "ours":
            assert row["times_ours"]["low"] == row["times_ours"]["high"] == 1
    judged = attention.targets(rows)
    assert len(judged) == 4, "the fastest peer and the bare kernel; the source counts from 1024"
    for target in judged:
        assert target["met"] == (target["measured"] <= target["most"])
