"""Printed values are compared as values: structure exactly, floats to half of their last place."""

import math
import tomllib

import pytest
from harness.paths import DOCS

from executable_book.check.printed_values import (
    FIGURE,
    Value,
    difference_table,
    differences,
    eps_for,
    formatted_figures,
    parse,
    split,
)

CPU = eps_for("cpu")

LEDGER = DOCS / "sources.toml"


def one(text: str, exact: object = None) -> Value:
    (value,) = parse(text, [] if exact is None else [{"text": text, "values": exact}])
    return value


def texts(value: Value) -> list[str]:
    return [number.text for _, number in value.numbers()]


def differ(printed: str, got: str, exact: object = None, eps: float = CPU) -> list[str]:
    return [found.index for found in differences(one(got, exact), one(printed), eps)]


@pytest.mark.parametrize(
    ("text", "structure", "numbers"),
    [
        ("tensor(0.1376)", "tensor", ["0.1376"]),
        ("tensor([0.9544, -inf, nan])", "tensor of shape (3,)", ["0.9544", "-inf", "nan"]),
        ("tensor([[1., 0.],\n\t\t[2., -3.]])", "tensor of shape (2, 2)", ["1.", "0.", "2.", "-3."]),
        (
            "tensor([[[[ 0.3],\n\n [-1.2e-08]]]])",
            "tensor of shape (1, 1, 2, 1)",
            ["0.3", "-1.2e-08"],
        ),
        ("tensor([False,  True])", "tensor of shape (2,)", ["False", "True"]),
        ("tensor([2], device='cuda:0', grad_fn=<MulBackward0>)", "tensor of shape (1,)", ["2"]),
        ("tensor([2.], dtype=torch.float64)", "tensor of shape (1,) of torch.float64", ["2."]),
        ("tensor([], size=(0, 3))", "tensor of shape (0,)", []),
        ("tensor([0, 1, 2, ..., 7, 8, 9])", "tensor of shape (7,)", [*"012", "...", *"789"]),
        ("Parameter containing:\ntensor([1.], requires_grad=True)", "tensor of shape (1,)", ["1."]),
        ("context_vecs.shape: torch.Size([2, 6, 4])", "torch.Size of shape (3,)", [*"264"]),
        (
            "First batch: [tensor([[ 40]]), tensor([[367, 2]])]",
            "list of [tensor of shape (1, 1), tensor of shape (1, 2)]",
            ["40", "367", "2"],
        ),
        ("Row 2 sum: 1.0", "number", ["1.0"]),
        ("equal = True\n", "number", ["True"]),
        ("3\n", "number", ["3"]),
        ("heads\n(2, 6, 3)", "tuple of shape (3,)", [*"263"]),
        ("[1, [2, 3]]", "list of unequal rows (one number | shape (2,))", [*"123"]),
    ],
)
def test_reads(text: str, structure: str, numbers: list[str]) -> None:
    value = one(text)
    assert value.structure() == structure
    assert texts(value) == numbers


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
def test_leaves_text_alone(text: str) -> None:
    assert parse(text) == []
    assert split(text) == [text]


def test_several_values_keep_their_order_and_the_text_between_them() -> None:
    text = "Query\n tensor([1., 2.])\nsum: 3.0\nkeys.shape torch.Size([6, 2]) end"
    pieces = split(text)
    assert [p for p in pieces if isinstance(p, str)] == [
        "Query\n ",
        "\nsum: ",
        "\nkeys.shape ",
        " end",
    ]
    assert [v.kind for v in parse(text)] == ["tensor", "number", "torch.Size"]


def test_reads_every_entry_of_the_ledger_as_one_value() -> None:
    outputs = tomllib.loads(LEDGER.read_text(encoding="utf-8"))["output"]
    assert {o["id"] for o in outputs if len(parse(o["printed"])) != 1} == set()


