"""Checks of answers in the part on models: a softmax in one pass."""

import torch

from literate_attention.workshop.judge.verdict import RIGHT, Verdict, about, judge, result_of

__all__ = ["check_one_pass"]


def check_one_pass(answer: object) -> Verdict:
    """Check a function that attends to a stream of keys and values, of which it sees each pair once.

    It is called with a query and an iterator of pairs of a key and its value, and returns the context vector.

    Example:
        >>> def attend(query, pairs):
        ...     keys, values = map(torch.stack, zip(*pairs))
        ...     return torch.softmax(keys @ query, dim=0) @ values
        >>> check_one_pass(attend)
        Not yet. Ordinary scores: the scores are not scaled.
    """
    generator = torch.Generator().manual_seed(123)
    query = torch.randn(3, generator=generator)
    keys = torch.randn(7, 3, generator=generator).flip(0)  # the largest score comes last
    values = torch.randn(7, 2, generator=generator)
    for name, asks in (("ordinary scores", query), ("large scores", 1000.0 * query)):
        scores = keys @ asks
        scaled = scores / 3**0.5
        growing = torch.exp(scaled - scaled.cummax(dim=0).values)
        wrong_weights = {
            "the scores are not scaled": scores.softmax(dim=0),
            "the scores are scaled by the width, not by its root": (scores / 3).softmax(dim=0),
            "the sum of the weights is not one: divide by it at the end": (
                torch.exp(scaled - scaled.max())
            ),
            "what was summed is not rescaled when the maximum grows": growing / growing.sum(),
            "the exponential of a large score is infinite: subtract the maximum": scaled
            * torch.nan,
        }
        mistakes = ((says, weights @ values) for says, weights in wrong_weights.items())
        result = result_of(answer, asks, zip(keys, values, strict=True))
        if not (verdict := judge(result, scaled.softmax(dim=0) @ values, mistakes)):
            return about(name, verdict)
    return RIGHT
