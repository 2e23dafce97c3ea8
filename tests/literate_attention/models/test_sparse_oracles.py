"""What the attention of DeepSeek-V3.2 in transformers says with the same weights: `nox -s oracles`."""

import importlib
import inspect
import random
from contextlib import nullcontext
from itertools import pairwise

import pytest
import torch
from harness.library.deepseek import of_latent_attention
from torch import nn
from torch.testing import assert_close

import literate_attention as la
from literate_attention.models import sparse_attention

pytestmark = pytest.mark.oracle

NUM_TOKENS, BASE = 23, 100.0


class Pair:
    """Their attention and ours with the same weights, of sizes that a seed draws, and an input."""

    def __init__(self, seed, **sizes) -> None:
        draw = random.Random(seed)
        self.heads, self.width, self.latent = draw.choice([1, 2, 5]), draw.choice([7, 12]), 3 + seed
        self.nope, self.rope, self.value = draw.choice([3, 8]), draw.choice([2, 6]), 4 + seed % 3
        self.index_heads, self.index_dim = draw.choice([12, 16, 21]), 8 + seed % 3
        self.top_k = draw.choice([1, 4, 9])
        vars(self).update(sizes)
        query_latent = draw.choice([5, 9])
        module = importlib.import_module("transformers.models.deepseek_v32.modeling_deepseek_v32")
        transformers = importlib.import_module("transformers")
        config = transformers.DeepseekV32Config(
            hidden_size=self.width,
            num_hidden_layers=1,
            num_attention_heads=self.heads,
            num_key_value_heads=self.heads,
            kv_lora_rank=self.latent,
            q_lora_rank=query_latent,
            qk_nope_head_dim=self.nope,
            qk_rope_head_dim=self.rope,
            v_head_dim=self.value,
            index_n_heads=self.index_heads,
            index_head_dim=self.index_dim,
            index_topk=self.top_k,
            max_position_embeddings=NUM_TOKENS,
            rope_parameters={"rope_type": "default", "rope_theta": BASE},
            attn_implementation="eager",
        )
        torch.manual_seed(seed)
        self.theirs = module.DeepseekV32Attention(config, layer_idx=0).double()
        for name, weight in self.theirs.named_parameters():
            nn.init.normal_(weight, mean=float("norm.weight" in name), std=0.4)
        self.theirs.requires_grad_(False)
        self.angles = module.DeepseekV32RotaryEmbedding(config)
        self.cache = lambda: transformers.DynamicCache(config=config)
        rope = la.PartialRotaryEmbedding(self.rope, NUM_TOKENS, BASE)
        dense = la.MultiHeadLatentAttention(
            self.width,
            self.width,
            self.heads,
            head_dim=self.nope,
            latent_dim=self.latent,
            rope=rope,
            value_dim=self.value,
            query_latent_dim=query_latent,
        )
        indexer = la.Indexer(self.width, self.index_heads, self.index_dim, rope=rope)
        latent_query = dense.W_query  # of the index: from the same latent
        last = nn.Linear(query_latent, self.index_heads * self.index_dim, bias=False)
        indexer.W_query = nn.Sequential(*latent_query[:2], last)
        self.ours = la.SparseAttention(dense, indexer, self.top_k).double().requires_grad_(False)
        self.ours.load_state_dict(self.renamed(self.theirs.state_dict()))
        self.x = torch.randn(1 + seed % 3, NUM_TOKENS, self.width, dtype=torch.float64)

    def renamed(self, theirs):
        """Name their weights as ours; the index's rows stay as they are, in halves."""
        index = {
            "W_query.0.weight": theirs["q_a_proj.weight"],
            "W_query.1.weight": theirs["q_a_layernorm.weight"],
            "W_query.2.weight": theirs["indexer.wq_b.weight"],
            "W_key.weight": theirs["indexer.wk.weight"],
            "key_norm.weight": theirs["indexer.k_norm.weight"],
            "key_norm.bias": theirs["indexer.k_norm.bias"],
            "W_weight.weight": theirs["indexer.weights_proj.weight"],
        }
        parts = {"attention": of_latent_attention(theirs, self), "indexer": index}
        return {f"{part}.{name}": one for part, ours in parts.items() for name, one in ours.items()}

    def expected(self, start=0, stop=NUM_TOKENS, cache=None):
        """Return what theirs makes of some tokens."""
        mask = torch.full((NUM_TOKENS, NUM_TOKENS), -torch.inf, dtype=torch.float64).triu(1)
        first = start if cache is None else 0
        x, angles = self.x[:, start:stop], self.angles(self.x, torch.arange(start, stop)[None])
        mask = mask[None, None, start:stop, first:stop].expand(len(x), -1, -1, -1)
        return self.theirs(x, angles, mask, cache)[0]

    def compare(self, cuts) -> None:
        """Hold what ours makes of each chunk against theirs, and against their whole."""
        whole, theirs, batch = self.expected(), self.cache(), len(self.x)
        latents = la.LatentCache(batch, NUM_TOKENS, self.latent, self.rope, dtype=torch.float64)
        kept = la.SparseCache(latents, self.index_dim)
        for start, stop in pairwise(cuts):
            piece = self.ours(self.x[:, start:stop], cache=kept)
            for found in (whole[:, start:stop], self.expected(start, stop, theirs)):
                atol = 1e-6 * max(
                    1.0, found.abs().max().item()
                )  # they compute in float32 here and there
                assert_close(piece, found, rtol=0.0, atol=atol)


