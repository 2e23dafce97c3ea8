"""Checks: attention without trainable weights."""

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor

from literate_attention.workshop.judge.attending import attend, known_ways, results
from literate_attention.workshop.judge.verdict import (
    Verdict,
    judge,
)


def check_context_vector(
    answer: object, inputs: Float[Tensor, "num_tokens embed_dim"], query: int
) -> Verdict:
    """Check a context vector of attention without trainable weights.

    Args:
        answer: your context vector.
        inputs: the embeddings.
        query: the row of the token that asks.

    Example:
        >>> import torch
        >>> inputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> check_context_vector(inputs[0], inputs, query=0)
        Not yet. This is the embedding of the token, not its context vector.
    """

    def mistakes() -> Iterator[tuple[str, Tensor]]:
        yield "this is the embedding of the token, not its context vector", inputs[query]
        yield "this is the plain average, all weights are the same", inputs.mean(dim=0)
        ways = known_ways(attend, is_causal=False, is_scaled=False)
        for says, contexts in results(ways, inputs, inputs, inputs):
            yield says, contexts[query]
        for row, context in enumerate((inputs @ inputs.mT).softmax(dim=-1) @ inputs):
            yield f"this is the context vector of row {row}, not of row {query}", context

    right = ((inputs @ inputs.mT).softmax(dim=-1) @ inputs)[query]
    return judge(answer, right, mistakes())
