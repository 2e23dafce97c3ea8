"""Times that can be compared: all contenders in one run, in turns, and ratios within each turn.

A machine is never quiet for long. Timed one after the other, two equal pieces of code differ by as much
as the machine changed in between. So every round runs each contender once, in an order drawn anew, and
a ratio is taken between times of the same round. The median over all rounds forgets the disturbed ones.
"""

import gc
import random
import statistics
import sys
import time
from contextlib import contextmanager


def interleaved(contenders, *, rounds, warm_up=2, named=""):
    """Time all contenders in turns.

    Args:
        contenders: what to run, by name.
        rounds: how often each is timed.
        warm_up: how often each runs before anything is timed.
        named: what is timed, to say how far it is; by default nothing is said.

    Returns:
        For each name its times in seconds, round by round.
    """
    for run in contenders.values():
        for _ in range(warm_up):
            run()
    times = {name: [] for name in contenders}
    order = list(contenders)
    draw = random.Random(0)
    with no_garbage_collection():
        for number in range(rounds):
            if named:
                say(f"{named}: round {number + 1} of {rounds}")
            draw.shuffle(order)
            for name in order:
                start = time.perf_counter()
                contenders[name]()
                times[name].append(time.perf_counter() - start)
    return times


def say(what) -> None:
    """Tell whoever waits how far it is."""
    print(what, file=sys.stderr, flush=True)


@contextmanager
def no_garbage_collection():
    """Collect garbage now, and not while the context lasts."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def ratios(times, others):
    """Divide times by others' times of the same round."""
    return [time / other for time, other in zip(times, others, strict=True)]


def less_median(times, others):
    """Take the median of others' times from times: that of the same round may have been disturbed."""
    return [time - statistics.median(others) for time in times]


def spread(values):
    """Sum up at least two measurements, to four digits: median, quartiles and the smallest."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    named = {"median": median, "low": low, "high": high, "least": min(values)}
    return {name: float(f"{value:.4g}") for name, value in named.items()}


def compared(name, times, **others):
    """Sum up the times of one contender, in ms, and divided by those of others in the same rounds."""
    row = {"contender": name, "rounds": len(times), "ms": spread([1e3 * one for one in times])}
    return row | {f"times_{other}": spread(ratios(times, each)) for other, each in others.items()}


def side_by_side(contenders, *others, **options):
    """Time all contenders in turns, and sum up each one's times, also as divided by those of others."""
    times = interleaved(contenders, **options)
    against = {other: times[other] for other in others}
    return [compared(name, each, **against) for name, each in times.items()]
