"""What ten trainings of the model that learns to copy come to, and one layer that may take its time."""

from typing import Any

import torch
from measuring.targets import target

from literate_attention import (
    Checkpoint,
    LanguageModel,
    attention_only_model,
    ov_circuit,
    qk_circuit,
    train_to_copy,
)

QUESTION = "Do other seeds learn to copy, by the same circuit, and does one layer?"
METHOD = """
The training of the page, from ten seeds for the weights and the rows, 300 steps each. Beside it one layer
of four heads, from the same seeds, 1200 steps each. A training copies if at least 0.9 of the letters of new
rows are right; one that does not goes on from the beginning, for 1200 steps. These rows have blocks of
16 letters. What grows is halfway at the first step, of those that are multiples of ten, at which it lies
above the middle between its first and its last value: the share of letters that are right, the first head's
score as a previous-token head and the second one's as an induction head. From the weights alone: for how
many of the 26 letters does the second head's query score the note about this letter, as the first head
writes it, above the notes about all other letters, on average over the distances from 9 to 15.
"""
PACKAGES = ("torch",)
SEEDS = range(10)
MOST_FAILURES = 3


def measure() -> dict[str, list[dict[str, Any]]]:
    """Train all of them."""
    torch.set_num_threads(1)
    return {
        "two layers": [two_layers(seed) for seed in SEEDS],
        "one layer": [one_layer(seed) for seed in SEEDS],
    }


def two_layers(seed: int) -> dict[str, Any]:
    """Train the model of the page, and read its circuit."""
    model, checkpoints = trained(seed, num_layers=2, num_heads=1, num_steps=300, every=10)
    grown = {
        "copies": [one.copy_accuracy for one in checkpoints],
        "previous token": [one.previous_token[0, 0].item() for one in checkpoints],
        "induction": [one.induction[1, 0].item() for one in checkpoints],
    }
    found: dict[str, Any] = {"seed": seed}
    for name, values in grown.items():
        found[name] = round(values[-1], 3)
        found[f"{name}, halfway at step"] = halfway(checkpoints, values)
    found["letters whose note is found"] = notes_found(model)
    if found["copies"] < 0.9:
        _, longer = trained(seed, num_layers=2, num_heads=1, num_steps=1200, every=100)
        found["copies after 1200 steps"] = round(longer[-1].copy_accuracy, 3)
    return found


def one_layer(seed: int) -> dict[str, Any]:
    """Train a single layer, four times as long and with four times as many heads."""
    _, checkpoints = trained(seed, num_layers=1, num_heads=4, num_steps=1200, every=100)
    best = max(one.copy_accuracy for one in checkpoints)
    return {"seed": seed, "copies at best": round(best, 3)}


def trained(
    seed: int, *, num_layers: int, num_heads: int, num_steps: int, every: int
) -> tuple[LanguageModel, list[Checkpoint]]:
    """Train as the page does."""
    torch.manual_seed(seed)
    model = attention_only_model(26, 32, num_layers, num_heads=num_heads).double()
    checkpoints = train_to_copy(model, num_steps, every=every, seed=seed)
    print(f"{num_layers} layers, seed {seed}: {checkpoints[-1].copy_accuracy:.2f}", flush=True)
    return model, checkpoints


def halfway(checkpoints: list[Checkpoint], values: list[float]) -> int:
    """Return the first step at which a value has gone half of its way."""
    middle = (values[0] + values[-1]) / 2
    up = values[-1] > values[0]
    found = zip(checkpoints, values, strict=True)
    return next(one.step for one, value in found if (value > middle) == up)


def notes_found(model: LanguageModel) -> int:
    """Count the letters whose note the second head's query scores highest."""
    letters = model.token_embedding.weight.detach()
    letters = letters / letters.square().mean(dim=-1, keepdim=True).sqrt()
    notes = letters @ ov_circuit(model, 0, 0)
    circuit = torch.stack([qk_circuit(model, 1, 0, distance) for distance in range(9, 16)])
    scores = letters @ circuit.mean(dim=0) @ notes.T
    return int((scores.argmax(dim=-1) == torch.arange(26)).sum())


def targets(results: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Most seeds copy with two layers, and none with one."""
    failed = sum(one["copies"] < 0.9 for one in results["two layers"])
    best = max(one["copies at best"] for one in results["one layer"])
    return [
        target("failures, of 10", "two layers", failed, MOST_FAILURES),
        target("best share of letters", "one layer", best, 0.2),
    ]
