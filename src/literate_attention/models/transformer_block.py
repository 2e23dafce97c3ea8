"""Where attention sits: in a block, in a stack of blocks, in a model that names the next token."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import silu

from literate_attention._argument_checks import require_token_ids

__all__ = [
    "LanguageModel",
    "RMSNorm",
    "SwiGLU",
    "TransformerBlock",
]


class RMSNorm(nn.Module):
    r"""Divide each vector by the root of its mean square, and weigh its elements.

    .. math:: \text{norm}(x)_i = w_i \, \frac{x_i}{\sqrt{\frac{1}{d} \sum_j x_j^2 + \epsilon}}

    It keeps of layer normalization what helps: vectors of one size. No mean is subtracted, nothing is added
    :cite:p:`zhang2019`.

    Args:
        embed_dim: how wide a vector is, :math:`d`.
        eps: what keeps a vector of zeros from a division by zero, :math:`\epsilon`.

    Example:
        The mean of the squares 1, 49, 1 and 49 is 25, so each number is divided by 5.

        >>> x = torch.tensor([1.0, 7.0, 1.0, 7.0]).expand(2, 6, 4)
        >>> RMSNorm(4, eps=0.0)(x)[0, 0].detach()
        tensor([0.2000, 1.4000, 0.2000, 1.4000])
    """

    def __init__(self, embed_dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(embed_dim))

    def extra_repr(self) -> str:
        """Name the width when the module is printed."""
        return f"embed_dim={len(self.weight)}, eps={self.eps}"

    def forward(self, x: Float[Tensor, "*batch embed_dim"]) -> Float[Tensor, "*batch embed_dim"]:
        """Bring each vector to the same size.

        Args:
            x: vectors along the last dimension.
        """
        # In half precision a square can be too large for its type.
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean_square = wide.square().mean(dim=-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(mean_square + self.eps)).to(x.dtype)


class SwiGLU(nn.Module):
    r"""The feed-forward part of a block: widen each vector, open or close each element, narrow it again.

    .. math:: \text{FFN}(x) = \bigl(\operatorname{SiLU}(x W_{gate}) \odot x W_{up}\bigr) W_{down}

    Every token is treated on its own. The gate decides for each element how much of it passes
    :cite:p:`shazeer2020`.

    Args:
        embed_dim: how wide an input and an output are.
        hidden_dim: how wide it is in between.

    Example:
        >>> SwiGLU(embed_dim=4, hidden_dim=16)(torch.ones(2, 6, 4)).shape
        torch.Size([2, 6, 4])
    """

    def __init__(self, embed_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.W_gate = nn.Linear(embed_dim, hidden_dim, bias=False)
        self.W_up = nn.Linear(embed_dim, hidden_dim, bias=False)
        self.W_down = nn.Linear(hidden_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "*batch embed_dim"]) -> Float[Tensor, "*batch embed_dim"]:
        """Transform each vector on its own.

        Args:
            x: vectors along the last dimension.
        """
        return self.W_down(silu(self.W_gate(x)) * self.W_up(x))


class TransformerBlock(nn.Module):
    r"""One layer of a transformer: attention, then feed-forward, each added to what came in.

    .. math:: x' = x + \text{Attention}(\text{norm}_1(x)), \qquad x'' = x' + \text{FFN}(\text{norm}_2(x'))

    The sum that runs past both parts is the residual stream. The norms stand before the parts and not on
    the stream, so that a deep stack can be trained :cite:p:`xiong2020`.

    Args:
        attention: what lets tokens look at each other: a module from vectors to vectors of the same width.
        embed_dim: how wide a vector of the stream is.
        hidden_dim: how wide the feed-forward part is inside.
        eps: the :math:`\epsilon` of both norms.

    Example:
        >>> from literate_attention import MultiHeadAttention
        >>> attention = MultiHeadAttention(4, 4, context_length=6, dropout=0.0, num_heads=2)
        >>> TransformerBlock(attention, embed_dim=4, hidden_dim=16)(torch.ones(2, 6, 4)).shape
        torch.Size([2, 6, 4])
    """

    def __init__(
        self, attention: nn.Module, embed_dim: int, hidden_dim: int, eps: float = 1e-5
    ) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = attention
        self.feed_forward_norm = RMSNorm(embed_dim, eps)
        self.feed_forward = SwiGLU(embed_dim, hidden_dim)

    def forward(
        self, x: Float[Tensor, "*batch num_tokens embed_dim"], **options: Any
    ) -> Float[Tensor, "*batch num_tokens embed_dim"]:
        """Let the tokens look at each other, then let each think on its own.

        Args:
            x: one vector for each token.
            **options: what else the attention is told, such as ``cache``.
        """
        require_no_weights(options)
        x = x + self.attention(self.attention_norm(x), **options)
        return x + self.feed_forward(self.feed_forward_norm(x))


class LanguageModel(nn.Module):
    r"""From token ids to a score for every token that may come next.

    .. math:: \text{logits} = \text{norm}\bigl(\text{block}_L(\cdots \text{block}_1(E_t))\bigr) \, E^\top

    The table of embeddings is used twice: to look up what a token means, and at the end to compare the last
    vector with every token of the vocabulary (*tied* weights :cite:p:`press2017`).

    Args:
        vocab_size: how many tokens there are.
        embed_dim: how wide a vector of the residual stream is.
        blocks: the layers, first to last.
        eps: the :math:`\epsilon` of the last norm.

    Example:
        >>> from literate_attention import MultiHeadAttention
        >>> blocks = [
        ...     TransformerBlock(MultiHeadAttention(4, 4, 6, 0.0, num_heads=2), 4, hidden_dim=16)
        ...     for _ in range(3)
        ... ]
        >>> model = LanguageModel(vocab_size=11, embed_dim=4, blocks=blocks)
        >>> model(torch.tensor([[1, 7, 2, 5, 10, 4], [3, 0, 8, 4, 6, 9]])).shape
        torch.Size([2, 6, 11])
    """

    def __init__(
        self, vocab_size: int, embed_dim: int, blocks: Iterable[nn.Module], eps: float = 1e-5
    ) -> None:
        super().__init__()
        # The table is also the last matrix, so it begins with numbers
        # as small as those of nn.Linear.
        most = embed_dim**-0.5
        table = torch.empty(vocab_size, embed_dim).uniform_(-most, most)
        self.token_embedding = nn.Embedding.from_pretrained(table, freeze=False)
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = RMSNorm(embed_dim, eps)

    def hidden_states(
        self,
        token_ids: Int[Tensor, "*batch num_tokens"],
        caches: Sequence[Any] | None = None,
        **options: Any,
    ) -> Float[Tensor, "*batch num_tokens embed_dim"]:
        """Carry each token through all blocks, and return its vector as the last norm leaves it.

        Args:
            token_ids: whole numbers from 0 to ``vocab_size - 1``.
            caches: one for each block, with what it has seen before.
            **options: what else every attention is told.
        """
        require_token_ids(token_ids, self.token_embedding.num_embeddings)
        require_caches(caches, len(self.blocks))
        require_no_weights(options)
        x = self.token_embedding(token_ids)
        for layer, block in enumerate(self.blocks):
            if caches is not None:
                options["cache"] = caches[layer]
            x = block(x, **options)
        return self.final_norm(x)

    def logits(
        self, hidden: Float[Tensor, "*batch embed_dim"]
    ) -> Float[Tensor, "*batch vocab_size"]:
        """Score every token of the vocabulary: compare vectors with its embedding.

        Args:
            hidden: vectors along the last dimension, from :meth:`hidden_states`.
        """
        return hidden @ self.token_embedding.weight.T

    def forward(
        self,
        token_ids: Int[Tensor, "*batch num_tokens"],
        caches: Sequence[Any] | None = None,
        *,
        last_only: bool = False,
        **options: Any,
    ) -> Float[Tensor, "*batch num_scored vocab_size"]:
        """Return the logits of the next token, at every place: a softmax makes probabilities of them.

        Args:
            token_ids: whole numbers from 0 to ``vocab_size - 1``.
            caches: one for each block, with what it has seen before.
            last_only: whether the last place alone is scored, as when a text is continued.
            **options: what else every attention is told.
        """
        hidden = self.hidden_states(token_ids, caches, **options)
        return self.logits(hidden[..., -1:, :] if last_only else hidden)


def require_caches(caches: Sequence[Any] | None, num_blocks: int) -> None:
    """Refuse caches that are not one for each block: two blocks would mix up their keys in one."""
    if caches is None:
        return
    if len(caches) != num_blocks:
        raise ValueError(f"got {len(caches)} caches for {num_blocks} blocks; each needs one")
    if any(one is other for place, one in enumerate(caches) for other in caches[:place]):
        raise ValueError("one cache was given for several blocks; each needs one of its own")


def require_no_weights(options: Mapping[str, Any]) -> None:
    """Refuse to ask a stack for the weights of its attention: a block returns vectors alone."""
    if options.get("need_weights"):
        raise TypeError(
            "need_weights is for a module of attention; of a model, attention_maps returns all weights"
        )
