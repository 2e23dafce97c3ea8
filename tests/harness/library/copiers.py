"""The model that learns to copy, trained as its page trains it, from other seeds, and its circuit."""

from functools import partial

import torch
from torch import Tensor

from literate_attention import (
    Checkpoint,
    LanguageModel,
    attention_only_model,
    copy_accuracy,
    cut_wires,
    ov_circuit,
    qk_circuit,
    repeated_blocks,
    train_to_copy,
)

WEIGHT_OF_THOSE_THAT_COPY = 0.2
"""Halfway between what the first head's weights say in the first ten seeds, where the training copies and
where it does not. It was fixed before the next ten seeds were trained."""


def copier(
    seed: int,
    *,
    num_steps: int,
    every: int,
    embed_dim: int = 32,
    num_layers: int = 2,
    num_heads: int = 1,
) -> tuple[LanguageModel, list[Checkpoint]]:
    """Train as the page does."""
    torch.manual_seed(seed)
    model = attention_only_model(26, embed_dim, num_layers, num_heads=num_heads).double()
    checkpoints = train_to_copy(model, num_steps, every=every, seed=seed)
    return model, checkpoints


def mixed_rows() -> list[Tensor]:
    """Return 32 rows for each length of a block in training."""
    generator = torch.Generator().manual_seed(1000)
    return [repeated_blocks(32, 2 * n, 26, n, n, generator) for n in range(10, 17)]


def copies_mixed(model: LanguageModel) -> float:
    """Return the share of letters that are copied, over all lengths of a block in training."""
    return round(sum(copy_accuracy(model, rows) for rows in mixed_rows()) / 7, 3)


def letters_of(model: LanguageModel) -> Tensor:
    """Return the embeddings, as a first norm leaves them but for its weight."""
    letters = model.token_embedding.weight.detach()
    return letters / letters.square().mean(dim=-1, keepdim=True).sqrt()


def weight_before(model: LanguageModel) -> float:
    """Read from the first head's weights how much it looks at the token before, whatever the letters."""
    letters = letters_of(model)
    circuits = torch.stack([qk_circuit(model, 0, 0, distance) for distance in range(32)])
    scores = (letters @ circuits @ letters.T).mean(dim=(1, 2))
    return round(scores.softmax(dim=0)[1].item(), 3)


@torch.no_grad()
def copies_with_notes(model: LanguageModel, back: int) -> float:
    """Let the second head's keys read a note on the letter so many places back, and nothing else.

    Such notes are made of the embeddings and the first head's weights, as if it looked nowhere else.
    """
    written = letters_of(model) @ ov_circuit(model, 0, 0)
    shares = []
    for rows in mixed_rows():
        notes = written[rows].roll(back, dims=1)
        notes[:, :back] = 0.0
        with cut_wires(model, {(0, 0): [(1, 0)]}, partial(given, notes)):
            shares.append(copy_accuracy(model, rows))
    return round(sum(shares) / len(shares), 3)


def given(notes: Tensor, _: Tensor) -> Tensor:
    """Return these notes, whatever the head has written."""
    return notes
