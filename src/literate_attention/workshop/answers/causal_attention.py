"""Checks: masks and dropout."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from literate_attention.story.causal_attention import causal_mask
from literate_attention.workshop.judge.attending import known_ways, results, weigh
from literate_attention.workshop.judge.verdict import Verdict, judge, judge_result, result_of, wrong


def check_weights(
    answer: object,
    query: Float[Tensor, "*batch q_len d_k"],
    key: Float[Tensor, "*batch kv_len d_k"],
    *,
    is_causal: bool = False,
) -> Verdict:
    """Check attention weights.

    Args:
        answer: your weights.
        query: the queries.
        key: the keys.
        is_causal: whether the future should be hidden.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
        >>> check_weights(torch.softmax(x @ x.T / 2, dim=-1), x, x)
        Not yet. The scores are scaled by d_k, not by its square root.
    """
    (_, right), *mistakes = results(known_ways(weigh, is_causal=is_causal), query, key)
    return judge(answer, right, mistakes)


def check_mask(answer: object, num_tokens: int, window: int | None = None) -> Verdict:
    """Check a causal mask, in which True means: may attend.

    Args:
        answer: your mask.
        num_tokens: how many queries and keys there are.
        window: how many tokens a query may attend to, itself included; by default all of the past.

    Example:
        >>> check_mask(torch.ones(3, 3).tril() == 0, num_tokens=3)
        Not yet. True means may attend, and this mask is true for what is hidden.
    """
    past = causal_mask(num_tokens)

    def windowed(width: int | None) -> Bool[Tensor, "num_tokens num_tokens"]:
        return past if width is None else past & ~past.tril(-width)

    right = windowed(window)
    mistakes = [
        ("True means may attend, and this mask is true for what is hidden", ~right),
        ("the mask hides the past and shows the future", right.mT),
        ("nothing is hidden", torch.ones_like(past)),
        ("no token sees itself", right & ~torch.eye(num_tokens, dtype=torch.bool)),
        ("one token of the future is left visible", right | torch.ones_like(past).triu(1).tril(1)),
    ]
    if window is not None:
        mistakes += [
            ("all of the past is visible, not only the window", past),
            ("the window is one token too wide: a token counts itself", windowed(window + 1)),
            ("the window is one token too narrow: a token counts itself", windowed(window - 1)),
            ("the future is visible", ~past.tril(-window)),
        ]
    verdict = judge(answer, right, ((says, mistake) for says, mistake in mistakes))
    if verdict and not (isinstance(answer, Tensor) and answer.dtype == torch.bool):
        return wrong("the right places, but a mask has to be boolean: add .bool()")
    return verdict


def check_dropout(function: object) -> Verdict:
    """Check your own dropout.

    Args:
        function: takes a tensor, a boolean tensor that is True for what is kept, and the rate p.

    Example:
        >>> check_dropout(lambda x, kept, p: x * kept)
        Not yet. What is kept was not scaled up: divide it by 1 - p.
    """
    x = torch.tensor([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]])
    kept = torch.tensor([[True, False, True], [True, True, True]])
    p, rest = 0.2, x * kept
    mistakes = [
        ("what is kept was not scaled up: divide it by 1 - p", rest),
        ("what is kept is divided by p, not by 1 - p", rest / p),
        ("what is kept is multiplied by 1 - p, not divided by it", rest * (1 - p)),
        ("this keeps what should be dropped", x * ~kept / (1 - p)),
        ("this keeps what should be dropped, and does not scale it", x * ~kept),
        ("nothing is dropped", x / (1 - p)),
        ("nothing is dropped, and nothing is scaled", x),
        (
            "the rows were made to sum to what they were: dropout scales all numbers alike",
            rest * x.sum(dim=-1, keepdim=True) / rest.sum(dim=-1, keepdim=True),
        ),
    ]
    return judge_result(result_of(function, x, kept, p), rest / (1 - p), mistakes)
