"""The small model that writes, trained as its page trains it, from other seeds or changed in one thing."""

import torch

import literate_attention as la

STEPS, LENGTH = 1200, 36
SEEDS = (123, *range(1, 10))
MOMENTS = (100, 200, 400, 700)
WORLD = la.World()


def unchanged(model) -> None:
    """Change nothing."""


def trained(
    name, seed=123, change=unchanged, num_texts=STEPS * 32, learning_rate=3e-3, moments=(), **sizes
):
    """Train a model as the page does, but for one thing."""
    generator = torch.Generator().manual_seed(seed)
    fresh = WORLD.draw(300, LENGTH, generator)
    texts = WORLD.draw(num_texts, LENGTH, generator)
    torch.manual_seed(seed)
    model = la.tiny_llama(len(WORLD.words), **sizes)
    change(model)
    on_the_way = {}

    def watch(step) -> None:
        if step in moments:
            on_the_way[step] = la.take_snapshot(model, step, WORLD, fresh).excess

    task = la.next_words(texts, WORLD.words)
    la.train_in_batches(model, task, STEPS, learning_rate=learning_rate, watch=watch)
    model.eval()
    found, own = (la.take_snapshot(model, STEPS, WORLD, some) for some in (fresh, texts[:300]))
    result = {
        "model": name,
        "seed": seed,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "num_texts": num_texts,
        "loss": found.loss,
        "loss_on_own_texts": own.loss,
        "floor": la.entropy(WORLD.next_word_probs(fresh)).mean().item(),
        "excess": found.excess,
    }
    if on_the_way:
        result["on_the_way"] = on_the_way
    rounded = {kind: round(above, 2) for kind, above in found.excess.items()}
    print(name, seed, round(found.loss, 3), round(own.loss, 3), rounded, flush=True)
    return result


def who_has_what(above, asked="which"):
    """Return what is about colours and things that have been told, or about which of these it is."""
    return above[f"{asked} colour"], above[f"{asked} thing"]


def claims(result):
    """Tell which claims of the page hold in a training of which MOMENTS were measured."""
    way, end = result["on_the_way"], result["excess"]
    return {
        "grammar comes before the echo": way[100]["grammar"] < 0.2 < way[100]["echo"],
        "the echo comes before who has what": way[200]["echo"]
        < 0.3
        < min(who_has_what(way[200], "its")),
        "after 200 steps, which it is, is a guess": min(who_has_what(way[200])) > 0.6,
        "in the end, it is better than a guess": max(who_has_what(end)) < 0.5,
        "nothing is below the floor": result["loss"] > result["floor"] - 0.02,
    }


def exceptions(seeds):
    """Train the page's model from some seeds, and return for each claim those for which it does not hold."""
    found = {}
    for seed in seeds:
        for claim, holds in claims(trained("whole", seed, moments=MOMENTS)).items():
            found.setdefault(claim, []).extend([] if holds else [seed])
    return found
