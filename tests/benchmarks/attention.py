"""How long attention takes: ours, others', and the bare kernel; forward and training step."""

from dataclasses import dataclass

import torch
from measuring.circumstances import cores
from measuring.contenders import PACKAGES as PACKAGES
from measuring.contenders import contenders, expected
from measuring.targets import target
from measuring.timing import finish_on, interleaved, ratios, spread
from torch.testing import assert_close

from literate_attention import MultiHeadAttention

QUESTION = "How long does causal multi-head attention take, 768 wide, with 12 heads?"
METHOD = """
All contenders have copies of the same weights; outputs and gradients of the input were compared
before anything was timed. Forward is without gradients. A training step is a forward with
gradients, and a backward to all parameters and to the input; no optimizer. No dropout. In every
round each contender runs once, in an order drawn anew. times_ours is its time divided by that of
our module, which has biases for query, key and value where the contender has them, in the same
round; median and quartiles over rounds. What else differs is in a contender's note. Threads are
fixed, garbage collection is off, every contender has run twice before the first round.
"""
WIDTH, HEADS = 768, 12
STEPS = ("forward", "training step")
MOST_OF_THE_FASTEST_PEER = 1.03
MOST_OF_THE_BARE_KERNEL = 1.05
LEAST_TIMES_FASTER_THAN_SOURCE = 2.5
SOURCE_COUNTS_FROM = 1024
MOST_OF_SOURCE_WITH_WEIGHTS = 1.05
WEIGHTS_COUNT_FROM = 4096


@dataclass(frozen=True)
class Case:
    """One size of input, and how often each step is timed: odd, so that a median is a measurement."""

    batch: int
    tokens: int
    rounds: tuple[int, int]
    device: str = "cpu"
    dtype: torch.dtype = torch.float32


ON_CPU = (Case(8, 128, (31, 31)), Case(2, 1024, (31, 25)), Case(1, 4096, (21, 11)))
ON_GPU = tuple(Case(*size, (61, 61), "cuda", torch.bfloat16) for size in ((8, 1024), (1, 16384)))


def measure():
    """Measure all cases; those on a GPU where there is one."""
    torch.set_num_threads(cores())
    cases = (*ON_CPU, *(ON_GPU if torch.cuda.is_available() else ()))
    return [row for case in cases for row in measure_case(case)]


def measure_case(case, *, with_flex=True):
    """Compare, then time, all contenders on one size of input."""
    device = torch.device(case.device)
    torch.manual_seed(123)
    plain, biased = (
        MultiHeadAttention(WIDTH, WIDTH, case.tokens, 0.0, HEADS, qkv_bias=bias).to(
            device, case.dtype
        )
        for bias in (False, True)
    )
    x = torch.randn(case.batch, case.tokens, WIDTH).to(device, case.dtype)
    for step, rounds in zip(STEPS, case.rounds, strict=True):
        entrants = {}
        for one in contenders(plain, biased, with_flex=with_flex):
            if step == "training step" and one.name == "FlexAttention" and device.type == "cpu":
                continue  # torch compiles it for CPUs without a backward
            require_equal(one, biased if one.biased else plain, x, backward=step != "forward")
            entrants[one.name] = one
        runs = {name: runner(one, x, step) for name, one in entrants.items()}
        named = f"{step}, {case.batch} x {case.tokens} on {device}"
        times = interleaved(runs, rounds=rounds, finish=finish_on(device), named=named)
        for name, one in entrants.items():
            ours = times["ours, with biases" if one.biased else "ours"]
            yield {
                "step": step,
                "batch": case.batch,
                "tokens": case.tokens,
                "device": case.device,
                "dtype": str(case.dtype).removeprefix("torch."),
                "contender": name,
                "part": one.part,
                "parameters": one.parameters(),
                "note": one.note,
                "rounds": rounds,
                "ms": spread([1e3 * seconds for seconds in times[name]]),
                "times_ours": spread(ratios(times[name], ours)),
            }


def require_equal(contender, ours, x, *, backward) -> None:
    """Refuse to time what does not compute the same.

    Raises:
        AssertionError: The output is another, or so is the gradient of the input.
    """
    found, wanted = (
        output_and_gradient(run, x, backward)
        for run in (contender.run, lambda x: expected(contender, ours, x))
    )
    for got, want in zip(found, wanted, strict=True):
        # bfloat16 keeps 8 bits, and sums are rounded in another order: the largest terms set the error
        few_roundings = 8 * torch.finfo(torch.bfloat16).eps * want.abs().max().item()
        loose = {"rtol": 0.0, "atol": few_roundings} if x.dtype == torch.bfloat16 else {}
        assert_close(got, want, **loose, msg=lambda text: f"{contender.name}: {text}")


def output_and_gradient(run, x, backward):
    """Return what a contender computes, and how its sum weighed by the input depends on the input."""
    if not backward:
        with torch.no_grad():
            return [run(x)]
    leaf = x.clone().requires_grad_()
    output = run(leaf)
    return [output.detach(), *torch.autograd.grad(output, leaf, x)]


def runner(contender, x, step):
    """Return a function that does one step."""
    if step == "forward":
        return torch.no_grad()(lambda: contender.run(x))
    leaf = x.clone().requires_grad_()
    parameters = list(contender.module.parameters())

    def train() -> None:
        leaf.grad = None
        for parameter in parameters:
            parameter.grad = None
        contender.run(leaf).backward(x)

    return train


def targets(results):
    """Hold the results against what was promised."""
    judged = []
    for step, batch, tokens, device in dict.fromkeys(map(place, results)):
        rows = [row for row in results if place(row) == (step, batch, tokens, device)]
        where = f"{step}, {batch} x {tokens} on {device}"
        peers = [row for row in rows if row["part"] == "peer"]
        if peers:
            fastest = min(peers, key=lambda row: row["times_ours"]["median"])
            what = (
                f"at most {MOST_OF_THE_FASTEST_PEER} of the fastest peer ({fastest['contender']})"
            )
            judged.append(target(what, where, of(fastest), MOST_OF_THE_FASTEST_PEER))
        for row in rows:
            if row["part"] == "bare":
                what = f"at most {MOST_OF_THE_BARE_KERNEL} of the bare matmuls and kernel"
                judged.append(target(what, where, of(row), MOST_OF_THE_BARE_KERNEL))
            if row["part"] == "source" and tokens >= SOURCE_COUNTS_FROM:
                most = 1 / LEAST_TIMES_FASTER_THAN_SOURCE
                what = (
                    f"at least {LEAST_TIMES_FASTER_THAN_SOURCE} times as fast as the sources' class"
                )
                judged.append(target(what, where, of(row), most))
        by_part = {row["part"]: row["times_ours"]["median"] for row in rows}
        if {"explicit", "source"} <= set(by_part) and tokens >= WEIGHTS_COUNT_FROM:
            what = f"with the weights, at most {MOST_OF_SOURCE_WITH_WEIGHTS} of the sources' class"
            found = by_part["explicit"] / by_part["source"]
            judged.append(target(what, where, found, MOST_OF_SOURCE_WITH_WEIGHTS))
    return judged


def place(row):
    """Return what must be equal for two results to be compared."""
    return row["step"], row["batch"], row["tokens"], row["device"]


def of(row):
    """Return our time as a share of a contender's."""
    return float(1 / row["times_ours"]["median"])
