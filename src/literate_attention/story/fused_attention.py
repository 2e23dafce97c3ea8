"""Attention in one kernel, which never writes the matrix of weights to memory."""

from math import prod

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as _kernel

from literate_attention._checks import require_attention


def fused_attention(
    query: Float[Tensor, "*batch q_len head_dim"],
    key: Float[Tensor, "*batch kv_len head_dim"],
    value: Float[Tensor, "*batch kv_len value_dim"],
    *,
    attn_mask: Bool[Tensor, "*#batch #q_len #kv_len"] | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "*batch q_len value_dim"]:
    r"""Compute scaled dot-product attention with torch's fused kernel.

    .. math:: Z = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V

    The kernel walks over the keys in blocks and keeps a running softmax, as FlashAttention does
    :cite:p:`dao2022`, so memory grows with the number of tokens, not with its square. Where torch has no such
    kernel for the arguments, it computes the explicit form: on a CPU with dropout, or for values of another
    width than the keys.

    Args:
        query: what asks.
        key: what is compared with the query.
        value: what is averaged.
        attn_mask: True in row i, column j: query i may attend to key j.
        dropout_p: the probability that a weight is dropped. Nothing asks whether this is training.
        is_causal: query i may attend to keys 0 to i. Only for as many queries as keys.
        scale: what scores are multiplied by; by default :math:`1/\sqrt{d_k}`.

    Returns:
        The context vectors.

    Raises:
        TypeError: an argument does not hold floating-point numbers, or the mask is not boolean.
        ValueError: sizes do not fit, the dropout rate is outside [0, 1), ``attn_mask`` and ``is_causal`` are
            given together, or ``is_causal`` with another number of queries than keys.

    Example:
        >>> import torch
        >>> query, key = torch.zeros(1, 2), torch.zeros(3, 2)
        >>> fused_attention(query, key, torch.tensor([[1.0], [2.0], [6.0]]))
        tensor([[3.]])
    """
    require_attention(query, key, value, attn_mask, dropout_p, is_causal)
    if is_causal and query.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"is_causal needs as many queries as keys, got {query.shape[-2]} and {key.shape[-2]}; "
            f"pass attn_mask=causal_mask(q_len, kv_len) instead"
        )
    # torch's fused kernels take four dimensions; with any other number torch computes the explicit form,
    # and needs quadratic memory for it.
    if query.ndim == 4:
        if attn_mask is not None and attn_mask.ndim == 3:
            attn_mask = attn_mask.unsqueeze(0)
        return _kernel(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    batch = query.shape[:-2]
    if attn_mask is not None and attn_mask.ndim > 2:
        attn_mask = _as_four_dimensions(attn_mask.expand(*batch, -1, -1))
    query, key, value = (_as_four_dimensions(tensor) for tensor in (query, key, value))
    context = _kernel(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    return context.reshape(*batch, *context.shape[-2:])


def _as_four_dimensions(tensor: Tensor) -> Tensor:
    *batch, rows, columns = tensor.shape
    return tensor.reshape(prod(batch), 1, rows, columns)
