"""How does the time of causal multi-head attention grow with the length of a text, and which steps take it?

Batch 1, 768 wide, 12 heads, float32, forward without gradients. All contenders have copies of the same
weights, and were compared before anything was timed. In every round each ran once, in an order drawn anew.
The steps are those of the explicit form between the projections, on random queries, keys and values; they ran
in turns as well. The operations of a whole module, in a forward and in a training step, are those that the
profiler of torch saw: their own time, the mean of several runs, without the operations that they call.
"""

import torch
from attention import STEPS, require_equal, runner
from measuring.circumstances import cores
from measuring.contenders import HEADS, WIDTH, contenders
from measuring.timing import side_by_side
from torch.profiler import ProfilerActivity, profile

from literate_attention import causal_mask, fused_attention

PROFILED = {"ours", "the sources' class"}
TIMED = PROFILED | {"ours, with the weights", "FlexAttention", "nn.MultiheadAttention"}
STEPS_TOKENS = 1024
SIZE_PROFILED = {"batch": 2, "tokens": 1024}
RUNS_PROFILED = 10
LEAST_SHARE_OF_AN_OPERATION = 0.01
ROUNDS = {64: 101, 128: 101, 256: 61, 512: 41, 1024: 21, 2048: 11, 4096: 7}
"""How often each length is timed."""


def measure():
    """Measure texts of all lengths, then steps, then operations."""
    torch.set_num_threads(cores())
    torch.manual_seed(123)
    by_length = [row for tokens in ROUNDS for row in lengths(tokens)]
    return [*by_length, *steps(), *operations()]


def lengths(tokens):
    """Time all contenders on a text of one length."""
    x, runs = torch.randn(1, tokens, WIDTH), {}
    for contender in contenders(tokens):
        if contender.name in TIMED:
            require_equal(contender, x, backward=False)
            runs[contender.name] = runner(contender, x, "forward")
    for row in side_by_side(runs, rounds=ROUNDS[tokens]):
        yield {"measured": "forward", "tokens": tokens} | row


def steps():
    """Time what the explicit form does between the projections, step by step."""
    query, key, value = torch.randn(3, 1, HEADS, STEPS_TOKENS, WIDTH // HEADS)
    hidden = ~causal_mask(STEPS_TOKENS)
    scores = query @ key.mT
    runs = {
        "scores": lambda: query @ key.mT,
        "scale": lambda: scores / 8,
        "mask": lambda: scores.masked_fill(hidden, -torch.inf),
        "softmax": lambda: torch.softmax(scores, dim=-1),
        "weighted sum": lambda: scores @ value,
        "fused kernel": lambda: fused_attention(query, key, value, is_causal=True),
    }
    for row in side_by_side(runs, rounds=ROUNDS[STEPS_TOKENS]):
        yield {"measured": "step", "tokens": STEPS_TOKENS} | row


def operations():
    """Report which of torch's operations take the time of our module, and of the sources' class."""
    x = torch.randn(*SIZE_PROFILED.values(), WIDTH)
    for contender in contenders(SIZE_PROFILED["tokens"]):
        for step in STEPS if contender.name in PROFILED else ():
            require_equal(contender, x, backward=True)
            yield {
                "measured": "operations",
                "step": step,
                **SIZE_PROFILED,
                "contender": contender.name,
                "ms": times_of_operations(runner(contender, x, step)),
            }


def times_of_operations(run):
    """Return the time that each operation takes by itself in one run, in ms, the longest first."""
    run()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(RUNS_PROFILED):
            run()
    seen = profiler.key_averages()
    times = {one.key: one.self_cpu_time_total / 1e3 / RUNS_PROFILED for one in seen}
    least = LEAST_SHARE_OF_AN_OPERATION * sum(times.values())
    long = {name: ms for name, ms in times.items() if ms >= least}
    short = sum(times.values()) - sum(long.values())
    ordered = sorted(long.items(), key=lambda item: -item[1])
    return {name: round(ms, 2) for name, ms in [*ordered, ("all others", short)]}
