"""The questions that every entrance asks of its input, with one wording for each answer."""

import operator

import torch
from torch import Tensor


def require_floating(name: str, tensor: Tensor) -> None:
    """Refuse integer and boolean tensors: attention is a weighted average of real numbers."""
    if not tensor.is_floating_point():
        raise TypeError(
            f"{name} must hold floating-point numbers, got {tensor.dtype}; "
            f"convert it first, e.g. {name}.float()"
        )


def require_tokens(
    name: str, tensor: Tensor, width: int | None = None, called: str = "d_in"
) -> None:
    """Refuse what is not a sequence of vectors, or not of vectors of the given width."""
    require_floating(name, tensor)
    if tensor.ndim < 2:
        raise ValueError(
            f"{name} must have at least 2 dimensions (num_tokens, {called}), "
            f"got {tensor.ndim}: shape {tuple(tensor.shape)}"
        )
    if width is not None:
        require_width(name, tensor, width, called)


def require_width(name: str, tensor: Tensor, expected: int, called: str) -> None:
    """Refuse a tensor whose last dimension is not as wide as expected."""
    if tensor.ndim == 0 or tensor.shape[-1] != expected:
        raise ValueError(
            f"the last dimension of {name} must be {called} = {expected}, "
            f"got shape {tuple(tensor.shape)}"
        )


def require_mask(attn_mask: Tensor, scores_shape: tuple[int, ...]) -> None:
    """Refuse an attention mask that is not boolean, or cannot be spread over the scores."""
    if attn_mask.dtype != torch.bool:
        raise TypeError(
            f"attn_mask must be boolean, True = may attend, got {attn_mask.dtype}; "
            f"a mask of ones that hide becomes mask == 0"
        )
    given = tuple(attn_mask.shape)
    if not 2 <= len(given) <= len(scores_shape) or any(
        size not in (1, wanted)
        for size, wanted in zip(reversed(given), reversed(scores_shape), strict=False)
    ):
        raise ValueError(
            f"attn_mask must fit scores of shape {tuple(scores_shape)}, (*batch, queries, keys), "
            f"got shape {given}"
        )


def require_same_batch(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Refuse two tensors of matrices that are not matched one to one."""
    if tensor.shape[:-2] != other.shape[:-2]:
        raise ValueError(
            f"{name} must have the batch dimensions of {other_name}, {tuple(other.shape[:-2])}, "
            f"got shape {tuple(tensor.shape)}"
        )


def require_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
) -> None:
    """Refuse queries, keys, values and masks that do not belong together."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        require_tokens(name, tensor, called="head_dim")
    require_width("key", key, query.shape[-1], "the width of query")
    require_same_batch("key", key, "query", query)
    require_same_batch("value", value, "query", query)
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"key and value must have the same number of tokens, "
            f"got {key.shape[-2]} keys and {value.shape[-2]} values"
        )
    require_dropout_rate("dropout_p", dropout_p)
    if attn_mask is None:
        return
    if is_causal:
        raise ValueError(
            "attn_mask and is_causal were given together; combine them: "
            "attn_mask & causal_mask(q_len, kv_len)"
        )
    require_mask(attn_mask, (*query.shape[:-1], key.shape[-2]))


def require_at_least(name: str, value: int, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None
    if whole < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def require_dropout_rate(name: str, rate: float) -> None:
    """Refuse a dropout rate outside [0, 1): a rate of 1 would leave nothing to attend to."""
    if not 0.0 <= rate < 1.0:
        raise ValueError(f"{name} must lie in [0, 1), got {rate}")


def require_context(num_tokens: int, context_length: int) -> None:
    """Refuse a sequence that is longer than the module was built for."""
    if num_tokens > context_length:
        raise ValueError(
            f"the sequence has {num_tokens} tokens, but context_length is {context_length}; "
            f"shorten the sequence or build the module with context_length={num_tokens}"
        )
