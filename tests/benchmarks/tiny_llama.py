"""What does the model of the page on learning to write know at which moment of its training?

The page trains this model for the first of its 1,200 steps, in float64, and goes on with what is kept
here. Loss and excess are those on 300 texts on which it is not trained. The file has its weights after
50, 200 and 1,200 steps, rounded to half precision. loss_elsewhere is the loss of a second training that
rounds otherwise in the last place, as another machine may.
"""

import hashlib
from contextlib import nullcontext

import torch
from measuring import circumstances

import literate_attention as la

STEPS, KEPT = 1200, (50, 200, 1200)
MOMENTS = (0, 10, 25, 50, 75, 100, 150, *range(200, STEPS + 1, 50))
FILE = circumstances.ROOT / "docs" / "measurements" / "tiny_llama.pt"


def measure():
    """Train the model, keep its weights at some moments, and tell what it knew at more of them."""
    world, generator = la.World(), torch.Generator().manual_seed(123)
    fresh = world.draw(300, 36, generator)
    task = la.next_words(world.draw(32 * STEPS, 36, generator), world.words)

    def training(rounding):
        snapshots = []

        def watch(step) -> None:
            if step in MOMENTS:
                snapshots.append(la.take_snapshot(model, step, world, fresh))
                print(step, snapshots[-1].loss, flush=True)

        torch.manual_seed(123)
        model = la.tiny_llama(len(world.words))
        with rounding:
            la.train_in_batches(model, task, STEPS, watch=watch)
        return snapshots

    ours, others = training(nullcontext()), training(la.rounding_noise(1))
    kept = {
        one.step: {name: weight.half() for name, weight in one.weights.items()}
        for one in ours
        if one.step in KEPT
    }
    torch.save(kept, FILE)
    found = {
        "sha256": hashlib.sha256(FILE.read_bytes()).hexdigest(),
        "floor": la.entropy(world.next_word_probs(fresh)).mean().item(),
    }
    rows = [
        {"step": one.step, "loss": one.loss, "excess": one.excess, "loss_elsewhere": other.loss}
        for one, other in zip(ours, others, strict=True)
    ]
    return [found, *rows]
