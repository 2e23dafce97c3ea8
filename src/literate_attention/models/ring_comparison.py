"""Attention in a ring of processes, compared with attention in one process.

It is also a command, started with as many processes as you like::

    torchrun --nproc-per-node 4 -m literate_attention.models.ring_comparison
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

import torch
from torch import Tensor
from torch import distributed as dist
from torch.nn.functional import scaled_dot_product_attention

from literate_attention.models.ring_attention import (
    attend_in_ring,
    join_shards,
    ring_shards,
    shard_sequence,
)


def compare_ring(arguments: Sequence[str] | None = None) -> list[str]:
    """Attend in a ring, forward and backward, and say how far that is from what one process computes.

    Every process of the ring calls it, each started by torchrun, with arguments as on the command line. What
    was found is returned on the first process, line by line, and nothing on the others.

    Raises:
        SystemExit: torchrun has not started this process.
        AssertionError: the ring finds something else than one process does.
    """
    options = read_options(arguments)
    device = join_processes(options.device)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    shards = ring_shards(options.num_tokens, world_size)
    inputs = draw_inputs(options.num_tokens)

    *held, held_upstream = (shard_sequence(x, shards[rank]).to(device) for x in inputs)
    held = [x.requires_grad_() for x in held]
    context = attend_in_ring(*held, is_causal=True)
    gradients = torch.autograd.grad(context, held, held_upstream)
    found = [on_all_processes(x.detach(), shards) for x in (context, *gradients)]
    dist.destroy_process_group()
    if rank > 0:
        return []

    lines = []
    for number, chunks in enumerate(shards):
        tokens = " and ".join(f"{chunk[0]} to {chunk[-1]}" for chunk in chunks.tolist())
        lines.append(f"process {number} on {device.type}: tokens {tokens}")
    *whole, upstream = (x.to(device) for x in inputs)
    query, key, value = (x.requires_grad_() for x in whole)
    expected = scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    of_inputs = torch.autograd.grad(expected, (query, key, value), upstream)
    names = "context", "query gradient", "key gradient", "value gradient"
    for name, ours, theirs in zip(names, found, (expected, *of_inputs), strict=True):
        difference = (ours - theirs.cpu()).abs().max()
        lines.append(f"{name}: at most {difference:.1e} from one process")
        torch.testing.assert_close(ours, theirs.cpu(), rtol=1e-4, atol=1e-5)
    return lines


def read_options(arguments: Sequence[str] | None) -> Namespace:
    """Read from the command line what is compared."""
    parser = ArgumentParser(description="Attention in a ring, compared with one process.")
    parser.add_argument("--num-tokens", type=int, default=1024)
    enough_gpus = torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    parser.add_argument("--device", default="cuda" if enough_gpus else "cpu")
    return parser.parse_args(arguments)


def join_processes(device_name: str) -> torch.device:
    """Meet the other processes that torchrun has started, each on a GPU of its own if there are GPUs."""
    if not dist.is_torchelastic_launched():
        raise SystemExit(
            "start this with as many processes as there shall be in the ring, such as 4: "
            "torchrun --nproc-per-node 4 -m literate_attention.models.ring_comparison"
        )
    torch.set_num_threads(1)  # the processes share the cores, and no fork has its parent's threads
    if device_name == "cpu":
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device(device_name, int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device


def draw_inputs(num_tokens: int) -> tuple[Tensor, ...]:
    """Draw queries, keys, values and the gradient that comes from above: the same on every process."""
    generator = torch.Generator().manual_seed(123)
    query, upstream, key, value = (
        torch.randn(1, num_heads, num_tokens, 64, generator=generator) for num_heads in (4, 4, 2, 2)
    )
    return query, key, value, upstream


def on_all_processes(part: Tensor, shards: Tensor) -> Tensor:
    """Gather what the processes hold, in the order of the sequence."""
    parts = [torch.empty_like(part) for _ in shards]
    dist.all_gather(parts, part.contiguous())
    return join_shards(parts, shards).cpu()


if __name__ == "__main__":
    for line in compare_ring():
        print(line)
