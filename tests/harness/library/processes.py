"""Processes that compute together, as torchrun starts them. To start one takes seconds, so they are kept."""

import pickle
import subprocess
import sys
from contextlib import contextmanager

import torch
from harness import forks
from torch import distributed as dist


class Processes:
    """Some processes that wait for work; the first few of them can form a group of their own."""

    def __init__(self, lines) -> None:
        self.lines = lines

    def run(self, count, work, *arguments):
        """Call `work(group, *arguments)` in the first `count` processes, and return what each one returns.

        An error that a process raises is returned in the place of its result.
        """
        for line in self.lines[:count]:
            line.send_bytes(pickle.dumps((count, work, arguments)))
        return [pickle.loads(line.recv_bytes()) for line in self.lines[:count]]


@contextmanager
def processes(count, folder):
    """Start processes, and end them."""
    pipes = [forks.forks().Pipe() for _ in range(count)]
    started = [
        forks.forks().Process(target=_wait_for_work, args=(rank, count, folder / "store", there))
        for rank, (_, there) in enumerate(pipes)
    ]
    for process in started:
        process.start()
    lines = [here for here, _ in pipes]
    try:
        yield Processes(lines)
    finally:
        for line in lines:
            line.send_bytes(pickle.dumps(None))
        for process in started:
            process.join()


def _wait_for_work(rank, size, store, line) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", store=dist.FileStore(str(store), size), rank=rank, world_size=size
    )
    groups = {count: dist.new_group(list(range(count))) for count in range(1, size + 1)}
    while (task := pickle.loads(line.recv_bytes())) is not None:
        count, work, arguments = task
        try:
            result = work(groups[count], *arguments)
        except Exception as error:
            result = error
        line.send_bytes(pickle.dumps(result))
    dist.destroy_process_group()


def by_torchrun(count, module, *arguments):
    """Run a module in some processes as readers do; return its status and what it wrote, on either stream."""
    command = [sys.executable, "-m", "torch.distributed.run"]
    command += ["--standalone", "--nproc-per-node", str(count), "-m"]  # at a port that nobody has
    ran = subprocess.run([*command, module, *arguments], capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr
