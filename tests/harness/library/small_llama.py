"""A model built as SmolLM2 is, small enough to be put together in a moment."""

import torch

from literate_attention import RotaryEmbedding, empty_caches, llama_model
from literate_attention.workshop.assembling import CONTEXT_LENGTH, ROPE_BASE, Assembly

SIZES = {
    "vocab_size": 23,
    "embed_dim": 24,
    "hidden_dim": 11,
    "num_layers": 3,
    "num_heads": 6,
    "num_kv_heads": 2,
    "head_dim": 4,
}
TEXT = torch.tensor([[1, 7, 2, 22, 5, 0, 13]])


def small_llama():
    """Return the library's own; its weights are large, since small ones hide mistakes."""
    rope = RotaryEmbedding(SIZES["head_dim"], CONTEXT_LENGTH, ROPE_BASE)
    model = llama_model(**SIZES, rope=rope).eval()
    generator = torch.Generator().manual_seed(123)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 3)
    return Assembly(model, lambda max_tokens: list(empty_caches(model, 1, max_tokens)))
