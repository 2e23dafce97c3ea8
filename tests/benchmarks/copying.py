"""Do other seeds learn to copy, by the same circuit, and does one layer?

The training of the page, from ten seeds for the weights and the rows, 300 steps each. Beside it, from the
same seeds, one layer of four heads, 1200 steps each, as wide as the model of the page, and once more so
wide that it has at least as many parameters as two layers. A training copies if at least 0.9 of the letters
of new rows are right. All two-layer models are trained on, for 1200 steps in all. These rows have blocks
of 16 letters; where the lengths are mixed, 32 rows for each length from 10 to 16. What grows is halfway at
the first step, of those that are multiples of ten, at which it lies above the middle between its first and
its last value: the share of letters that are right, the first head's score as a previous-token head and the
second one's as an induction head. From the weights alone: the first head's scores, from its weights and the
embeddings, averaged over all pairs of letters: which weight does a softmax over the 32 distances give to
the token before? In the first ten seeds it was 0.29 to 0.35 where the training copies, and 0.08 and 0.09
where it does not. So before the next ten seeds were trained, this rule was fixed: a weight above 0.2 means
that the training copies. It is judged on them. Besides, the second head's keys read, in the place of what
the first head writes, only its note on one letter: the letter itself, the one before, or the one before
that, each as the first head's weights make it of the embedding, with a weight of one; lengths are mixed.
Before any of these seeds was tried, it was expected that of the trainings that copy all copy at least half
of the letters with notes on the letter before, and fewer with the others. Last of all, the first head is
hidden from the second one's keys, queries or values; lengths are mixed. This was measured after it had been
seen, on the same seeds, that many of them need it in their queries and values as well. So was what
remains: keys that read notes as loud as the first head writes them; what the first head looks at, at places
9 to 19; and what the second head looks at, from the second block, up to place 25, by the length of a block.
The control has no copy: the second head looks from the same places equally far back in rows of 26 different
letters. All that is measured of two layers after 300 steps is measured once more after 1200.
"""

import torch
from harness.library import copiers

from literate_attention import path_patch

SEEDS, NEW_SEEDS = range(10), range(10, 20)
SAME_DISTANCES = "at these distances without a copy"


def measure():
    """Train all of them."""
    torch.set_num_threads(1)
    return {
        "two layers": [two_layers(seed) for seed in SEEDS],
        "two layers, new seeds": [two_layers(seed) for seed in NEW_SEEDS],
        "one layer": [one_layer(seed, embed_dim=32) for seed in SEEDS],
        "one wider layer": [one_layer(seed, embed_dim=48) for seed in SEEDS],
    }


def two_layers(seed):
    """Train the model of the page, read its circuit, and train it on."""
    model, checkpoints = copiers.copier(seed, num_steps=1200, every=10)
    until_300 = [one for one in checkpoints if one.step <= 300]
    model.load_state_dict(until_300[-1].weights)
    found = {"seed": seed, **growth(until_300), **circuit(model)}
    model.load_state_dict(checkpoints[-1].weights)
    found["after 1200 steps"] = growth(checkpoints) | circuit(model)
    print(found, flush=True)
    return found


def growth(checkpoints):
    """Return what copying and both scores come to, and when they are halfway there."""
    found = {}
    for name, values in {
        "copies": [one.copy_accuracy for one in checkpoints],
        "previous token": [one.previous_token[0, 0].item() for one in checkpoints],
        "induction": [one.induction[1, 0].item() for one in checkpoints],
    }.items():
        found[name] = round(values[-1], 3)
        found[f"{name}, halfway at step"] = halfway(checkpoints, values)
    return found


def circuit(model):
    """Return where both heads look, and what is copied if the second one reads only a part of the first."""
    found = {
        "copies, lengths mixed": copiers.copies_mixed(model),
        "weight of the token before": copiers.weight_before(model),
    }
    for back in (0, 1, 2):
        found[f"copies, notes on {back} back"] = copiers.copies_with_notes(model, back)
    for part in ("key", "query", "value"):
        with path_patch(model, {(0, 0): [(1, 0)]}, part=part):
            found[f"copies, hidden from each {part}"] = copiers.copies_mixed(model)
    return found | {
        "copies, note on 1 back as written": copiers.copies_with_written(model, 1),
        "copies, notes on 0 and 1 back as written": copiers.copies_with_written(model, 0, 1),
        "copies, all but the note on 0 back": copiers.copies_without_written(model, 0),
        "copies, all but the note on 1 back": copiers.copies_without_written(model, 1),
        "first head's weight, by places back": copiers.looks_back(model),
        "second head's weight, by places after a copy": copiers.looks_after_copy(model),
        f"second head's weight, {SAME_DISTANCES}": copiers.looks_without_copy(model),
    }


def one_layer(seed, *, embed_dim):
    """Train a single layer, four times as long and with four times as many heads."""
    sizes = {"embed_dim": embed_dim, "num_layers": 1, "num_heads": 4}
    model, checkpoints = copiers.copier(seed, num_steps=1200, every=100, **sizes)
    best = max(one.copy_accuracy for one in checkpoints)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {
        "seed": seed,
        "parameters": parameters,
        "copies at best": round(best, 3),
        "copies, lengths mixed": copiers.copies_mixed(model),
    }


def halfway(checkpoints, values):
    """Return the first step at which a value has gone half of its way."""
    middle = (values[0] + values[-1]) / 2
    up = values[-1] > values[0]
    found = zip(checkpoints, values, strict=True)
    return next(one.step for one, value in found if (value > middle) == up)
