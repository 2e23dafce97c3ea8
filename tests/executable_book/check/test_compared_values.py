"""Printed values are compared as values: structure exactly, floats to half of their last place."""

import pytest

from executable_book.check.compared_values import difference, values_in


@pytest.mark.parametrize(
    "value",
    [
        "tensor(0.1376)",
        "tensor([0.9544, -inf, nan])",
        "tensor([[1., 0.],\n\t\t[2., -3.]])",
        "tensor([[[[ 0.3],\n\n [-1.2e-08]]]])",
        "tensor([False,  True])",
        "tensor([2], device='cuda:0', grad_fn=<MulBackward0>)",
        "tensor([2.], dtype=torch.float64)",
        "tensor([], size=(0, 3))",
        "tensor([0, 1, 2, ..., 7, 8, 9])",
        "tensor([1.], requires_grad=True)",
        "torch.Size([2, 6, 4])",
        "[tensor([[ 40]]), tensor([[367, 2]])]",
        "[1, [2, 3]]",
        "3",
        "True",
    ],
)
def test_a_value_is_found_whole(value) -> None:
    assert values_in(value) == ([value], ["", ""])
    assert values_in(f"Sum 2: {value}\nmore") == ([value], ["Sum 2: ", "\nmore"])


@pytest.mark.parametrize(
    "text",
    [
        "the 2nd of 6x6 weights, torch 2.13.0, GPT-2, step 2",
        "x[0] and f(3) and (4), 2024-12-01",
        "['Your', 'journey']",
        "tensor(",
        "tensor of shape",
        "",
        "it sums to 1.",
        "information, nano",
    ],
)
def test_text_is_no_value(text) -> None:
    assert values_in(text) == ([], [text])


def test_several_values_keep_their_order_and_the_text_between_them() -> None:
    text = "Query\n tensor([1., 2.])\nsum: 3.0\nkeys.shape torch.Size([6, 2]) end"
    assert values_in(text) == (
        ["tensor([1., 2.])", "3.0", "torch.Size([6, 2])"],
        ["Query\n ", "\nsum: ", "\nkeys.shape ", " end"],
    )


@pytest.mark.parametrize(
    ("printed", "got"),
    [
        ("tensor([1.])", "tensor([1.0000])"),
        ("tensor([0.0000])", "tensor([-0.0000])"),
        ("tensor([inf, -inf, nan])", "tensor([inf, -inf, nan])"),
        ("n: 0.30000000000000004", "n: 0.3"),
        ("1.00000004e-08", "1.00000009e-08"),
        ("x: 0.123456", "x: 0.123457"),
        ("tensor([0.0000])", "tensor([1.0000e-06])"),
        ("p = 0.0000", "p = 0.000001"),
        ("[[1.,\n\t2.]]", "[[1., 2.]]"),
        ("tensor([0.5], grad_fn=<MulBackward0>)", "tensor([0.5], grad_fn=<MmBackward0>)"),
        ("tensor([0.5])", "tensor([0.5], device='cuda:0')"),
    ],
)
def test_agree(printed, got) -> None:
    assert difference(printed, got) == ""


DIFFERENT = [
    ("tensor([0.1234])", "tensor([0.1236])"),
    # `[0.]` must not pass for `[1.]`: no half place without decimals.
    ("tensor([1.])", "tensor([0.])"),
    ("tensor([inf])", "tensor([-inf])"),
    ("tensor([[2., inf]])", "tensor([[2., 3.]])"),
    ("tensor([1.0000e-08])", "tensor([2.0000e-08])"),
    ("tensor([1.0000e-08])", "tensor([0.])"),
    ("tensor([0.0000e+00, 1.])", "tensor([1.0000e-08, 1.])"),
    ("p = 0.0000004", "p = 0.0000014"),
    ("p = 0.0000004", "p = 1.4e-06"),
    ("p = 4e-07", "p = 0.0000014"),
    ("p = -0.00012345678", "p = -0.00012346678"),
    ("error 6e-17", "error 7e-17"),
    ("tensor([3])", "tensor([4])"),
    ("tensor([3])", "tensor([3.])"),
    ("tensor([1])", "tensor([True])"),
    ("n: 1.0", "n: 1.04"),
    ("12.4% of all", "12.6% of all"),
    ("torch 2.13.0", "torch 2.14.0"),
    ("tensor([1., 2.])", "tensor([[1., 2.]])"),
    ("tensor(3)", "3"),
    ("tensor([1.])", "tensor([1.], dtype=torch.float64)"),
    ("[1, [2, 3]]", "[[1, 2], 3]"),
    ("torch.Size([2, 6])", "torch.Size([6, 2])"),
    ("a tensor([0.5])", "b tensor([0.5])"),
]


@pytest.mark.parametrize(("printed", "got"), DIFFERENT)
def test_differ(printed, got) -> None:
    assert difference(printed, got)
    assert difference(printed, got, "cuda:0")


def test_a_little_more_is_allowed_on_an_accelerator() -> None:
    assert difference("x: 0.123456", "x: 0.123460")
    assert difference("x: 0.123456", "x: 0.123460", "mps") == ""
    assert difference("mean 0.1234, more", "mean 0.1235, more")
    assert difference("mean 0.1234, more", "mean 0.1235, more", "mps") == ""
    assert difference("x: 0.65", "x: 0.66", "mps")
    assert difference("x: 73%", "x: 74%", "mps")


def test_only_what_changed_is_shown_and_no_more_than_fits() -> None:
    assert difference("one\ntwo\nthree", "one\nten\nthree") == "    - two\n    + ten"
    assert difference("", "\n".join("abcdefghijklmnop")).splitlines()[-1] == "    and 4 more lines"
