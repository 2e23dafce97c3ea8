"""What the attention of DeepSeek-V3 in transformers says with the same weights: `nox -s oracles`."""

import importlib
import inspect
import random
import textwrap
from contextlib import nullcontext
from itertools import pairwise
from unittest.mock import patch

import pytest
import torch
from harness.library.deepseek import of_latent_attention
from torch import nn
from torch.testing import assert_close

import literate_attention as la
from literate_attention.models import latent_attention

pytestmark = pytest.mark.oracle

NUM_TOKENS, BASE = 17, 100.0

each_seed = pytest.mark.parametrize("seed", range(8))
each_form = pytest.mark.parametrize("absorb", [False, True, None], ids=str)


def close(found, expected) -> None:
    """Compare numbers of about one: they compute angles and the softmax in float32 even in float64."""
    assert_close(found, expected, rtol=0.0, atol=1e-6 * max(1.0, expected.abs().max().item()))


class Pair:
    """Their attention and ours with the same weights, of sizes that a seed draws, and an input."""

    def __init__(self, seed, **sizes) -> None:
        draw = random.Random(seed)
        self.heads, self.width, self.latent = draw.choice([1, 2, 5]), draw.choice([7, 12]), 3 + seed
        self.nope, self.rope, self.value = draw.choice([3, 8]), draw.choice([2, 6]), 4 + seed % 3
        vars(self).update(sizes)
        query_latent = draw.choice([5, 9])
        module = importlib.import_module("transformers.models.deepseek_v3.modeling_deepseek_v3")
        transformers = importlib.import_module("transformers")
        config = transformers.DeepseekV3Config(
            hidden_size=self.width,
            num_attention_heads=self.heads,
            num_key_value_heads=self.heads,
            kv_lora_rank=self.latent,
            q_lora_rank=query_latent,
            qk_nope_head_dim=self.nope,
            qk_rope_head_dim=self.rope,
            v_head_dim=self.value,
            max_position_embeddings=NUM_TOKENS,
            rope_parameters={"rope_type": "default", "rope_theta": BASE},
            attn_implementation="eager",
        )
        torch.manual_seed(seed)
        self.theirs = module.DeepseekV3Attention(config, layer_idx=0).double()
        for name, weight in self.theirs.named_parameters():
            nn.init.normal_(weight, mean=float("norm" in name), std=0.4)
        self.angles = module.DeepseekV3RotaryEmbedding(config)
        self.cache = transformers.DynamicCache
        self.ours = la.MultiHeadLatentAttention(
            self.width,
            self.width,
            self.heads,
            head_dim=self.nope,
            latent_dim=self.latent,
            rope=la.RotaryEmbedding(self.rope, NUM_TOKENS, BASE),
            value_dim=self.value,
            query_latent_dim=query_latent,
        ).double()
        self.ours.load_state_dict(of_latent_attention(self.theirs.state_dict(), self))
        self.x = torch.randn(1 + seed % 3, NUM_TOKENS, self.width, dtype=torch.float64)

    def expected(self, start=0, stop=NUM_TOKENS, cache=None):
        """Return what theirs makes of some tokens."""
        mask = torch.full((NUM_TOKENS, NUM_TOKENS), -torch.inf, dtype=torch.float64).triu(1)
        first = start if cache is None else 0
        x, angles = self.x[:, start:stop], self.angles(self.x, torch.arange(start, stop)[None])
        return self.theirs(x, angles, mask[None, None, start:stop, first:stop], cache)[0]


@each_seed
@each_form
def test_outputs_and_gradients_are_equal(seed, absorb) -> None:
    pair = Pair(seed)
    x = pair.x.requires_grad_()
    expected, output = pair.expected(), pair.ours(x, absorb=absorb)
    close(output, expected)
    weight = torch.randn_like(output)
    ours, theirs = dict(pair.ours.named_parameters()), dict(pair.theirs.named_parameters())
    gradients = torch.autograd.grad((output * weight).sum(), [x, *ours.values()])
    given = torch.autograd.grad((expected * weight).sum(), [x, *theirs.values()])
    renamed = of_latent_attention(dict(zip(theirs, given[1:], strict=True)), pair)
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
    pair, draw = Pair(seed), random.Random(seed)
    compare_chunks(pair, range(NUM_TOKENS + 1), absorb)
    cuts = sorted({0, NUM_TOKENS, *draw.sample(range(1, NUM_TOKENS), 4)})
    compare_chunks(pair, cuts, absorb)


TWINS = {
    "as it is": ("", ""),
    "a rotation inside the absorbed part": ("query, widen)", "self.rope(query, start), widen)"),
    "a scale of the width that is compared": ("(self.head_dim + self.rope_dim)", "key.shape[-1]"),
    "neighbours are pairs": ("self.rope(", "interleaved(self.rope, "),
    "positions begin anew": (
        "self.rope(self.W_rope_key(x), start)",
        "self.rope(self.W_rope_key(x))",
    ),
    "latents are kept before the norm": ("self.latent_norm(self.W_latent(x))", "self.W_latent(x)"),
}


def interleaved(rope, x, start):
    at = slice(start, start + x.shape[-2])
    return la.rotate_interleaved(x, rope.cos[at], rope.sin[at])


@pytest.mark.parametrize("twin", TWINS)
def test_a_wrong_twin_is_noticed(twin) -> None:
    pair = Pair(seed=1, nope=6, rope=6)
    before, after = TWINS[twin]
    source = textwrap.dedent(inspect.getsource(la.MultiHeadLatentAttention.forward))
    assert before in source
    names = vars(latent_attention) | {"interleaved": interleaved}
    exec(source.replace(before, after), names)
    with patch.object(la.MultiHeadLatentAttention, "forward", names["forward"]):
        noticed = pytest.raises(AssertionError, match="not close") if before else nullcontext()
        with noticed:
            compare_chunks(pair, (0, 5, NUM_TOKENS), absorb=True)
