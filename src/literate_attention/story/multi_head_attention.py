"""Multi-head attention: several attentions side by side, each looking at the tokens in its own way."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from literate_attention._argument_checks import (
    require_context,
    require_head_mask,
    require_head_split,
)
from literate_attention.story.causal_attention import (
    CausalAttention,
    causal_mask,
    forget_stored_mask,
    mask_scores,
)

# The next chapter's kernel: the class grows by one branch there, and stays one class.
from literate_attention.story.fused_attention import fused_attention

__all__ = [
    "MultiHeadAttention",
    "MultiHeadAttentionWrapper",
    "merge_heads",
    "split_heads",
]


def split_heads(
    x: Float[Tensor, "*batch num_tokens embed_dim"], num_heads: int
) -> Float[Tensor, "*batch num_heads num_tokens head_dim"]:
    r"""Cut each vector into equal pieces, one for each head.

    .. math:: (b, n, h \cdot d) \to (b, n, h, d) \to (b, h, n, d)

    The first step is a ``view``: no number moves. The second is a ``transpose``.

    Args:
        x: one vector for each token.
        num_heads: how many pieces; it divides the width.

    Example:
        Of the first token, (0, 1, 2, 3, 4, 5, 6, 7), each head gets one half.

        >>> split_heads(torch.arange(48.0).reshape(1, 6, 8), num_heads=2)[0, :, 0]
        tensor([[0., 1., 2., 3.],
                [4., 5., 6., 7.]])
    """
    require_head_split("the width of x", x.shape[-1], num_heads)
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge_heads(
    x: Float[Tensor, "*batch num_heads num_tokens head_dim"],
) -> Float[Tensor, "*batch num_tokens embed_dim"]:
    r"""Put the pieces of all heads side by side again, for each token; undo :func:`split_heads`.

    .. math:: (b, h, n, d) \to (b, n, h, d) \to (b, n, h \cdot d)

    Args:
        x: one sequence for each head.

    Example:
        >>> x = torch.arange(48.0).reshape(1, 6, 8)
        >>> torch.equal(merge_heads(split_heads(x, num_heads=2)), x)
        True
    """
    return x.transpose(-3, -2).flatten(-2)


class MultiHeadAttentionWrapper(nn.Module):
    r"""Several :class:`~literate_attention.story.causal_attention.CausalAttention` modules, side by side.

    .. math:: Z = [Z_1, Z_2, \dots, Z_h]

    The heads know nothing of each other; their outputs are put next to each other. The arguments are those of
    one head, and ``num_heads``, so the output is ``num_heads * d_out`` wide.

    Example:
        >>> _ = torch.manual_seed(123)
        >>> attention = MultiHeadAttentionWrapper(3, 2, context_length=6, dropout=0.0, num_heads=2)
        >>> attention(torch.ones(2, 6, 3)).shape
        torch.Size([2, 6, 4])
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(
        self, x: Float[Tensor, "*batch num_tokens d_in"], *, need_weights: bool = False
    ) -> (
        Float[Tensor, "*batch num_tokens width"]
        | tuple[
            Float[Tensor, "*batch num_tokens width"],
            Float[Tensor, "*batch num_heads num_tokens num_tokens"],
        ]
    ):
        """Run every head on the same tokens, and put their context vectors side by side."""
        if need_weights:
            results = [head(x, need_weights=True) for head in self.heads]
            contexts, weights = zip(*results, strict=True)
            return torch.cat(contexts, dim=-1), torch.stack(weights, dim=-3)
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    r"""Causal multi-head attention: one wide projection, split into heads.

    .. math::
        Y = [\text{head}_1, \dots, \text{head}_h] \, W_o + b_o, \qquad
        \text{head}_i = \text{Dropout}\!\left(\operatorname{softmax}\!\left(
            \frac{Q_i K_i^\top}{\sqrt{d_{out} / h}} + M\right)\right) V_i

    :math:`Q_i`, :math:`K_i` and :math:`V_i` are the i-th pieces of :math:`X W_q`, :math:`X W_k` and
    :math:`X W_v`; :math:`M` is :math:`-\infty` above the diagonal and 0 elsewhere :cite:p:`vaswani2017`.
    torch's fused kernel computes it, unless the weights are asked for, or the attribute ``dropout`` is
    replaced by anything but an ``nn.Identity``: another module has to see the weights, so they are written
    down.

    Args:
        d_in: how wide an input is.
        d_out: how wide a context vector is, all heads together.
        context_length: the most tokens that a sequence may have.
        dropout: the probability that a weight is dropped while training, in [0, 1).
        num_heads: how many heads share ``d_out``, which they divide.
        qkv_bias: whether the projections to query, key and value add a bias.

    Example:
        >>> _ = torch.manual_seed(123)
        >>> attention = MultiHeadAttention(3, 8, context_length=6, dropout=0.0, num_heads=2)
        >>> context, weights = attention(torch.ones(1, 6, 3), need_weights=True)
        >>> context.shape, weights.shape
        (torch.Size([1, 6, 8]), torch.Size([1, 2, 6, 6]))
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        require_head_split("d_out", d_out, num_heads)
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_load_state_dict_pre_hook(forget_stored_mask)

    def extra_repr(self) -> str:
        """Name what the shapes do not tell when the module is printed."""
        return f"num_heads={self.num_heads}, context_length={self.context_length}"

    def forward(
        self,
        x: Float[Tensor, "*batch num_tokens d_in"],
        *,
        attn_mask: Bool[Tensor, "... #num_tokens #num_tokens"] | None = None,
        need_weights: bool = False,
    ) -> (
        Float[Tensor, "*batch num_tokens d_out"]
        | tuple[
            Float[Tensor, "*batch num_tokens d_out"],
            Float[Tensor, "*batch num_heads num_tokens num_tokens"],
        ]
    ):
        """Let every token attend to itself and to those before it, in each head; return the context vectors.

        Args:
            x: one vector for each token.
            attn_mask: True in row i, column j: token i may attend to token j, unless j comes after i. It is
                spread over ``(*batch, num_heads, num_tokens, num_tokens)``: where ``is_token``, of shape
                ``(batch, num_tokens)``, is False for padding, pass ``is_token[:, None, None, :]``. Where a
                token may attend to none, its weights are zero, and so are the context vectors of its heads.
            need_weights: whether the attention weights of every head are returned too, after dropout.
        """
        require_context(x.shape[-2], self.context_length)
        num_tokens = x.shape[-2]
        query = split_heads(self.W_query(x), self.num_heads)
        key = split_heads(self.W_key(x), self.num_heads)
        value = split_heads(self.W_value(x), self.num_heads)
        if attn_mask is not None:
            require_head_mask(attn_mask, (*query.shape[:-1], num_tokens))
            attn_mask = attn_mask & causal_mask(num_tokens, device=x.device)
        if not need_weights and type(self.dropout) in (nn.Dropout, nn.Identity):
            attended = fused_attention(
                query,
                key,
                value,
                attn_mask=attn_mask,
                dropout_p=getattr(self.dropout, "p", 0.0) if self.dropout.training else 0.0,
                is_causal=attn_mask is None,
            )
            return self.out_proj(merge_heads(attended))
        scores = (query / self.head_dim**0.5) @ key.mT
        scores = mask_scores(scores, causal_mask(num_tokens, device=x.device))
        if attn_mask is not None:
            has_key = attn_mask.any(dim=-1, keepdim=True)  # a row without one would be nan
            scores = mask_scores(scores, attn_mask | ~has_key)
        weights = torch.softmax(scores, dim=-1)
        if attn_mask is not None:
            weights = weights.masked_fill(~attn_mask, 0.0)
        weights = self.dropout(weights)
        context = self.out_proj(merge_heads(weights @ value))
        return (context, weights) if need_weights else context
