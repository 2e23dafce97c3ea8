"""Checks: a softmax in one pass."""

import torch
from torch import Tensor

from literate_attention.workshop.judge.verdict import RIGHT, Verdict, judge_result, result_of, wrong


def check_one_pass(answer: object) -> Verdict:
    """Check a function that attends to a stream of keys and values, of which it sees each pair once.

    Args:
        answer: your function; it is called with a query and an iterator of pairs of a key and its value,
            and returns the context vector.

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
        weights = torch.softmax(scaled, dim=0)
        mistakes = [
            ("the scores are not scaled", torch.softmax(scores, dim=0) @ values),
            (
                "the scores are scaled by the width, not by its root",
                torch.softmax(scores / 3, dim=0) @ values,
            ),
            (
                "the sum of the weights is not one: divide by it at the end",
                torch.exp(scaled - scaled.max()) @ values,
            ),
            (
                "what was summed is not rescaled when the maximum grows",
                _not_rescaled(scaled, values),
            ),
            (
                "the exponential of a large score is infinite: subtract the maximum",
                torch.full((2,), torch.nan),
            ),
        ]
        result = result_of(answer, asks, zip(keys, values, strict=True))
        verdict = judge_result(result, weights @ values, mistakes)
        if not verdict:
            says = verdict.says[0].lower() + verdict.says[1:].removesuffix(".")
            return wrong(f"{name}: {says}")
    return RIGHT


def _not_rescaled(scores: Tensor, values: Tensor) -> Tensor:
    exponentials = torch.exp(scores - scores.cummax(dim=0).values)
    return exponentials @ values / exponentials.sum()
