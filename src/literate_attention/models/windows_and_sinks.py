"""Windows and sinks: attention to the last few tokens, and to the first, with a cache that does not grow."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from literate_attention._argument_checks import (
    require_at_least,
    require_mask,
    require_to_follow,
)

__all__ = [
    "RollingCache",
    "receptive_field",
]


def receptive_field(
    attn_mask: Bool[Tensor, "num_tokens num_tokens"], num_layers: int
) -> Bool[Tensor, "num_tokens num_tokens"]:
    r"""Say which tokens can have an influence on which, through a stack of layers with the same mask.

    .. math:: R_L = \bigl[\, M^L > 0 \,\bigr]

    A token of the top layer sees tokens of the layer below, and these have seen others in their turn: a
    window of :math:`w` reaches :math:`L (w - 1)` tokens back.

    Args:
        attn_mask: True in row i, column j: query i may attend to key j.
        num_layers: how many layers, :math:`L`.

    Returns:
        True in row i, column j: what comes out for token i depends on what goes in for token j.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask is not square, or there is no layer.

    Example:
        >>> from literate_attention import window_mask
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


class RollingCache:
    r"""A cache that does not grow: the keys and values that the next query can still see.

    .. math:: \text{keys that are kept} \le s + w - 1

    It keeps one key less than the window has, since the next token brings its own. For an attention with the
    same window, it takes the place of a :class:`~literate_attention.models.kv_cache.KVCache`. Keys and values
    that come in one chunk have all been attended to before anything is forgotten. Positions go on counting.

    Args:
        window: how many keys a query sees, its own included, :math:`w`.
        num_sinks: how many of the first keys are never forgotten, :math:`s`.

    Raises:
        ValueError: the window is below 1, or the number of sinks below 0.

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

        Raises:
            TypeError: they are on another device or of another type than those that were kept.
            ValueError: they are for another batch, other heads or another width than those that were kept.
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
