"""The questions that every entrance asks of its input, with one wording for each answer."""

import hashlib
import operator
from pathlib import Path

import torch
from torch import Tensor
from torch import distributed as dist


def require_tensor(name: str, value: object) -> None:
    """Refuse what is not a tensor, as a list or an array of NumPy."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name} must be a tensor, got {type(value).__name__}; "
            f"convert it first, e.g. torch.tensor({name})"
        )


def require_floating(name: str, tensor: Tensor) -> None:
    """Refuse integer and boolean tensors: attention is a weighted average of real numbers."""
    require_tensor(name, tensor)
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


def require_heads(name: str, tensor: Tensor) -> None:
    """Refuse what is not a sequence of vectors for each head."""
    require_floating(name, tensor)
    if tensor.ndim < 3:
        raise ValueError(
            f"{name} must have at least 3 dimensions (num_heads, num_tokens, head_dim), "
            f"got {tensor.ndim}: shape {tuple(tensor.shape)}"
        )


def require_head_split(name: str, width: int, num_heads: int) -> None:
    """Refuse a width that does not divide evenly among the heads."""
    require_at_least("num_heads", num_heads, 1)
    if width % num_heads:
        raise ValueError(f"{name} must be divisible by num_heads, got {width} and {num_heads}")


def require_width(name: str, tensor: Tensor, expected: int, called: str) -> None:
    """Refuse a tensor whose last dimension is not as wide as expected."""
    if tensor.ndim == 0 or tensor.shape[-1] != expected:
        raise ValueError(
            f"the last dimension of {name} must be {called} = {expected}, "
            f"got shape {tuple(tensor.shape)}"
        )


def require_mask(attn_mask: Tensor, scores_shape: tuple[int, ...]) -> None:
    """Refuse an attention mask that is not boolean, or cannot be spread over the scores."""
    require_tensor("attn_mask", attn_mask)
    if attn_mask.dtype != torch.bool:
        raise TypeError(
            f"attn_mask must be boolean, True = may attend, got {attn_mask.dtype}; "
            f"pass mask == 1 if ones may attend, mask == 0 if ones are hidden"
        )
    given = tuple(attn_mask.shape)
    sizes = zip(reversed(given), reversed(scores_shape), strict=False)
    if not 2 <= len(given) <= len(scores_shape) or not all(
        size == 1 or size == wanted
        for size, wanted in sizes  # torch.compile does not look into a tuple
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
    require_as_many_values(key, value)
    require_dropout_rate("dropout_p", dropout_p)
    if attn_mask is None:
        return
    if is_causal:
        raise ValueError(
            "attn_mask and is_causal were given together; combine them: "
            "attn_mask & causal_mask(q_len, kv_len)"
        )
    require_mask(attn_mask, (*query.shape[:-1], key.shape[-2]))


def require_token_ids(token_ids: Tensor, vocab_size: int) -> None:
    """Refuse what are not ids of tokens, or ids of tokens that the vocabulary does not have.

    Only ids on the CPU are looked at: to read a number from a GPU means to wait until it has done all that
    it was given, and there the table of embeddings refuses such ids itself.
    """
    require_tensor("token_ids", token_ids)
    if token_ids.is_floating_point() or token_ids.dtype == torch.bool:
        raise TypeError(f"token_ids must be integers, got {token_ids.dtype}")
    if token_ids.ndim == 0:
        raise ValueError(
            "token_ids must have at least 1 dimension (num_tokens), got a single number"
        )
    if token_ids.device.type != "cpu" or token_ids.numel() == 0 or torch.compiler.is_compiling():
        return
    lowest, highest = (int(bound) for bound in token_ids.aminmax())
    if lowest < 0 or highest >= vocab_size:
        stray = lowest if lowest < 0 else highest
        raise ValueError(
            f"token id {stray} is outside the vocabulary of {vocab_size} tokens (0 to {vocab_size - 1})"
        )


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


def require_partial(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> None:
    """Refuse queries and a part of the keys and values that do not belong together."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        require_tokens(name, tensor, called="head_dim")
    require_width("key", key, query.shape[-1], "the width of query")
    require_as_many_values(key, value)
    if attn_mask is not None:
        require_mask(attn_mask, (query.shape[-2], key.shape[-2]))


def require_as_many_values(key: Tensor, value: Tensor) -> None:
    """Refuse keys and values that are not matched one to one."""
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"key and value must have the same number of tokens, "
            f"got {key.shape[-2]} keys and {value.shape[-2]} values"
        )


