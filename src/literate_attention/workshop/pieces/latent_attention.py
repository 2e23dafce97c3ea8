"""The piece of the chapter on latent attention: keys and values of all heads from one small vector."""

from typing import Any

from literate_attention.models.latent_attention import LatentCache, MultiHeadLatentAttention
from literate_attention.models.rotary_embeddings import RotaryEmbedding
from literate_attention.workshop.judge.parameters import loaded
from literate_attention.workshop.judge.trials import Given, drawn, inputs
from literate_attention.workshop.pieces.piece import judged

ROPE = RotaryEmbedding(2, context_length=16)


def run_attention(implementation: Any, given: Given) -> Any:
    """Make the module, load weights, and attend: to all tokens at once, or to chunks with a cache."""
    x, d_out, num_heads, latent_dim, *chunks = given.values()
    sizes = {"head_dim": 2, "latent_dim": latent_dim, "rope": ROPE}
    like = MultiHeadLatentAttention(x.shape[-1], d_out, num_heads, **sizes)
    attention = loaded(implementation(x.shape[-1], d_out, num_heads, **sizes), like)
    if not chunks:
        return attention(x)
    cache = LatentCache(len(x), x.shape[-2], latent_dim, 2)
    return [attention(chunk, cache=cache) for chunk in x.split(chunks[0], dim=-2)]


GIVEN = "x, d_out, num_heads, latent_dim, tokens at a time"
WRONG_LATENTS = """
the scores are scaled by the width of the latent, not of a head's key
    scale=(self.head_dim + self.rope_dim) -> scale=(self.latent_dim + self.rope_dim)
the scores are scaled by the part of a key that is not turned, it has two
    scale=(self.head_dim + self.rope_dim) -> scale=self.head_dim
the scores are not scaled | scale=(self.head_dim + self.rope_dim) ** -0.5 -> scale=1.0
the future is visible | is_causal=attn_mask is None -> is_causal=False
the part that absorbs W_key is turned too: only the part beside it should be
    turned = self.rope(turned, start) -> turned, query = self.rope(turned, start), self.rope(query, start)
    absorb = self.absorbing_saves_work(q_len, kv_len) -> absorb = False
    key = split_heads(self.W_key(latent), self.num_heads)
        -> key = self.rope(split_heads(self.W_key(latent), self.num_heads), 0)
nothing is turned | turned = self.rope(turned, start) -> pass
    self.rope(self.W_rope_key(x), start) -> self.W_rope_key(x)
the queries are not turned | turned = self.rope(turned, start) -> pass
the shared key is not turned | self.rope(self.W_rope_key(x), start) -> self.W_rope_key(x)
the positions begin at 0 again, although there is a cache
    start = 0 if cache is None else cache.num_tokens -> start = 0
    q_len, kv_len = x.shape[-2], start + x.shape[-2]
        -> q_len, kv_len = x.shape[-2], x.shape[-2] + (cache.num_tokens if cache else 0)
the latents have no norm | self.latent_norm(self.W_latent(x)) -> self.W_latent(x)
the norm stands on what is turned, too | rope_key = self.rope(self.W_rope_key(x), start)
        -> rope_key = nn.functional.rms_norm(self.rope(self.W_rope_key(x), start), (2,))
the keys are averaged, the values should be | self.W_value(latent) -> self.W_key(latent)
    absorb = self.absorbing_saves_work(q_len, kv_len) -> absorb = False
out_proj is forgotten | output = self.out_proj(merge_heads(context)) -> output = merge_heads(context)
    return self.out_proj(merge_heads(attended)) -> return merge_heads(attended)
"""
PIECES = (
    judged(
        MultiHeadLatentAttention,
        "The module",
        "Make the latent and the turned key first: they are all that is kept. Keys and values come of them.",
        WRONG_LATENTS,
        inputs(
            GIVEN,
            *((drawn(1, 1, 2), 2, 1, 3), (drawn(1, 2, 2), 2, 1, 3), (drawn(1, 2, 2), 4, 2, 3)),
            ([[[0.0, 1000.0], [0.0, 0.0]]], 2, 1, 3),  # scores below any number that hides others
            *((drawn(1, 2, 2), 2, 1, 3, (1, 1)), (drawn(2, 5, 3), 6, 3, 5, (3, 1, 1))),
        ),
        run_attention,
        leave_out=("value_dim", "query_latent_dim", "eps", "attn_mask", "absorb", "need_weights"),
        batch="batch ",
        attributes=(
            *("W_query", "W_latent", "latent_norm", "W_rope_key", "W_key", "W_value", "out_proj"),
        ),
    ),
)
