"""The small model that writes, trained as its page trains it, from other seeds or changed in one thing."""

from collections.abc import Callable
from typing import Any

import torch

from literate_attention import (
    LanguageModel,
    World,
    entropy,
    next_words,
    take_snapshot,
    train_in_batches,
    writer,
)

STEPS, LENGTH = 1200, 36
LEARNED = 0.6
"""The excess, of its colour and of its thing, below which a model has learned who has what. The best guess
among what the text has told would have 0.69 and 0.65."""


def unchanged(model: LanguageModel) -> None:
    """Change nothing."""


def trained(
    name: str,
    seed: int = 123,
    change: Callable[[LanguageModel], None] = unchanged,
    num_texts: int = STEPS * 32,
    learning_rate: float = 3e-3,
    **sizes: int,
) -> dict[str, Any]:
    """Train a model as the page does, but for one thing."""
    world = World()
    generator = torch.Generator().manual_seed(seed)
    fresh = world.draw(300, LENGTH, generator)
    texts = world.draw(num_texts, LENGTH, generator)
    torch.manual_seed(seed)
    model = writer(len(world.words), **sizes)
    change(model)
    task = next_words(texts, world.words)
    train_in_batches(model, task, STEPS, learning_rate=learning_rate)
    model.eval()
    found = take_snapshot(model, STEPS, world, fresh)
    own = take_snapshot(model, STEPS, world, texts[:300])
    result = {
        "model": name,
        "seed": seed,
        "loss": found.loss,
        "loss_on_own_texts": own.loss,
        "floor": entropy(world.chances(fresh)).mean().item(),
        "excess": found.excess,
    }
    rounded = {kind: round(above, 2) for kind, above in found.excess.items()}
    print(name, seed, round(found.loss, 3), round(own.loss, 3), rounded, flush=True)
    return result


def learned(result: dict[str, Any]) -> bool:
    """Tell whether a model has learned who has what."""
    return max(result["excess"]["its colour"], result["excess"]["its thing"]) < LEARNED
