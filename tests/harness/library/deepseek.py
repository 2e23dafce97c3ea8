"""DeepSeek's attention in transformers beside latent attention of ours."""

import importlib
import random

import torch
from torch import nn
from torch.testing import assert_close

import literate_attention as la

BASE = 100.0


class Pair:
    """Their attention and ours with the same weights, of sizes that a seed draws, and an input."""

    def __init__(self, seed, version, num_tokens, rope, sizes=(), settings=lambda self: {}) -> None:
        draw = random.Random(seed)
        self.heads, self.width, self.latent = draw.choice([1, 2, 5]), draw.choice([7, 12]), 3 + seed
        self.nope, self.rope, self.value = draw.choice([3, 8]), draw.choice([2, 6]), 4 + seed % 3
        self.query_latent, self.num_tokens = draw.choice([5, 9]), num_tokens
        vars(self).update(sizes)
        named = f"transformers.models.deepseek_{version}.modeling_deepseek_{version}"
        module, transformers = map(importlib.import_module, (named, "transformers"))
        config = getattr(transformers, f"Deepseek{version.title()}Config")(
            hidden_size=self.width,
            num_hidden_layers=1,
            num_attention_heads=self.heads,
            num_key_value_heads=self.heads,
            kv_lora_rank=self.latent,
            q_lora_rank=self.query_latent,
            qk_nope_head_dim=self.nope,
            qk_rope_head_dim=self.rope,
            v_head_dim=self.value,
            max_position_embeddings=num_tokens,
            rope_parameters={"rope_type": "default", "rope_theta": BASE},
            attn_implementation="eager",
            **settings(self),
        )
        torch.manual_seed(seed)
        self.theirs = getattr(module, f"Deepseek{version.title()}Attention")(config, 0).double()
        for name, weight in self.theirs.named_parameters():
            nn.init.normal_(weight, mean=float("norm.weight" in name), std=0.4)
        self.angles = getattr(module, f"Deepseek{version.title()}RotaryEmbedding")(config)
        self.cache = lambda: transformers.DynamicCache(config=config)
        self.x = torch.randn(1 + seed % 3, num_tokens, self.width, dtype=torch.float64)
        self.ours = la.MultiHeadLatentAttention(
            self.width,
            self.width,
            self.heads,
            head_dim=self.nope,
            latent_dim=self.latent,
            rope=rope(self.rope, num_tokens, BASE),
            value_dim=self.value,
            query_latent_dim=self.query_latent,
        ).double()
        self.ours.load_state_dict(self.renamed(self.theirs.state_dict()))

    def expected(self, start=0, stop=None, cache=None):
        """Return what theirs makes of some tokens."""
        stop = self.num_tokens if stop is None else stop
        mask = torch.full((self.num_tokens,) * 2, -torch.inf, dtype=torch.float64).triu(1)
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
