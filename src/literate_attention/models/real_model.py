"""A real model: the parts put together as Llama is, and the names of its weights elsewhere."""

from collections.abc import Mapping
from typing import Any, Final

from jaxtyping import Float
from torch import Tensor

from literate_attention.models.grouped_query_attention import GroupedQueryAttention
from literate_attention.models.transformer_block import LanguageModel, TransformerBlock

LLAMA_NAMES: Final = {
    "token_embedding.weight": "model.embed_tokens.weight",
    "blocks.{}.attention_norm.weight": "model.layers.{}.input_layernorm.weight",
    "blocks.{}.attention.W_query.weight": "model.layers.{}.self_attn.q_proj.weight",
    "blocks.{}.attention.W_key.weight": "model.layers.{}.self_attn.k_proj.weight",
    "blocks.{}.attention.W_value.weight": "model.layers.{}.self_attn.v_proj.weight",
    "blocks.{}.attention.query_norm.weight": "model.layers.{}.self_attn.q_norm.weight",
    "blocks.{}.attention.key_norm.weight": "model.layers.{}.self_attn.k_norm.weight",
    "blocks.{}.attention.out_proj.weight": "model.layers.{}.self_attn.o_proj.weight",
    "blocks.{}.feed_forward_norm.weight": "model.layers.{}.post_attention_layernorm.weight",
    "blocks.{}.feed_forward.W_gate.weight": "model.layers.{}.mlp.gate_proj.weight",
    "blocks.{}.feed_forward.W_up.weight": "model.layers.{}.mlp.up_proj.weight",
    "blocks.{}.feed_forward.W_down.weight": "model.layers.{}.mlp.down_proj.weight",
    "final_norm.weight": "model.norm.weight",
}
"""Our names of a model's weights, and those in a checkpoint of Llama, Mistral or Qwen3; {} is the layer."""


def llama_model(
    vocab_size: int,
    embed_dim: int,
    hidden_dim: int,
    num_layers: int,
    *,
    eps: float = 1e-5,
    **attention: Any,
) -> LanguageModel:
    r"""Put a model together as Llama is: blocks of grouped-query attention and SwiGLU, one like the other.

    .. math:: \text{parameters} = d \, (V + 1) + L \bigl(2 d \, d_h (h + h_{kv}) + 3 d \, d_{ff} + 2 d\bigr)

    Mistral is the same with a window, Qwen3 with norms of queries and keys :cite:p:`touvron2023`.

    Args:
        vocab_size: how many tokens there are, :math:`V`.
        embed_dim: how wide a vector of the residual stream is, :math:`d`.
        hidden_dim: how wide the feed-forward parts are inside, :math:`d_{ff}`.
        num_layers: how many blocks, :math:`L`.
        eps: the :math:`\epsilon` of all norms.
        **attention: what every :class:`~literate_attention.GroupedQueryAttention` is made with.

    Returns:
        A model with random weights.

    Raises:
        TypeError: a size is not a whole number.
        ValueError: a size is below 1, or the heads do not fit.

    Example:
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> sum(parameter.numel() for parameter in model.parameters())
        3096
    """
    blocks = [
        TransformerBlock(
            GroupedQueryAttention(embed_dim, embed_dim, eps=eps, **attention),
            embed_dim,
            hidden_dim,
            eps,
        )
        for _ in range(num_layers)
    ]
    return LanguageModel(vocab_size, embed_dim, blocks, eps)


def rename_weights(
    checkpoint: Mapping[str, Float[Tensor, "..."]],
    num_layers: int,
    names: Mapping[str, str] = LLAMA_NAMES,
) -> dict[str, Float[Tensor, "..."]]:
    r"""Give the weights of a checkpoint the names that they have in our model.

    .. math:: \text{blocks}.3.\text{attention\_norm} \leftarrow \text{model.layers}.3.\text{input\_layernorm}

    Args:
        checkpoint: weights by their names.
        num_layers: how many layers the model has.
        names: our names and theirs.

    Returns:
        The same weights by our names, for ``load_state_dict``.

    Raises:
        ValueError: the checkpoint holds a weight that is not in the table.

    Example:
        >>> import torch
        >>> rename_weights({"model.norm.weight": torch.ones(2)}, num_layers=0)
        {'final_norm.weight': tensor([1., 1.])}
    """
    ours = {
        theirs.format(layer): name.format(layer)
        for name, theirs in names.items()
        for layer in range(max(num_layers, 1))
    }
    require_known(checkpoint, ours)
    return {ours[name]: weight for name, weight in checkpoint.items()}


def require_known(checkpoint: Mapping[str, Tensor], names: Mapping[str, str]) -> None:
    """Refuse a checkpoint with weights that would be left out."""
    unknown = sorted(set(checkpoint) - set(names))
    if unknown:
        raise ValueError(
            f"{len(unknown)} of {len(checkpoint)} weights have no place in the model, "
            f"the first is {unknown[0]!r}"
        )
