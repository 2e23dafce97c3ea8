"""What the attention of DeepSeek-V3 in transformers says with the same weights: `nox -s oracles`."""

import random
from itertools import pairwise

import pytest
import torch
from harness.library.deepseek import Pair, close

import literate_attention as la

pytestmark = pytest.mark.oracle

NUM_TOKENS = 17

each_seed = pytest.mark.parametrize("seed", range(8))
each_form = pytest.mark.parametrize("absorb", [False, True, None], ids=str)


def pair_of(seed):
    return Pair(seed, "v3", NUM_TOKENS, la.RotaryEmbedding)


@each_seed
@each_form
def test_outputs_and_gradients_are_equal(seed, absorb) -> None:
    pair = pair_of(seed)
    x = pair.x.requires_grad_()
    expected, output = pair.expected(), pair.ours(x, absorb=absorb)
    close(output, expected)
    weight = torch.randn_like(output)
    ours, theirs = dict(pair.ours.named_parameters()), dict(pair.theirs.named_parameters())
    gradients = torch.autograd.grad((output * weight).sum(), [x, *ours.values()])
    given = torch.autograd.grad((expected * weight).sum(), [x, *theirs.values()])
    renamed = pair.renamed(dict(zip(theirs, given[1:], strict=True)))
    for found, other in zip(gradients, [given[0], *(renamed[name] for name in ours)], strict=True):
        close(found, other)


def compare_chunks(pair, cuts, absorb) -> None:
    """Hold what ours makes of each chunk, and what it keeps, against theirs; and against their whole."""
    pair.theirs.requires_grad_(False)
    pair.ours.requires_grad_(False)
    whole, theirs = pair.expected(), pair.cache()
    kept = la.LatentCache(len(pair.x), NUM_TOKENS, pair.latent, pair.rope, dtype=torch.float64)
    for start, stop in pairwise(cuts):
        piece = pair.ours(pair.x[:, start:stop], cache=kept, absorb=absorb)
        close(piece, whole[:, start:stop])
        close(piece, pair.expected(start, stop, theirs))
    layer = theirs.layers[0]
    close(kept.kept, torch.cat([layer.keys, layer.values], dim=-1).squeeze(1))


@each_seed
@each_form
def test_any_split_equals_theirs(seed, absorb) -> None:
    pair, draw = pair_of(seed), random.Random(seed)
    compare_chunks(pair, range(NUM_TOKENS + 1), absorb)
    cuts = sorted({0, NUM_TOKENS, *draw.sample(range(1, NUM_TOKENS), 4)})
    compare_chunks(pair, cuts, absorb)
