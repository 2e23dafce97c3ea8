"""The library's numbers for the model that writes: its world, and its weights at a few moments.

Run as a program, it writes them to standard output as JSON.
"""

import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import literate_attention as la
from interactive.packed_weights import packed, shapes
from literate_attention.learned.learning_to_write import MOST_OWNERS

MOMENTS = (50, 200, 1200)
STARTS = (
    (". Tom's red cup is here . Lily's blue kite is lost . Tom's", 2),
    (". Ben's pink hat and Mia's black drum are gone . yes Ben's pink hat and Mia's black", 7),
    (". Tom's red cup is here . Lily's blue kite is lost . Ben's pink hat is found . Lily's", 8),
    (".", 0),
)
"""Texts to begin with, each with the place of a word that one may want to change."""


def trained(world: la.World) -> list[la.Snapshot]:
    """Return the model at a few moments, as the chapter kept it; or train it, where no chapter ran."""
    kept = Path(os.environ.get("BOOK_KEEP", ""), "learning_to_write.pt")
    if kept.exists():
        return [la.Snapshot(**one) for one in torch.load(kept)]
    found = []

    def watch(step: int) -> None:
        if step in MOMENTS:
            found.append(la.take_snapshot(model, step, world, fresh))

    generator = torch.Generator().manual_seed(123)
    fresh, texts = (world.draw(num, 36, generator) for num in (300, 32 * MOMENTS[-1]))
    torch.manual_seed(123)
    model = la.writer(len(world.words))
    la.train_in_batches(model, la.next_words(texts, world.words), MOMENTS[-1], watch=watch)
    return found


@torch.no_grad()
def table(world: la.World, snapshots: list[la.Snapshot], text: str) -> list[list[str]]:
    """Return what readers without a script see: what follows a text, and without the head it needs most."""
    model: Any = la.writer(len(world.words))
    token_ids = world.token_ids(text)

    def expected(*silent: tuple[int, int]) -> Tensor:
        with la.ablate_heads(model, silent):
            return model(token_ids).softmax(dim=-1)[-1]

    columns = {"in its world": world.next_word(token_ids[None])[0]}
    for one in snapshots:
        model.load_state_dict(one.weights)
        columns[f"{one.step} steps"] = expected()
    best = int(expected().argmax())
    layers, num_heads = range(len(model.blocks)), model.blocks[0].attention.num_heads
    heads = [(layer, head) for layer in layers for head in range(num_heads)]
    layer, head = min(heads, key=lambda one: expected(one)[best].item())
    columns[f"without head {'AB'[layer]}{head}"] = expected((layer, head))
    words = torch.stack(list(columns.values())).amax(dim=0).topk(5).indices.tolist()
    rows = [
        [world.words[word], *(f"{share[word]:.2f}" for share in columns.values())] for word in words
    ]
    return [["Next word", *columns], *rows]


def rules(world: la.World) -> dict[str, Any]:
    """Return what `next` in `learning_to_write/world.js` must know of the world."""
    ids = {word: place for place, word in enumerate(world.words)}
    kinds = ("owners", "colours", "things", "states")
    return {
        "size": len(ids),
        "stop": ids["."],
        **{word: ids[word] for word in ("and", "is", "are", "yes")},
        **{kind: [ids[word] for word in getattr(world, kind)] for kind in kinds},
        "most_owners": MOST_OWNERS,
        "share_of_new": 0.5,
        "share_of_and": 0.5,
        "share_of_yes": 0.5,
    }


def numbers() -> dict[str, Any]:
    """Return the world, texts to begin with, and the weights of the model at a few moments."""
    world = la.World()
    snapshots = trained(world)
    fresh = world.draw(300, 36, torch.Generator().manual_seed(123))
    model: Any = la.writer(len(world.words))
    attention = model.blocks[0].attention
    return {
        "vocabulary": world.words,
        "world": rules(world),
        "config": {
            "num_layers": len(model.blocks),
            "num_heads": attention.num_heads,
            "base": 100,
            "context_length": len(attention.rope.cos),
        },
        "starts": [{"text": text, "change": place} for text, place in STARTS],
        "shapes": shapes(snapshots[0].weights),
        "floor": la.entropy(world.chances(fresh)).mean().item(),
        "checkpoints": [
            {
                "step": one.step,
                "loss": one.loss,
                "excess": one.excess,
                **packed(one.weights, bits=8),
            }
            for one in snapshots
        ],
        "tables": [table(world, snapshots, STARTS[0][0])],
    }


if __name__ == "__main__":
    print(json.dumps(numbers()))
