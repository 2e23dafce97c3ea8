"""Attention, from six toy embeddings to a GPT-2-sized module: the library that the book teaches."""

from literate_attention.models.ring_attention import (
    attend_in_ring,
    join_shards,
    merge_partials,
    partial_attention,
    partial_gradients,
    ring_shards,
    take_shard,
)
from literate_attention.story.causal_attention import (
    CausalAttention,
    causal_mask,
    mask_scores,
    mask_weights,
    scaled_dot_product_attention,
)
from literate_attention.story.fused_attention import fused_attention
from literate_attention.story.inputs import (
    SAMPLE_TEXT,
    TOY_TOKENS,
    GPTDatasetV1,
    InputEmbedding,
    create_dataloader_v1,
    gpt2_tokenizer,
    load_the_verdict,
    toy_embeddings,
)
from literate_attention.story.multi_head_attention import (
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    merge_heads,
    split_heads,
)
from literate_attention.story.self_attention import (
    SelfAttention_v1,
    SelfAttention_v2,
    attention_output,
    attention_weights,
)
from literate_attention.story.simple_attention import (
    context_vector,
    naive_softmax,
    normalize_by_sum,
    score_all_queries,
    score_one_query,
    simple_attention,
    softmax,
)
from literate_attention.trust.reproducibility import (
    Dropout,
    drop,
    dropout_mask,
    pick_device,
    seed_everything,
)

__all__ = [
    "SAMPLE_TEXT",
    "TOY_TOKENS",
    "CausalAttention",
    "Dropout",
    "GPTDatasetV1",
    "InputEmbedding",
    "MultiHeadAttention",
    "MultiHeadAttentionWrapper",
    "SelfAttention_v1",
    "SelfAttention_v2",
    "attend_in_ring",
    "attention_output",
    "attention_weights",
    "causal_mask",
    "context_vector",
    "create_dataloader_v1",
    "drop",
    "dropout_mask",
    "fused_attention",
    "gpt2_tokenizer",
    "join_shards",
    "load_the_verdict",
    "mask_scores",
    "mask_weights",
    "merge_heads",
    "merge_partials",
    "naive_softmax",
    "normalize_by_sum",
    "partial_attention",
    "partial_gradients",
    "pick_device",
    "ring_shards",
    "scaled_dot_product_attention",
    "score_all_queries",
    "score_one_query",
    "seed_everything",
    "simple_attention",
    "softmax",
    "split_heads",
    "take_shard",
    "toy_embeddings",
]
