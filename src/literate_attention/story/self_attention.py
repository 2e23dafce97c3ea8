"""Self-attention with trainable weights: queries, keys and values."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

# The mask comes with the next chapter, and one function masks scores: the arrow to it points forward.
from literate_attention.story.causal_attention import mask_scores

__all__ = [
    "SelfAttention_v1",
    "SelfAttention_v2",
    "attention_output",
    "attention_weights",
]


def attention_weights(
    query: Float[Tensor, "*batch q_len head_dim"],
    key: Float[Tensor, "*batch kv_len head_dim"],
    *,
    attn_mask: Bool[Tensor, "*#batch #q_len #kv_len"] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "*batch q_len kv_len"]:
    r"""Compute how much each query attends to each key.

    .. math:: A = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right)

    The softmax runs over the keys, so each row sums to one. A row in which no key is allowed is all
    zeros. It is the first half of scaled dot-product attention :cite:p:`vaswani2017`. Scores are of the type
    of the queries: in float16, one above 65,504 is infinite, where torch's kernel computes in float32.

    Args:
        query: what asks.
        key: what is compared with the query.
        attn_mask: True in row i, column j: query i may attend to key j.
        scale: what scores are multiplied by; by default :math:`1/\sqrt{d_k}`.

    Example:
        With one query (0, sqrt 2) and the rows of the identity as keys, the scaled scores are 0 and 1, so
        that the weights are 1/(1+e) and e/(1+e).

        >>> attention_weights(torch.tensor([[0.0, 2.0**0.5]]), torch.eye(2))
        tensor([[0.2689, 0.7311]])

        Where all scores are alike, the fourth of six tokens attends evenly to the first four.

        >>> from literate_attention import causal_mask
        >>> attention_weights(torch.zeros(6, 2), torch.ones(6, 2), attn_mask=causal_mask(6))[3]
        tensor([0.2500, 0.2500, 0.2500, 0.2500, 0.0000, 0.0000])
    """
    if scale is None:
        scale = query.shape[-1] ** -0.5
    # Scaled before the product, or float16 would overflow.
    scores = (query * scale) @ key.mT
    if attn_mask is not None:
        has_key = attn_mask.any(dim=-1, keepdim=True)  # a row without one would be nan
        scores = mask_scores(scores, attn_mask | ~has_key)
    weights = torch.softmax(scores, dim=-1)
    if attn_mask is not None:
        weights = weights.masked_fill(~attn_mask, 0.0)
    return weights


def attention_output(
    weights: Float[Tensor, "*batch q_len kv_len"], value: Float[Tensor, "*batch kv_len value_dim"]
) -> Float[Tensor, "*batch q_len value_dim"]:
    r"""Average the values with the attention weights.

    .. math:: Z = A V

    The second half of scaled dot-product attention :cite:p:`vaswani2017`.

    Example:
        Half of the first value, (0, 1), and half of the last one, (10, 11):

        >>> weights = torch.tensor([0.5, 0.0, 0.0, 0.0, 0.0, 0.5]).expand(6, 6)
        >>> attention_output(weights, torch.arange(12.0).reshape(6, 2))[0]
        tensor([5., 6.])
    """
    return weights @ value


class SelfAttention_v1(nn.Module):
    r"""Self-attention whose weights are bare parameters.

    .. math:: Z = \operatorname{softmax}\!\left(\frac{(X W_q)(X W_k)^\top}{\sqrt{d_{out}}}\right) X W_v

    The parameters are drawn from a uniform distribution over [0, 1), query first, then key, then value.

    Args:
        d_in: how wide an input is.
        d_out: how wide a query, a key, a value and a context vector are.

    Example:
        >>> _ = torch.manual_seed(123)
        >>> attention = SelfAttention_v1(d_in=3, d_out=2)
        >>> attention(torch.ones(6, 3)).shape
        torch.Size([6, 2])
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def extra_repr(self) -> str:
        """Name the widths when the module is printed."""
        return "d_in={}, d_out={}".format(*self.W_query.shape)

    def forward(
        self, x: Float[Tensor, "*batch num_tokens d_in"], *, need_weights: bool = False
    ) -> (
        Float[Tensor, "*batch num_tokens d_out"]
        | tuple[
            Float[Tensor, "*batch num_tokens d_out"], Float[Tensor, "*batch num_tokens num_tokens"]
        ]
    ):
        """Let every token attend to all tokens, and return their context vectors.

        Args:
            x: one vector for each token.
            need_weights: whether the attention weights are returned too.
        """
        query = x @ self.W_query
        key = x @ self.W_key
        value = x @ self.W_value
        scores = (query / key.shape[-1] ** 0.5) @ key.mT
        weights = torch.softmax(scores, dim=-1)
        context = weights @ value
        return (context, weights) if need_weights else context


class SelfAttention_v2(nn.Module):
    r"""Self-attention whose weights are linear layers.

    .. math:: Z = \operatorname{softmax}\!\left(\frac{(X W_q)(X W_k)^\top}{\sqrt{d_{out}}}\right) X W_v

    A linear layer stores its weight transposed, ``(d_out, d_in)``, and draws it from a small symmetric
    range, which trains better than [0, 1).

    Args:
        d_in: how wide an input is.
        d_out: how wide a query, a key, a value and a context vector are.
        qkv_bias: whether the three projections add a bias.

    Example:
        >>> _ = torch.manual_seed(789)
        >>> attention = SelfAttention_v2(d_in=3, d_out=2)
        >>> context, weights = attention(torch.ones(6, 3), need_weights=True)
        >>> context.shape, weights.shape
        (torch.Size([6, 2]), torch.Size([6, 6]))
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(
        self, x: Float[Tensor, "*batch num_tokens d_in"], *, need_weights: bool = False
    ) -> (
        Float[Tensor, "*batch num_tokens d_out"]
        | tuple[
            Float[Tensor, "*batch num_tokens d_out"], Float[Tensor, "*batch num_tokens num_tokens"]
        ]
    ):
        """Let every token attend to all tokens, and return their context vectors.

        Args:
            x: one vector for each token.
            need_weights: whether the attention weights are returned too.
        """
        query = self.W_query(x)
        key = self.W_key(x)
        value = self.W_value(x)
        scores = (query / key.shape[-1] ** 0.5) @ key.mT
        weights = torch.softmax(scores, dim=-1)
        context = weights @ value
        return (context, weights) if need_weights else context
