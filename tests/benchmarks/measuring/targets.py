"""Goals that were set before anything was measured."""


def target(what, where, measured, most):
    """Hold what was measured against the most that was allowed."""
    return {
        "target": what,
        "where": where,
        "measured": round(measured, 4),
        "most": round(most, 4),
        "met": measured <= most,
    }
