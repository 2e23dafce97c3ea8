"""An induction head in training: blocks that come again, a model of attention alone, its checkpoints.

What any model's heads look at: their maps, scores of maps, and heads switched off.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from literate_attention._argument_checks import (
    require_at_least,
    require_head_split,
    require_token_ids,
)
from literate_attention.models.grouped_query_attention import GroupedQueryAttention
from literate_attention.models.rotary_embeddings import RotaryEmbedding
from literate_attention.models.transformer_block import LanguageModel, RMSNorm, require_no_weights
from literate_attention.story.training import one_thread, same_start

__all__ = [
    "AttentionBlock",
    "Checkpoint",
    "ablate_heads",
    "attention_maps",
    "attention_only_model",
    "copy_accuracy",
    "copy_loss",
    "copy_predictions",
    "head_scores",
    "induction_targets",
    "previous_token_targets",
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
    drawn anew for each row, from ``shortest`` to ``longest``, so that counting back by a fixed number of
    places helps nobody :cite:p:`olsson2022`.

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


def induction_targets(
    token_ids: Int[Tensor, "*batch num_tokens"],
) -> Bool[Tensor, "*batch num_tokens num_tokens"]:
    r"""Say where an induction head looks: after every earlier copy of the token.

    .. math:: T_{ij} = [\, t_{j-1} = t_i \,\wedge\, 0 < j < i \,]

    After *A B … A* such a head looks at *B*, since what came once may well come again :cite:p:`olsson2022`.

    Example:
        >>> induction_targets(torch.tensor([5, 7, 5, 7])).int()
        tensor([[0, 0, 0, 0],
                [0, 0, 0, 0],
                [0, 1, 0, 0],
                [0, 0, 1, 0]], dtype=torch.int32)
    """
    before = token_ids.roll(1, dims=-1)
    same = before[..., None, :] == token_ids[..., :, None]
    same[..., 0] = False  # nothing stands before the first token
    return same.tril(-1)


def copy_loss(
    model: LanguageModel, token_ids: Int[Tensor, "batch num_tokens"]
) -> Float[Tensor, ""]:
    r"""Measure how surprised a model is, on average, by what it could have copied.

    .. math:: -\frac{1}{|I|} \sum_{i \in I} \log p(t_{i+1} \mid t_1, \dots, t_i), \qquad
              I = \{\, i : t_i = t_j \text{ for some } j < i \,\}

    What comes after a token that is read for the first time is left to chance, and does not count.

    Raises:
        ValueError: no token comes again.

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

    Its parts are those of a :class:`~literate_attention.models.transformer_block.TransformerBlock`.

    Example:
        >>> attention = GroupedQueryAttention(4, 4, num_heads=2, num_kv_heads=2)
        >>> AttentionBlock(attention, embed_dim=4)(torch.ones(2, 6, 4)).shape
        torch.Size([2, 6, 4])
    """

    def __init__(self, attention: nn.Module, embed_dim: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim)
        self.attention = attention

    def forward(
        self, x: Float[Tensor, "*batch num_tokens embed_dim"], **options: Any
    ) -> Float[Tensor, "*batch num_tokens embed_dim"]:
        """Let the tokens look at each other."""
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

    It is small enough to be understood completely :cite:p:`elhage2021`. Its random weights are in float64,
    from the :func:`~literate_attention.story.training.same_start` on every machine. Without a ``base`` of the
    rotary frequencies, nothing tells the positions.

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


@torch.no_grad()
def attention_maps(
    model: LanguageModel, token_ids: Int[Tensor, "*batch num_tokens"]
) -> Float[Tensor, "*batch num_layers num_heads num_tokens num_tokens"]:
    r"""Collect the attention weights of every head of a model, layer by layer.

    .. math:: A^{(l)} = \text{weights of } \text{Attention}_l(\text{norm}(x_{l-1})), \qquad
              x_l = \text{block}_l(x_{l-1})

    Args:
        model: a stack of blocks whose attention can return its weights.
        token_ids: what the model reads.

    Returns:
        A map for each head of each layer. Row i says how much token i takes from each token, and sums to one.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> attention_maps(model, torch.tensor([1, 7, 2, 5])).shape
        torch.Size([3, 6, 4, 4])
    """
    require_token_ids(token_ids, model.token_embedding.num_embeddings)
    x = model.token_embedding(token_ids)
    blocks: Iterable[Any] = model.blocks
    maps = []
    for block in blocks:
        normed = block.attention_norm(x)
        _, weights = block.attention(normed, need_weights=True)
        maps.append(weights)
        x = block(x)
    return torch.stack(maps, dim=-4)


def previous_token_targets(
    num_tokens: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "num_tokens num_tokens"]:
    r"""Say where a previous-token head looks: at the token before.

    .. math:: T_{ij} = [\, j = i - 1 \,]

    Such heads are found in every trained model :cite:p:`elhage2021`.

    Example:
        >>> previous_token_targets(3).int()
        tensor([[0, 0, 0],
                [1, 0, 0],
                [0, 1, 0]], dtype=torch.int32)
    """
    return torch.eye(num_tokens, dtype=torch.bool, device=device).roll(-1, dims=1).tril(-1)


def head_scores(
    maps: Float[Tensor, "*batch num_layers num_heads num_tokens num_tokens"],
    targets: Bool[Tensor, "*#batch num_tokens num_tokens"],
) -> Float[Tensor, "*batch num_layers num_heads"]:
    r"""Score each head, from 0 to 1, by the weight that it gives to the places where a head of a kind looks.

    .. math:: s = \frac{1}{|I|} \sum_{i \in I} \sum_j T_{ij} A_{ij}, \qquad
              I = \{\, i : T_{ij} \text{ for some } j \,\}

    A head that looks nowhere else has a score of 1. Queries for which there is no such place do not count.
    The maps :math:`A` are those of :func:`attention_maps`.

    Raises:
        ValueError: the targets are not as large as a map, or some sequence has none.

    Example:
        Two layers of four heads, of which each looks at three tokens alike.

        >>> one_map = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
        >>> maps = one_map.expand(2, 4, 3, 3)
        >>> head_scores(maps, previous_token_targets(3))[0]
        tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    require_targets(maps, targets)
    weights = (maps * targets[..., None, None, :, :]).sum(dim=(-2, -1))
    counted = targets.any(dim=-1).sum(dim=-1)
    return weights / counted[..., None, None]


