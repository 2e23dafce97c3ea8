"""Latent attention: the keys and values of all heads come from one small vector, and only that is kept."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from literate_attention._argument_checks import require_cache, require_head_mask, require_room
from literate_attention.models.grouped_query_attention import grouped_attention
from literate_attention.models.rotary_embeddings import RotaryEmbedding
from literate_attention.models.transformer_block import RMSNorm
from literate_attention.story.causal_attention import causal_mask
from literate_attention.story.multi_head_attention import merge_heads, split_heads

__all__ = [
    "LatentCache",
    "MultiHeadLatentAttention",
]


class LatentCache:
    r"""What latent attention keeps of each token: its latent and its rotated key, side by side.

    .. math:: \text{bytes} = \text{batch} \cdot n \cdot (c + r) \cdot \text{bytes per number}

    for :math:`n` = ``max_tokens``, :math:`c` = ``latent_dim`` and :math:`r` = ``rope_dim``. It takes the
    place of a :class:`~literate_attention.models.kv_cache.KVCache`, and like it, it takes room for all tokens
    at once and is written in place.

    Example:
        >>> cache = LatentCache(batch=1, max_tokens=8, latent_dim=6, rope_dim=2)
        >>> _ = cache.append(torch.ones(1, 5, 8))
        >>> cache.append(torch.zeros(1, 1, 8))[0, :, 0]
        tensor([1., 1., 1., 1., 1., 0.])
    """

    def __init__(
        self,
        batch: int,
        max_tokens: int,
        latent_dim: int,
        rope_dim: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        shape = (batch, max_tokens, latent_dim + rope_dim)
        self.kept = torch.empty(shape, device=device, dtype=dtype)
        self.max_tokens = max_tokens
        self.num_tokens = 0

    def __repr__(self) -> str:
        sizes = f"num_tokens={self.num_tokens}, max_tokens={self.max_tokens}, nbytes={self.nbytes}"
        return f"LatentCache({sizes})"

    def append(
        self, new: Float[Tensor, "batch new_tokens width"]
    ) -> Float[Tensor, "batch num_tokens width"]:
        """Keep what belongs to new tokens, count them in ``num_tokens``, and return that of all so far."""
        new_tokens = new.shape[-2]
        require_room(self.num_tokens, new_tokens, latent=(new, self.kept))
        start, self.num_tokens = self.num_tokens, self.num_tokens + new_tokens
        self.kept[:, start : self.num_tokens] = new
        return self.kept[:, : self.num_tokens]

    @property
    def num_keys(self) -> int:
        """How many tokens the next ones find in it."""
        return self.num_tokens

    @property
    def nbytes(self) -> int:
        """How many bytes the cache takes, full or empty."""
        return self.kept.nbytes


class MultiHeadLatentAttention(nn.Module):
    r"""Causal attention whose heads make their keys and values from one small vector of each token.

    .. math::
        c_j = \operatorname{norm}(x_j W_c), \qquad
        \omega_{ij} = q_i \cdot c_j W_k + R_i\,q^r_i \cdot R_j\,x_j W_r, \qquad
        z_i = \sum_j \operatorname{softmax}_j\!\left(\frac{\omega_{ij}}{\sqrt{d + r}}\right) c_j W_v

    Each head has a :math:`q`, a :math:`W_k` and a :math:`W_v` of its own, while the latent :math:`c_j` and
    the rotated key :math:`R_j\,x_j W_r` serve all heads, and are all that a cache keeps. They are expanded to
    the keys and values of every head, or :math:`W_k` is *absorbed* by the queries and :math:`W_v` by what
    comes out, which gives the same. It is the attention of DeepSeek-V2 and V3 :cite:p:`deepseek2024`, whose
    checkpoints pair neighbours: reorder their rows with
    :func:`~literate_attention.models.rotary_embeddings.interleaved_to_half_split`.

    Args:
        d_in: how wide an input is.
        d_out: how wide an output is.
        num_heads: how many heads.
        head_dim: how wide the part of a query and a key is that is not rotated, :math:`d`. Elsewhere
            ``qk_nope_head_dim``.
        latent_dim: how wide a latent is. Elsewhere ``kv_lora_rank``.
        rope: what turns the rest of a query, and the key that all heads share. Its width :math:`r` is known
            as ``qk_rope_head_dim``.
        value_dim: how wide a value is; by default ``head_dim``. Elsewhere ``v_head_dim``.
        query_latent_dim: how wide a vector is from which the queries of all heads are made; by default they
            are made from the input. Elsewhere ``q_lora_rank``.
        eps: the :math:`\epsilon` of the norms.

    Example:
        >>> rope = RotaryEmbedding(head_dim=2, context_length=8)
        >>> attention = MultiHeadLatentAttention(
        ...     24, 24, num_heads=3, head_dim=8, latent_dim=6, rope=rope
        ... )
        >>> cache = LatentCache(1, max_tokens=8, latent_dim=6, rope_dim=2)
        >>> with torch.no_grad():
        ...     context, weights = attention(torch.ones(1, 5, 24), cache=cache, need_weights=True)
        >>> context.shape, weights.shape, cache.kept.shape
        (torch.Size([1, 5, 24]), torch.Size([1, 3, 5, 5]), torch.Size([1, 8, 8]))
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        num_heads: int,
        *,
        head_dim: int,
        latent_dim: int,
        rope: RotaryEmbedding,
        value_dim: int | None = None,
        query_latent_dim: int | None = None,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.latent_dim = latent_dim
        self.value_dim = value_dim or head_dim
        self.rope = rope
        self.rope_dim = 2 * rope.cos.shape[-1]
        query_dim = num_heads * (head_dim + self.rope_dim)
        self.W_query: nn.Module
        if query_latent_dim is None:
            self.W_query = nn.Linear(d_in, query_dim, bias=False)
        else:
            self.W_query = nn.Sequential(
                nn.Linear(d_in, query_latent_dim, bias=False),
                RMSNorm(query_latent_dim, eps),
                nn.Linear(query_latent_dim, query_dim, bias=False),
            )
        self.W_latent = nn.Linear(d_in, latent_dim, bias=False)
        self.latent_norm = RMSNorm(latent_dim, eps)
        self.W_rope_key = nn.Linear(d_in, self.rope_dim, bias=False)
        self.W_key = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.W_value = nn.Linear(latent_dim, num_heads * self.value_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.value_dim, d_out, bias=False)

    def extra_repr(self) -> str:
        """Name what the shapes do not tell when the module is printed."""
        return f"num_heads={self.num_heads}, head_dim={self.head_dim}, value_dim={self.value_dim}"

    def forward(
        self,
        x: Float[Tensor, "*batch num_tokens d_in"],
        *,
        cache: Any | None = None,
        attn_mask: Bool[Tensor, "*some #num_tokens #kv_len"] | None = None,
        absorb: bool | None = None,
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
            cache: what keeps the latents and rotated keys of the tokens before these, and takes theirs: a
                :class:`LatentCache`.
            attn_mask: True in row i, column j: token i may attend to key j, unless j comes after i. Where it
                may attend to none, its weights are zero, and so are the context vectors of its heads.
            absorb: whether the queries absorb ``W_key``, or keys and values are made for every head; by
                default what takes fewer multiplications.
            need_weights: whether the attention weights are returned too.

        Raises:
            TypeError: the cache is one of keys and values.
        """
        require_cache("latent attention", cache, "LatentCache", has="kept")
        start = 0 if cache is None else cache.num_tokens
        q_len, kv_len = x.shape[-2], start + x.shape[-2]
        query = split_heads(self.W_query(x), self.num_heads)
        query, turned = query.split([self.head_dim, self.rope_dim], dim=-1)
        turned = self.rope(turned, start)
        latent = self.latent_norm(self.W_latent(x))
        rope_key = self.rope(self.W_rope_key(x), start)
        if attn_mask is not None:
            require_head_mask(attn_mask, (*query.shape[:-1], kv_len))
            attn_mask = attn_mask & causal_mask(q_len, kv_len, device=x.device)
        kept = torch.cat([latent, rope_key], dim=-1)
        if cache is not None:
            kept = cache.append(kept)
            latent, rope_key = kept.split([self.latent_dim, self.rope_dim], dim=-1)
        if absorb is None:
            absorb = self.absorbing_saves_work(q_len, kv_len)
        by_head = (self.num_heads, -1)
        if absorb:
            # One wide key for all heads, whose first part is the value.
            widen = self.W_key.weight.unflatten(0, by_head)
            query = torch.einsum("...hqd,hdc->...hqc", query, widen)
            key, value = kept.unsqueeze(-3), latent.unsqueeze(-3)
        else:
            key = split_heads(self.W_key(latent), self.num_heads)
            value = split_heads(self.W_value(latent), self.num_heads)
            shared = rope_key.unsqueeze(-3).expand(*key.shape[:-1], -1)
            key = torch.cat([key, shared], dim=-1)
        # If absorbed, torch's kernels would copy the one key for each head.
        by_hand = absorb or need_weights
        attended: Any = grouped_attention(
            torch.cat([query, turned], dim=-1),
            key,
            value,
            attn_mask=attn_mask,
            is_causal=attn_mask is None,
            scale=(self.head_dim + self.rope_dim) ** -0.5,
            need_weights=by_hand,
        )
        if not by_hand:
            return self.out_proj(merge_heads(attended))
        context, weights = attended
        if absorb:
            narrow = self.W_value.weight.unflatten(0, by_head)
            context = torch.einsum("...hqc,hvc->...hqv", context, narrow)
        output = self.out_proj(merge_heads(context))
        return (output, weights) if need_weights else output

    def absorbing_saves_work(self, q_len: int, kv_len: int) -> bool:
        """Say whether it takes fewer multiplications to absorb than to expand.

        Args:
            q_len: the number of new tokens.
            kv_len: the number of all tokens, the new ones included.
        """
        own_widths = self.head_dim + self.value_dim
        between = self.latent_dim * own_widths
        absorbed = q_len * between + q_len * kv_len * 2 * self.latent_dim
        expanded = kv_len * between + q_len * kv_len * own_widths
        return absorbed < expanded
