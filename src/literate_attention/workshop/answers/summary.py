"""Checks: all of it."""

import torch

from literate_attention.workshop.judge.attending import attend, known_ways, results
from literate_attention.workshop.judge.verdict import RIGHT, Verdict, judge_result, result_of, wrong


def check_attention(function: object) -> Verdict:
    """Check your own scaled dot-product attention, with and without a causal mask, also for batches.

    Args:
        function: takes query, key, value and ``is_causal``, returns the context vectors.

    Example:
        >>> check_attention(lambda q, k, v, is_causal: (q @ k.mT / q.shape[-1]).softmax(dim=-1) @ v)
        Not yet. One sequence: the scores are scaled by d_k, not by its square root.
    """
    generator = torch.Generator().manual_seed(123)
    for name, batch, is_causal in (
        ("one sequence", (), False),
        ("one sequence, causal", (), True),
        ("a batch", (2,), False),
        ("a batch, causal", (2,), True),
    ):
        query, key = (torch.randn(*batch, 5, 3, generator=generator) for _ in range(2))
        value = torch.randn(*batch, 5, 7, generator=generator)
        ways = results(known_ways(attend, is_causal=is_causal), query, key, value)
        _, right = next(ways)
        result = result_of(function, query, key, value, is_causal=is_causal)
        verdict = judge_result(result, right, ways)
        if not verdict:
            says = verdict.says[0].lower() + verdict.says[1:].removesuffix(".")
            return wrong(f"{name}: {says}")
    return RIGHT
