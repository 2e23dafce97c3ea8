"""A printed tensor leaves the values behind it."""

import pytest
from harness.kernels import printed, run

pytestmark = pytest.mark.usefixtures("warm")


def test_a_kernel_keeps_what_is_behind_each_printed_tensor_and_formatted_number() -> None:
    code = """
import torch
print([torch.tensor(2), torch.tensor([True])])
print(torch.nn.Parameter(torch.tensor([[-float("inf"), 0.5]])))
print(torch.zeros(1001), f"{torch.tensor(1.5):.1f}", torch.zeros(2, device="meta"))
torch.Size([2])
"""
    (execution,) = run(code)
    assert printed(execution).startswith("[tensor(2), tensor([True])]\nParameter containing:\n")
    *_, last = execution.notebook.cells[0].outputs
    (notes,) = last.data.values()
    assert [note["values"] for note in notes] == [2, [True], [["-inf", 0.5]], 1.5, None, None]
    assert notes[2]["text"] == "tensor([[  -inf, 0.5000]], requires_grad=True)"
