"""How the time of attention grows with the length of a text, and which steps take it."""

import torch
from attention import HEADS, STEPS, WIDTH, require_equal, runner
from measuring.circumstances import cores
from measuring.contenders import Contender, explicit, flex, source, torch_module
from measuring.timing import finish_on, interleaved, spread
from torch.profiler import ProfilerActivity, profile

from literate_attention import MultiHeadAttention, causal_mask, fused_attention

QUESTION = "How does the time of causal multi-head attention grow with the text, and what takes it?"
METHOD = """
Batch 1, 768 wide, 12 heads, forward without gradients, on the device and in the type that are named. All
contenders have copies of the same weights, and were compared before anything was timed. In every
round each ran once, in an order drawn anew. The steps are those of the explicit form between the
projections, on random queries, keys and values; they ran in turns as well. The operations of a
whole module, in a forward and in a training step, are those that torch's profiler saw: their own
time, the mean of several runs, without the operations that they call.
"""
PACKAGES = ()
TOKENS = (64, 128, 256, 512, 1024, 2048, 4096)
STEPS_TOKENS = 1024
PROFILED = {"batch": 2, "tokens": 1024}
RUNS_PROFILED = 10
LEAST_SHARE_OF_AN_OPERATION = 0.01
ROUNDS = {64: 101, 128: 101, 256: 61, 512: 41, 1024: 21, 2048: 11, 4096: 7}


def measure():
    """Measure on the best device that is there."""
    torch.set_num_threads(cores())
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(123)
    by_length = [row for tokens in TOKENS for row in lengths(tokens, device)]
    return [*by_length, *steps(device), *operations(device)]


def targets(results):
    """Set no goals."""
    return []


def contenders(tokens, device):
    """Return the contenders, each with the module of ours that it has its weights from."""
    plain, biased = (
        MultiHeadAttention(WIDTH, WIDTH, tokens, 0.0, HEADS, qkv_bias=bias).to(device)
        for bias in (False, True)
    )
    return [
        (Contender("ours", plain, plain), plain),
        *((make(plain), plain) for make in (explicit, source, flex)),
        (torch_module(biased), biased),
    ]


def lengths(tokens, device):
    """Time all contenders on a text of one length."""
    x = torch.randn(1, tokens, WIDTH).to(device)
    runs = {}
    for contender, ours in contenders(tokens, device):
        require_equal(contender, ours, x, backward=False)
        runs[contender.name] = runner(contender, x, "forward")
    times = interleaved(runs, rounds=ROUNDS[tokens], finish=finish_on(device))
    return [{"measured": "forward", "tokens": tokens, **row} for row in rows(times, device)]


def steps(device):
    """Time what the explicit form does between the projections, step by step."""
    query, key, value = torch.randn(3, 1, HEADS, STEPS_TOKENS, WIDTH // HEADS).to(device)
    hidden = ~causal_mask(STEPS_TOKENS, device=device)
    scores = query @ key.mT
    runs = {
        "scores": lambda: query @ key.mT,
        "scale": lambda: scores / 8,
        "mask": lambda: scores.masked_fill(hidden, -torch.inf),
        "softmax": lambda: torch.softmax(scores, dim=-1),
        "weighted sum": lambda: scores @ value,
        "fused kernel": lambda: fused_attention(query, key, value, is_causal=True),
    }
    times = interleaved(
        {name: torch.no_grad()(run) for name, run in runs.items()},
        rounds=ROUNDS[STEPS_TOKENS],
        finish=finish_on(device),
    )
    return [{"measured": "step", "tokens": STEPS_TOKENS, **row} for row in rows(times, device)]


def operations(device):
    """Report which of torch's operations take the time of our module, and of the sources' class."""
    batch, tokens = PROFILED["batch"], PROFILED["tokens"]
    ours = MultiHeadAttention(WIDTH, WIDTH, tokens, 0.0, HEADS).to(device)
    x = torch.randn(batch, tokens, WIDTH).to(device)
    for contender in (Contender("ours", ours, ours), source(ours)):
        require_equal(contender, ours, x, backward=True)
        for step in STEPS:
            yield {
                "measured": "operations",
                "step": step,
                **PROFILED,
                "contender": contender.name,
                "device": device.type,
                "dtype": "float32",
                "ms": times_of_operations(runner(contender, x, step), device),
            }


def times_of_operations(run, device):
    """Return the time that each operation takes by itself in one run, in ms, the longest first."""
    on_gpu = device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    run()
    with profile(activities=activities) as profiler:
        for _ in range(RUNS_PROFILED):
            run()
        finish_on(device)()
    own = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    times = {one.key: getattr(one, own) / 1e3 / RUNS_PROFILED for one in profiler.key_averages()}
    least = LEAST_SHARE_OF_AN_OPERATION * sum(times.values())
    long = {name: ms for name, ms in times.items() if ms >= least}
    short = sum(times.values()) - sum(long.values())
    ordered = sorted(long.items(), key=lambda item: -item[1])
    return {name: round(ms, 2) for name, ms in [*ordered, ("all others", short)]}


def rows(times, device):
    """Sum up the times of each contender."""
    return [
        {
            "contender": name,
            "device": device.type,
            "dtype": "float32",
            "ms": spread([1e3 * one for one in seconds]),
        }
        for name, seconds in times.items()
    ]