@pytest.mark.parametrize(
    ("printed", "got", "exact"),
    [
        ("tensor([0.1234])", "tensor([0.1234])", None),
        # The fourth digit flips at a rounding boundary; the value has hardly moved.
        ("tensor([0.1234])", "tensor([0.1235])", [0.12345049]),
        ("tensor([1.])", "tensor([1.0000])", [1.0000001]),
        ("tensor([0.0000])", "tensor([-0.0000])", None),
        ("tensor([inf, -inf, nan])", "tensor([inf, -inf, nan])", ["inf", "-inf", "nan"]),
        ("tensor([inf, nan])", "tensor([inf, nan])", [math.inf, math.nan]),
        ("tensor([1.0000e-08])", "tensor([1.0000e-08])", [1.00004e-08]),
        ("tensor([9.9999e-01, 3.0e-24])", "tensor([9.9999e-01, 3.1e-24])", [0.99999, 3.1e-24]),
        ("tensor([True, False])", "tensor([True, False])", [True, False]),
        ("n: 0.30000000000000004", "n: 0.3", None),
        ("[[1.,\n\t2.]]", "[[1., 2.]]", None),
    ],
)
def test_agree(printed: str, got: str, exact: object) -> None:
    assert differ(printed, got, exact) == []


@pytest.mark.parametrize(
    ("printed", "got", "exact", "where"),
    [
        ("tensor([0.1234])", "tensor([0.1235])", None, "[0]"),
        ("tensor([0.1234])", "tensor([0.1235])", [0.1234530], "[0]"),
        # `[0.]` must not pass for `[1.]`: no half place without decimals.
        ("tensor([1.])", "tensor([0.])", None, "[0]"),
        ("tensor([1.])", "tensor([1.4000])", None, "[0]"),
        ("tensor([inf])", "tensor([-inf])", None, "[0]"),
        ("tensor([nan])", "tensor([0.5])", None, "[0]"),
        ("tensor([[2., inf]])", "tensor([[2., 3.]])", None, "[0, 1]"),
        ("tensor([1.0000e-08])", "tensor([2.0000e-08])", None, "[0]"),
        ("tensor([3])", "tensor([4])", None, "[0]"),
        ("tensor([3])", "tensor([3.])", None, "[0]"),
        ("tensor([1])", "tensor([True])", None, "[0]"),
        ("n: 1.0", "n: 1.04", None, "[]"),
        ("[tensor([1]), tensor([2, 3])]", "[tensor([1]), tensor([2, 4])]", None, "[1, 1]"),
        ("tensor([1., 2.])", "tensor([[1., 2.]])", None, "structure"),
        ("tensor([1., 2.])", "[1., 2.]", None, "structure"),
        ("tensor(3)", "3", None, "structure"),
        ("tensor([1.])", "tensor([1.], dtype=torch.float64)", None, "structure"),
        ("[1, [2, 3]]", "[[1, 2], 3]", None, "structure"),
        ("torch.Size([2, 6])", "torch.Size([6, 2])", None, "[0]"),
    ],
)
def test_differ(printed: str, got: str, exact: object, where: str) -> None:
    assert differ(printed, got, exact)[0] == where


def test_eps_is_wider_on_an_accelerator() -> None:
    exact = [0.123454]
    assert differ("tensor([0.1234])", "tensor([0.1235])", exact, eps_for("cpu"))
    assert not differ("tensor([0.1234])", "tensor([0.1235])", exact, eps_for("cuda:0"))


def test_exact_values_find_their_tensors() -> None:
    text = "a tensor([0.1])\nb [tensor([0.1]), tensor([0.2])]\nParameter containing:\ntensor([0.3])"
    exact = [
        {"text": "tensor([0.1])", "values": [0.11]},
        {"text": "tensor([0.9])", "values": [0.99]},
        {"text": "tensor([0.1])", "values": [0.12]},
        {"text": "tensor([0.2])", "values": [0.22]},
        {"text": "Parameter containing:\ntensor([0.3])", "values": [0.33]},
    ]
    got = [number.exact for value in parse(text, exact) for _, number in value.numbers()]
    assert got == [0.11, 0.12, 0.22, 0.33]


