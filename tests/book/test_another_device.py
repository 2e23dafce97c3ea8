"""What is simulated of another device is enough: see `harness.second_device`.

`test_downloads.py` runs the pages with it.
"""

import torch
from harness.forks import forks
from harness.paths import SECOND_DEVICE

from literate_attention import pick_device

START = """
import torch
from literate_attention import CausalAttention, pick_device, toy_embeddings
inputs = toy_embeddings(pick_device())
"""
FAIL = {
    "made elsewhere": "inputs @ torch.eye(3)",
    "read by NumPy": "inputs.numpy()",
    "module not moved": "CausalAttention(3, 2, 6, 0.0)(inputs)",
    "compared": "torch.testing.assert_close(inputs, toy_embeddings())",
    "moved to another that is there": "inputs + torch.eye(6, 3).to(toy_embeddings())",
    "in place": "toy_embeddings().add_(inputs)",
}
MOVED = """
module = CausalAttention(3, 2, 6, 0.5).to(inputs.device)
module(inputs) + torch.ones(6, 2, device=inputs.device)
torch.eye(6).to(inputs) @ inputs + torch.eye(6, 3, dtype=torch.float64).to(inputs)
inputs.to(inputs.device, torch.float64) + inputs
inputs.cpu().numpy(), inputs.cpu() + toy_embeddings(), inputs.sum() * torch.tensor(2.0)
"""

TRY = """
failed = []
for name, code in codes.items():
    try:
        exec(start + code, {})
    except Exception:
        failed.append(name)
sender.send(failed)
"""


def test_a_cell_for_the_cpu_alone_fails_on_another_device() -> None:
    """A CPU-only assumption is caught without a GPU: no cell takes all tensors to be on one device."""
    receiver, sender = forks().Pipe(duplex=False)
    names = {"codes": FAIL | {"moved": MOVED}, "start": START, "sender": sender}
    code = SECOND_DEVICE.read_text(encoding="utf-8") + TRY
    process = forks().Process(target=exec, args=(code, names))
    process.start()
    sender.close()
    assert receiver.recv() == [*FAIL]
    process.join()


def test_all_other_tests_run_on_the_device_of_the_machine() -> None:
    """To look for tests in the file of the second device, and so to import it, would move all tests there."""
    assert pick_device().index in {None, 0}
    assert torch.overrides._get_current_function_mode_stack() == []
