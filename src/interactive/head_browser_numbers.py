"""The library's numbers for the head browser: what all heads of a trained model look at, in two sentences.

Run as a program, it writes them to standard output as JSON.
"""

import base64
import json
from typing import Any

import torch
from torch import Tensor

import literate_attention as la

SENTENCE = "Your journey starts with one step"


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


def numbers() -> dict[str, Any]:
    """Return both sentences: one that everybody knows by now, and the same said twice."""
    model, tokenizer = la.load_smollm2()
    once = tokenizer.encode(SENTENCE)
    texts = {SENTENCE: once, "the same, twice": [*once, *tokenizer.encode("."), *once]}

    def words(token_ids: list[int]) -> list[str]:
        return [tokenizer.decode([token]).strip() for token in token_ids]

    return {
        "num_layers": len(model.blocks),
        "num_heads": la.SMOLLM2["num_heads"],
        "sentences": [
            {"title": title, "words": words(ids), **sentence(model, torch.tensor(ids))}
            for title, ids in texts.items()
        ],
    }


if __name__ == "__main__":
    print(json.dumps(numbers()))
