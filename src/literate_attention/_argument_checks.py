"""What is refused because it would go wrong without an error, or far from its cause.

Where torch's own message is as clear, nothing is asked here.
"""

import hashlib
import operator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_CACHED = {3: "(batch, num_tokens, width)", 4: "(batch, num_kv_heads, num_tokens, head_dim)"}
"""What the dimensions of a cache are called."""


def require_floating(name: str, tensor: Tensor) -> None:
    """Refuse integer and boolean tensors: attention is a weighted average of real numbers."""
    if not tensor.is_floating_point():
        raise TypeError(
            f"{name} must hold floating-point numbers, got {tensor.dtype}; "
            f"convert it first, e.g. {name}.float()"
        )


def require_at_least(name: str, value: int, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if operator.index(value) < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def require_head_split(name: str, width: int, num_heads: int, called: str = "num_heads") -> None:
    """Refuse a number that does not divide evenly among heads."""
    if num_heads < 1 or width % num_heads:
        raise ValueError(f"{name} must be divisible by {called}, got {width} and {num_heads}")


def require_context(num_tokens: int, context_length: int) -> None:
    """Refuse a sequence that is longer than the module was built for."""
    if num_tokens > context_length:
        raise ValueError(
            f"the sequence has {num_tokens} tokens, but context_length is {context_length}; "
            f"shorten the sequence or build the module with context_length={num_tokens}"
        )


def require_mask(
    attn_mask: Tensor, scores_shape: tuple[int, ...], device: torch.device | None = None
) -> None:
    """Refuse a mask that is not boolean, cannot be spread over the scores, or lies on another device.

    torch's kernel would not notice the last, and read other memory.
    """
    if attn_mask.dtype != torch.bool:
        raise TypeError(
            f"attn_mask must be boolean, True = may attend, got {attn_mask.dtype}; "
            f"pass mask == 1 if ones may attend, mask == 0 if ones are hidden"
        )
    given = tuple(attn_mask.shape)
    fits = 2 <= len(given) <= len(scores_shape)
    for axis in range(1, len(given) + 1 if fits else 1):  # from the last dimension on
        fits = fits and (given[-axis] == 1 or given[-axis] == scores_shape[-axis])
    if not fits:
        raise ValueError(
            f"attn_mask must fit scores of shape {tuple(scores_shape)}, (*batch, queries, keys), "
            f"got shape {given}"
        )
    if device is not None and attn_mask.device != device:
        raise ValueError(
            f"attn_mask must be on the device of the query, {device}, got {attn_mask.device}"
        )


def require_head_mask(attn_mask: Tensor, scores_shape: tuple[int, ...]) -> None:
    """Refuse a mask that cannot be spread over the scores of heads, or could be meant for texts or heads."""
    require_mask(attn_mask, scores_shape)
    if 2 < attn_mask.ndim < len(scores_shape) and attn_mask.shape[-3] != 1:
        raise ValueError(
            f"attn_mask of shape {tuple(attn_mask.shape)} may be meant for each text or for each head; "
            f"give it all {len(scores_shape)} dimensions: attn_mask[:, None] is one for each text"
        )


def require_values(key: Tensor, value: Tensor) -> None:
    """Refuse keys and values that are not matched one to one: torch's kernel would read other memory."""
    if key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            f"each key needs its value, got keys of shape {tuple(key.shape)} "
            f"and values of shape {tuple(value.shape)}"
        )


def require_one_mask(attn_mask: Tensor | None, is_causal: bool) -> None:
    """Refuse a mask and `is_causal` together: nobody can know which of them is meant."""
    if attn_mask is not None and is_causal:
        raise ValueError(
            "attn_mask and is_causal were given together; combine them: "
            "attn_mask & causal_mask(q_len, kv_len)"
        )


def require_token_ids(token_ids: Tensor, vocab_size: int) -> None:
    """Refuse what are not ids of tokens, or ids on the CPU of tokens that the vocabulary does not have.

    Elsewhere the table of embeddings refuses such ids itself.
    """
    if not isinstance(token_ids, Tensor):
        raise TypeError(
            f"token_ids must be a tensor, got {type(token_ids).__name__}; pass torch.tensor(token_ids)"
        )
    if token_ids.is_floating_point() or token_ids.dtype == torch.bool:
        raise TypeError(f"token_ids must be integers, got {token_ids.dtype}")
    lowest, highest = seen_range(token_ids)
    if lowest < 0 or highest >= vocab_size:
        stray = lowest if lowest < 0 else highest
        raise ValueError(
            f"token id {stray} is outside the vocabulary of {vocab_size} tokens (0 to {vocab_size - 1})"
        )


def seen_range(x: Tensor) -> tuple[Any, Any]:
    """Return the lowest and the highest number, or zeros where to look would cost much or cannot be done.

    To read a number from a GPU means to wait until it has done all that it was given.
    """
    if x.device.type != "cpu" or x.numel() == 0 or torch.compiler.is_compiling():
        return 0, 0
    try:
        lowest, highest = (bound.item() for bound in x.aminmax())
    except RuntimeError:  # under vmap, and in a trace without numbers, there is nothing to look at
        return 0, 0
    return lowest, highest


def require_cache(name: str, cache: object, kind: str, *, has: str) -> None:
    """Refuse a cache that keeps something else than an attention needs."""
    if cache is not None and not hasattr(cache, has):
        raise TypeError(f"{name} needs a {kind}, got a {type(cache).__name__}")


def require_to_follow(name: str, new: Tensor, cached: Tensor, num_tokens: int) -> None:
    """Refuse keys or values that cannot follow those in a cache."""
    expected = (*cached.shape[:-2], num_tokens, cached.shape[-1])
    if new.shape != expected:
        raise ValueError(
            f"the cache is for a {name} of shape {_CACHED[cached.ndim]} = "
            f"{expected}, got {tuple(new.shape)}; make a cache for each batch"
        )
    device = cached.device.type
    # Under autocast a key may have more digits than a value; the kernel rounds both alike.
    is_autocast = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    if new.device != cached.device or (new.dtype != cached.dtype and not is_autocast):
        raise TypeError(
            f"the cache holds {cached.dtype} on {cached.device}, "
            f"got a {name} of {new.dtype} on {new.device}; make a cache like the model"
        )


def require_room(num_cached: int, new_tokens: int, **kept: tuple[Tensor, Tensor]) -> None:
    """Refuse what is not made for a cache, or is too much for it; nothing is kept then."""
    for name, (new, room) in kept.items():
        require_to_follow(name, new, room, new_tokens)
        if torch.is_grad_enabled() and new.requires_grad:
            raise RuntimeError(
                "a cache is written in place, and gradients are lost in it; "
                "call the model under torch.no_grad()"
            )
        if num_cached + new_tokens > room.shape[-2]:
            raise ValueError(
                f"the cache has room for {room.shape[-2]} tokens and holds {num_cached}, "
                f"got {new_tokens} more; make it with max_tokens={num_cached + new_tokens}"
            )


def require_sha256(path: Path, expected: str, way_out: str) -> None:
    """Refuse a file that is missing, broken off or another, and say how to come by the right one."""
    if not path.is_file():
        raise ValueError(f"{path} is missing; {way_out}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise ValueError(f"{path} has sha256 {found}, expected {expected}; {way_out}")
