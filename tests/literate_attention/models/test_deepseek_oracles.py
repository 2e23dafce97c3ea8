"""What DeepSeek's attention in transformers says, without an index and with one: `nox -s oracles`."""

import importlib
import random
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import literate_attention as la

pytestmark = pytest.mark.oracle

BASE, NUM_TOKENS = 100.0, 23

each_seed = pytest.mark.parametrize("seed", range(8))
each_form = pytest.mark.parametrize("absorb", [False, True, None], ids=str)


class Pair:
    """Their attention and ours with the same weights, of sizes that a seed draws, and an input."""

    def __init__(self, seed, version="v3") -> None:
        draw = random.Random(seed)
        self.heads, width, self.latent = draw.choice([1, 2, 5]), draw.choice([7, 12]), 3 + seed
        self.nope, self.rope, self.value = draw.choice([3, 8]), draw.choice([2, 6]), 4 + seed % 3
        query_latent = draw.choice([5, 9])
        index = {"index_n_heads": draw.choice([12, 16, 21]), "index_head_dim": 8 + seed % 3}
        index["index_topk"] = draw.choice([1, 4, 9])
        named = f"transformers.models.deepseek_{version}.modeling_deepseek_{version}"
        module, transformers = map(importlib.import_module, (named, "transformers"))
        config = getattr(transformers, f"Deepseek{version.title()}Config")(
            hidden_size=width,
            num_hidden_layers=1,
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
            **(index if version == "v32" else {}),
        )
        torch.manual_seed(seed)
        self.theirs = getattr(module, f"Deepseek{version.title()}Attention")(config, 0).double()
        for name, weight in self.theirs.named_parameters():
            nn.init.normal_(weight, mean=float("norm.weight" in name), std=0.4)
        self.angles = getattr(module, f"Deepseek{version.title()}RotaryEmbedding")(config)
        self.their_cache = transformers.DynamicCache(config=config)
        self.x = torch.randn(1 + seed % 3, NUM_TOKENS, width, dtype=torch.float64)
        rope = la.PartialRotaryEmbedding(self.rope, NUM_TOKENS, BASE)
        self.ours = la.MultiHeadLatentAttention(
            width,
            width,
            self.heads,
            head_dim=self.nope,
            latent_dim=self.latent,
            rope=rope,
            value_dim=self.value,
            query_latent_dim=query_latent,
        ).double()
        weights = self.theirs.state_dict()
        self.ours.load_state_dict(self.renamed(weights))
        sizes = len(self.x), NUM_TOKENS, self.latent, self.rope
        self.cache = la.LatentCache(*sizes, dtype=torch.float64)
        if version == "v32":
            self.put_index_before(weights, rope, *index.values())

    def put_index_before(self, weights, rope, heads, width, top_k) -> None:
        indexer = la.Indexer(self.x.shape[-1], heads, width, rope=rope)
        *shared, last = self.ours.W_query
        last = nn.Linear(last.in_features, heads * width, bias=False)
        indexer.W_query = nn.Sequential(*shared, last)  # from the same latent
        indexer.double().load_state_dict(  # its rows stay as they are, in halves
            {
                "W_query.0.weight": weights["q_a_proj.weight"],
                "W_query.1.weight": weights["q_a_layernorm.weight"],
                "W_query.2.weight": weights["indexer.wq_b.weight"],
                "W_key.weight": weights["indexer.wk.weight"],
                "key_norm.weight": weights["indexer.k_norm.weight"],
                "key_norm.bias": weights["indexer.k_norm.bias"],
                "W_weight.weight": weights["indexer.weights_proj.weight"],
            }
        )
        self.ours = la.SparseAttention(self.ours, indexer, top_k)
        self.cache = la.SparseCache(self.cache, width)

    def expected(self, start=0, stop=NUM_TOKENS, cache=None):
        """Return what theirs makes of some tokens."""
        mask = torch.full((NUM_TOKENS, NUM_TOKENS), -torch.inf, dtype=torch.float64).triu(1)
        first = start if cache is None else 0
        x, angles = self.x[:, start:stop], self.angles(self.x, torch.arange(start, stop)[None])
        mask = mask[None, None, start:stop, first:stop].expand(len(x), -1, -1, -1)
        return self.theirs(x, angles, mask, cache)[0]

    def renamed(self, weights):
        """Name weights, or gradients of them, as ours does, and reorder what is rotated."""
        theirs = {name.removesuffix(".weight"): weight for name, weight in weights.items()}

        def cut(name, *widths):
            by_head = theirs[name].unflatten(0, (-1, sum(widths))).split(widths, dim=1)
            return tuple(rows.flatten(0, 1) for rows in by_head)

        plain, turned = cut("q_b_proj", self.nope, self.rope)
        turned = la.interleaved_to_half_split(turned, self.heads)
        query = [rows.unflatten(0, (self.heads, -1)) for rows in (plain, turned)]
        latent, rope_key = cut("kv_a_proj_with_mqa", self.latent, self.rope)
        key, value = cut("kv_b_proj", self.nope, self.value)
        ours = {
            "W_query.0": theirs["q_a_proj"],
            "W_query.1": theirs["q_a_layernorm"],
            "W_query.2": torch.cat(query, dim=1).flatten(0, 1),
            "W_latent": latent,
            "latent_norm": theirs["kv_a_layernorm"],
            "W_rope_key": la.interleaved_to_half_split(rope_key, 1),
            "W_key": key,
            "W_value": value,
            "out_proj": theirs["o_proj"],
        }
        return {f"{name}.weight": weight for name, weight in ours.items()}


def close(found, expected) -> None:
    """Compare numbers of about one: they compute angles and the softmax in float32 even in float64."""
    assert_close(found, expected, rtol=0.0, atol=1e-6 * max(1.0, expected.abs().max().item()))


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
    renamed = pair.renamed(dict(zip(theirs, given[1:], strict=True)))
    for found, other in zip(gradients, [given[0], *(renamed[name] for name in ours)], strict=True):
        close(found, other)


def compare_chunks(pair, cuts, **options) -> None:
    """Hold what ours makes of each chunk, and what it keeps, against theirs; and against their whole."""
    pair.theirs.requires_grad_(False)
    pair.ours.requires_grad_(False)
    whole = pair.expected()
    for start, stop in pairwise(cuts):
        piece = pair.ours(pair.x[:, start:stop], cache=pair.cache, **options)
        close(piece, whole[:, start:stop])
        close(piece, pair.expected(start, stop, pair.their_cache))
    layer, kept = pair.their_cache.layers[0], getattr(pair.cache, "cache", pair.cache).kept
    close(kept, torch.cat([layer.keys, layer.values], dim=-1).squeeze(1))


def some_cuts(seed):
    return sorted({0, NUM_TOKENS, *random.Random(seed).sample(range(1, NUM_TOKENS), 4)})


@each_seed
@each_form
def test_any_split_equals_theirs(seed, absorb) -> None:
    compare_chunks(Pair(seed), range(NUM_TOKENS + 1), absorb=absorb)
    compare_chunks(Pair(seed), some_cuts(seed), absorb=absorb)


@each_seed
def test_any_split_equals_theirs_with_an_index(seed) -> None:
    compare_chunks(Pair(seed, "v32"), range(NUM_TOKENS + 1))
    compare_chunks(Pair(seed, "v32"), some_cuts(seed))
