"""How much memory does causal multi-head attention take, 768 wide, with 12 heads?

Batch 1, float32, a forward without gradients. Each number comes from a process of its own: the highest
resident size while it ran, less the resident size before it, in MiB; weights and input are there before.
"""

import subprocess
import sys
from itertools import product
from pathlib import Path

import torch
from measuring.circumstances import cores
from measuring.contenders import WIDTH, Contender, explicit, our_module, source, torch_module

TOKENS = (256, 512, 1024, 2048, 4096, 8192)
LONGEST_EXPLICIT = 4096
"""Beyond it, the explicit form needs more memory than a laptop has."""
WARM_UP_TOKENS = 32


def measure():
    """Measure all contenders at all lengths."""
    for name, tokens in product(CONTENDERS, TOKENS):
        if name in LINEAR or tokens <= LONGEST_EXPLICIT:
            mib = in_a_process(__file__, name, str(tokens))
            yield {"step": "forward", "tokens": tokens, "contender": name, "mib": mib}


def targets(results):
    """Judge whether our memory grows linearly: from one doubling to the next, so does its growth."""
    *_, short, middle, long = (row["mib"] for row in results if row["contender"] == "ours")
    growth = (long - middle) / (middle - short)
    what = "memory grows linearly: twice the growth from one doubling to the next, not four times"
    return [(what, "forward", growth, 2.2)]


def in_a_process(program, *arguments):
    """Return the number that a program prints: how many MiB it took."""
    command = [sys.executable, program, *arguments]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


CONTENDERS = {
    "ours": (lambda module: Contender("ours", module, module, module), False),
    "ours, with the weights": (explicit, False),
    "the sources' class": (source, False),
    "nn.MultiheadAttention": (torch_module, True),
}
"""What makes a contender, and whether it has biases."""
LINEAR = {"ours", "nn.MultiheadAttention"}


@torch.no_grad()
def extra_mib(name, tokens):
    """Return how many MiB more than before were resident while a contender ran."""
    torch.set_num_threads(cores())
    make, biased = CONTENDERS[name]
    contender = make(our_module(tokens, biased=biased))
    x = torch.randn(1, tokens, WIDTH)
    contender.run(x[:, :WARM_UP_TOKENS])
    forget_peak()
    before = resident("VmRSS")
    contender.run(x)
    return round((resident("VmHWM") - before) / 1024, 2)


def resident(field):
    """Return a size of this process in KiB: `VmRSS` now, or `VmHWM` at its highest."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0])


def forget_peak() -> None:
    """Let the highest size begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    print(extra_mib(sys.argv[1], int(sys.argv[2])))
