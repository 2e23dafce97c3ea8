"""What each process does in the tests of ring attention."""

from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch import distributed as dist

from literate_attention.models import ring_attention
from literate_attention.models.ring_attention import (
    attend_in_ring,
    partial_scores,
    ring_shards,
    take_shard,
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
