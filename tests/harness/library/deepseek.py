"""Weights of DeepSeek's latent attention in transformers, under the names of ours."""

import torch

from literate_attention import interleaved_to_half_split


def of_latent_attention(weights, sizes):
    """Name weights, or gradients of them, as `MultiHeadLatentAttention` does, and reorder what is rotated.

    `sizes` has the heads, and the widths of what their matrices hold: nope, rope, latent and value.
    """
    theirs = {name.removesuffix(".weight"): weight for name, weight in weights.items()}

    def cut(name, *widths):
        by_head = theirs[name].unflatten(0, (-1, sum(widths))).split(widths, dim=1)
        return tuple(rows.flatten(0, 1) for rows in by_head)

    plain, turned = cut("q_b_proj", sizes.nope, sizes.rope)
    turned = interleaved_to_half_split(turned, sizes.heads)
    query = [rows.unflatten(0, (sizes.heads, -1)) for rows in (plain, turned)]
    latent, rope_key = cut("kv_a_proj_with_mqa", sizes.latent, sizes.rope)
    key, value = cut("kv_b_proj", sizes.nope, sizes.value)
    ours = {
        "W_query.0": theirs["q_a_proj"],
        "W_query.1": theirs["q_a_layernorm"],
        "W_query.2": torch.cat(query, dim=1).flatten(0, 1),
        "W_latent": latent,
        "latent_norm": theirs["kv_a_layernorm"],
        "W_rope_key": interleaved_to_half_split(rope_key, 1),
        "W_key": key,
        "W_value": value,
        "out_proj": theirs["o_proj"],
    }
    return {f"{name}.weight": weight for name, weight in ours.items()}
