"""An induction head in training: blocks that come again, a model of attention alone, its checkpoints."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from literate_attention._argument_checks import require_at_least, require_head_split
from literate_attention._call_types import ReturnsTensor
from literate_attention.learned.trained_heads import (
    attention_maps,
    copy_accuracy,
    head_scores,
    induction_targets,
    previous_token_targets,
)
from literate_attention.models.grouped_query_attention import GroupedQueryAttention
from literate_attention.models.rotary_embeddings import RotaryEmbedding
from literate_attention.models.transformer_block import LanguageModel, RMSNorm, require_no_weights
from literate_attention.story.training import one_thread, same_start

__all__ = [
    "AttentionBlock",
    "Checkpoint",
    "attention_only_model",
    "copy_loss",
    "repeated_blocks",
    "train_to_copy",
]


def repeated_blocks(
    batch: int,
    num_tokens: int,
    vocab_size: int,
    shortest: int,
    longest: int,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch num_tokens"]:
    r"""Draw rows in which a block of random tokens comes again and again.

    .. math:: t_i = b_{i \bmod n}, \qquad n \sim \{n_{min}, \dots, n_{max}\}

    No token stands twice in a block :math:`b`, so that each names its successor. The length :math:`n` is
    drawn anew for each row, so that counting back by a fixed number of places helps nobody
    :cite:p:`olsson2022`.

    Args:
        batch: how many rows.
        num_tokens: how long a row is.
        vocab_size: how many tokens there are to draw from.
        shortest: the fewest tokens of a block, :math:`n_{min}`.
        longest: the most tokens of a block, :math:`n_{max}`.
        generator: what draws; by default torch's own.

    Returns:
        The rows, as token ids.

    Raises:
        ValueError: ``longest`` is above ``vocab_size``.

    Example:
        >>> generator = torch.Generator().manual_seed(123)
        >>> rows = repeated_blocks(2, 6, vocab_size=26, shortest=3, longest=3, generator=generator)
        >>> torch.equal(rows[:, :3], rows[:, 3:])
        True
    """
    if longest > vocab_size:
        raise ValueError(
            f"a block of {longest} tokens, no two alike, needs as many, got {vocab_size}"
        )
    lengths = torch.randint(shortest, longest + 1, (batch, 1), generator=generator)
    shuffled = torch.rand(batch, vocab_size, generator=generator).argsort(dim=-1)
    return shuffled.gather(1, torch.arange(num_tokens) % lengths)


def copy_loss(
    model: LanguageModel, token_ids: Int[Tensor, "batch num_tokens"]
) -> Float[Tensor, ""]:
    r"""Measure how surprised a model is by what it could have copied.

    .. math:: -\frac{1}{|I|} \sum_{i \in I} \log p(t_{i+1} \mid t_1, \dots, t_i), \qquad
              I = \{\, i : t_i = t_j \text{ for some } j < i \,\}

    What comes after a token that is read for the first time is left to chance, and does not count.

    Args:
        model: what names the next token.
        token_ids: rows in which tokens come again, from :func:`repeated_blocks`.

    Returns:
        The mean over all tokens that could have been copied.

    Raises:
        TypeError: the token ids are not integers.
        ValueError: a token id is outside the vocabulary, or no token comes again.

    Example:
        A model that has no idea is as surprised as by dice with 26 sides.

        >>> model = attention_only_model(vocab_size=26, embed_dim=8, num_layers=2)
        >>> _ = torch.nn.init.zeros_(model.token_embedding.weight)
        >>> round(copy_loss(model, torch.tensor([[0, 1, 2, 0, 1, 2]])).item(), 4)
        3.2581
    """
    again = induction_targets(token_ids).any(dim=-1)[:, :-1]
    require_at_least("the number of tokens that come again", int(again.sum()), 1)
    logits = model(token_ids[:, :-1])
    return cross_entropy(logits[again], token_ids[:, 1:][again])


class AttentionBlock(nn.Module):
    r"""A transformer block without its feed-forward part.

    .. math:: y = x + \text{Attention}(\text{norm}(x))

    Args:
        attention: what lets tokens look at each other: a module from vectors to vectors of the same width.
        embed_dim: how wide a vector of the stream is.
        eps: the :math:`\epsilon` of the norm.

    Example:
        >>> attention = GroupedQueryAttention(4, 4, num_heads=2, num_kv_heads=2)
        >>> AttentionBlock(attention, embed_dim=4)(torch.ones(2, 6, 4)).shape
        torch.Size([2, 6, 4])
    """

    __call__: ReturnsTensor

    def __init__(self, attention: nn.Module, embed_dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = attention

    def forward(
        self, x: Float[Tensor, "*batch num_tokens embed_dim"], **options: Any
    ) -> Float[Tensor, "*batch num_tokens embed_dim"]:
        """Let the tokens look at each other.

        Args:
            x: one vector for each token.
            **options: what else the attention is told, such as ``cache``.

        Returns:
            One vector for each token.

        Raises:
            TypeError: the weights of attention are asked for.
        """
        require_no_weights(options)
        return x + self.attention(self.attention_norm(x), **options)


def attention_only_model(
    vocab_size: int,
    embed_dim: int,
    num_layers: int,
    *,
    num_heads: int = 1,
    context_length: int = 32,
    base: float | None = 100.0,
) -> LanguageModel:
    r"""Build a language model of attention alone: without feed-forward parts, heads have to do all the work.

    .. math:: \text{logits} = \text{norm}\bigl(\text{block}_L(\cdots \text{block}_1(E_t))\bigr) \, E^\top,
              \qquad \text{block}_l(x) = x + \text{Attention}_l(\text{norm}_l(x))

    It is small enough to be understood completely :cite:p:`elhage2021`.

    Args:
        vocab_size: how many tokens there are.
        embed_dim: how wide a vector of the residual stream is.
        num_layers: how many blocks.
        num_heads: how many heads a block has.
        context_length: how many positions there are.
        base: of the rotary frequencies; None if nothing tells the positions.

    Returns:
        The model, with random weights, in float64, from the
        :func:`~literate_attention.story.training.same_start` on every machine.

    Raises:
        ValueError: ``embed_dim`` is not divisible by ``num_heads``, or what a head gets is not even.

    Example:
        >>> model = attention_only_model(vocab_size=26, embed_dim=32, num_layers=2)
        >>> sum(parameter.numel() for parameter in model.parameters())
        9120
    """
    require_head_split("embed_dim", embed_dim, num_heads)
    rope = None
    if base is not None:
        head_dim = embed_dim // num_heads
        rope = RotaryEmbedding(head_dim, context_length, base, dtype=torch.float64)
    blocks = [
        AttentionBlock(
            GroupedQueryAttention(embed_dim, embed_dim, num_heads, num_heads, rope=rope), embed_dim
        )
        for _ in range(num_layers)
    ]
    model = LanguageModel(vocab_size, embed_dim, blocks)
    same_start(model)
    return model


class Checkpoint(NamedTuple):
    """What a model was like at one moment of its training, from :func:`take_checkpoint`.

    Example:
        >>> model = attention_only_model(vocab_size=26, embed_dim=8, num_layers=2)
        >>> checkpoint = take_checkpoint(model, 0, torch.tensor([[0, 1, 2, 0, 1, 2]]))
        >>> model.load_state_dict(checkpoint.weights)
        <All keys matched successfully>
    """

    step: int
    """How many steps of training it had behind it."""
    loss: float
    """Its loss on rows that it is not trained on."""
    copy_accuracy: float
    """The share of right answers on them, when a block comes for the second time."""
    previous_token: Float[Tensor, "num_layers num_heads"]
    """How much each head looks at the previous token, layer by layer."""
    induction: Float[Tensor, "num_layers num_heads"]
    """How much each head looks at what came after earlier copies of a token, layer by layer."""
    weights: dict[str, Shaped[Tensor, "*shape"]]
    """Its parameters, for ``load_state_dict``."""


@torch.no_grad()
def take_checkpoint(
    model: LanguageModel, step: int, token_ids: Int[Tensor, "batch num_tokens"]
) -> Checkpoint:
    """Measure a model, and keep its weights as they are now.

    Args:
        model: attention only, from :func:`attention_only_model`.
        step: how many steps of training it has behind it.
        token_ids: rows of a block and the same block once more.

    Returns:
        The checkpoint.

    Raises:
        TypeError: the token ids are not integers.
        ValueError: a token id is outside the vocabulary, or the second half of a row is not the first.

    Example:
        >>> model = attention_only_model(vocab_size=26, embed_dim=8, num_layers=2, num_heads=4)
        >>> checkpoint = take_checkpoint(model, 0, torch.tensor([[0, 1, 2, 0, 1, 2]]))
        >>> checkpoint.step, checkpoint.induction.shape
        (0, torch.Size([2, 4]))
    """
    maps = attention_maps(model, token_ids)
    looks_back = previous_token_targets(token_ids.shape[-1])
    return Checkpoint(
        step=step,
        loss=copy_loss(model, token_ids).item(),
        copy_accuracy=copy_accuracy(model, token_ids),
        previous_token=head_scores(maps, looks_back).mean(dim=0),
        induction=head_scores(maps, induction_targets(token_ids)).mean(dim=0),
        weights={name: weight.clone() for name, weight in model.state_dict().items()},
    )


def train_to_copy(
    model: LanguageModel,
    num_steps: int,
    *,
    every: int = 10,
    num_tokens: int = 32,
    batch: int = 32,
    learning_rate: float = 3e-3,
    seed: int = 123,
    progress: Callable[[range], Iterable[int]] = iter,
) -> list[Checkpoint]:
    r"""Train a model to go on with blocks of tokens that come again, and look at it from time to time.

    .. math:: \theta \leftarrow \text{AdamW}\bigl(\theta, \nabla_\theta \, \text{copy\_loss}(\theta)\bigr)

    Each step draws new rows, so no block is ever seen twice, and nothing can be learned by heart.

    Args:
        model: what is trained, on the CPU.
        num_steps: how many steps.
        every: how many steps lie between two checkpoints.
        num_tokens: how long a row is; blocks have from a third to a half of it.
        batch: how many rows make a step.
        learning_rate: of AdamW :cite:p:`loshchilov2019`.
        seed: of the rows.
        progress: wraps the steps, as ``tqdm`` does, to show how far it is.

    Returns:
        The checkpoints, the first from before the training, the last from after it.

    Raises:
        ValueError: a row is longer than the model has positions, or half of it than the vocabulary.

    Example:
        >>> _ = torch.manual_seed(123)
        >>> model = attention_only_model(vocab_size=26, embed_dim=8, num_layers=2)
        >>> checkpoints = train_to_copy(model, num_steps=20, every=10, batch=16)
        >>> [checkpoint.step for checkpoint in checkpoints]
        [0, 10, 20]
        >>> checkpoints[-1].loss < checkpoints[0].loss
        True
    """
    vocab_size, half = model.token_embedding.num_embeddings, num_tokens // 2
    rows = torch.Generator().manual_seed(seed)
    unseen = repeated_blocks(64, 2 * half, vocab_size, half, half, rows)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, betas=(0.9, 0.99), fused=True
    )
    checkpoints = [take_checkpoint(model, 0, unseen)]
    with one_thread():
        for step in progress(range(1, num_steps + 1)):
            token_ids = repeated_blocks(batch, num_tokens, vocab_size, num_tokens // 3, half, rows)
            loss = copy_loss(model, token_ids)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % every == 0 or step == num_steps:
                checkpoints.append(take_checkpoint(model, step, unseen))
    return checkpoints
