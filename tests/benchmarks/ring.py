"""What does a sequence cost that is spread over several processes, in time and in memory?

Causal attention with 4 heads of queries, 64 wide, that share one head of keys and values; batch 1,
float32. A step is a forward and a backward to queries, keys and values. The cores are shared out among
the processes, one thread for each core, or one for each process if there are fewer cores. In every round
each contender runs once, in processes of its own, in an order drawn anew; each has done a small step
before. Seconds are those of the slowest process, from a barrier on. MiB are those of the largest
process: the highest resident size of the step less the resident size before there were queries, keys and
values, so that these count. A process of a ring holds up to three shards of keys and values: its own, those
that are there, and those that arrive, which are its own again in the last of two steps; so rings are compared
with rings, and a ring of two has an advantage. The order that is not zig-zag is timed at the shorter length
only. Scores are counted where they are computed, over forward and backward; of one process of a ring as a
multiple of an equal share.
"""

import random
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import torch
from harness.library.processes import processes
from harness.library.ring import counted_scores
from measuring.circumstances import cores
from measuring.timing import say, spread
from memory import forget_peak, resident
from torch import distributed as dist
from torch.nn.functional import scaled_dot_product_attention

from literate_attention.models.ring_attention import attend_in_ring

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


def measure():
    """Measure all contenders at all lengths."""
    return [row for tokens, rounds in ROUNDS.items() for row in measure_length(tokens, rounds)]


def measure_length(tokens, rounds):
    """Run all contenders in turns."""
    contenders = [one for one in CONTENDERS if one.zigzag or tokens == min(ROUNDS)]
    runs = {one: [] for one in contenders}
    draw = random.Random(0)
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


def slowest(run):
    """Return the seconds of the slowest process."""
    return max(process["seconds"] for process in run)


def in_processes(one, tokens):
    """Run a contender, and return what its processes report."""
    with TemporaryDirectory() as folder, processes(one.processes, Path(folder)) as together:
        reports = together.run(one.processes, report, one, tokens)
    for each in reports:
        if isinstance(each, Exception):
            raise each
    return reports


def targets(results):
    """Hold the results against what was promised: memory is judged by how much more a longer text takes."""
    rings = [row for row in results if row["contender"] == "ring" and row["processes"] > 1]
    mib = {(row["processes"], row["tokens"]): row["mib"] for row in rings}
    short, long = sorted(ROUNDS)
    growth = {n: mib[n, long] - mib[n, short] for n in (2, 4)}
    what = "the memory of a process falls as 1/n, from one number of processes to another"
    share = 2 * growth[4] / growth[2]
    judged = [(what, "4 processes, against 2", share, MOST_TIMES_THE_SHARE)]
    for row in rings:
        what = "no process does more than its share of the work"
        where = f"{row['processes']} processes, {row['tokens']} tokens"
        judged.append((what, where, row["most_of_equal_work"], MOST_OF_EQUAL_WORK))
    return judged


# In each of the processes


def report(group, one, tokens):
    """Attend with the other processes, and return what this one took for it."""
    torch.set_num_threads(max(1, cores() // one.processes))

    def ring(query, key, value):
        options = {"is_causal": True, "zigzag": one.zigzag, "group": group}
        return attend_in_ring(query, key, value, **options)

    attend = ring if one.name.startswith("ring") else kernel
    with counted_scores() as scores:
        torch.testing.assert_close(step(attend, WARM_UP_TOKENS), step(ring, WARM_UP_TOKENS))
        scores.clear()
        return measured(lambda: step(attend, tokens // one.processes)) | {"scores": sum(scores)}


def kernel(query, key, value):
    """Attend by torch's kernel."""
    key, value = (x.expand_as(query) for x in (key, value))
    return scaled_dot_product_attention(query, key, value, is_causal=True)


def step(attend, tokens):
    """Draw what a process holds, attend, and go the way back."""
    generator = torch.Generator().manual_seed(123 + dist.get_rank())
    query, key, value, upstream = (
        torch.randn(1, heads, tokens, WIDTH, generator=generator)
        for heads in (HEADS, KV_HEADS, KV_HEADS, HEADS)
    )
    leaves = [x.requires_grad_() for x in (query, key, value)]
    context = attend(*leaves)
    return context.detach(), *torch.autograd.grad(context, leaves, upstream)


def measured(run):
    """Run something, and return how many seconds it took and how many MiB it held at most."""
    forget_peak()
    before = resident("VmRSS")
    dist.barrier()
    start = perf_counter()
    run()
    seconds = perf_counter() - start
    return {"seconds": seconds, "mib": round((resident("VmHWM") - before) / 2**10, 2)}
