"""Measure, and keep what was measured under docs/measurements/.

It is what `nox -s bench` runs, and takes the names of benchmarks.
"""

import importlib
import json
import os
import sys
from pathlib import Path

from measuring import circumstances

NAMES = sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - {"__main__"})


def run(name):
    """Run one benchmark, and say where and with what it was measured."""
    before = circumstances.now()
    module = importlib.import_module(name)
    results = module.measure()
    results = results if isinstance(results, dict) else list(results)
    goals = module.targets(results) if hasattr(module, "targets") else []
    return {
        "name": name,
        **before,
        "machine": circumstances.machine(),
        "versions": circumstances.versions(*getattr(module, "PACKAGES", ())),
        "method": " ".join(module.__doc__.split()),
        "targets": [target(*goal) for goal in goals],
        "results": results,
    }


def target(what, where, measured, most):
    """Hold what was measured against the most that was allowed before."""
    return {
        "target": what,
        "where": where,
        "measured": round(measured, 4),
        "most": round(most, 4),
        "met": measured <= most,
    }


def main() -> None:
    """Run the benchmarks that are named: all, if none is."""
    names = sys.argv[1:] or NAMES
    if unknown := set(names) - set(NAMES):
        sys.exit(f"expected some of {', '.join(NAMES)}; got {', '.join(sorted(unknown))}")
    tests = str(circumstances.ROOT / "tests")
    sys.path.append(tests)
    os.environ["PYTHONPATH"] = tests  # of what measures in processes of its own
    for name in names:
        measurement = run(name)
        for target in measurement["targets"]:
            verdict = "met    " if target["met"] else "NOT MET"
            print(f"{verdict}  {target['measured']:8}  {target['target']} ({target['where']})")
        path = circumstances.ROOT / "docs" / "measurements" / f"{name}.json"
        text = json.dumps(measurement, indent=1, allow_nan=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        print(f"kept in docs/measurements/{path.name}", flush=True)


if __name__ == "__main__":
    main()
