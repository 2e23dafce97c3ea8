"""How many of forty trainings succeed, for each model that a page of the story trains."""

from typing import Any

import torch
from harness.library.rungs import RUNGS, successes
from measuring.targets import target

QUESTION = "How many of forty trainings learn what the page's own training learns?"
METHOD = """
The cells of the page run as they stand there, but for the seed: forty seeds from 1000 on. A training
succeeds if at least 0.99 of the examples that it has not seen are answered rightly; for next words, if
the loss is within 0.005 of the floor. nox -s proof counts again, with two sets of instructions of the
processor.
"""
PACKAGES = ("torch",)
SEEDS = range(1000, 1040)
MOST_FAILURES = 4


def measure() -> dict[str, dict[str, int]]:
    """Count, for each model."""
    torch.set_num_threads(1)
    return {rung: {"seeds": len(SEEDS), "succeeded": count(rung)} for rung in RUNGS}


def count(rung: str) -> int:
    """Train from forty seeds."""
    succeeded = len(successes(rung, SEEDS))
    print(f"{rung}: {succeeded} of {len(SEEDS)}", flush=True)
    return succeeded


def targets(results: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    """At most one training in ten may fail."""
    return [
        target(
            f"failures, of {found['seeds']}",
            rung,
            found["seeds"] - found["succeeded"],
            MOST_FAILURES,
        )
        for rung, found in results.items()
    ]
