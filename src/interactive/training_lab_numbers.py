"""The library's numbers for the training lab: two tasks, and the models that learn them, before they have.

Run as a program, it writes them to standard output as JSON.
"""

import json
from typing import Any

import torch
from torch import Tensor, nn

import literate_attention as la
from interactive.packed_weights import packed, shapes

SEED = 123
STD = 0.3
WIDTH = 16
QUESTIONS: dict[str, dict[str, Any]] = {
    "beats": {"num_steps": 300, "lr": 0.03, "weight_decay": 2.0},
    "both": {"num_steps": 600, "lr": 0.01, "weight_decay": 2.0},
}
"""How the models are trained to answer each question."""
KINDS = {
    "average": "beats",
    "simple": "beats",
    "self": "beats",
    "oneHead": "both",
    "twoHeads": "both",
}
"""The kinds of attention, and the question that each is to answer."""


def tasks(question: str) -> tuple[la.Task, la.Task]:
    """Return the task with what it is trained on, and with what it is tested on."""
    return la.gloves_task() if question == "beats" else la.both_sides_task()


def average(inputs: Tensor) -> Tensor:
    """Let every word look at all words alike."""
    return inputs.mean(dim=-2, keepdim=True).expand_as(inputs)


def new_model(kind: str) -> la.TaskModel:
    """Return the model of a kind of attention, untrained, with random numbers of torch's generator."""
    embedding = nn.Embedding(12, WIDTH)
    if KINDS[kind] == "both":
        num_heads = 2 if kind == "twoHeads" else 1
        attention = la.MultiHeadAttention(WIDTH, WIDTH, 3, 0.0, num_heads=num_heads)
        return la.TaskModel(embedding, attention, nn.Linear(WIDTH, 8), std=STD)
    if kind == "self":
        return la.TaskModel(embedding, la.SelfAttention_v2(WIDTH, 2), nn.Linear(2, 4), std=STD)
    function = average if kind == "average" else la.dot_product_attention
    return la.TaskModel(embedding, function, nn.Linear(WIDTH, 4), std=STD)


def task_data(task: la.Task) -> dict[str, Any]:
    """Return the examples of a task, and for each word that answers the places of its answers."""
    answers = task.answers if task.answers.ndim == 3 else task.answers.unsqueeze(-1)
    return {"examples": task.examples.tolist(), "answers": answers.tolist()}


def numbers() -> dict[str, Any]:
    """Return the tasks, how they are trained, and the parameters that each kind of attention begins with."""
    starts = {}
    for kind in KINDS:
        torch.manual_seed(SEED)
        weights = new_model(kind).state_dict()
        starts[kind] = {"shapes": shapes(weights), **packed(weights, bits=16)}
    questions = {}
    for name, settings in QUESTIONS.items():
        seen, unseen = tasks(name)
        questions[name] = {**settings, "seen": task_data(seen), "unseen": task_data(unseen)}
    return {
        "seed": SEED,
        "std": STD,
        "words": la.gloves_task()[0].words,
        "choices": la.gloves_task()[0].choices,
        "questions": questions,
        "starts": starts,
    }


if __name__ == "__main__":
    print(json.dumps(numbers()))
