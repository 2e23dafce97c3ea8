"""Windows and sinks: attention to the last few tokens, and to the first, with a cache that does not grow."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from literate_attention._argument_checks import (
    require_at_least,
    require_mask,
    require_to_follow,
    require_values,
)
from literate_attention.story.causal_attention import causal_mask, mask_scores

__all__ = [
    "RollingCache",
    "document_mask",
    "modified_attention",
    "receptive_field",
    "window_mask",
]


def window_mask(
    q_len: int,
    kv_len: int,
    window: int,
    num_sinks: int = 0,
    *,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "q_len kv_len"]:
    r"""Say which query may attend to which key, if it sees only the last few, and perhaps the very first.

    .. math:: M_{ij} = \bigl[\, j \le p_i \,\bigr] \wedge \bigl[\, p_i - w < j \;\vee\; j < s \,\bigr],
              \qquad p_i = i + (n_k - n_q)

    As with :func:`~literate_attention.story.causal_attention.causal_mask` the queries are the last of the
    sequence. A window of :math:`w` is :math:`w` keys, the query's own included. The first keys are
    *attention sinks*: many trained models put much of their weight there :cite:p:`xiao2024`.

    Args:
        q_len: the number of queries, :math:`n_q`.
        kv_len: the number of keys, :math:`n_k`.
        window: how many keys a query sees, :math:`w`.
        num_sinks: how many of the first keys it sees as well, :math:`s`.
        device: where the mask is put.

    Example:
        >>> window_mask(3, 4, window=2)
        tensor([[ True,  True, False, False],
                [False,  True,  True, False],
                [False, False,  True,  True]])
        >>> window_mask(4, 6, window=2, num_sinks=1).int()
        tensor([[1, 1, 1, 0, 0, 0],
                [1, 0, 1, 1, 0, 0],
                [1, 0, 0, 1, 1, 0],
                [1, 0, 0, 0, 1, 1]], dtype=torch.int32)
    """
    require_at_least("window", window, 1)
    require_at_least("num_sinks", num_sinks, 0)
    past = causal_mask(q_len, kv_len, device=device)
    mask = past.triu(kv_len - q_len - window + 1)
    mask[:, :num_sinks] = past[:, :num_sinks]
    return mask


def receptive_field(
    attn_mask: Bool[Tensor, "num_tokens num_tokens"], num_layers: int
) -> Bool[Tensor, "num_tokens num_tokens"]:
    r"""Say which tokens can have an influence on which, through a stack of layers with the same mask.

    .. math:: R_L = \bigl[\, M^L > 0 \,\bigr]

    A token of the top layer sees tokens of the layer below, and these have seen others in their turn: a
    window of :math:`w` reaches :math:`L (w - 1)` tokens back.

    Returns:
        True in row i, column j: what comes out for token i depends on what goes in for token j.

    Example:
        >>> receptive_field(window_mask(4, 4, window=2), num_layers=2).int()
        tensor([[1, 0, 0, 0],
                [1, 1, 0, 0],
                [1, 1, 1, 0],
                [0, 1, 1, 1]], dtype=torch.int32)
    """
    require_mask(attn_mask, (len(attn_mask), len(attn_mask)))
    require_at_least("num_layers", num_layers, 1)
    reached = attn_mask
    for _ in range(num_layers - 1):
        reached = (attn_mask.float() @ reached.float()) > 0
    return reached


def document_mask(
    document_ids: Int[Tensor, "*batch num_tokens"],
) -> Bool[Tensor, "*batch num_tokens num_tokens"]:
    r"""Let each token see those before it in its own text, where several texts are joined in one row.

    .. math:: M_{ij} = \bigl[\, j \le i \,\bigr] \wedge \bigl[\, t_i = t_j \,\bigr]

    where :math:`t` numbers the text of each token, as ``document_ids`` says.

    Example:
        >>> document_mask(torch.tensor([0, 0, 1, 1])).int()
        tensor([[1, 0, 0, 0],
                [1, 1, 0, 0],
                [0, 0, 1, 0],
                [0, 0, 1, 1]], dtype=torch.int32)
    """
    same = document_ids.unsqueeze(-1) == document_ids.unsqueeze(-2)
    return same & causal_mask(document_ids.shape[-1], device=document_ids.device)


def modified_attention(
    query: Float[Tensor, "batch num_heads q_len head_dim"],
    key: Float[Tensor, "batch num_heads kv_len head_dim"],
    value: Float[Tensor, "batch num_heads kv_len value_dim"],
    *,
    score_mod: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor] | None = None,
    sinks: Float[Tensor, " num_heads"] | None = None,
    attn_mask: Bool[Tensor, "*#batch #q_len #kv_len"] | None = None,
) -> Float[Tensor, "batch num_heads q_len value_dim"]:
    r"""Attend with scores that a function changes, and with a learned sink for each head.

    .. math:: z_i = \sigma(\lambda_i - \kappa) \sum_j e^{\omega_{ij} - \lambda_i} \, v_j, \qquad
              \lambda_i = \log \sum_j e^{\omega_{ij}}, \qquad
              \omega_{ij} = f\!\left(\frac{q_i k_j^\top}{\sqrt{d}}\right)

    That is what a softmax gives that has one more key, with the score :math:`\kappa` and a value of zero, as
    in GPT-OSS :cite:p:`openai2025`.

    ``sinks`` holds :math:`\kappa`, a score for each head. ``score_mod``, :math:`f`, makes the scores
    :math:`\omega` from scaled ones and from the numbers of batch, head, query and key, as in torch's
    FlexAttention :cite:p:`dong2024`. But it is called once, for all of them, and queries are numbered as the
    last tokens. The other arguments are those of
    :func:`~literate_attention.story.fused_attention.fused_attention`.

    Raises:
        ValueError: there are not as many sinks as heads.

    Example:
        Two keys with scores of zero and a sink of zero take a third each.

        >>> query, value = torch.zeros(1, 1, 1, 4), torch.tensor([[[[3.0], [6.0]]]])
        >>> modified_attention(query, torch.ones(1, 1, 2, 4), value, sinks=torch.zeros(1))
        tensor([[[[3.]]]])
    """
    require_values(key, value)
    if sinks is not None and sinks.shape != (query.shape[-3],):
        raise ValueError(
            f"sinks must be one number for each of {query.shape[-3]} heads, got shape {tuple(sinks.shape)}"
        )
    scores = (query * query.shape[-1] ** -0.5) @ key.mT
    if score_mod is not None:
        batch, head, row, column = (
            torch.arange(n, device=scores.device).view(-1, *[1] * later)
            for later, n in zip((3, 2, 1, 0), scores.shape, strict=True)
        )
        scores = score_mod(scores, batch, head, row + key.shape[-2] - query.shape[-2], column)
    if attn_mask is not None:
        has_key = attn_mask.any(dim=-1, keepdim=True)
        scores = mask_scores(scores, attn_mask | ~has_key)
    weights = torch.softmax(scores, dim=-1)
    if attn_mask is not None:
        weights = weights.masked_fill(~attn_mask, 0.0)
    if sinks is not None:
        logsumexp = scores.logsumexp(dim=-1, keepdim=True)
        weights = torch.sigmoid(logsumexp - sinks.view(-1, 1, 1)) * weights
    return weights @ value


class RollingCache:
    r"""A cache that does not grow: the keys and values that the next query can still see.

    .. math:: \text{keys that are kept} \le s + w - 1

    It keeps one key less than the window has, since the next token brings its own. For an attention with the
    same window, it takes the place of a :class:`~literate_attention.models.kv_cache.KVCache`. Keys and values
    that come in one chunk have all been attended to before anything is forgotten. Positions go on counting.

    Args:
        window: how many keys a query sees, its own included, :math:`w`.
        num_sinks: how many of the first keys are never forgotten, :math:`s`.

    Example:
        >>> cache = RollingCache(window=4)
        >>> key = torch.arange(6.0).unsqueeze(-1).expand(1, 2, 6, 8)
        >>> _ = cache.append(key[:, :, :5], key[:, :, :5])
        >>> keys, values = cache.append(key[:, :, 5:], key[:, :, 5:])
        >>> keys[0, 0, :, 0], cache.keys[0, 0, :, 0], cache.num_tokens
        (tensor([2., 3., 4., 5.]), tensor([3., 4., 5.]), 6)
    """

    def __init__(self, window: int, num_sinks: int = 0) -> None:
        require_at_least("window", window, 1)
        require_at_least("num_sinks", num_sinks, 0)
        self.window = window
        self.num_sinks = num_sinks
        self.num_tokens = 0
        self.keys: Tensor
        self.values: Tensor

    def __repr__(self) -> str:
        sizes = f"window={self.window}, num_sinks={self.num_sinks}, num_tokens={self.num_tokens}"
        return f"RollingCache({sizes})"

    def append(
        self,
        key: Float[Tensor, "batch num_kv_heads new_tokens head_dim"],
        value: Float[Tensor, "batch num_kv_heads new_tokens head_dim"],
    ) -> tuple[
        Float[Tensor, "batch num_kv_heads kept_and_new head_dim"],
        Float[Tensor, "batch num_kv_heads kept_and_new head_dim"],
    ]:
        """Return what new tokens can see, count them in ``num_tokens``, and forget what no later one can.

        Args:
            key: the keys of the tokens that follow.
            value: their values.

        Returns:
            The keys and the values that were kept, followed by the new ones.
        """
        new_tokens = key.shape[-2]
        if self.num_tokens > 0:
            require_to_follow("key", key, self.keys, new_tokens)
            require_to_follow("value", value, self.values, new_tokens)
            key = torch.cat([self.keys, key], dim=-2)
            value = torch.cat([self.values, value], dim=-2)
        self.keys, self.values = self.trim(key), self.trim(value)
        self.num_tokens += new_tokens
        return key, value

    @property
    def num_keys(self) -> int:
        """How many keys the next tokens find in it, no more than their window and the sinks hold."""
        return min(self.num_tokens, self.num_sinks + self.window - 1)

    def trim(self, x: Tensor) -> Tensor:
        """Leave out what lies between the sinks and the window of the next token."""
        last = max(self.num_sinks, x.shape[-2] - (self.window - 1))
        return torch.cat([x[..., : self.num_sinks, :], x[..., last:, :]], dim=-2)
