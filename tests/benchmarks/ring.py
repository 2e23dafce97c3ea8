"""How long attention in a ring takes, and how much memory each process of it, beside one process.

Every run has processes of its own, forked as torchrun can from one that has torch imported and has not
computed anything. Each reports how long it took and how much more memory it held than before; the slowest
and the largest count.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any
from unittest.mock import patch

import torch
from measuring.circumstances import cores
from measuring.timing import finish_on, say, spread
from memory import forget_peak, resident
from torch import Tensor
from torch import distributed as dist
from torch.distributed.launcher import LaunchConfig, elastic_launch

from literate_attention.models import ring_attention
from literate_attention.models.ring_attention import attend_in_ring, partial_scores

QUESTION = "What does a sequence cost that is spread over several processes, in time and in memory?"
METHOD = """
Causal attention with 4 heads of queries, 64 wide, that share one head of keys and values; batch 1,
float32. A step is a forward and a backward to queries, keys and values. The cores are shared out among
the processes, one thread for each core, or one for each process if there are fewer cores. In every round
each contender runs once, in processes of its own, in an order drawn anew; each has done a small step
before. Seconds are those of the slowest process, from a barrier on. MiB are those of the largest
process: the highest resident size of the step less the resident size before there were queries, keys and
values, so that these count. A process of a ring holds up to three shards of keys and values: its own, those
that are there, and those that arrive, which are its own again in the last of two steps; so rings are compared
with rings, and a ring of two has an advantage. The order that is not zig-zag is timed at the shorter length
only. Scores are counted where they
are computed, over forward and backward; of one process of a ring as a multiple of an equal share.
"""
TOKENS = (8192, 32768)
ROUNDS = {8192: 3, 32768: 2}
"""Four times as many tokens take sixteen times as long: half a minute for some contenders on two cores."""
HEADS, KV_HEADS, WIDTH = 4, 1, 64
WARM_UP_TOKENS = 64
MOST_OF_EQUAL_WORK = 1.15
MOST_TIMES_THE_SHARE = 1.1
"""How much more than 1/n may be left in each of n processes, of what grows with the tokens."""


@dataclass(frozen=True)
class Contender:
    """A way to attend, and in how many processes."""

    name: str
    processes: int
    zigzag: bool = True


ONE = Contender("ring", 1)
CONTENDERS = (
    Contender("torch's kernel", 1),
    ONE,
    Contender("ring", 2),
    Contender("ring", 4),
    Contender("ring, in order", 2, zigzag=False),
    Contender("ring, in order", 4, zigzag=False),
)


def on_this_machine(tokens: int) -> Iterator[Contender]:
    """Yield who can take part: on GPUs each process needs one of its own, and torch's own way joins."""
    gpus = torch.cuda.device_count()
    for one in CONTENDERS:
        if (one.zigzag or tokens == min(TOKENS)) and (not gpus or one.processes <= gpus):
            yield one
    for processes in (1, 2, 4):
        if processes <= gpus:
            yield Contender("torch's context_parallel", processes)


def measure(
    tokens: tuple[int, ...] = TOKENS, rounds: dict[int, int] | None = None
) -> dict[str, Any]:
    """Measure all contenders at all lengths."""
    results = [row for n in tokens for row in measure_length(n, (rounds or ROUNDS)[n])]
    return {
        "name": "ring",
        "question": QUESTION,
        "method": METHOD,
        "packages": (),
        "results": results,
        "targets": targets(results),
    }


def measure_length(tokens: int, rounds: int) -> Iterator[dict[str, Any]]:
    """Run all contenders in turns."""
    contenders = list(on_this_machine(tokens))
    runs: dict[Contender, list[list[dict[str, float]]]] = {one: [] for one in contenders}
    draw = random.Random(0)
    with launcher() as in_processes:
        for number in range(rounds):
            say(f"{tokens} tokens: round {number + 1} of {rounds}")
            for one in draw.sample(contenders, len(contenders)):
                runs[one].append(in_processes(one, tokens))
    alone = [slowest(run) for run in runs[ONE]]
    for one in contenders:
        seconds = [slowest(run) for run in runs[one]]
        scores = [process["scores"] for process in runs[one][0]]
        yield {
            "contender": one.name,
            "processes": one.processes,
            "tokens": tokens,
            "rounds": rounds,
            "seconds": spread(seconds),
            "times_one_process": spread([a / b for a, b in zip(seconds, alone, strict=True)]),
            "mib": max(process["mib"] for run in runs[one] for process in run),
            "most_of_equal_work": round(max(scores) * len(scores) / max(1, sum(scores)), 3),
        }


def slowest(run: list[dict[str, float]]) -> float:
    """Return the seconds of the slowest process."""
    return max(process["seconds"] for process in run)


