"""Sparse attention: a cheap index says which keys a query needs, and attention reads only those."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import kl_div, relu

from literate_attention._argument_checks import (
    require_at_least,
    require_cache,
    require_mask,
    require_room,
)
from literate_attention.models.rotary_embeddings import PartialRotaryEmbedding
from literate_attention.story.causal_attention import causal_mask
from literate_attention.story.multi_head_attention import split_heads

__all__ = [
    "Indexer",
    "SparseAttention",
    "SparseCache",
    "index_loss",
    "index_scores",
    "top_k_mask",
]


def index_scores(
    query: Float[Tensor, "*batch index_heads q_len index_dim"],
    key: Float[Tensor, "*batch kv_len index_dim"],
    head_weights: Float[Tensor, "*batch q_len index_heads"],
) -> Float[Tensor, "*batch q_len kv_len"]:
    r"""Say how much each query seems to need each key: a few small heads vote.

    .. math:: I_{ij} = \frac{1}{\sqrt{h \, d}} \sum_{m=1}^{h} w_{im} \, \max(0, \, q_{im} \cdot k_j)

    Only the order of these numbers matters to :func:`top_k_mask`. This is the *lightning indexer* of
    DeepSeek-V3.2 :cite:p:`deepseek2025`.

    Args:
        query: for each head, what asks.
        key: what is compared with the queries of all heads.
        head_weights: how much each query listens to each head, :math:`w_{im}`; it may be below zero.

    Example:
        Two heads, one query: each head finds one of two keys, and the second head votes against it.

        >>> query = torch.tensor([[[2.0, 0.0]], [[-3.0, 0.0]]])
        >>> key = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
        >>> index_scores(query, key, head_weights=torch.tensor([[2.0, -1.0]]))
        tensor([[ 2.0000, -1.5000]])
    """
    found = relu(query @ key.unsqueeze(-3).mT)
    scale = (query.shape[-3] * query.shape[-1]) ** -0.5
    return scale * torch.einsum("...hqk,...qh->...qk", found, head_weights)


def top_k_mask(
    scores: Float[Tensor, "*batch q_len kv_len"],
    k: int,
    attn_mask: Bool[Tensor, "*some #q_len #kv_len"],
) -> Bool[Tensor, "*batch q_len kv_len"]:
    """Allow each query the k keys with the highest scores, of those that it may attend to.

    Args:
        scores: one number for each query and key.
        k: how many keys a query may read; if it may attend to fewer, to all of these.
        attn_mask: True in row i, column j: query i may attend to key j.

    Returns:
        True in row i, column j: key j was chosen for query i. Of equal scores, any may be chosen.

    Example:
        >>> scores = torch.tensor([[0.0, 5.0, 9.0], [3.0, 1.0, 9.0], [2.0, 1.0, 3.0]])
        >>> top_k_mask(scores, k=2, attn_mask=causal_mask(3))
        tensor([[ True, False, False],
                [ True,  True, False],
                [ True, False,  True]])
    """
    require_at_least("k", k, 1)
    require_mask(attn_mask, scores.shape)
    scores = scores.masked_fill(~attn_mask, -torch.inf)
    best = scores.topk(min(k, scores.shape[-1])).indices
    chosen = torch.zeros_like(scores, dtype=torch.bool)
    return chosen.scatter(-1, best, True) & attn_mask


def index_loss(
    scores: Float[Tensor, "*batch num_tokens num_tokens"],
    weights: Float[Tensor, "*batch num_heads num_tokens num_tokens"],
) -> Float[Tensor, ""]:
    r"""Say how far an index is from the attention that it should predict, which is not changed.

    .. math:: \frac{1}{n} \sum_i \sum_{j \le i} p_{ij}
              \bigl( \log p_{ij} - \log \operatorname{softmax}(I_i)_j \bigr),
              \qquad p_{ij} = \frac{1}{h} \sum_{m=1}^{h} \alpha_{mij}

    Args:
        scores: of the index, from an :class:`Indexer`, :math:`I_{ij}`.
        weights: of causal attention to all keys, for each of its heads, :math:`\alpha_{mij}`.

    Returns:
        The Kullback-Leibler divergence :cite:p:`kullback1951`, averaged over all queries.

    Example:
        >>> weights = torch.tensor([[[1.0, 0.0], [0.5, 0.5]]])
        >>> index_loss(torch.tensor([[5.0, 9.0], [3.0, 3.0]]), weights)
        tensor(0.)
    """
    future = ~causal_mask(scores.shape[-1], device=scores.device)
    log_share = scores.masked_fill(future, -torch.inf).log_softmax(dim=-1)
    wanted = weights.detach().mean(dim=-3)
    distance = kl_div(log_share.masked_fill(future, 0.0), wanted, reduction="none")
    return distance.sum(dim=-1).mean()


class SparseCache:
    """A cache of an attention, and beside it the keys of the index, one small vector for each token.

    Args:
        cache: what the attention keeps of all tokens: a :class:`~literate_attention.models.kv_cache.KVCache`
            or a :class:`~literate_attention.models.latent_attention.LatentCache`.
        index_dim: how wide a key of the index is.

    Raises:
        TypeError: the cache forgets tokens, which the index could choose.

    Example:
        >>> from literate_attention import KVCache
        >>> cache = SparseCache(KVCache(1, num_kv_heads=2, max_tokens=8, head_dim=4), index_dim=3)
        >>> cache.keep(torch.ones(1, 5, 3)).shape, cache.num_tokens
        (torch.Size([1, 5, 3]), 0)
    """

    def __init__(self, cache: Any, index_dim: int) -> None:
        if hasattr(cache, "window"):  # what the index chooses could be gone
            raise TypeError(
                f"an index needs a cache that keeps all tokens, got a {type(cache).__name__}"
            )
        self.cache = cache
        room = cache.kept if hasattr(cache, "kept") else cache.keys
        self.max_tokens = room.shape[-2]
        self.index_keys = room.new_empty(len(room), self.max_tokens, index_dim)

    def __repr__(self) -> str:
        return f"SparseCache({self.cache!r}, nbytes={self.nbytes})"

    def keep(
        self, new: Float[Tensor, "batch new_tokens index_dim"]
    ) -> Float[Tensor, "batch num_tokens index_dim"]:
        """Keep the index's keys of new tokens, and return all so far.

        They count once the attention has kept its own. It refuses what a
        :class:`~literate_attention.models.kv_cache.KVCache` refuses.
        """
        start, stop = self.num_tokens, self.num_tokens + new.shape[-2]
        require_room(start, new.shape[-2], **{"key of the index": (new, self.index_keys)})
        self.index_keys[:, start:stop] = new
        return self.index_keys[:, :stop]

    @property
    def num_tokens(self) -> int:
        """How many tokens the attention has kept."""
        return int(self.cache.num_tokens)

    @property
    def num_keys(self) -> int:
        """How many keys the index of the next tokens finds in it."""
        return self.num_tokens

    @property
    def nbytes(self) -> int:
        """How many bytes both take, full or empty."""
        return int(self.cache.nbytes) + self.index_keys.nbytes


class ChosenKeys:
    """Shows an attention some of the keys in its cache, and no others."""

    def __init__(self, cache: Any, places: Int[Tensor, "batch chosen"]) -> None:
        self.cache = cache
        self.places = places
        self.num_keys = places.shape[-1] - 1  # the new token may bring one of them

    def append(self, *new: Tensor) -> Any:
        found = self.cache.append(*new)
        return self.take(found) if isinstance(found, Tensor) else tuple(map(self.take, found))

    def take(self, x: Tensor) -> Tensor:
        places = self.places.unflatten(0, (-1, *[1] * (x.ndim - 3))).unsqueeze(-1)
        return x.take_along_dim(places, dim=-2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cache, name)


class Indexer(nn.Module):
    r"""Small queries and keys, made only to guess which keys attention will need.

    .. math:: q_{im} = R_i\,x_i W_m, \qquad k_j = R_j \operatorname{norm}(x_j W_k), \qquad w_i = x_i W_w

    The first numbers of both may be turned. With few heads, scores of exactly zero are frequent, among which
    any may be chosen. In DeepSeek-V3.2, a query is made from the latent of the attention's queries
    :cite:p:`deepseek2025`.

    Example:
        >>> rope = PartialRotaryEmbedding(2, context_length=16)
        >>> indexer = Indexer(24, num_heads=4, head_dim=8, rope=rope)
        >>> indexer(torch.ones(1, 5, 24)).shape
        torch.Size([1, 5, 5])
    """

    def __init__(
        self,
        d_in: int,
        num_heads: int,
        head_dim: int,
        *,
        rope: PartialRotaryEmbedding | None = None,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.rope = rope
        self.W_query: nn.Module = nn.Linear(d_in, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_in, head_dim, bias=False)
        self.key_norm = nn.LayerNorm(head_dim, eps=1e-6)
        self.W_weight = nn.Linear(d_in, num_heads, bias=False)

    def extra_repr(self) -> str:
        """Name what the shapes do not tell when the module is printed."""
        return f"num_heads={self.num_heads}"

    def forward(
        self, x: Float[Tensor, "*batch num_tokens d_in"], *, cache: Any | None = None
    ) -> Float[Tensor, "*batch num_tokens kv_len"]:
        """Score all keys so far for each token; later ones are not hidden yet.

        The keys of the tokens before these are in the cache, a :class:`SparseCache`.
        """
        require_cache("sparse attention", cache, "SparseCache", has="index_keys")
        start = 0 if cache is None else cache.num_tokens
        query = split_heads(self.W_query(x), self.num_heads)
        key = self.key_norm(self.W_key(x))
        if self.rope is not None:
            query, key = self.rope(query, start), self.rope(key, start)
        if cache is not None:
            key = cache.keep(key)
        return index_scores(query, key, self.W_weight(x))


class SparseAttention(nn.Module):
    r"""Attention to the keys that an index has chosen.

    .. math:: M_{ij} = \bigl[\, j \le i \,\bigr] \wedge \bigl[\, I_{ij}
              \text{ is among the } k \text{ highest} \,\bigr]

    All heads read the same ``top_k`` keys. The attention is a causal one that takes an ``attn_mask`` and a
    cache. Around a :class:`~literate_attention.models.latent_attention.MultiHeadLatentAttention`, it is the
    attention of DeepSeek-V3.2 :cite:p:`deepseek2025`. No gradient passes from what comes out to the index,
    which is trained with :func:`index_loss`.

    Example:
        >>> from literate_attention import GroupedQueryAttention
        >>> attention = GroupedQueryAttention(24, 24, num_heads=6, num_kv_heads=2)
        >>> sparse = SparseAttention(attention, Indexer(24, num_heads=4, head_dim=8), top_k=3)
        >>> _, weights = sparse(torch.randn(1, 5, 24), need_weights=True)
        >>> (weights > 0).sum(dim=-1)[0, 0]
        tensor([1, 2, 3, 3, 3])
    """

    def __init__(self, attention: nn.Module, indexer: Indexer, top_k: int) -> None:
        super().__init__()
        require_at_least("top_k", top_k, 1)
        self.attention = attention
        self.indexer = indexer
        self.top_k = top_k

    def extra_repr(self) -> str:
        """Name what the shapes do not tell when the module is printed."""
        return f"top_k={self.top_k}"

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
        """Let every token attend to the best keys among itself and the tokens before it.

        The cache, a :class:`SparseCache`, keeps the keys of the index and of the attention, and a mask is the
        same for all heads.
        """
        scores = self.indexer(x, cache=cache).unsqueeze(-3)  # the same for all heads
        kept = None if cache is None else cache.cache
        q_len, kv_len = scores.shape[-2:]
        if kept is not None and q_len == 1 and attn_mask is None and not need_weights:
            places = scores.topk(min(self.top_k, kv_len)).indices[:, 0, 0]
            return self.attention(x, cache=ChosenKeys(kept, places))
        allowed = causal_mask(q_len, kv_len, device=x.device)
        if attn_mask is not None:
            require_mask(attn_mask, scores.shape)
            allowed = attn_mask & allowed
        chosen = top_k_mask(scores, self.top_k, allowed)
        return self.attention(x, cache=kept, attn_mask=chosen, need_weights=need_weights)
