"""Checks: a softmax in parts."""

from literate_attention.exercises._judging import Verdict
from literate_attention.exercises.pieces.ring_attention import MERGE


def check_merge(answer: object) -> Verdict:
    """Check a function that merges the attention to two parts of the keys.

    Args:
        answer: your function; it is called with two parts, each a pair of context vectors and log-sum-exps,
            and returns the pair of both together.

    Returns:
        The verdict.

    Example:
        >>> import torch
        >>> check_merge(lambda one, other: ((one[0] + other[0]) / 2, torch.logaddexp(one[1], other[1])))
        Not yet. The context vectors: both parts count alike.
        with context = [[1.0]]
        with logsumexp = [[0.5]]
        with other context = [[5.0]]
        with other logsumexp = [[2.0]]
        came:      [[3.0]]
        should be: [[4.27]]
    """
    return MERGE(answer)