@contextmanager
def launcher() -> Iterator[Callable[[Contender, int], list[dict[str, float]]]]:
    """Start what starts processes, and yield what has it run a contender and returns their reports."""
    with subprocess.Popen(
        [sys.executable, __file__],
        env=os.environ | {"OMP_NUM_THREADS": str(cores())},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def in_processes(one: Contender, tokens: int) -> list[dict[str, float]]:
            print(json.dumps({**asdict(one), "tokens": tokens}), file=process.stdin, flush=True)
            reports: list[dict[str, float]] = json.loads(process.stdout.readline())
            return reports

        yield in_processes
        process.stdin.close()


def targets(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hold the results against what was promised."""
    rings = [row for row in results if row["contender"] == "ring" and row["processes"] > 1]
    growth = {n: growth_of_memory(rings, n) for n in sorted({row["processes"] for row in rings})}
    fewest, *more = growth
    judged = [
        {
            "target": "the memory of a process falls as 1/n, from one number of processes to another",
            "where": f"{n} processes, against {fewest}",
            "measured": round(growth[n] * n / (growth[fewest] * fewest), 3),
            "most": MOST_TIMES_THE_SHARE,
            "met": growth[n] * n <= MOST_TIMES_THE_SHARE * growth[fewest] * fewest,
        }
        for n in more
    ]
    return judged + [
        {
            "target": "no process does more than its share of the work",
            "where": f"{row['processes']} processes, {row['tokens']} tokens",
            "measured": row["most_of_equal_work"],
            "most": MOST_OF_EQUAL_WORK,
            "met": row["most_of_equal_work"] <= MOST_OF_EQUAL_WORK,
        }
        for row in rings
    ]


def growth_of_memory(rings: list[dict[str, Any]], processes: int) -> float:
    """Return how many MiB a process takes more for each token more, whatever it takes in any case."""
    rows = [row for row in rings if row["processes"] == processes]
    short, long = (choose(rows, key=lambda row: row["tokens"]) for choose in (min, max))
    return float((long["mib"] - short["mib"]) / (long["tokens"] - short["tokens"]))


# In the process that starts others, and in each of those


def launch(case: dict[str, Any]) -> list[dict[str, float]]:
    """Fork as many processes as a contender needs, and return what they report."""
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=case["processes"],
        run_id="ring",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.05,
        start_method="fork",
    )
    reports: dict[int, list[dict[str, float]]] = elastic_launch(config, run_here)(*case.values())
    return reports[0]


def run_here(name: str, processes: int, zigzag: bool, tokens: int) -> list[dict[str, float]]:
    """Attend with the other processes, and return what all of them report."""
    torch.set_num_threads(max(1, cores() // processes))
    device = join(processes)

    def ring(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return attend_in_ring(query, key, value, is_causal=True, zigzag=zigzag)

    attend, around = {
        "torch's kernel": (kernel, nullcontext),
        "torch's context_parallel": (kernel, lambda: in_context_parallel(processes)),
    }.get(name, (ring, nullcontext))
    with counted_scores() as scores:
        expected = step(ring, WARM_UP_TOKENS, device)
        with around():
            torch.testing.assert_close(step(attend, WARM_UP_TOKENS, device), expected)
            scores.clear()
            report = measured(lambda: step(attend, tokens // processes, device), device)
    everywhere: list[Any] = [None] * processes
    dist.all_gather_object(everywhere, {**report, "scores": sum(scores)})
    dist.destroy_process_group()
    return everywhere


def join(processes: int) -> torch.device:
    """Meet the other processes, each on a GPU of its own if there are GPUs."""
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device


def kernel(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attend by torch's kernel; found by its name at each call, as context_parallel replaces it."""
    key, value = (x.expand_as(query) for x in (key, value))
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)


@contextmanager
def in_context_parallel(processes: int) -> Iterator[None]:
    """Let torch's kernel go round a ring of its own; it shares tokens out in zig-zag order, too."""
    from torch.distributed.tensor.experimental import context_parallel

    mesh = dist.init_device_mesh("cuda", (processes,))
    any_sequence = torch.zeros(1, 1, WARM_UP_TOKENS * processes, 1, device="cuda")
    with context_parallel(mesh, buffers=[any_sequence], buffer_seq_dims=[2]):
        yield


@contextmanager
def counted_scores() -> Iterator[list[int]]:
    """Count the scores of each tile that is computed."""
    counts: list[int] = []

    def counted(*arguments: Any) -> Tensor:
        scores = partial_scores(*arguments)
        counts.append(scores.numel())
        return scores

    with patch.object(ring_attention, "partial_scores", counted):
        yield counts


def step(
    attend: Callable[[Tensor, Tensor, Tensor], Tensor], tokens: int, device: torch.device
) -> tuple[Tensor, ...]:
    """Draw what a process holds, attend, and go the way back."""
    generator = torch.Generator(device).manual_seed(123 + dist.get_rank())
    query, key, value, upstream = (
        torch.randn(1, heads, tokens, WIDTH, generator=generator, device=device)
        for heads in (HEADS, KV_HEADS, KV_HEADS, HEADS)
    )
    leaves = [x.requires_grad_() for x in (query, key, value)]
    context = attend(*leaves)
    return context.detach(), *torch.autograd.grad(context, leaves, upstream)


def measured(run: Callable[[], object], device: torch.device) -> dict[str, float]:
    """Run something, and return how many seconds it took and how many MiB it held at most."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    else:
        forget_peak()
        before = resident("VmRSS")
    dist.barrier()
    start = perf_counter()
    run()
    finish_on(device)()
    seconds = perf_counter() - start
    if device.type == "cuda":
        mib = (torch.cuda.max_memory_allocated() - before) / 2**20
    else:
        mib = (resident("VmHWM") - before) / 2**10
    return {"seconds": seconds, "mib": round(mib, 2)}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(launch(json.loads(line))), flush=True)