def test_exact_values_of_a_long_tensor_are_counted_from_both_ends() -> None:
    value = one("tensor([0.1, 0.2, ..., 0.8, 0.9])", [0.11, 0.22, 0.5, 0.6, 0.7, 0.88, 0.99])
    assert [number.exact for _, number in value.numbers()] == [0.11, 0.22, None, 0.88, 0.99]


def test_the_table_names_index_printed_got_and_delta() -> None:
    found = differences(one("tensor([[0.5, 0.25]])"), one("tensor([[0.5, 0.75]])"), CPU)
    assert difference_table(found).split() == [
        *["index", "printed", "got", "delta", "[0,", "1]", "0.75", "0.25", "-5.00e-01"]
    ]


def test_the_table_shows_the_digits_that_were_not_printed() -> None:
    found = differences(one("tensor([0.1235])", [0.12345678901]), one("tensor([0.1234])"), CPU)
    assert "0.123456789  +5.68e-05" in difference_table(found)


def test_the_table_stops_after_a_few_rows() -> None:
    found = differences(one(f"tensor({[0.5] * 20})"), one(f"tensor({[0.7] * 20})"), CPU)
    assert difference_table(found).endswith("and 12 more")
    assert len(difference_table(found).splitlines()) == 10


def test_a_number_by_index() -> None:
    value = one("tensor([[0.5, 0.25]])")
    assert value.at([0, 1]).text == "0.25"
    with pytest.raises(ValueError, match=r"no number at \[0, 2\] in a tensor of shape \(1, 2\)"):
        value.at([0, 2])


# Numbers that f-strings formatted


def formatted(*numbers: tuple[str, float]) -> list[dict[str, object]]:
    return [{"number": text, "values": value} for text, value in numbers]


@pytest.mark.parametrize(
    ("printed", "got", "exact", "agree"),
    [
        # The last digit flips at a rounding boundary; the value has hardly moved.
        ("mean 0.1234, more", "mean 0.1235, more", 0.1234505, True),
        ("mean 0.1234, more", "mean 0.1235, more", 0.123454, False),
        ("it is 1.4x faster", "it is 1.5x faster", 1.4500001, True),
        ("it is 1.4x faster", "it is 1.5x faster", 1.46, False),
        ("12.4% of all", "12.5% of all", 12.4500001, True),
        ("about 15 tokens", "about 16 tokens", 15.5000001, True),
        ("about 15 tokens", "about 16 tokens", 15.6, False),
        ("error 6e-17", "error 6e-17", 6.4e-17, True),
        ("error 6e-17", "error 7e-17", 6.6e-17, False),
        ("n: 1.0", "n: 1.0", 1.04, True),
        ("at -inf here", "at -inf here", -math.inf, True),
    ],
)
def test_a_formatted_number_is_compared_by_its_value(
    printed: str, got: str, exact: float, agree: bool
) -> None:
    ((figure, _),) = formatted_figures(got, formatted((FIGURE.findall(got)[0], exact))).items()
    old = split(printed, formatted=[figure])
    new = split(got, formatted((FIGURE.findall(got)[0], exact)))
    assert [one for one in old if isinstance(one, str)] == [
        one for one in new if isinstance(one, str)
    ]
    (before,), (after,) = ([one for one in text if isinstance(one, Value)] for text in (old, new))
    assert (differences(after, before, CPU) == []) == agree


def test_formatted_numbers_are_found_in_any_order_and_not_in_tensors() -> None:
    text = "tensor([0.5, 0.25]) 0.25 and 10.25, then 0.50 of v2.0.25"
    exact = [
        *formatted(("0.50", 0.501), ("0.75", 0.75), ("0.25", 0.2512), ("0.25", 0.26)),
        {"text": "tensor([0.5, 0.25])", "values": [0.51, 0.252]},
    ]
    assert formatted_figures(text, exact) == {4: 0.501, 2: 0.2512}
    got = [number.exact for value in parse(text, exact) for _, number in value.numbers()]
    assert got == [0.51, 0.252, 0.2512, 0.501]


def test_numbers_that_nobody_noted_stay_text() -> None:
    assert parse("mean 0.1234, more 1.5x") == []