@torch.no_grad()
def copy_predictions(
    model: LanguageModel, token_ids: Int[Tensor, "*batch num_tokens"]
) -> tuple[Bool[Tensor, "*batch copied"], Float[Tensor, "*batch copied"]]:
    r"""Let a model read a sequence for the second time, and say what it makes of each next token.

    .. math:: r_i = [\, \arg\max \text{logits}_i = t_{i+1} \,], \qquad
              p_i = \text{softmax}(\text{logits}_i)_{t_{i+1}}, \qquad i = n/2, \dots, n - 2

    Of random tokens the first reading cannot be guessed. The second can, by whoever looks back
    :cite:p:`olsson2022`.

    Returns:
        For all tokens of the second half but the first: whether the model's best guess is right, and the
        probability that it gives to the right token.

    Raises:
        ValueError: the second half is not the first once more.

    Example:
        >>> from literate_attention import llama_model
        >>> knows_one_token = llama_model(1, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> copy_predictions(knows_one_token, torch.tensor([0, 0, 0, 0, 0, 0]))
        (tensor([True, True]), tensor([1., 1.]))
    """
    if not torch.equal(*token_ids.tensor_split(2, dim=-1)):
        raise ValueError(
            f"the second half of token_ids must be the first once more, got shape "
            f"{tuple(token_ids.shape)} with other tokens in the second half"
        )
    half = token_ids.shape[-1] // 2
    logits = model.logits(model.hidden_states(token_ids)[..., half:-1, :])
    wanted = token_ids[..., half + 1 :]
    chances = logits.softmax(dim=-1).gather(-1, wanted.unsqueeze(-1))
    return logits.argmax(dim=-1) == wanted, chances.squeeze(-1)


