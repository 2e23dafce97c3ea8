"""Checks: attention without trainable weights."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from literate_attention.exercises._common_mistakes import weights_with_mistakes
from literate_attention.exercises._judging import (
    Verdict,
    judge,
    judge_result,
    numbers,
    result_of,
    wrong,
)


def check_softmax(function: object) -> Verdict:
    """Check your own softmax, over the last dimension.

    Args:
        function: takes a tensor of scores, returns one of weights.

    Returns:
        The verdict.

    Example:
        >>> check_softmax(lambda scores: scores.exp() / scores.exp().sum(dim=-1, keepdim=True))
        Not yet. Large scores overflow: take away the largest score of each row first.
    """
    scores = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -0.5]])
    ones = torch.tensor([[1000.0, 999.0], [-1000.0, -1001.0]])
    exponentials = scores.exp()
    mistakes = [
        ("the columns sum to one, not the rows", scores.softmax(dim=0)),
        ("all numbers together sum to one, not each row", exponentials / exponentials.sum()),
        ("the exponentials are not divided by their sum", exponentials),
        ("the exponential is missing", scores / scores.sum(dim=-1, keepdim=True)),
        ("this is the logarithm of the weights", scores.log_softmax(dim=-1)),
    ]
    verdict = judge_result(result_of(function, scores), scores.softmax(dim=-1), mistakes)
    if not verdict:
        return verdict
    result = result_of(function, ones)
    found = numbers(result)
    if found is not None and found.isnan().any():
        return wrong("large scores overflow: take away the largest score of each row first")
    return judge_result(result, ones.softmax(dim=-1), [])


def check_context_vector(
    answer: object, inputs: Float[Tensor, "num_tokens embed_dim"], query: int
) -> Verdict:
    """Check a context vector of attention without trainable weights.

    Args:
        answer: your context vector.
        inputs: the embeddings.
        query: the row of the token that asks.

    Returns:
        The verdict.

    Example:
        >>> inputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> check_context_vector(inputs[0], inputs, query=0)
        Not yet. This is the embedding of the token, not its context vector.
    """

    def mistakes() -> Iterator[tuple[str, Tensor]]:
        yield "this is the embedding of the token, not its context vector", inputs[query]
        yield "this is the plain average, all weights are the same", inputs.mean(dim=0)
        for says, weights in weights_with_mistakes(inputs, inputs, is_causal=False, scaled=False):
            yield ", and ".join(says), (weights @ inputs)[query]
            yield ", and ".join(["these are the weights", *says]), weights[query]
        for row, context in enumerate((inputs @ inputs.mT).softmax(dim=-1) @ inputs):
            yield f"this is the context vector of row {row}, not of row {query}", context

    right = ((inputs @ inputs.mT).softmax(dim=-1) @ inputs)[query]
    return judge(answer, right, mistakes())
