"""Attention in one kernel, which never writes the matrix of weights to memory."""

from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as torch_attention

from literate_attention._argument_checks import require_mask, require_one_mask, require_values
from literate_attention.story.causal_attention import causal_mask

__all__ = [
    "fused_attention",
]


def fused_attention(
    query: Float[Tensor, "*batch q_len head_dim"],
    key: Float[Tensor, "*batch kv_len head_dim"],
    value: Float[Tensor, "*batch kv_len value_dim"],
    attn_mask: Bool[Tensor, "*#batch #q_len #kv_len"] | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "*batch q_len value_dim"]:
    r"""Compute scaled dot-product attention with torch's fused kernel, and the masks of this book.

    .. math:: Z = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V

    The kernel walks over the keys in blocks and keeps a running softmax, as FlashAttention does
    :cite:p:`dao2022`, so memory grows with the number of tokens, not with its square. Where torch has no such
    kernel for the arguments, it computes the explicit form: on a CPU with dropout, or for values of another
    width than the keys. The kernels have no second derivatives; under
    ``torch.nn.attention.sdpa_kernel(SDPBackend.MATH)`` torch computes the explicit form, which has.

    Args:
        query: what asks.
        key: what is compared with the query.
        value: what is averaged.
        attn_mask: True in row i, column j: query i may attend to key j.
        dropout_p: the probability that a weight is dropped. Nothing asks whether this is training.
        is_causal: use :func:`~literate_attention.story.causal_attention.causal_mask`: the queries are the
            last of the sequence (lower-right alignment). torch's ``scaled_dot_product_attention`` takes them
            to be the first (upper-left): another result wherever there are more keys than queries.
        scale: what scores are multiplied by; by default :math:`1/\sqrt{d_k}`.

    Raises:
        ValueError: query, key and value differ in their batch dimensions, or ``attn_mask`` and ``is_causal``
            are given together.

    Example:
        Four queries, the last of six tokens, average the values 0 to 2, 0 to 3, 0 to 4 and 0 to 5.

        >>> import torch
        >>> query, key = torch.zeros(2, 4, 3), torch.zeros(2, 6, 3)
        >>> value = torch.arange(6.0).unsqueeze(-1).expand(2, 6, 3)
        >>> fused_attention(query, key, value, is_causal=True)[0, :, 0]
        tensor([1.0000, 1.5000, 2.0000, 2.5000])
    """
    require_one_mask(attn_mask, is_causal)
    for name, tensor in (("key", key), ("value", value)):
        # Flattened, batches that are not matched one to one would be paired wrongly.
        if tensor.shape[:-2] != query.shape[:-2]:
            raise ValueError(
                f"{name} must have the batch dimensions of query, {tuple(query.shape[:-2])}, "
                f"got shape {tuple(tensor.shape)}"
            )
    require_values(key, value)
    *batch, q_len, _ = query.shape
    kv_len = key.shape[-2]
    if is_causal and q_len != kv_len:
        attn_mask = causal_mask(q_len, kv_len, device=query.device)
        is_causal = False
    if attn_mask is not None:
        require_mask(attn_mask, (*batch, q_len, kv_len), query.device)
        if len(batch) > 2:
            attn_mask = attn_mask.expand(*batch, -1, -1)
        attn_mask = as_four_dimensions(attn_mask)
    context = torch_attention(
        as_four_dimensions(query),
        as_four_dimensions(key),
        as_four_dimensions(value),
        attn_mask,
        dropout_p,
        is_causal,
        scale=scale,
    )
    return context.reshape(*batch, q_len, value.shape[-1])


def as_four_dimensions(
    x: Shaped[Tensor, "*batch rows columns"],
) -> Shaped[Tensor, "batch num_heads rows columns"]:
    r"""View any number of batch dimensions as two: torch has fused kernels for no other number.

    .. math:: (n, d) \to (1, 1, n, d), \qquad (b, n, d) \to (1, b, n, d), \qquad
              (a, b, h, n, d) \to (a \cdot b, h, n, d)
    """
    return x[None, None].flatten(0, -4)
