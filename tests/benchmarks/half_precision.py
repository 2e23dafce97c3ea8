"""How long a trained model takes to continue a text in half precision: as in `decoding`, with bfloat16."""

import torch
from decoding import PACKAGES as PACKAGES
from decoding import QUESTION as QUESTION
from decoding import TIMED, measure_decoding
from decoding import targets as targets
from measuring.circumstances import cores

COMPARED = """
All contenders have the same weights, and weights, caches and all numbers in between are bfloat16. Each rounds
its sums in an order of its own, so their texts may part; same_text says whether they did not.
"""
METHOD = COMPARED + TIMED


def measure():
    """Measure decoding in bfloat16."""
    torch.set_num_threads(cores())
    return list(measure_decoding(torch.bfloat16, ("sdpa",)))
