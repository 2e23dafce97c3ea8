"""Attention without trainable weights: dot products, a softmax, a weighted average."""

from typing import Literal, overload

import torch
from jaxtyping import Float
from torch import Tensor

from literate_attention._argument_checks import require_floating

__all__ = [
    "context_vector",
    "dot_product_attention",
    "naive_softmax",
    "normalize_by_sum",
    "score_all_queries",
    "score_one_query",
    "softmax",
]


def score_one_query(
    query: Float[Tensor, "*batch embed_dim"], inputs: Float[Tensor, "*batch num_tokens embed_dim"]
) -> Float[Tensor, "*batch num_tokens"]:
    r"""Score every token against one query by its dot product.

    .. math:: \omega_j = q \cdot x_j

    Example:
        The dot product with a vector of ones is the sum of a token's numbers.

        >>> from literate_attention import toy_embeddings
        >>> score_one_query(torch.ones(3), toy_embeddings())
        tensor([1.4700, 2.0800, 2.0600, 1.1300, 1.1200, 1.4000])
    """
    require_floating("inputs", inputs)
    return (inputs @ query.unsqueeze(-1)).squeeze(-1)


def score_all_queries(
    inputs: Float[Tensor, "*batch num_tokens embed_dim"],
) -> Float[Tensor, "*batch num_tokens num_tokens"]:
    r"""Score every token against every token, in one matrix product; row i holds the scores of query i.

    .. math:: \Omega = X X^\top, \qquad \omega_{ij} = x_i \cdot x_j

    Example:
        The embedding of "one" is (0.77, 0.25, 0.10), and its square is its score with itself.

        >>> from literate_attention import toy_embeddings
        >>> scores = score_all_queries(toy_embeddings())
        >>> scores.shape, scores[4, 4]
        (torch.Size([6, 6]), tensor(0.6654))
    """
    require_floating("inputs", inputs)
    return inputs @ inputs.mT


def normalize_by_sum(
    scores: Float[Tensor, "*batch num_tokens"],
) -> Float[Tensor, "*batch num_tokens"]:
    r"""Turn scores into weights: divide each row, the last dimension, by its sum.

    .. math:: \alpha_j = \frac{\omega_j}{\sum_k \omega_k}

    The rows sum to one, but scores of both signs give negative weights, and scores that cancel out infinite
    ones.

    Example:
        >>> normalize_by_sum(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 5.0]))
        tensor([0.0500, 0.1000, 0.1500, 0.2000, 0.2500, 0.2500])
    """
    return scores / scores.sum(dim=-1, keepdim=True)


def naive_softmax(scores: Float[Tensor, "*batch num_tokens"]) -> Float[Tensor, "*batch num_tokens"]:
    r"""Turn scores into positive weights that sum to one, straight from the formula.

    .. math:: \alpha_j = \frac{e^{\omega_j}}{\sum_k e^{\omega_k}}

    It overflows for large scores, where :func:`softmax` does not.

    Example:
        >>> naive_softmax(torch.zeros(6))
        tensor([0.1667, 0.1667, 0.1667, 0.1667, 0.1667, 0.1667])
        >>> naive_softmax(torch.tensor([1000.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        tensor([nan, 0., 0., 0., 0., 0.])
    """
    exponentials = scores.exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def softmax(scores: Float[Tensor, "*batch num_tokens"]) -> Float[Tensor, "*batch num_tokens"]:
    r"""Turn scores into positive weights that sum to one, whatever the size of the scores.

    .. math:: \alpha_j = \frac{e^{\omega_j - \max_k \omega_k}}{\sum_l e^{\omega_l - \max_k \omega_k}}

    This is :func:`torch.softmax` over the last dimension, the one that runs over the keys.

    Args:
        scores: one score for each token, in the last dimension.

    Example:
        >>> softmax(1000.0 * torch.eye(6))[1]
        tensor([0., 1., 0., 0., 0., 0.])
    """
    return torch.softmax(scores, dim=-1)


def context_vector(
    weights: Float[Tensor, "*batch num_tokens"],
    inputs: Float[Tensor, "*batch num_tokens embed_dim"],
) -> Float[Tensor, "*batch embed_dim"]:
    r"""Average the inputs with the weights of one query: its context vector.

    .. math:: z = \sum_j \alpha_j x_j

    Example:
        Half of "journey" and half of "starts" is the mean of the two.

        >>> from literate_attention import toy_embeddings
        >>> context_vector(torch.tensor([0.0, 0.5, 0.5, 0.0, 0.0, 0.0]), toy_embeddings())
        tensor([0.5600, 0.8600, 0.6500])
    """
    return (weights.unsqueeze(-2) @ inputs).squeeze(-2)


@overload
def dot_product_attention(inputs: Tensor, *, need_weights: Literal[False] = False) -> Tensor: ...
@overload
def dot_product_attention(
    inputs: Tensor, *, need_weights: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def dot_product_attention(
    inputs: Tensor, *, need_weights: bool
) -> Tensor | tuple[Tensor, Tensor]: ...
def dot_product_attention(
    inputs: Float[Tensor, "*batch num_tokens embed_dim"], *, need_weights: bool = False
) -> (
    Float[Tensor, "*batch num_tokens embed_dim"]
    | tuple[
        Float[Tensor, "*batch num_tokens embed_dim"], Float[Tensor, "*batch num_tokens num_tokens"]
    ]
):
    r"""Let every token attend to all tokens, with no trainable weights; return the context vectors.

    .. math:: Z = \operatorname{softmax}(X X^\top) \, X

    Args:
        inputs: one vector for each token.
        need_weights: whether the weights are returned too, behind them.

    Example:
        Where all tokens are alike, each has a sixth of the weight.

        >>> context, weights = dot_product_attention(torch.full((6, 3), 0.5), need_weights=True)
        >>> context[0], weights[0]
        (tensor([0.5000, 0.5000, 0.5000]), tensor([0.1667, 0.1667, 0.1667, 0.1667, 0.1667, 0.1667]))
    """
    weights = softmax(score_all_queries(inputs))
    context = weights @ inputs
    return (context, weights) if need_weights else context
