"""Grouped-query attention: several query heads share one key-value head."""

from typing import Any, Literal, overload

from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention as torch_attention

from literate_attention._argument_checks import (
    require_at_least,
    require_head_mask,
    require_head_split,
    require_mask,
    require_one_mask,
    require_values,
)
from literate_attention.models.rotary_embeddings import RotaryEmbedding
from literate_attention.models.transformer_block import RMSNorm
from literate_attention.models.windows_and_sinks import window_mask
from literate_attention.story.causal_attention import causal_mask
from literate_attention.story.multi_head_attention import merge_heads, split_heads
from literate_attention.story.self_attention import attention_output, attention_weights

__all__ = [
    "GroupedQueryAttention",
    "grouped_attention",
    "stack_groups",
    "unstack_groups",
]


def stack_groups(
    x: Shaped[Tensor, "*batch num_heads q_len width"], num_kv_heads: int
) -> Shaped[Tensor, "*batch num_kv_heads rows width"]:
    r"""Put the heads of a group one below the other: one long list of queries for each key-value head.

    .. math:: (h, n, d) \to (h_{kv}, g \cdot n, d), \qquad g = h / h_{kv}

    Neighbours make a group: with 6 heads and 2 groups, heads 0, 1, 2 share the first keys.

    Example:
        Six heads of five queries make two lists of fifteen, in which each head has a number here.

        >>> import torch
        >>> x = torch.arange(6.0).view(6, 1, 1).expand(6, 5, 4)
        >>> stack_groups(x, num_kv_heads=2)[..., 0]
        tensor([[0., 0., 0., 0., 0., 1., 1., 1., 1., 1., 2., 2., 2., 2., 2.],
                [3., 3., 3., 3., 3., 4., 4., 4., 4., 4., 5., 5., 5., 5., 5.]])
    """
    require_head_split("num_heads", x.shape[-3], num_kv_heads, "num_kv_heads")
    return x.unflatten(-3, (num_kv_heads, -1)).flatten(-3, -2)


