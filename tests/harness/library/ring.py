"""What each process does in the tests of ring attention; and rings with a fault, which must be noticed."""

import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch import distributed as dist

from literate_attention.models import ring_attention
from literate_attention.models.ring_attention import (
    Ring,
    attend_in_ring,
    merge_partials,
    partial_scores,
    ring_shards,
    take_shard,
    tiles,
)


def attend(
    group: dist.ProcessGroup, whole: list[Tensor], upstream: Tensor, options: dict[str, Any]
) -> list[Tensor]:
    """Attend to a whole sequence of which this process takes its shard; return context and gradients."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    shard = ring_shards(upstream.shape[-2], size, zigzag=options.get("zigzag", True))[rank]
    held = [take_shard(x, shard).requires_grad_() for x in whole]
    context = attend_in_ring(*held, **options, group=group)
    gradients = torch.autograd.grad(context, held, take_shard(upstream, shard))
    return [context.detach(), *gradients]


def count_scores(group: dist.ProcessGroup, *arguments: Any) -> int:
    """Count the scores that this process computes, forward and backward."""
    count = 0

    def counted(*arguments: Any) -> Tensor:
        nonlocal count
        scores = partial_scores(*arguments)
        count += scores.numel()
        return scores

    with patch.object(ring_attention, "partial_scores", counted):
        attend(group, *arguments)
    return count


def attend_with_fault(group: dist.ProcessGroup, fault: str, *arguments: Any) -> list[Tensor]:
    """Do what `attend` does with a fault planted."""
    owner, name, twin = FAULTS[fault]
    with patch.object(owner, name, twin):
        return attend(group, *arguments)


def mean_of_parts(one: Any, other: Any) -> Any:
    _, logsumexp = merge_partials(one, other)
    is_first = one[1] == -torch.inf
    return torch.where(is_first, other[0], (one[0] + other[0]) / 2), logsumexp


def merge_and_forget(one: Any, other: Any) -> Any:
    context, _ = merge_partials(one, other)
    return context, torch.maximum(one[1], other[1])


def causal_within_shards(q_shard: Tensor, kv_shard: Tensor, *rest: Any) -> Any:
    held = torch.arange(q_shard.numel()).view(q_shard.shape)
    return tiles(held, held, *rest)


def in_the_other_order(num_tokens: int, world_size: int, *, zigzag: bool) -> Tensor:
    return ring_shards(num_tokens, world_size, zigzag=not zigzag)


def gradients_stay(self: Ring, *tensors: Tensor) -> Callable[[], tuple[Tensor, ...]]:
    goes_back = sys._getframe(1).f_code.co_name == "backward"
    return (lambda: tensors) if goes_back else PASS_ON(self, *tensors)


def heads_in_turn(x: Tensor, dim: int, sizes: tuple[int, int]) -> Tensor:
    return UNFLATTEN(x, dim, (x.shape[dim] // sizes[0], sizes[0])).transpose(dim, dim - 1)


PASS_ON, UNFLATTEN = Ring.pass_on, Tensor.unflatten
FAULTS = {
    "both parts count alike": (ring_attention, "merge_partials", mean_of_parts),
    "the log-sum-exp forgets the smaller part": (
        ring_attention,
        "merge_partials",
        merge_and_forget,
    ),
    "the mask is that of each process alone": (ring_attention, "tiles", causal_within_shards),
    "the tokens are in another order": (ring_attention, "ring_shards", in_the_other_order),
    "gradients do not travel": (Ring, "pass_on", gradients_stay),
    "query heads share keys by turns": (Tensor, "unflatten", heads_in_turn),
}
"""What a fault replaces, and by what."""
