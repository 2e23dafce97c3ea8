"""How long does SmolLM2-135M take to continue a text in half precision?

It is measured as in `decoding`. All contenders have the same weights, and weights, caches and all numbers in
between are bfloat16. Each rounds its sums in an order of its own, so their texts may part; same_text says
whether they did not.
"""

import torch
from decoding import PACKAGES as PACKAGES
from decoding import measure_decoding
from decoding import targets as targets
from measuring.circumstances import cores


def measure():
    """Measure decoding in bfloat16."""
    torch.set_num_threads(cores())
    return measure_decoding(torch.bfloat16, ("sdpa",))
