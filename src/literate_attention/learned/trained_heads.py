"""Finding heads in a trained model: the first token, the best of many, sentences to copy."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = [
    "SENTENCES",
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
