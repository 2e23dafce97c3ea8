"""Checks: a softmax in parts."""

import torch

from literate_attention.exercises._judging import Verdict, judge, result_of, wrong


def check_merge(answer: object) -> Verdict:
    """Check a function that merges the attention to two parts of the keys.

    Args:
        answer: your function; it is called with two parts, each a pair of context vectors and log-sum-exps,
            and returns the pair of both together.

    Returns:
        The verdict.

    Example:
        >>> check_merge(lambda one, other: ((one[0] + other[0]) / 2, one[1]))
        Not yet. The context vectors: both parts count alike.
    """
    one, other = (
        (torch.tensor([[1.0, 2.0], [4.0, 3.0]]), torch.tensor([[0.5], [-1.0]])),
        (torch.tensor([[5.0, -2.0], [2.0, 7.0]]), torch.tensor([[2.0], [0.25]])),
    )
    result = result_of(answer, one, other)
    if isinstance(result, Verdict):
        return result
    if not isinstance(result, tuple | list) or len(result) != 2:
        return wrong("a pair is expected: context vectors, and log-sum-exps")
    (z1, l1), (z2, l2) = one, other
    merged = torch.logaddexp(l1, l2)
    shares = (l1 - merged).exp(), (l2 - merged).exp()
    verdict = judge(
        result[0],
        shares[0] * z1 + shares[1] * z2,
        [
            ("the context vectors: both parts count alike", (z1 + z2) / 2),
            ("the context vectors: they are added, not averaged", z1 + z2),
            (
                "the context vectors: the sum of the shares is not one; divide by it",
                l1.exp() * z1 + l2.exp() * z2,
            ),
            (
                "the context vectors: these are shares of the log-sum-exps, not of their exponentials",
                (l1 * z1 + l2 * z2) / (l1 + l2),
            ),
            (
                "the context vectors: each part has the share of the other",
                shares[1] * z1 + shares[0] * z2,
            ),
        ],
    )
    if not verdict:
        return verdict
    return judge(
        result[1],
        merged,
        [
            ("the log-sum-exp: this is the larger of both", torch.maximum(l1, l2)),
            ("the log-sum-exp: these are added; add the exponentials", l1 + l2),
            ("the log-sum-exp: the logarithm is missing", merged.exp()),
        ],
    )
