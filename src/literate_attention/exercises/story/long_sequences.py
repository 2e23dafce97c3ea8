"""Checks: why attention exists."""

import torch

from literate_attention.exercises._judging import Verdict, judge


def check_cost(steps: object, scores: object, longer: int) -> Verdict:
    """Check how the cost of reading grows with the length of a text.

    Args:
        steps: how many times as many steps a recurrent network takes.
        scores: how many times as many scores attention computes.
        longer: how many times as long the text has become.

    Returns:
        The verdict.

    Example:
        >>> check_cost(steps=10, scores=10, longer=10)
        Not yet. Attention scores every pair of tokens, so its cost grows with the square.
    """
    for_steps = judge(
        steps,
        torch.tensor(longer),
        [
            ("a recurrent network takes one step for each token", torch.tensor(longer**2)),
            ("a recurrent network has to take more steps for more tokens", torch.tensor(1)),
        ],
    )
    pairs = "attention scores every pair of tokens, so its cost grows with the square"
    for_scores = judge(
        scores,
        torch.tensor(longer**2),
        [(pairs, torch.tensor(longer)), (pairs, torch.tensor(2 * longer))],
    )
    return for_scores if for_steps else for_steps
