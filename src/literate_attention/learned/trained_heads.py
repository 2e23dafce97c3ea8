"""Finding heads in a trained model: the first token, the best of many, blocks that have read already."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from literate_attention._argument_checks import require_token_ids
from literate_attention.models.transformer_block import LanguageModel

__all__ = [
    "SENTENCES",
    "cache_first_layers",
    "first_token_targets",
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


def first_token_targets(
    num_tokens: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "num_tokens num_tokens"]:
    r"""Say where a head looks that rests on the first token.

    .. math:: T_{ij} = [\, j = 0 < i \,]

    The first token itself can look nowhere else, so it does not count :cite:p:`xiao2024`.

    Example:
        >>> first_token_targets(3).int()
        tensor([[0, 0, 0],
                [1, 0, 0],
                [1, 0, 0]], dtype=torch.int32)
    """
    targets = torch.zeros(num_tokens, num_tokens, dtype=torch.bool, device=device)
    targets[1:, 0] = True
    return targets


def top_heads(scores: Float[Tensor, "num_layers num_heads"], count: int) -> list[tuple[int, int]]:
    """Name the heads with the highest scores, the best one first, as (layer, head), counted from 0.

    Example:
        >>> top_heads(torch.tensor([[0.1, 0.9], [0.0, 0.2], [0.5, 0.3]]), 2)
        [(0, 1), (2, 0)]
    """
    places = scores.flatten().topk(count).indices.tolist()
    return [divmod(place, scores.shape[-1]) for place in places]


@torch.no_grad()
def cache_first_layers(
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
        ValueError: the model has no such layer, or it is the first.

    Example:
        >>> from literate_attention import ablate_heads, llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> token_ids = torch.tensor([1, 7, 2, 5])
        >>> upper = cache_first_layers(model, token_ids, layer=2)
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
