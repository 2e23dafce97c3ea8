"""Checks: self-attention with trainable weights."""

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor

from literate_attention.story.self_attention import SelfAttention_v1, SelfAttention_v2
from literate_attention.workshop.judge.attending import attend, known_ways, results
from literate_attention.workshop.judge.verdict import (
    RIGHT,
    Verdict,
    judge,
    wrong,
)


def check_projected_context(
    answer: object,
    inputs: Float[Tensor, "num_tokens d_in"],
    W_query: Float[Tensor, "d_in d_k"],  # noqa: N803 - the name that readers know
    W_key: Float[Tensor, "d_in d_k"],  # noqa: N803
    W_value: Float[Tensor, "d_in d_out"],  # noqa: N803
    query: int,
) -> Verdict:
    """Check a context vector of self-attention.

    Args:
        answer: your context vector.
        inputs: the embeddings.
        W_query: what turns embeddings into queries.
        W_key: what turns embeddings into keys.
        W_value: what turns embeddings into values.
        query: the row of the token that asks.

    Example:
        >>> import torch
        >>> x, one = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.eye(2)
        >>> check_projected_context(torch.tensor([0.7311, 0.2689]), x, one, one, one, query=0)
        Not yet. The scores are not scaled.
    """
    queries, keys, values = inputs @ W_query, inputs @ W_key, inputs @ W_value
    scores = queries @ keys.mT

    def mistakes() -> Iterator[tuple[str, Tensor]]:
        ways = known_ways(attend, is_causal=False)
        for says, context in results(ways, queries, keys, values):
            yield says, context[query]
        by_inputs = (scores / inputs.shape[-1] ** 0.5).softmax(dim=-1)
        yield (
            "the scores are scaled by the width of the inputs, not of the keys",
            (by_inputs @ values)[query],
        )
        weights = (scores / keys.shape[-1] ** 0.5).softmax(dim=-1)
        yield "the embeddings are averaged, not the values", (weights @ inputs)[query]
        for row, context in enumerate(weights @ values):
            yield f"this is the context vector of row {row}, not of row {query}", context

    right = (scores / keys.shape[-1] ** 0.5).softmax(dim=-1) @ values
    return judge(answer, right[query], mistakes())


def check_copied_weights(copy: object, original: SelfAttention_v2) -> Verdict:
    """Check that a module got the weights of another.

    Args:
        copy: the module that should have got them.
        original: the module that has them.

    Example:
        >>> check_copied_weights(SelfAttention_v1(3, 3), SelfAttention_v2(3, 3))
        Not yet. W_query still holds numbers of its own.
    """
    if not isinstance(copy, SelfAttention_v1):
        return wrong(f"a SelfAttention_v1 is expected, got {type(copy).__name__}")
    names = ("W_query", "W_key", "W_value")
    weights = {name: getattr(original, name).weight for name in names}
    for name in names:
        others = [other for other in names if other != name]
        mistakes = [
            (f"{name} was not transposed", weights[name]),
            *((f"{name} got the numbers of {other}", weights[other].T) for other in others),
        ]
        verdict = judge(getattr(copy, name), weights[name].T, mistakes)
        if not verdict and "differ" in verdict.says:
            return wrong(f"{name} still holds numbers of its own")
        if not verdict:
            return verdict
    return RIGHT