@pytest.mark.parametrize("seed", range(12))
def test_any_split_equals_theirs(seed) -> None:
    pair, draw = Pair(seed), random.Random(seed)
    pair.compare(range(NUM_TOKENS + 1))
    pair.compare(sorted({0, NUM_TOKENS, *draw.sample(range(1, NUM_TOKENS), 4)}))


def test_with_two_heads_there_is_nothing_to_be_equal_to() -> None:
    """A quarter of all scores are exactly zero; which of them are chosen hangs on how many there are."""
    differences = []
    for seed in range(8):
        pair = Pair(seed, index_heads=2, top_k=4)
        cache, whole = pair.cache(), pair.expected()
        pieces = [pair.expected(at, at + 1, cache) for at in range(NUM_TOKENS)]
        differences.append((torch.cat(pieces, dim=1) - whole).abs().max().item())
    assert max(differences) > 0.1


TWINS = {
    "as it is": ("", ""),
    "an index that sees the future": (
        "top_k_mask(scores, self.top_k, allowed)",
        "top_k_mask(scores, self.top_k, torch.ones_like(allowed)) & allowed",
    ),
    "a softmax over the weights of heads": ("self.W_weight(x)", "self.W_weight(x).softmax(-1)"),
    "no cut at zero": ("relu(query @ key.unsqueeze(-3).mT)", "query @ key.unsqueeze(-3).mT"),
    "the last numbers are rotated": (
        "self.rope(query, start), self.rope(key, start)",
        "(self.rope(each.flip(-1), start).flip(-1) for each in (query, key))",
    ),
    "positions begin anew": ("self.rope(key, start)", "self.rope(key)"),
    "keys without their norm": ("self.key_norm(self.W_key(x))", "self.W_key(x)"),
    "one key too few": ("min(self.top_k, kv_len)", "min(self.top_k - 1, kv_len)"),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_wrong_twin_is_noticed(twin) -> None:
    pair = Pair(seed=1, index_dim=9, rope=4, top_k=4)
    before, after = TWINS[twin]
    source = inspect.getsource(sparse_attention)
    assert before in source
    names = {"__name__": "twin"}
    exec(source.replace(before, after), names)
    pair.ours.indexer.__class__ = names["Indexer"]
    pair.ours.__class__ = names["SparseAttention"]
    noticed = pytest.raises(AssertionError, match="not close") if before else nullcontext()
    with noticed:
        pair.compare((0, 5, *range(9, NUM_TOKENS + 1)))
