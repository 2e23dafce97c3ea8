"""The library's numbers for the model that writes: its world, and its weights at a few moments.

Run as a program, it writes them to standard output as JSON.
"""

import json
from pathlib import Path
from typing import Any

import torch

import literate_attention as la
from interactive.packed_weights import packed, shapes
from literate_attention.learned.learning_to_write import MOST_OWNERS

MEASURED = Path(__file__).parents[2] / "docs" / "measurements"
STARTS = (
    (". Tom's red cup is here . Lily's blue kite is lost . Tom's", 2),
    (". Ben's pink hat and Mia's black drum are gone . yes Ben's pink hat and Mia's black", 7),
    (". Tom's red cup is here . Lily's blue kite is lost . Ben's pink hat is found . Lily's", 8),
    (".", 0),
)
"""Texts to begin with, each with the place of a word that one may want to change."""


def kept() -> tuple[float, list[la.Snapshot]]:
    """Return the floor, and what the chapter's model was at a few moments of its training."""
    measured = json.loads((MEASURED / "tiny_llama.json").read_text(encoding="utf-8"))
    about, *moments = measured["results"]
    weights = la.load_checkpoints(MEASURED / "tiny_llama.pt", about["sha256"])
    return about["floor"], [
        la.Snapshot(one["step"], one["loss"], one["excess"], weights[one["step"]])
        for one in moments
        if one["step"] in weights
    ]


@torch.no_grad()
def table(world: la.World, snapshots: list[la.Snapshot], text: str) -> list[list[str]]:
    """Return what readers without a script see: what follows a text."""
    model: Any = la.tiny_llama(len(world.words))
    token_ids = world.token_ids(text)
    columns = {"in its world": world.next_word(token_ids[None])[0]}
    for one in snapshots:
        model.load_state_dict(one.weights)
        columns[f"{one.step} steps"] = model(token_ids).softmax(dim=-1)[-1]
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
    }


def numbers() -> dict[str, Any]:
    """Return the world, texts to begin with, and the weights of the model at a few moments."""
    world = la.World()
    floor, snapshots = kept()
    model: Any = la.tiny_llama(len(world.words))
    attention = model.blocks[0].attention
    return {
        "vocabulary": world.words,
        "world": rules(world),
        "config": {
            "num_heads": attention.num_heads,
            "base": 100,
            "context_length": len(attention.rope.cos),
        },
        "starts": [{"text": text, "change": place} for text, place in STARTS],
        "shapes": shapes(snapshots[0].weights),
        "floor": floor,
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
