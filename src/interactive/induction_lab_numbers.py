"""The library's numbers for the induction lab: the model of the chapter, at several moments of its training.

Run as a program, it writes them to standard output as JSON.
"""

import base64
import json
from typing import Any

import torch
from torch import Tensor

import literate_attention as la

MOMENTS = (0, 100, 120, 130, 140, 160, 300)
LARGEST = 2**15 - 1


def train() -> list[la.Checkpoint]:
    """Train the model as the chapter does."""
    torch.manual_seed(123)
    model = la.attention_only_model(26, 32, num_layers=2).double()
    checkpoints = la.train_to_copy(model, num_steps=MOMENTS[-1])
    return [one for one in checkpoints if one.step in MOMENTS]


def packed(weights: dict[str, Tensor]) -> dict[str, Any]:
    """Return weights as whole numbers of 16 bits, and what to multiply those of each matrix by."""
    scales = {name: weight.abs().max().item() / LARGEST for name, weight in weights.items()}
    whole = [(weight / scales[name]).round().flatten() for name, weight in weights.items()]
    content = torch.cat(whole).short().numpy().astype("<i2").tobytes()
    return {"scales": scales, "weights": base64.b64encode(content).decode()}


def numbers() -> dict[str, Any]:
    """Return the checkpoints, and the shapes of their weights."""
    checkpoints = train()
    return {
        "shapes": {name: list(weight.shape) for name, weight in checkpoints[0].weights.items()},
        "checkpoints": [
            {
                "step": one.step,
                "copies": one.copy_accuracy,
                "previous": one.previous_token[0, 0].item(),
                "induction": one.induction[1, 0].item(),
                **packed(one.weights),
            }
            for one in checkpoints
        ],
    }


if __name__ == "__main__":
    print(json.dumps(numbers()))
