"""Causal attention: no token sees the tokens that come after it."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from literate_attention._argument_checks import require_context, require_mask

__all__ = [
    "CausalAttention",
    "causal_mask",
    "mask_scores",
    "mask_weights",
]


def causal_mask(
    q_len: int, kv_len: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "q_len kv_len"]:
    r"""Say which query may attend to which key: its own, and all before it.

    .. math:: M_{ij} = \bigl[\, j \le i + (n_k - n_q) \,\bigr]

    With fewer queries than keys, the queries are the last of the sequence (lower-right alignment, as
    when a text grows token by token). torch's ``is_causal`` aligns upper-left.

    Args:
        q_len: the number of queries, :math:`n_q`.
        kv_len: the number of keys, :math:`n_k`; by default as many as queries.
        device: where the mask is put.

    Returns:
        True in row i, column j: query i may attend to key j.

    Example:
        >>> causal_mask(6).int()
        tensor([[1, 0, 0, 0, 0, 0],
                [1, 1, 0, 0, 0, 0],
                [1, 1, 1, 0, 0, 0],
                [1, 1, 1, 1, 0, 0],
                [1, 1, 1, 1, 1, 0],
                [1, 1, 1, 1, 1, 1]], dtype=torch.int32)
        >>> causal_mask(1, 6)
        tensor([[True, True, True, True, True, True]])
    """
    kv_len = q_len if kv_len is None else kv_len
    return torch.ones(q_len, kv_len, dtype=torch.bool, device=device).tril(kv_len - q_len)


def mask_weights(
    weights: Float[Tensor, "*batch q_len kv_len"], attn_mask: Bool[Tensor, "*#batch #q_len #kv_len"]
) -> Float[Tensor, "*batch q_len kv_len"]:
    r"""Mask after the softmax: zero the hidden weights, then make each row sum to one again.

    .. math:: A'_{ij} = \frac{M_{ij} A_{ij}}{\sum_k M_{ik} A_{ik}}

    A row in which no key is allowed is all zeros.

    Example:
        >>> mask_weights(torch.full((6, 6), 1 / 6), causal_mask(6))[3]
        tensor([0.2500, 0.2500, 0.2500, 0.2500, 0.0000, 0.0000])
    """
    require_mask(attn_mask, weights.shape)
    allowed = weights * attn_mask
    row_sums = allowed.sum(dim=-1, keepdim=True)
    return allowed / row_sums.masked_fill(row_sums == 0.0, 1.0)


def mask_scores(
    scores: Float[Tensor, "*batch q_len kv_len"], attn_mask: Bool[Tensor, "*#batch #q_len #kv_len"]
) -> Float[Tensor, "*batch q_len kv_len"]:
    r"""Mask before the softmax: a score of :math:`-\infty` becomes a weight of exactly zero.

    .. math:: \Omega'_{ij} = \begin{cases} \Omega_{ij} & M_{ij} \\ -\infty & \text{else} \end{cases}

    Args:
        scores: the scores of all keys.
        attn_mask: True in row i, column j: query i may attend to key j.

    Example:
        >>> mask_scores(torch.ones(6, 6), causal_mask(6))[3]
        tensor([1., 1., 1., 1., -inf, -inf])
    """
    require_mask(attn_mask, scores.shape)
    return scores.masked_fill(~attn_mask, -torch.inf)


class CausalAttention(nn.Module):
    r"""Self-attention on batches, with a causal mask and dropout on the weights.

    .. math:: Z = \text{Dropout}\!\left(\operatorname{softmax}\!\left(
              \frac{(X W_q)(X W_k)^\top}{\sqrt{d_{out}}} + M\right)\right) X W_v

    where :math:`M` is :math:`-\infty` above the diagonal and 0 elsewhere.

    Args:
        d_in: how wide an input is.
        d_out: how wide a context vector is.
        context_length: the most tokens that a sequence may have.
        dropout: the probability that a weight is dropped while training, in [0, 1).
        qkv_bias: whether the three projections add a bias.

    Example:
        >>> _ = torch.manual_seed(123)
        >>> attention = CausalAttention(d_in=3, d_out=2, context_length=6, dropout=0.0)
        >>> attention(torch.ones(2, 6, 3)).shape
        torch.Size([2, 6, 2])
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.d_out = d_out
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_load_state_dict_pre_hook(forget_stored_mask)

    def extra_repr(self) -> str:
        """Name what the shapes do not tell when the module is printed."""
        return f"context_length={self.context_length}"

    def forward(
        self,
        x: Float[Tensor, "*batch num_tokens d_in"],
        *,
        attn_mask: Bool[Tensor, "... #num_tokens #num_tokens"] | None = None,
        need_weights: bool = False,
    ) -> (
        Float[Tensor, "*batch num_tokens d_out"]
        | tuple[
            Float[Tensor, "*batch num_tokens d_out"], Float[Tensor, "*batch num_tokens num_tokens"]
        ]
    ):
        """Let every token attend to itself and to those before it; return the context vectors.

        Args:
            x: one vector for each token.
            attn_mask: True in row i, column j: token i may attend to token j, unless j comes after i. It is
                spread over ``(*batch, num_tokens, num_tokens)``: where ``is_token``, of shape
                ``(batch, num_tokens)``, is False for padding, pass ``is_token[:, None, :]``. Where a token
                may attend to none, its weights and its context vector are zero.
            need_weights: whether the attention weights are returned too, after dropout.
        """
        require_context(x.shape[-2], self.context_length)
        num_tokens = x.shape[-2]
        query = self.W_query(x)
        key = self.W_key(x)
        value = self.W_value(x)
        scores = (query / key.shape[-1] ** 0.5) @ key.mT
        scores = mask_scores(scores, causal_mask(num_tokens, device=x.device))
        if attn_mask is not None:
            require_mask(attn_mask, scores.shape)
            attn_mask = attn_mask & causal_mask(num_tokens, device=x.device)
            has_key = attn_mask.any(dim=-1, keepdim=True)  # a row without one would be nan
            scores = mask_scores(scores, attn_mask | ~has_key)
        weights = torch.softmax(scores, dim=-1)
        if attn_mask is not None:
            weights = weights.masked_fill(~attn_mask, 0.0)
        weights = self.dropout(weights)
        context = weights @ value
        return (context, weights) if need_weights else context


def forget_stored_mask(
    module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: object
) -> None:
    """Leave out the causal mask that checkpoints of the sources hold: here it is computed, not stored."""
    state_dict.pop(f"{prefix}mask", None)
