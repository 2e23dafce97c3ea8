"""Goals that were set before anything was measured."""

from typing import Any


def target(what: str, where: str, measured: float, most: float) -> dict[str, Any]:
    """Hold what was measured against the most that was allowed."""
    return {
        "target": what,
        "where": where,
        "measured": round(measured, 4),
        "most": round(most, 4),
        "met": measured <= most,
    }
