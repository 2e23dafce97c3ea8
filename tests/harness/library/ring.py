"""What each process does in the tests of ring attention, and what is counted there."""

from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch import distributed as dist

from literate_attention.models import ring_attention
from literate_attention.models.ring_attention import (
    attend_in_ring,
    partial_scores,
    ring_shards,
    shard_sequence,
)


def attend(group, whole, upstream, options):
    """Attend to a whole sequence of which this process takes its shard; return context and gradients."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    shard = ring_shards(upstream.shape[-2], size, zigzag=options.get("zigzag", True))[rank]
    held = [shard_sequence(x, shard).requires_grad_() for x in whole]
    context = attend_in_ring(*held, **options, group=group)
    gradients = torch.autograd.grad(context, held, shard_sequence(upstream, shard))
    return [context.detach(), *gradients]


def attend_to_ones(group, shapes) -> None:
    """Attend to queries, keys and values of the shapes that belong to this process."""
    whole = (torch.ones(shape) for shape in shapes[dist.get_rank(group)])
    attend_in_ring(*whole, group=group)


def count_scores(group, *arguments):
    """Count the scores that this process computes, forward and backward."""
    with counted_scores() as counts:
        attend(group, *arguments)
    return sum(counts)


@contextmanager
def counted_scores():
    """Count the scores of each tile that is computed."""
    counts = []

    def counted(*arguments):
        scores = partial_scores(*arguments)
        counts.append(scores.numel())
        return scores

    with patch.object(ring_attention, "partial_scores", counted):
        yield counts
