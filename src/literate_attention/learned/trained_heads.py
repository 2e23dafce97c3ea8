"""What the heads of a trained model look at: their maps, scores of maps, and heads switched off."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from literate_attention._argument_checks import require_token_ids
from literate_attention.models.transformer_block import LanguageModel

__all__ = [
    "SENTENCES",
    "ablate_heads",
    "attention_maps",
    "copy_accuracy",
    "copy_predictions",
    "first_token_targets",
    "head_scores",
    "induction_targets",
    "previous_token_targets",
    "resume",
    "top_heads",
]

SENTENCES = (
    "The old ferry crosses the river twice a day in summer.",
    "My sister painted the kitchen door green while nobody was looking.",
    "Nobody had told the new teacher where the keys were.",
    "On Sundays they walked to the harbour and looked at boats.",
    "A small bakery opened next to the station in the spring.",
    "He wrote the letter twice and then burnt it.",
    "The children hid behind the barn until the rain stopped.",
    "We sold the piano because it did not fit through the door.",
    "Her uncle keeps bees and gives the honey to his neighbours.",
    "After the storm two of the goats were missing.",
)
"""Ten ordinary sentences, on which no head was chosen."""


@torch.no_grad()
def attention_maps(
    model: LanguageModel,
    token_ids: Int[Tensor, "*batch num_tokens"],
    layers: Collection[int] | None = None,
) -> Float[Tensor, "*batch num_layers num_heads num_tokens num_tokens"]:
    r"""Collect the attention weights of every head of a model, layer by layer.

    .. math:: A^{(l)} = \text{weights of } \text{Attention}_l(\text{norm}(x_{l-1})), \qquad
              x_l = \text{block}_l(x_{l-1})

    Args:
        model: a stack of blocks whose attention can return its weights.
        token_ids: what the model reads.
        layers: which layers' maps are collected, in the order of the model; by default those of all.

    Returns:
        A map for each head of each of these layers. Row i says how much token i takes from each token, and
        sums to one.

    Raises:
        TypeError: the token ids are not integers.
        ValueError: a token id is outside the vocabulary, or the model lacks a layer, or none is asked for.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> attention_maps(model, torch.tensor([1, 7, 2, 5])).shape
        torch.Size([3, 6, 4, 4])
    """
    require_token_ids(token_ids, model.token_embedding.num_embeddings)
    require_layers(layers, len(model.blocks))
    x = model.token_embedding(token_ids)
    blocks: Iterable[Any] = model.blocks
    maps = []
    for layer, block in enumerate(blocks):
        if layers is None or layer in layers:
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

    Args:
        num_tokens: how many tokens there are.
        device: where the table is put.

    Returns:
        True in row i, column j: token j is the one before token i.

    Example:
        >>> previous_token_targets(3).int()
        tensor([[0, 0, 0],
                [1, 0, 0],
                [0, 1, 0]], dtype=torch.int32)
    """
    return torch.eye(num_tokens, dtype=torch.bool, device=device).roll(-1, dims=1).tril(-1)


def first_token_targets(
    num_tokens: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "num_tokens num_tokens"]:
    r"""Say where a head looks that rests on the first token.

    .. math:: T_{ij} = [\, j = 0 < i \,]

    The first token itself can look nowhere else, so it does not count :cite:p:`xiao2024`.

    Args:
        num_tokens: how many tokens there are.
        device: where the table is put.

    Returns:
        True in row i, column j: token j is the first, and token i is not.

    Example:
        >>> first_token_targets(3).int()
        tensor([[0, 0, 0],
                [1, 0, 0],
                [1, 0, 0]], dtype=torch.int32)
    """
    targets = torch.zeros(num_tokens, num_tokens, dtype=torch.bool, device=device)
    targets[1:, 0] = True
    return targets


