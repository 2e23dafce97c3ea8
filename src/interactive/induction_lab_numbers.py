"""The library's numbers for the induction lab: the model of the chapter, at several moments of its training.

Run as a program, it writes them to standard output as JSON.
"""

import json
from contextlib import ExitStack
from itertools import chain, combinations
from typing import Any, Literal

import torch
from torch import Tensor

import literate_attention as la
from interactive.packed_weights import packed, shapes

MOMENTS = (0, 100, 120, 130, 140, 160, 300)
Part = Literal["query", "key", "value"]
PARTS: tuple[Part, ...] = ("query", "key", "value")
WIRES = tuple(chain(*(combinations(PARTS, count) for count in (1, 2, 3))))
"""Which parts of the second layer may be kept from reading what the first head has written."""


def train() -> list[la.Checkpoint]:
    """Train the model as the chapter does."""
    torch.manual_seed(123)
    return la.train_to_copy(_new_model(), num_steps=MOMENTS[-1])


def _new_model() -> la.LanguageModel:
    return la.attention_only_model(26, 32, num_layers=2)


def test_rows() -> Tensor:
    """Return the rows on which the chapter switches heads off: a block of 16 letters, twice."""
    return la.repeated_blocks(64, 32, 26, 16, 16, torch.Generator().manual_seed(7))


def copies_with_cut_wires(model: la.LanguageModel, rows: Tensor, parts: tuple[Part, ...]) -> float:
    """Return how much is copied if parts of the second layer cannot read what the first head has written."""
    with ExitStack() as cut:
        for part in parts:
            cut.enter_context(la.path_patch(model, {(0, 0): [(1, 0)]}, part=part))
        return la.copy_accuracy(model, rows)


@torch.no_grad()
def tested(checkpoint: la.Checkpoint) -> dict[str, Any]:
    """Return how much is copied without heads or with cut wires, and where the heads look, on test rows."""
    model, rows = _new_model(), test_rows()
    model.load_state_dict(checkpoint.weights)
    copies = {}
    for silent in ((), (0,), (1,), (0, 1)):
        with la.ablate_heads(model, [(layer, 0) for layer in silent]):
            copies["".join(map(str, silent))] = la.copy_accuracy(model, rows)
    maps = la.attention_maps(model, rows)
    itself = torch.eye(rows.shape[-1], dtype=torch.bool)
    itself[0] = False  # the first letter sees nothing else

    def share(layer: int, targets: Tensor) -> float:
        return la.head_scores(maps, targets).mean(dim=0)[layer, 0].item()

    return {
        "copies": copies,
        "cut": {" ".join(parts): copies_with_cut_wires(model, rows, parts) for parts in WIRES},
        "previous": share(0, la.previous_token_targets(rows.shape[-1])),
        "own": share(0, itself),
        "induction": share(1, la.induction_targets(rows)),
    }


def table(last: dict[str, Any]) -> list[list[str]]:
    """Return what readers without a script see: how much is copied when wires are cut, after the training."""
    plural = {"query": "queries", "key": "keys", "value": "values"}
    rows = [["none", f"{last['copies']['']:.2f}"]]
    for parts in WIRES:
        names = " and ".join(plural[part] for part in parts)
        rows.append([names, f"{last['cut'][' '.join(parts)]:.2f}"])
    return [["Wires cut to", "Copied right"], *rows]


def numbers() -> dict[str, Any]:
    """Return the course of the training, some of its checkpoints, and the shapes of their weights."""
    checkpoints = train()
    rows = test_rows()
    moments = [(one, tested(one)) for one in checkpoints if one.step in MOMENTS]
    return {
        "shapes": shapes(checkpoints[0].weights),
        "tests": {
            "count": len(rows),
            "example": "".join(chr(ord("a") + token) for token in rows[0, :20].tolist()),
        },
        "course": {
            "steps": [one.step for one in checkpoints],
            "copies": [one.copy_accuracy for one in checkpoints],
            "previous": [one.previous_token[0, 0].item() for one in checkpoints],
            "induction": [one.induction[1, 0].item() for one in checkpoints],
        },
        "checkpoints": [
            {"step": one.step, **found, **packed(one.weights, bits=16)} for one, found in moments
        ],
        "tables": [table(moments[-1][1])],
    }


if __name__ == "__main__":
    print(json.dumps(numbers()))