def unstack_groups(
    x: Shaped[Tensor, "*batch num_kv_heads rows width"], num_heads: int
) -> Shaped[Tensor, "*batch num_heads q_len width"]:
    r"""Give each head of a group its rows back; undo :func:`stack_groups`.

    .. math:: (h_{kv}, g \cdot n, d) \to (h, n, d)

    Example:
        >>> import torch
        >>> x = torch.arange(120.0).reshape(6, 5, 4)
        >>> torch.equal(unstack_groups(stack_groups(x, num_kv_heads=2), num_heads=6), x)
        True
    """
    num_kv_heads = x.shape[-3]
    require_head_split("num_heads", num_heads, num_kv_heads, "num_kv_heads")
    return x.unflatten(-2, (num_heads // num_kv_heads, -1)).flatten(-4, -3)


@overload
def grouped_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    need_weights: Literal[False] = False,
) -> Tensor: ...
@overload
def grouped_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    need_weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def grouped_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    need_weights: bool,
) -> Tensor | tuple[Tensor, Tensor]: ...
def grouped_attention(
    query: Float[Tensor, "*batch num_heads q_len head_dim"],
    key: Float[Tensor, "*batch num_kv_heads kv_len head_dim"],
    value: Float[Tensor, "*batch num_kv_heads kv_len value_dim"],
    *,
    attn_mask: Bool[Tensor, "*some #q_len #kv_len"] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    need_weights: bool = False,
) -> (
    Float[Tensor, "*batch num_heads q_len value_dim"]
    | tuple[
        Float[Tensor, "*batch num_heads q_len value_dim"],
        Float[Tensor, "*batch num_heads q_len kv_len"],
    ]
):
    r"""Attend, each query head to the keys and values of its group, and return the context vectors.

    .. math:: Z_i = \operatorname{softmax}\!\left(\frac{Q_i K_{g(i)}^\top}{\sqrt{d}}\right) V_{g(i)},
              \qquad g(i) = \left\lfloor \frac{i \, h_{kv}}{h} \right\rfloor

    No key is copied for a second head, neither by torch's kernel nor here :cite:p:`ainslie2023`. The
    arguments are those of :func:`~literate_attention.story.fused_attention.fused_attention`, but for dropout;
    with ``need_weights`` the weights are returned too.

    Example:
        Of five tokens the last three ask. The first of these averages 0, 0.4 and 0.8 in the first group
        of heads, and 2, 2.4 and 2.8 in the second.

        >>> import torch
        >>> query, key = torch.zeros(6, 3, 4), torch.zeros(2, 5, 4)
        >>> value = torch.arange(40.0).reshape(2, 5, 4) / 10
        >>> context, weights = grouped_attention(
        ...     query, key, value, is_causal=True, need_weights=True
        ... )
        >>> context[:, 0, 0]
        tensor([0.4000, 0.4000, 0.4000, 2.4000, 2.4000, 2.4000])
    """
    require_head_split("num_heads", query.shape[-3], key.shape[-3], "num_kv_heads")
    require_values(key, value)
    require_one_mask(attn_mask, is_causal)
    if attn_mask is not None:
        require_mask(attn_mask, (*query.shape[:-1], key.shape[-2]), query.device)
    num_heads, num_kv_heads = query.shape[-3], key.shape[-3]
    q_len, kv_len = query.shape[-2], key.shape[-2]
    if q_len == 1:  # it is the last token's, and sees all keys
        is_causal = False
    if is_causal and (need_weights or q_len != kv_len):
        attn_mask, is_causal = causal_mask(q_len, kv_len, device=query.device), False
    if not need_weights:
        return torch_attention(
            query, key, value, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=True
        )
    if attn_mask is not None:
        attn_mask = attn_mask.expand(*query.shape[:-1], kv_len)
        attn_mask = stack_groups(attn_mask, num_kv_heads)
    stacked = stack_groups(query, num_kv_heads)
    weights = attention_weights(stacked, key, attn_mask=attn_mask, scale=scale)
    context = attention_output(weights, value)
    return unstack_groups(context, num_heads), unstack_groups(weights, num_heads)


