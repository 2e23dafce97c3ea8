"""Measure, and keep what was measured under docs/measurements/.

It is what `nox -s bench` runs, and takes the names of benchmarks.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any

import torch
from measuring import circumstances

NAMES = (
    "attention",
    "duration",
    "memory",
    "decoding",
    "half_precision",
    "ring",
    "loader",
    "build",
    "website",
)


def run(name: str) -> dict[str, Any]:
    """Run one benchmark, and say where and with what it was measured."""
    commit, before = circumstances.commit(), circumstances.load()
    measured = importlib.import_module(name).measure()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return {
        "name": measured["name"],
        "question": measured["question"],
        "date": circumstances.today(),
        "commit": commit,
        "machine": circumstances.machine(device),
        "load": {"before": before, "after": circumstances.load()},
        "versions": circumstances.versions(*measured["packages"]),
        "method": " ".join(measured["method"].split()),
        "targets": measured["targets"],
        "results": measured["results"],
    }


def names(arguments: Sequence[str]) -> Sequence[str]:
    """Return which benchmarks are asked for: all, if none is named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", type=known, help=f"of {', '.join(NAMES)}; or all")
    return parser.parse_args(arguments).names or NAMES


def known(name: str) -> str:
    """Refuse a name that no benchmark has."""
    if name not in NAMES:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(NAMES)}, got {name}")
    return name


def main() -> None:
    """Run the benchmarks that are named."""
    sys.path.append(str(circumstances.ROOT / "tests"))
    measurements = importlib.import_module("executable_book.check.measurements")
    for name in names(sys.argv[1:]):
        measurement = run(name)
        for target in measurement["targets"]:
            verdict = "met    " if target["met"] else "NOT MET"
            print(f"{verdict}  {target['measured']:8}  {target['target']} ({target['where']})")
        path = circumstances.ROOT / "docs" / "measurements" / f"{name}.json"
        measurements.write(path, measurement)
        print(f"kept in docs/measurements/{path.name}", flush=True)


if __name__ == "__main__":
    main()
