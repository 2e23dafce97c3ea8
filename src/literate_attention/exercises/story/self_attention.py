"""Checks: self-attention with trainable weights."""

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor, nn

from literate_attention.exercises._common_mistakes import contexts_with_mistakes
from literate_attention.exercises._judging import (
    RIGHT,
    Verdict,
    judge,
    judge_result,
    result_of,
    wrong,
)
from literate_attention.story.self_attention import SelfAttention_v1, SelfAttention_v2


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

    Returns:
        The verdict.

    Example:
        >>> import torch
        >>> x, one = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.eye(2)
        >>> check_projected_context(torch.tensor([0.7311, 0.2689]), x, one, one, one, query=0)
        Not yet. The scores are not scaled.
    """
    queries, keys, values = inputs @ W_query, inputs @ W_key, inputs @ W_value
    scores = queries @ keys.mT

    def mistakes() -> Iterator[tuple[str, Tensor]]:
        for says, context in contexts_with_mistakes(queries, keys, values, is_causal=False):
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


def check_self_attention(module: object, inputs: Float[Tensor, "num_tokens d_in"]) -> Verdict:
    """Check a self-attention module of your own.

    Args:
        module: your module. It holds the parameters ``W_query``, ``W_key`` and ``W_value``, each of the
            shape ``(d_in, d_out)``, and returns the context vectors.
        inputs: the embeddings to try it on.

    Returns:
        The verdict.

    Example:
        >>> import torch
        >>> class Attention(nn.Module):
        ...     def __init__(self) -> None:
        ...         super().__init__()
        ...         for name in ("W_query", "W_key", "W_value"):
        ...             setattr(self, name, nn.Parameter(torch.rand(3, 2)))
        ...
        ...     def forward(self, x: Tensor) -> Tensor:
        ...         return ((x @ self.W_query) @ (x @ self.W_key).T).softmax(dim=-1) @ x @ self.W_value
        >>> check_self_attention(Attention(), torch.eye(3))
        Not yet. The scores are not scaled.
    """
    if not isinstance(module, nn.Module):
        return wrong(f"a module is expected, got {type(module).__name__}")
    parameters = dict(module.named_parameters())
    d_in, matrices = inputs.shape[-1], []
    for name in ("W_query", "W_key", "W_value"):
        if name not in parameters:
            return wrong(f"the module has no parameter {name}")
        matrices.append(parameters[name].detach().cpu())
        found = tuple(matrices[-1].shape)
        if len(found) != 2 or found[0] != d_in or found != tuple(matrices[0].shape):
            return wrong(f"{name} has the shape {found}, expected ({d_in}, d_out)")
    x = inputs.detach().cpu()
    query, key, value = (x @ matrix for matrix in matrices)

    def ways() -> Iterator[tuple[str, Tensor]]:
        yield from contexts_with_mistakes(query, key, value, is_causal=False)
        scores = query @ key.mT
        weights = (scores / key.shape[-1] ** 0.5).softmax(dim=-1)
        yield "the inputs are averaged, not the values", weights @ x
        by_inputs = (scores / d_in**0.5).softmax(dim=-1)
        yield "the scores are scaled by the width of the inputs, not of the keys", by_inputs @ value

    (_, right), *mistakes = ways()
    return judge_result(result_of(module, inputs), right, mistakes)


def check_copied_weights(copy: object, original: SelfAttention_v2) -> Verdict:
    """Check that a module got the weights of another.

    Args:
        copy: the module that should have got them.
        original: the module that has them.

    Returns:
        The verdict.

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