class GroupedQueryAttention(nn.Module):
    r"""Causal attention in which groups of heads share keys and values, as in the models of today.

    .. math::
        Y = [\text{head}_1, \dots, \text{head}_h] \, W_o, \qquad
        \text{head}_i = \operatorname{softmax}\!\left(
            \frac{R(Q_i) \, R(K_{g(i)})^\top}{\sqrt{d}} + M\right) V_{g(i)}

    With as many key-value heads as query heads it is multi-head attention, with a single one multi-query
    attention :cite:p:`shazeer2019`, and in between grouped-query attention :cite:p:`ainslie2023`.
    :math:`R` turns by position. Nothing has a bias and nothing is dropped.

    Args:
        d_in: how wide an input is.
        d_out: how wide an output is.
        num_heads: how many query heads.
        num_kv_heads: how many key-value heads; each serves ``num_heads / num_kv_heads`` query heads. Some
            call this number groups, others the size of one.
        head_dim: how wide a query, a key and a value is; by default ``d_out / num_heads``.
        rope: what turns queries and keys by their position; all layers of a model may share one.
        window: how many keys a query sees, its own included; by default all before it.
        qk_norm: whether each query and key is brought to one length before it is turned
            :cite:p:`henry2020,dehghani2023`.
        eps: the :math:`\epsilon` of these norms.

    Example:
        >>> import torch
        >>> rope = RotaryEmbedding(head_dim=4, context_length=8)
        >>> attention = GroupedQueryAttention(24, 24, num_heads=6, num_kv_heads=2, rope=rope)
        >>> attention.W_query.weight.shape, attention.W_key.weight.shape
        (torch.Size([24, 24]), torch.Size([8, 24]))
        >>> context, weights = attention(torch.ones(1, 5, 24), need_weights=True)
        >>> context.shape, weights.shape
        (torch.Size([1, 5, 24]), torch.Size([1, 6, 5, 5]))
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        num_heads: int,
        num_kv_heads: int,
        *,
        head_dim: int | None = None,
        rope: RotaryEmbedding | None = None,
        window: int | None = None,
        qk_norm: bool = False,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        require_head_split("num_heads", num_heads, num_kv_heads, "num_kv_heads")
        if head_dim is None:
            require_head_split("d_out", d_out, num_heads)
        if window is not None:
            require_at_least("window", window, 1)
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = head_dim or d_out // num_heads
        self.window = window
        self.rope = rope
        self.W_query = nn.Linear(d_in, num_heads * self.head_dim, bias=False)
        self.W_key = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_out, bias=False)
        self.query_norm = RMSNorm(self.head_dim, eps) if qk_norm else nn.Identity()
        self.key_norm = RMSNorm(self.head_dim, eps) if qk_norm else nn.Identity()

    def extra_repr(self) -> str:
        """Name what the shapes do not tell when the module is printed."""
        return f"num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}, window={self.window}"

    def forward(
        self,
        x: Float[Tensor, "*batch num_tokens d_in"],
        *,
        cache: Any | None = None,
        attn_mask: Bool[Tensor, "*some #num_tokens #kv_len"] | None = None,
        need_weights: bool = False,
    ) -> (
        Float[Tensor, "*batch num_tokens d_out"]
        | tuple[
            Float[Tensor, "*batch num_tokens d_out"],
            Float[Tensor, "*batch num_heads num_tokens kv_len"],
        ]
    ):
        """Let every token attend to itself and to those before it, in each head; return the context vectors.

        Args:
            x: one vector for each token.
            cache: what keeps the keys and values of the tokens before these, and takes theirs. If it keeps
                sinks, every token sees them beside its ``window``.
            attn_mask: True in row i, column j: token i may attend to key j, unless j comes after i or lies
                outside of the window. With a cache, a column stands for a key that the cache returns. Where
                a token may attend to no key, its weights and the context vectors of its heads are zero.
            need_weights: whether the attention weights are returned too.

        Raises:
            ValueError: the cache is for another window.
        """
        if (of_cache := getattr(cache, "window", self.window)) != self.window:
            # It would forget other keys than those that have left this one.
            raise ValueError(
                f"the cache is for a window of {of_cache}, but the window of the attention is {self.window}; "
                f"set its attribute window to {of_cache}"
            )
        query = self.query_norm(split_heads(self.W_query(x), self.num_heads))
        key = self.key_norm(split_heads(self.W_key(x), self.num_kv_heads))
        value = split_heads(self.W_value(x), self.num_kv_heads)
        if self.rope is not None:
            start = 0 if cache is None else cache.num_tokens
            query, key = self.rope(query, start), self.rope(key, start)
        q_len = x.shape[-2]
        kv_len = q_len if cache is None else cache.num_keys + q_len
        if attn_mask is not None:
            require_head_mask(attn_mask, (*query.shape[:-1], kv_len))
            attn_mask = attn_mask & causal_mask(q_len, kv_len, device=x.device)
        if self.window is not None:
            num_sinks = getattr(cache, "num_sinks", 0)
            near = window_mask(q_len, kv_len, self.window, num_sinks=num_sinks, device=x.device)
            attn_mask = near if attn_mask is None else attn_mask & near
        if cache is not None:  # only now: if a mask does not fit, the cache stays as it was
            key, value = cache.append(key, value)
        attended: Any = grouped_attention(
            query,
            key,
            value,
            attn_mask=attn_mask,
            is_causal=attn_mask is None,
            need_weights=need_weights,
        )
        if need_weights:
            context, weights = attended
            return self.out_proj(merge_heads(context)), weights
        return self.out_proj(merge_heads(attended))
