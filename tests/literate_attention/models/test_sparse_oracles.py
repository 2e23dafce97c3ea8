"""What the attention of DeepSeek-V3.2 in transformers says with the same weights: `nox -s oracles`."""

import random
from itertools import pairwise

import pytest
import torch
from harness.library.deepseek import Pair, close
from torch import nn

import literate_attention as la

pytestmark = pytest.mark.oracle

NUM_TOKENS = 23


class Sparse(Pair):
    """The same with an index before it."""

    def __init__(self, seed) -> None:
        draw = random.Random(seed)
        drawn = {"index_heads": draw.choice([12, 16, 21]), "index_dim": 8 + seed % 3}
        drawn["top_k"] = draw.choice([1, 4, 9])

        def settings(self):
            index = {"index_n_heads": self.index_heads, "index_head_dim": self.index_dim}
            return index | {"index_topk": self.top_k}

        rope = la.PartialRotaryEmbedding
        super().__init__(seed, "v32", NUM_TOKENS, rope, drawn, settings)
        self.theirs.requires_grad_(False)
        indexer = la.Indexer(self.width, self.index_heads, self.index_dim, rope=self.ours.rope)
        last = nn.Linear(self.query_latent, self.index_heads * self.index_dim, bias=False)
        indexer.W_query = nn.Sequential(*self.ours.W_query[:2], last)  # from the same latent
        theirs = self.theirs.state_dict()
        indexer.load_state_dict(  # its rows stay as they are, in halves
            {
                "W_query.0.weight": theirs["q_a_proj.weight"],
                "W_query.1.weight": theirs["q_a_layernorm.weight"],
                "W_query.2.weight": theirs["indexer.wq_b.weight"],
                "W_key.weight": theirs["indexer.wk.weight"],
                "key_norm.weight": theirs["indexer.k_norm.weight"],
                "key_norm.bias": theirs["indexer.k_norm.bias"],
                "W_weight.weight": theirs["indexer.weights_proj.weight"],
            }
        )
        self.sparse = la.SparseAttention(self.ours, indexer, self.top_k)
        self.sparse = self.sparse.double().requires_grad_(False)

    def compare(self, cuts) -> None:
        """Hold what ours makes of each chunk against theirs, and against their whole."""
        whole, theirs, batch = self.expected(), self.cache(), len(self.x)
        latents = la.LatentCache(batch, NUM_TOKENS, self.latent, self.rope, dtype=torch.float64)
        kept = la.SparseCache(latents, self.index_dim)
        for start, stop in pairwise(cuts):
            piece = self.sparse(self.x[:, start:stop], cache=kept)
            close(piece, whole[:, start:stop])
            close(piece, self.expected(start, stop, theirs))


@pytest.mark.parametrize("seed", range(12))
def test_any_split_equals_theirs(seed) -> None:
    pair, draw = Sparse(seed), random.Random(seed)
    pair.compare(range(NUM_TOKENS + 1))
    pair.compare(sorted({0, NUM_TOKENS, *draw.sample(range(1, NUM_TOKENS), 4)}))
