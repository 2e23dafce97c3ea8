"""How many of forty trainings learn what the page's own training learns?

The cells of the page run as they stand there, but for the seed: forty seeds from 1000 on. A training
succeeds if at least 0.99 of the examples that it has not seen are answered rightly; for next words, if the
loss is within 0.005 of the floor. For the square root, each of ten seeds has 400 steps at each of three
learning rates (0.0003, 0.001, 0.003), and succeeds if the loss falls below 0.1 at any of them: with small
numbers and the weight decay of the game, with large numbers and this decay, and with large numbers and
none, which is counted again under four noises, since rounding decides it for some seeds. Tied is the model
that has one matrix for queries and keys, and single the one with a single head: neither may succeed. Alone
has a matrix for the queries alone. nox -s proof counts again, with two sets of instructions of the
processor.
"""

import torch
from harness.library.rungs import RUNGS, successes

from literate_attention.trust.reproducibility import rounding_noise

FIRST_SEED = 1000
ROUNDING_DECIDES = "root_large_without"


def measure():
    """Count, for each model."""
    torch.set_num_threads(1)
    return {rung: count(rung) for rung in RUNGS}


def count(rung):
    """Train from forty seeds, or from ten where that takes longest."""
    seeds = range(FIRST_SEED, FIRST_SEED + (10 if rung.startswith("root") else 40))
    found = {"seeds": len(seeds), "succeeded": len(successes(rung, seeds))}
    if rung == ROUNDING_DECIDES:
        found["under_noise"] = [successes_under_noise(rung, seeds, noise) for noise in range(1, 5)]
    print(f"{rung}: {found}", flush=True)
    return found


def successes_under_noise(rung, seeds, noise):
    """Count those that succeed if the machine rounds otherwise."""
    with rounding_noise(noise):
        return len(successes(rung, seeds))
