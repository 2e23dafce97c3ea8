"""How long does causal multi-head attention take, 768 wide, with 12 heads: ours, others', the bare kernel?

All contenders have copies of the same weights; outputs and gradients of the input were compared
before anything was timed. Forward is without gradients. A training step is a forward with
gradients, and a backward to all parameters and to the input; no optimizer. No dropout. In every
round each contender runs once, in an order drawn anew. times_ours is its time divided by that of
our module, which has biases for query, key and value where the contender has them, in the same
round; median and quartiles over rounds. Threads are fixed, garbage collection is off, every contender
has run twice before the first round. x-transformers has no bias in its output projection.
"""

from functools import partial

import torch
from measuring.circumstances import cores
from measuring.contenders import PACKAGES as PACKAGES
from measuring.contenders import WIDTH, contenders, expected
from measuring.timing import compared, interleaved
from torch.testing import assert_close

STEPS = ("forward", "training step")
MOST = {"peer": (1.03, 0), "bare": (1.05, 0), "source": (0.4, 1024)}
"""Our time as a share of that of the fastest contender of each part, and from how many tokens on."""
MOST_WITH_WEIGHTS = (1.05, 4096)
"""The same of our explicit path, as a share of the time of the sources' class."""
CASES = ((8, 128, (31, 31)), (2, 1024, (31, 25)), (1, 4096, (21, 11)))
"""Batch, tokens, and how often each step is timed: odd, so that a median is a measurement."""


def measure():
    """Measure all cases."""
    torch.set_num_threads(cores())
    return [row for case in CASES for row in measure_case(*case)]


def measure_case(batch, tokens, rounds_of_steps):
    """Compare, then time, all contenders on one size of input."""
    torch.manual_seed(123)
    x = torch.randn(batch, tokens, WIDTH)
    entrants = list(contenders(tokens))
    for step, rounds in zip(STEPS, rounds_of_steps, strict=True):
        if step == "training step":  # torch compiles FlexAttention for CPUs without a backward
            entrants = [one for one in entrants if one.name != "FlexAttention"]
        for one in entrants:
            require_equal(one, x, backward=step != "forward")
        runs = {one.name: runner(one, x, step) for one in entrants}
        times = interleaved(runs, rounds=rounds, named=f"{step}, {batch} x {tokens}")
        ours = {one.module: times[one.name] for one in entrants if one.part == "ours"}
        sizes = {"step": step, "batch": batch, "tokens": tokens, "dtype": "float32"}
        for one in entrants:
            row = compared(one.name, times[one.name], ours=ours[one.ours])
            yield row | sizes | {"part": one.part}


def require_equal(contender, x, *, backward) -> None:
    """Refuse to time what does not compute the same.

    Raises:
        AssertionError: The output is another, or so is the gradient of the input.
    """
    found, wanted = (
        output_and_gradient(run, x, backward)
        for run in (contender.run, partial(expected, contender))
    )
    for got, want in zip(found, wanted, strict=True):
        assert_close(got, want, msg=lambda text: f"{contender.name}: {text}")


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
    learned = [leaf, *contender.module.parameters()]

    def train() -> None:
        for one in learned:
            one.grad = None
        contender.run(leaf).backward(x)

    return train


def targets(results):
    """Hold the results against what was promised."""
    judged = []
    for step, batch, tokens in dict.fromkeys(map(place, results)):
        rows = [row for row in results if place(row) == (step, batch, tokens)]
        fastest = {row["part"]: row for row in sorted(rows, key=share)}
        where = f"{step}, {batch} x {tokens}"
        for part, (most, least_tokens) in MOST.items():
            if tokens >= least_tokens:
                what = f"at most {most} of {fastest[part]['contender']}"
                judged.append((what, where, share(fastest[part]), most))
        most, least_tokens = MOST_WITH_WEIGHTS
        if tokens >= least_tokens:
            what = f"with the weights, at most {most} of the sources' class"
            found = share(fastest["source"]) / share(fastest["explicit"])
            judged.append((what, where, found, most))
    return judged


def place(row):
    """Return what must be equal for two results to be compared."""
    return row["step"], row["batch"], row["tokens"]


def share(row):
    """Return our time as a share of a contender's."""
    return float(1 / row["times_ours"]["median"])