def induction_targets(
    token_ids: Int[Tensor, "*batch num_tokens"],
) -> Bool[Tensor, "*batch num_tokens num_tokens"]:
    r"""Say where an induction head looks: after every earlier copy of the token.

    .. math:: T_{ij} = [\, t_{j-1} = t_i \,\wedge\, 0 < j < i \,]

    After *A B … A* such a head looks at *B*, since what came once may well come again :cite:p:`olsson2022`.

    Args:
        token_ids: the tokens, :math:`t`.

    Returns:
        True in row i, column j: the token before token j is the same as token i.

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


def head_scores(
    maps: Float[Tensor, "*batch num_layers num_heads num_tokens num_tokens"],
    targets: Bool[Tensor, "*#batch num_tokens num_tokens"],
) -> Float[Tensor, "*batch num_layers num_heads"]:
    r"""Score each head by the weight that it gives to the places where a head of a kind looks.

    .. math:: s = \frac{1}{|I|} \sum_{i \in I} \sum_j T_{ij} A_{ij}, \qquad
              I = \{\, i : T_{ij} \text{ for some } j \,\}

    A head that looks nowhere else has a score of 1. Queries for which there is no such place do not count.

    Args:
        maps: a map for each head, :math:`A`, from :func:`attention_maps`.
        targets: where a head of this kind looks, :math:`T`.

    Returns:
        A score from 0 to 1 for each head.

    Raises:
        ValueError: the targets are not as large as a map, or some sequence has none.

    Example:
        Two layers of four heads, of which each looks at three tokens alike.

        >>> one_map = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
        >>> maps = one_map.expand(2, 4, 3, 3)
        >>> head_scores(maps, previous_token_targets(3))[0]
        tensor([0.5000, 0.5000, 0.5000, 0.5000])
        >>> head_scores(maps, first_token_targets(3))[0]
        tensor([0.3750, 0.3750, 0.3750, 0.3750])
    """
    require_targets(maps, targets)
    weights = (maps * targets[..., None, None, :, :]).sum(dim=(-2, -1))
    counted = targets.any(dim=-1).sum(dim=-1)
    return weights / counted[..., None, None]


def top_heads(scores: Float[Tensor, "num_layers num_heads"], count: int) -> list[tuple[int, int]]:
    """Name the heads with the highest scores, the best one first.

    Args:
        scores: a score for each head, from :func:`head_scores`.
        count: how many heads to name.

    Returns:
        For each of them its layer and its place in the layer, counted from 0.

    Example:
        >>> top_heads(torch.tensor([[0.1, 0.9], [0.0, 0.2], [0.5, 0.3]]), 2)
        [(0, 1), (2, 0)]
    """
    places = scores.flatten().topk(count).indices.tolist()
    return [divmod(place, scores.shape[-1]) for place in places]


@contextmanager
def ablate_heads(
    model: LanguageModel, heads: Iterable[tuple[int, int]], *, mean: bool = False
) -> Iterator[None]:
    r"""Switch heads off for as long as a ``with`` lasts: they look, but nobody learns what they found.

    .. math:: [\text{head}_1, \dots, 0, \dots, \text{head}_h] \, W_o

    What a map shows is what a head looks at. Whether the model needs it shows only when it is gone
    :cite:p:`michel2019`.

    Args:
        model: a stack of blocks, whose attention ends in ``out_proj``.
        heads: which ones, each as (layer, head), counted from 0.
        mean: put the mean of the head's context vectors, over all tokens at hand, in their place instead of
            zeros. The rest of the model is used to a head's mean, but not to zeros.

    Returns:
        A context manager. However the ``with`` ends, all heads work again.

    Raises:
        ValueError: the model has no such layer, or the layer no such head.

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


