"""Attention, from six toy embeddings to a GPT-2-sized module: the library that the book teaches."""

from literate_attention import _safe_path as _safe_path
from literate_attention.learned.circuits import *
from literate_attention.learned.claims import *
from literate_attention.learned.induction import *
from literate_attention.learned.learning_to_write import *
from literate_attention.learned.trained_heads import *
from literate_attention.models.grouped_query_attention import *
from literate_attention.models.kv_cache import *
from literate_attention.models.latent_attention import *
from literate_attention.models.linear_attention import *
from literate_attention.models.real_model import *
from literate_attention.models.ring_attention import *
from literate_attention.models.rotary_embeddings import *
from literate_attention.models.transformer_block import *
from literate_attention.models.windows_and_sinks import *
from literate_attention.story.causal_attention import *
from literate_attention.story.fused_attention import *
from literate_attention.story.inputs import *
from literate_attention.story.multi_head_attention import *
from literate_attention.story.self_attention import *
from literate_attention.story.simple_attention import *
from literate_attention.story.training import *
from literate_attention.tasks import *
from literate_attention.trust.reproducibility import *


def __getattr__(name: str) -> object:
    """Import drawings, and with them matplotlib, only for those who draw; look the version up when asked."""
    from importlib import import_module, metadata

    if name == "figures":
        return import_module("literate_attention.figures")
    if name == "__version__":
        return metadata.version("literate-attention")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
