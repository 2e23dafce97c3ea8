"""The settings of models, an entry each: add the next one here, and the book has it."""

from typing import Final

from literate_attention.models.in_2026 import (
    SECTIONS,
    Feature,
    Model,
    index,
    keys_and_values,
    latents,
    one_vector,
    state,
)

__all__ = ["MODELS", "TRANSFORMERS"]

TRANSFORMERS: Final = (
    "https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/"
    "{0}/configuration_{0}.py"
)
"""Where the configurations of all models stand."""

HUB: Final = "https://huggingface.co"
"""Where models are published, with their configurations."""

APART = Feature("positions", "a rotated key apart", SECTIONS["absorbed"])
"""A key that is rotated beside a latent that is not."""
FROM_LATENT = Feature("queries", "made from a latent", SECTIONS["query latent"])
"""Queries with a latent of their own."""
GATE = Feature("output", "multiplied by a gate", SECTIONS["gates"])
"""What heads have found is scaled, number by number."""
NO_ROPE = Feature("positions", "no rotation", SECTIONS["rotary"])
"""Queries and keys that are not rotated."""
NORM = Feature("queries", "normalized like the keys", SECTIONS["norm"])
"""Queries and keys that are normalized."""
SINK = Feature("mask", "a learned sink in each head", SECTIONS["sinks"])
"""A score in each head that takes weight and has no value."""
STRETCHED = Feature("positions", "rotated less far for longer texts", SECTIONS["longer"])
"""Rotations made for shorter texts, and stretched."""


def rotated(share: str) -> Feature:
    """Return that only a part of each head is rotated."""
    return Feature("positions", f"only {share} of each head is rotated", SECTIONS["rotary"])


MODELS: Final = (
    Model(
        name="SmolLM3 3B",
        year=2025,
        source="smollm3",
        layers=((36, keys_and_values(16, 4, 128)),),
        also=((9, NO_ROPE),),
    ),
    Model(
        name="GPT-OSS 120B",
        year=2025,
        source="gpt_oss",
        layers=(
            (18, keys_and_values(64, 8, 64, window=128)),
            (18, keys_and_values(64, 8, 64)),
        ),
        also=((36, SINK), (36, STRETCHED)),
    ),
    Model(
        name="Kimi Linear 48B",
        year=2025,
        source="kimi_linear",
        card=f"{HUB}/moonshotai/Kimi-Linear-48B-A3B-Instruct/blob/main/config.json",
        layers=((20, state(32, 128)), (7, latents(32, 128, 512, 64, 128))),
        also=(
            (20, Feature("cache", "a decay for each number of a key", SECTIONS["gates"])),
            (7, NO_ROPE),
            (20, GATE),
        ),
    ),
    Model(
        name="OLMo 3 7B",
        year=2025,
        source="olmo3",
        card=f"{HUB}/allenai/Olmo-3-7B-Instruct/blob/main/config.json",
        layers=(
            (24, keys_and_values(32, 32, 128, window=4096)),
            (8, keys_and_values(32, 32, 128)),
        ),
        also=((32, NORM), (8, STRETCHED)),
    ),
    Model(
        name="DeepSeek V3.2",
        year=2025,
        source="deepseek_v32",
        card=f"{HUB}/deepseek-ai/DeepSeek-V3.2-Exp/blob/main/config.json",
        layers=((61, index(64, 128), latents(128, 128, 512, 64, 128, best=2048)),),
        also=((61, FROM_LATENT), (61, APART), (61, STRETCHED)),
    ),
    Model(
        name="MiMo V2 Flash",
        year=2025,
        source="mimo_v2_flash",
        layers=(
            (39, keys_and_values(64, 8, 192, 128, window=129)),
            (9, keys_and_values(64, 4, 192, 128)),
        ),
        also=((39, SINK), (48, rotated("a third"))),
    ),
    Model(
        name="GLM-5",
        year=2026,
        source="glm_moe_dsa",
        layers=((78, index(32, 128), latents(64, 192, 512, 64, 256, best=2048)),),
        also=((78, FROM_LATENT), (78, APART)),
    ),
    Model(
        name="Qwen3.5 9B",
        year=2026,
        source="qwen3_5",
        layers=((24, state(32, 128)), (8, keys_and_values(16, 4, 256))),
        also=((8, NORM), (8, rotated("a quarter")), (32, GATE)),
    ),
    Model(
        name="Mistral Small 4",
        year=2026,
        source="mistral4",
        layers=((36, latents(32, 64, 256, 64, 128)),),
        also=((36, FROM_LATENT), (36, APART), (36, STRETCHED)),
    ),
    Model(
        name="Gemma 4 E2B",
        year=2026,
        source="gemma4",
        card="https://github.com/google-deepmind/gemma/blob/main/gemma/gm/nn/gemma4/_gemma4.py",
        layers=(
            (12, keys_and_values(8, 1, 256, window=512)),
            (3, keys_and_values(8, 1, 512)),
            (16, keys_and_values(8, 1, 256, window=512, is_shared=True)),
            (4, keys_and_values(8, 1, 512, is_shared=True)),
        ),
        also=((35, NORM), (7, rotated("a quarter"))),
    ),
    Model(
        name="DeepSeek V4 Flash",
        year=2026,
        source="deepseek_v4",
        card=f"{HUB}/deepseek-ai/DeepSeek-V4-Flash/blob/main/config.json",
        layers=(
            (2, one_vector(64, 512, window=128)),
            (
                21,
                one_vector(64, 512, window=128),
                index(64, 128, tokens_each=4),
                one_vector(64, 512, tokens_each=4, best=512),
            ),
            (20, one_vector(64, 512, window=128), one_vector(64, 512, tokens_each=128)),
        ),
        also=(
            (43, FROM_LATENT),
            (43, NORM),
            (43, SINK),
            (43, rotated("an eighth")),
            (41, STRETCHED),
        ),
    ),
    Model(
        name="MiniMax M3",
        year=2026,
        source="minimax_m3_vl",
        card=f"{HUB}/MiniMaxAI/MiniMax-M3/blob/main/config.json",
        layers=(
            (3, keys_and_values(64, 4, 128)),
            (57, index(4, 128, adds_heads=False), keys_and_values(64, 4, 128, best=2048)),
        ),
        also=((60, NORM), (60, rotated("half"))),
    ),
)
"""Models of this year and the last.

:meta hide-value:
"""
