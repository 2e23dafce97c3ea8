"""The library's numbers for the head browser: what all heads of a model look at, and what they change.

Run as a program, it writes them to standard output as JSON.
"""

import base64
import json
from typing import Any

import torch
from torch import Tensor

import literate_attention as la

SENTENCE = "Your journey starts with one step"
NAMED = ((16, 0), (18, 8), (18, 6))
"""The heads that the chapter names, of which also readers without scripts learn what they change."""
LEAST = 0.005
"""A change of a probability that is smaller is not told."""
MOST = 5
"""How many next words are named that become more likely, and how many that become less likely."""
NAMES = {"\n": "a new line", " ": "a space", "<|im_end|>": "the end of the text"}


def packed(maps: Tensor) -> str:
    """Return maps as whole percents, a byte each, without what is hidden."""
    past = la.causal_mask(maps.shape[-1])
    return base64.b64encode((100 * maps)[..., past].round().byte().numpy().tobytes()).decode()


def sentence(model: la.LanguageModel, token_ids: Tensor) -> dict[str, Any]:
    """Return what all heads look at in a sentence, and how much of it in the way of each kind of head."""
    maps = la.attention_maps(model, token_ids)
    targets = {
        "previous token": la.previous_token_targets(len(token_ids)),
        "first token": la.first_token_targets(len(token_ids)),
        "induction": la.induction_targets(token_ids),
    }
    scores = {
        kind: [round(score, 7) for score in la.head_scores(maps, one).flatten().tolist()]
        for kind, one in targets.items()
        if one.any()
    }
    return {"maps": packed(maps), "scores": scores}


@torch.no_grad()
def without_each_head(model: la.LanguageModel, token_ids: Tensor) -> Tensor:
    """Return the final vectors of all tokens without each head, and in the last row with all heads.

    Zeros take the head's place, as in `ablate_heads`. Layers below a head are run once for all heads.
    """
    stream, outputs = la.residual_stream(model, token_ids), la.head_outputs(model, token_ids)
    without = stream[:0]
    blocks: Any = model.blocks
    for layer, block in enumerate(blocks):
        attended = stream[layer] + outputs[layer].sum(dim=0) - outputs[layer]
        new = attended + la.feed_forward_output(block, attended)
        without = torch.cat([block(without), new])
    hidden: Tensor = model.final_norm(torch.cat([without, stream[-1:]]))
    return hidden


def thousandths(chance: Tensor) -> int:
    """Return a probability as a whole number."""
    return round(1000 * chance.item())


@torch.no_grad()
def consequence(model: la.LanguageModel, tokenizer: Any, hidden: Tensor) -> dict[str, Any]:
    """Return which next words become more or less likely without each head, behind one token.

    `after` has for each head pairs of a word and its probability without the head. Probabilities are in
    thousandths.
    """
    chances = model.logits(hidden).softmax(dim=-1)
    whole = chances[-1]
    changes = chances[:-1] - whole
    moved = (changes.amax(dim=0).maximum(-changes.amin(dim=0)) >= LEAST).nonzero().flatten()
    changes, chances = changes[:, moved], chances[:-1, moved]
    words: dict[int, int] = {}
    after = []
    for row, its in zip(changes, chances, strict=True):
        less, more = row.topk(min(MOST, len(row)), largest=False), row.topk(min(MOST, len(row)))
        told = [*less.indices[less.values <= -LEAST], *more.indices[more.values >= LEAST]]
        pairs = [(words.setdefault(int(at), len(words)), thousandths(its[at])) for at in told]
        after.append([number for pair in pairs for number in pair])
    ids = moved[list(words)].tolist()
    names = [tokenizer.decode([token]) for token in ids]
    return {
        "words": [NAMES.get(name, name.strip()) for name in names],
        "before": [thousandths(whole[token]) for token in ids],
        "after": after,
    }


@torch.no_grad()
def table(model: la.LanguageModel, hidden: Tensor, token_ids: list[int]) -> list[list[str]]:
    """Return how likely the last token is, with all heads and without some."""
    last = model.logits(hidden[:, -2]).softmax(dim=-1)[:, token_ids[-1]].tolist()
    rows = [["none", last[-1]]]
    for layer, head in NAMED:
        number = layer * la.SMOLLM2["num_heads"] + head
        rows.append([f"layer {layer}, head {head}", last[number]])
    return [["Missing", "Probability of “step”"], *([name, f"{x:.3f}"] for name, x in rows)]


def numbers() -> dict[str, Any]:
    """Return both sentences: one that everybody knows by now, and the same said twice.

    The second begins with the first, and what a token finds does not depend on what comes later. So the
    consequences for the first are among those for the second.
    """
    model, tokenizer = la.load_smollm2()
    once = tokenizer.encode(SENTENCE)
    twice = [*once, *tokenizer.encode("."), *once]
    texts = {SENTENCE: once, "the same, twice": twice}
    hidden = without_each_head(model, torch.tensor(twice))

    def words(token_ids: list[int]) -> list[str]:
        return [tokenizer.decode([token]).strip() for token in token_ids]

    return {
        "num_layers": len(model.blocks),
        "num_heads": la.SMOLLM2["num_heads"],
        "sentences": [
            {"title": title, "words": words(ids), **sentence(model, torch.tensor(ids))}
            for title, ids in texts.items()
        ],
        "tables": [table(model, hidden, twice)],
        "consequences": [consequence(model, tokenizer, one) for one in hidden.unbind(dim=1)],
    }


if __name__ == "__main__":
    print(json.dumps(numbers()))
