"""What others have written and published is called right, put in the place of a piece as it is."""

import importlib

import pytest
import torch
from torch import nn

from literate_attention.workshop.pieces import check_piece

pytestmark = pytest.mark.oracle

CHAPTER_3 = ("SelfAttention_v1", "SelfAttention_v2", "CausalAttention", "MultiHeadAttention")


@pytest.mark.parametrize("name", CHAPTER_3)
def test_the_classes_of_llms_from_scratch(name) -> None:
    ch03 = importlib.import_module("llms_from_scratch.ch03")
    assert check_piece(getattr(ch03, name))


def test_the_fused_class_of_llms_from_scratch() -> None:
    ch03 = importlib.import_module("llms_from_scratch.ch03")
    assert check_piece(ch03.PyTorchMultiHeadAttention, "MultiHeadAttention")


def test_the_rotary_embedding_of_transformers() -> None:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import (
        LlamaRotaryEmbedding,
        apply_rotary_pos_emb,
    )

    class Wrapped(nn.Module):
        def __init__(self, head_dim, context_length, base=10_000.0) -> None:
            super().__init__()
            self.theirs = LlamaRotaryEmbedding(
                LlamaConfig(
                    hidden_size=head_dim,
                    num_attention_heads=1,
                    max_position_embeddings=context_length,
                    rope_parameters={"rope_type": "default", "rope_theta": base},
                )
            )

        def forward(self, x, start=0):
            positions = torch.arange(start, start + x.shape[-2]).unsqueeze(0)
            cos, sin = self.theirs(x, positions)
            turned = apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=0)[0]
            return turned.view(x.shape)

    assert check_piece(Wrapped, "RotaryEmbedding")


def test_the_norms_and_the_feed_forward_part_of_transformers() -> None:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm

    class Norm(LlamaRMSNorm):
        def __init__(self, embed_dim, eps=1e-5) -> None:
            super().__init__(embed_dim, eps)

    class FeedForward(LlamaMLP):
        def __init__(self, embed_dim, hidden_dim) -> None:
            super().__init__(
                LlamaConfig(
                    hidden_size=embed_dim, intermediate_size=hidden_dim, num_attention_heads=1
                )
            )
            for ours, theirs in (("W_gate", "gate"), ("W_up", "up"), ("W_down", "down")):
                self.register_module(ours, self._modules.pop(f"{theirs}_proj"))

        def forward(self, x):
            return self.W_down(self.act_fn(self.W_gate(x)) * self.W_up(x))

    assert check_piece(Norm, "RMSNorm")
    assert check_piece(FeedForward, "SwiGLU")