@torch.no_grad()
def resume(
    model: LanguageModel, token_ids: Int[Tensor, "*batch num_tokens"], layer: int
) -> LanguageModel:
    r"""Let the first blocks of a model read a text, once for all that is then tried in later blocks.

    .. math:: x_l = \text{block}_l(\cdots \text{block}_1(E_t)), \qquad
              \text{logits} = \text{norm}\bigl(\text{block}_L(\cdots \text{block}_{l+1}(x_l))\bigr) \, E^\top

    Args:
        model: a stack of blocks.
        token_ids: what they read, :math:`t`.
        layer: the first block that reads anew, counted from 0.

    Returns:
        A model of as many layers, for this text only. It shares its later blocks with the given model, so a
        head that is switched off there is missing in both.

    Raises:
        TypeError: the token ids are not integers.
        ValueError: a token id is outside the vocabulary, the model has no such layer, or it is the first.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> token_ids = torch.tensor([1, 7, 2, 5])
        >>> upper = resume(model, token_ids, layer=2)
        >>> with ablate_heads(model, [(2, 5)]):
        ...     torch.equal(upper(token_ids), model(token_ids))
        True
    """
    require_token_ids(token_ids, model.token_embedding.num_embeddings)
    if not 0 < layer < len(model.blocks):
        raise ValueError(
            f"of {len(model.blocks)} blocks, 1 to {len(model.blocks) - 1} can have read a text already, "
            f"got {layer}"
        )
    embedded = model.token_embedding(token_ids)
    x = embedded
    for block in model.blocks[:layer]:
        x = block(x)
    skipped = [nn.Identity() for _ in range(layer - 1)]
    blocks = [FirstBlocks(embedded, x), *skipped, *model.blocks[layer:]]
    with torch.device("meta"):  # nothing is drawn for weights that are replaced
        resumed = LanguageModel(1, embedded.shape[-1], blocks)
    resumed.token_embedding, resumed.final_norm = model.token_embedding, model.final_norm
    return resumed


class FirstBlocks(nn.Module):
    """Stand in the place of blocks that have read a text already, and refuse any other text."""

    def __init__(self, embedded: Tensor, read: Tensor) -> None:
        super().__init__()
        self.embedded, self.read = embedded, read

    def forward(self, x: Tensor) -> Tensor:
        """Give what these blocks made of the text."""
        if not torch.equal(x, self.embedded):
            raise ValueError("the first blocks have read another text")
        return self.read


@torch.no_grad()
def copy_predictions(
    model: LanguageModel, token_ids: Int[Tensor, "*batch num_tokens"]
) -> tuple[Bool[Tensor, "*batch copied"], Float[Tensor, "*batch copied"]]:
    r"""Let a model read a sequence for the second time, and say what it makes of each next token.

    .. math:: r_i = [\, \arg\max \text{logits}_i = t_{i+1} \,], \qquad
              p_i = \text{softmax}(\text{logits}_i)_{t_{i+1}}, \qquad i = n/2, \dots, n - 2

    Of random tokens the first reading cannot be guessed. The second can, by whoever looks back
    :cite:p:`olsson2022`.

    Args:
        model: what names the next token.
        token_ids: any sequence, and once more the same, :math:`t`.

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
    require_repeated(token_ids)
    half = token_ids.shape[-1] // 2
    logits = model.logits(model.hidden_states(token_ids)[..., half:-1, :])
    wanted = token_ids[..., half + 1 :]
    chances = logits.softmax(dim=-1).gather(-1, wanted.unsqueeze(-1))
    return logits.argmax(dim=-1) == wanted, chances.squeeze(-1)


def copy_accuracy(model: LanguageModel, token_ids: Int[Tensor, "*batch num_tokens"]) -> float:
    r"""Measure how often a model names the next token of a sequence that it reads for the second time.

    .. math:: \frac{1}{n/2 - 1} \sum_i r_i

    Args:
        model: what names the next token.
        token_ids: any sequence, and once more the same.

    Returns:
        The share of right answers in the second half, from 0 to 1.

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


def require_layers(layers: Collection[int] | None, num_layers: int) -> None:
    """Refuse layers that the model does not have: their maps would be missing from the result."""
    strange = sorted(set(layers or ()) - set(range(num_layers)))
    if strange or (layers is not None and not layers):
        raise ValueError(
            f"the model has {num_layers} layers, counted from 0, and at least one must be asked for; "
            f"got {sorted(layers or ())}"
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


def require_repeated(token_ids: Tensor) -> None:
    """Refuse a sequence that does not come twice."""
    first, second = token_ids.tensor_split(2, dim=-1)
    if not torch.equal(first, second):
        raise ValueError(
            f"the second half of token_ids must be the first once more, got shape "
            f"{tuple(token_ids.shape)} with other tokens in the second half"
        )