def copy_accuracy(model: LanguageModel, token_ids: Int[Tensor, "*batch num_tokens"]) -> float:
    r"""Measure which share of the next tokens, from 0 to 1, a model names when it reads a sequence again.

    .. math:: \frac{1}{n/2 - 1} \sum_i r_i

    Raises:
        ValueError: the second half is not the first once more.

    Example:
        >>> from literate_attention import llama_model
        >>> knows_one_token = llama_model(1, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> copy_accuracy(knows_one_token, torch.tensor([0, 0, 0, 0, 0, 0]))
        1.0
    """
    right, _ = copy_predictions(model, token_ids)
    return right.float().mean().item()


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
    """Measure a model of attention alone on rows of a block that comes twice, and keep its weights."""
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


@contextmanager
def ablate_heads(
    model: LanguageModel, heads: Iterable[tuple[int, int]], *, mean: bool = False
) -> Iterator[None]:
    r"""Switch heads off for as long as a ``with`` lasts: they look, but nobody learns what they found.

    .. math:: [\text{head}_1, \dots, 0, \dots, \text{head}_h] \, W_o

    What a map shows is what a head looks at. Whether the model needs it shows only when it is gone
    :cite:p:`michel2019`. However the ``with`` ends, all heads work again.

    Args:
        model: a stack of blocks, whose attention ends in ``out_proj``.
        heads: which ones, each as (layer, head), counted from 0.
        mean: put the mean of the head's context vectors, over all tokens at hand, in their place instead of
            zeros. The rest of the model is used to a head's mean, but not to zeros.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> token_ids = torch.tensor([1, 7, 2, 5])
        >>> whole = model(token_ids)
        >>> with ablate_heads(model, [(0, 3), (2, 5)]):
        ...     without = model(token_ids)
        >>> torch.equal(without, whole), torch.equal(model(token_ids), whole)
        (False, True)
    """
    attentions: list[Any] = [block.attention for block in model.blocks]
    heads = list(heads)
    for layer, head in heads:
        require_head(attentions, layer, head)
    hooks = []
    for layer, head in heads:
        silence = partial(silence_head, head, attentions[layer].num_heads, mean)
        hooks.append(attentions[layer].out_proj.register_forward_pre_hook(silence))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def silence_head(
    head: int, num_heads: int, mean: bool, _: nn.Module, inputs: tuple[Tensor]
) -> Tensor:
    """Replace what one head has found, on the way into the output projection."""
    contexts = inputs[0].unflatten(-1, (num_heads, -1)).clone()
    found = contexts[..., head, :]
    contexts[..., head, :] = found.flatten(0, -2).mean(dim=0) if mean else 0.0
    return contexts.flatten(-2)


def require_targets(maps: Tensor, targets: Tensor) -> None:
    """Refuse targets that are not as large as a map, or none at all."""
    if targets.shape not in {maps.shape[-2:], (*maps.shape[:-4], *maps.shape[-2:])}:
        raise ValueError(
            f"targets must be as large as a map, {tuple(maps.shape[-2:])}, for all sequences or for each of "
            f"{tuple(maps.shape[:-4])}, got shape {tuple(targets.shape)}"
        )
    empty = int((~targets.flatten(-2).any(dim=-1)).sum())
    if empty:
        raise ValueError(
            f"{empty} of {targets[..., 0, 0].numel()} sequences have no targets: there is nothing to score"
        )


def require_head(attentions: Sequence[Any], layer: int, head: int) -> None:
    """Refuse a head that the model does not have; Python would count a negative one from the end."""
    if not 0 <= layer < len(attentions):
        raise ValueError(
            f"the model has {len(attentions)} layers, counted from 0; there is no layer {layer}"
        )
    if not 0 <= head < attentions[layer].num_heads:
        raise ValueError(
            f"layer {layer} has {attentions[layer].num_heads} heads, counted from 0; "
            f"there is no head {head}"
        )
