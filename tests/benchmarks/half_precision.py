"""How long a trained model takes to continue a text in half precision: as in `decoding`, with bfloat16."""

from typing import Any

import torch
from decoding import METHOD, QUESTION, measure_decoding, targets
from measuring.circumstances import cores

ROUNDS = 3
COMPARED = """
All contenders have the same weights, and weights, caches and all numbers in between are bfloat16. Each rounds
its sums in an order of its own, so their texts may part; same_text says whether they did not.
"""


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure decoding in bfloat16."""
    torch.set_num_threads(cores())
    results = list(measure_decoding(torch.bfloat16, rounds, ("sdpa",)))
    return {
        "name": "half_precision",
        "question": QUESTION,
        "method": COMPARED + METHOD,
        "packages": ("transformers", "gguf"),
        "results": results,
        "targets": targets(results),
    }