def require_same_queries(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> None:
    """Refuse to merge what was found for other queries."""
    shapes = [tuple(tuple(tensor.shape) for tensor in part) for part in (one, other)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"both parts must have context vectors and log-sum-exps of the same shapes, "
            f"got {shapes[0]} and {shapes[1]}"
        )


def require_cut(num_tokens: int, world_size: int, chunks_each: int) -> None:
    """Refuse a sequence that cannot be cut into as many chunks of one size for each process."""
    require_at_least("num_tokens", num_tokens, 1)
    require_at_least("world_size", world_size, 1)
    num_chunks = world_size * chunks_each
    if num_tokens % num_chunks:
        fitting = num_tokens + -num_tokens % num_chunks
        raise ValueError(
            f"{num_tokens} tokens cannot be cut into {num_chunks} chunks of one size, "
            f"{chunks_each} for each of {world_size} processes; pad the sequence to {fitting} tokens"
        )


def require_shard(x: Tensor, shard: Tensor) -> None:
    """Refuse positions that a sequence does not have."""
    require_tokens("x", x, called="width")
    if shard.numel() and int(shard.max()) >= x.shape[-2]:
        raise ValueError(
            f"the shard has a token at position {int(shard.max())}, "
            f"but the sequence has {x.shape[-2]} tokens"
        )


def require_shards(together: Tensor, shards: Tensor) -> None:
    """Refuse parts that are not as long together as the shards."""
    require_tokens("parts", together, called="width")
    if together.shape[-2] != shards.numel():
        raise ValueError(
            f"the parts must have as many tokens as the shards, {shards.numel()}, "
            f"got {together.shape[-2]}"
        )


def require_ring(
    query: Tensor, key: Tensor, value: Tensor, block_size: int, group: dist.ProcessGroup | None
) -> None:
    """Refuse what cannot go round a ring of processes."""
    if not dist.is_initialized():
        raise RuntimeError(
            "there is no group of processes: call torch.distributed.init_process_group in each of "
            "them first, and start them with torchrun"
        )
    require_at_least("block_size", block_size, 1)
    require_partial(query, key, value, None)
    shapes = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    if query.ndim < 3 or query.shape[:-3] != key.shape[:-3] or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            f"query, key and value must be (*batch, heads, tokens, width), with equal batches, and as many "
            f"heads of keys as of values, got shapes {shapes[0]}, {shapes[1]} and {shapes[2]}"
        )
    if query.shape[-3] % key.shape[-3]:
        raise ValueError(
            f"num_heads must be a multiple of num_kv_heads, got {query.shape[-3]} heads of queries "
            f"and {key.shape[-3]} of keys"
        )
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"a process must hold queries and keys of the same tokens, got {query.shape[-2]} queries "
            f"and {key.shape[-2]} keys"
        )
    require_same_on_all_processes(shapes, group)


def require_same_on_all_processes(shapes: object, group: dist.ProcessGroup | None) -> None:
    """Refuse shapes that differ from those of another process: it would wait for numbers that never come."""
    everywhere: list[object] = [None] * dist.get_world_size(group)
    dist.all_gather_object(everywhere, shapes, group=group)
    for rank, there in enumerate(everywhere):
        if there != everywhere[0]:
            raise ValueError(
                f"every process must hold query, key and value of the same shapes, got {everywhere[0]} "
                f"on process 0 and {there} on process {rank}; cut the sequence by ring_shards"
            )


def require_torchrun(module: str) -> None:
    """Refuse to look for other processes where nobody has started any."""
    if not dist.is_torchelastic_launched():
        raise SystemExit(
            f"start this with as many processes as there shall be in the ring, such as 4: "
            f"torchrun --nproc-per-node 4 -m {module}"
        )


def require_even(name: str, value: int) -> None:
    """Refuse an odd number."""
    require_at_least(name, value, 1)
    if value % 2:
        raise ValueError(f"{name} must be even, since RoPE turns pairs of numbers, got {value}")


def require_above(name: str, value: float, bound: float) -> None:
    """Refuse a number that is not above a bound."""
    if not value > bound:
        raise ValueError(f"{name} must be above {bound}, got {value}")


def require_sha256(path: Path, expected: str) -> None:
    """Refuse a file that is missing, broken off or another."""
    if not path.is_file():
        raise ValueError(f"{path} is missing; reinstall the package that brings it")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise ValueError(
            f"{path} has sha256 {found}, expected {expected}; reinstall it or delete it"
        )
