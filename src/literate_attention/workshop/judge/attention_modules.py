"""Judge a module of attention by what it computes, whatever its parameters are called."""

import inspect
from collections.abc import Mapping, Sequence
from itertools import islice, product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from literate_attention.workshop.judge.attention_mistakes import (
    ONE_KEY_A_HEAD,
    PROJECTED,
    attend,
    attend_in_heads,
    known_ways,
    ways_with,
)
from literate_attention.workshop.judge.parameters import (
    Projections,
    find_projections,
    is_plain,
    plain,
    redraw,
)
from literate_attention.workshop.judge.trials import (
    UNNAMED,
    Given,
    Settled,
    Trial,
    Ways,
    all_same,
    attempt,
    call,
    drawn,
    explain,
    fits,
    judge_what_is_right,
    not_written,
)
from literate_attention.workshop.judge.verdict import RIGHT, Verdict, about, remark, wrong

D_IN, D_OUT, NUM_HEADS, CONTEXT_LENGTH = 5, 6, 2, 7
SIZES: Mapping[str, Any] = {
    "d_in": D_IN,
    "d_out": D_OUT,
    "context_length": CONTEXT_LENGTH,
    "dropout": 0.25,
    "num_heads": NUM_HEADS,
}
"""What each parameter of a constructor is.

All widths differ, so that none is mistaken for another; and the root of a head's width is not its half.
"""

UNKNOWN_LAYOUT = (
    "This layout of parameters cannot be judged: make queries, keys and values by layers of their own, "
    "called W_query, W_key and W_value."
)


def judge_attention(mine: object, num_sizes: int) -> Verdict:
    """Judge a class of attention, whose constructor takes so many of the sizes, in their order.

    Two of them make self-attention, four causal attention, and five several heads of it.
    """
    if not isinstance(mine, type):
        return wrong(f"a class is expected, got {mine!r}")
    sizes = dict(islice(SIZES.items(), num_sizes))

    def judged(**others: Any) -> Verdict:
        try:
            return _judge_module(mine, {**sizes, **others})
        except Settled as settled:
            return settled.verdict

    verdict = judged()
    if verdict and "qkv_bias" in _parameters(mine):
        verdict = judged(qkv_bias=True)
    if not verdict and not (verdict.is_written and "num_heads" in sizes):
        return verdict
    if_square = judged(d_in=D_OUT, **({"num_heads": 3} if "num_heads" in sizes else {}))
    if verdict:  # what is added where it fits shows only here
        return if_square
    return remark("it works only where d_in and d_out are the same") if if_square else verdict


def _ways(sizes: Mapping[str, Any], one: Projections) -> Ways:
    """Tell what may come out of a module with these projections."""

    def projected(given: Given) -> list[Tensor]:
        return [to(given["x"]) for to in one[:3]]

    if "num_heads" not in sizes:
        known = known_ways(attend, is_causal="context_length" in sizes, more=PROJECTED)
        return ways_with(known, lambda given: [*projected(given), given["x"]])
    known = known_ways(attend_in_heads, is_causal=True, more=ONE_KEY_A_HEAD)
    out = one.out or (lambda context: context)
    return ways_with(known, lambda given: [*projected(given), sizes["num_heads"], out])


def _parameters(mine: type) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(mine).parameters
    except ValueError:
        return {}


def _judge_module(mine: type, sizes: Mapping[str, Any]) -> Verdict:
    batches = [(1, 1), (1, 2), (4, CONTEXT_LENGTH)]
    shapes = batches if "context_length" in sizes else [(1,), (2,), (4,)]
    inputs = [{"x": drawn(*shape, sizes["d_in"])} for shape in shapes]
    module = make(mine, sizes)
    if any(isinstance(p, UninitializedParameter) for p in module.parameters()):
        attempt(call, module, inputs[0])
    redraw(module)
    trials = [(given, attempt(call, module.eval(), given)) for given in inputs]
    if not all_same(attempt(call, module, inputs[-1]), trials[-1][1]):
        return wrong("the same input gives other numbers each time, even after .eval()")
    found = find_projections(module, sizes["d_in"], D_OUT, sizes.get("num_heads"))
    if not found:
        got = ", ".join(f"{n} {tuple(p.shape)}" for n, p in module.named_parameters())
        if sum(one.ndim > 1 for one in module.parameters()) > 3 + ("num_heads" in sizes):
            return Verdict(False, UNKNOWN_LAYOUT, is_written=False)
        needed = f"three matrices from {sizes['d_in']} numbers to {D_OUT}"
        return wrong(
            f"{needed} are expected for d_in={sizes['d_in']} and d_out={D_OUT}, "
            f"got {got or 'none'}{plain(module)}"
        )
    right = next((one for one in found if fits(trials, _ways(sizes, one))), None)
    if right is None:
        verdict = explain(trials, [_ways(sizes, one) for one in found])
        unknown = verdict.says == wrong(UNNAMED).says and not is_plain(module)
        return Verdict(False, UNKNOWN_LAYOUT, is_written=False) if unknown else verdict
    ways = _ways(sizes, right)
    if "context_length" in sizes:
        for times, says in LOUD.items():
            if not sees_itself(module, ways, {"x": times * inputs[-1]["x"]}):
                return wrong(says)
    learned = judge_what_is_right(lambda given: module(given["x"]), ways.right, trials)
    if learned and (wrongly_biased := _judge_biases(mine, right, sizes)):
        return wrong(wrongly_biased)
    if not learned:
        return learned
    try:
        if "dropout" not in (by_name(mine, sizes) or sizes):
            if all_same(attempt(call, module.train(), inputs[-1]), trials[-1][1]):
                return RIGHT
            return wrong("in training it computes other numbers: nothing should be dropped here")
        return judge_dropout(module, right, trials, sizes.get("num_heads", 1))
    except Settled as settled:
        return about("in training", settled.verdict)


LOUD = {
    10: "where the future has all the weight, nothing is left for the first token: "
    "hide scores before the softmax, not weights after it",
    100: "hidden scores are a large negative number, not minus infinity: high ones are seen again",
}
"""So many times the vectors, and what is wrong if the first token does not see itself alone."""


def sees_itself(module: nn.Module, ways: Ways, loud: Given) -> bool:
    """Tell whether the first token sees itself, even if the scores of all others are far higher."""
    (came, *_), right = attempt(call, module, loud), ways.right(loud)
    rounding = 1e-3  # of numbers near a hundred
    return torch.allclose(came[:, 0], right[:, 0].to(came), rtol=rounding, atol=rounding)


def _judge_biases(mine: type, found: Projections, sizes: Mapping[str, Any]) -> str | None:
    """Say what a checkpoint would miss, or would not know; outputs may be right all the same."""
    biased = [projection.bias is not None for projection in found[:3]]
    has_heads = "num_heads" in sizes
    if sizes.get("qkv_bias") and not all(biased):
        return "qkv_bias=True adds no bias to the queries, the keys and the values"
    if "qkv_bias" in _parameters(mine) and not sizes.get("qkv_bias") and any(biased):
        return "qkv_bias=False has to leave out the biases of queries, keys and values"
    if has_heads and found.out is None:
        return "there is no output projection: a last layer takes the heads together, d_out wide"
    if has_heads and found.out and found.out.bias is None:
        return "the output projection has no bias, and the weights of GPT-2 could not be read"
    return None


def make(mine: type, sizes: Mapping[str, Any]) -> nn.Module:
    """Construct a reader's module, whose parameters may have other names, or fewer where none is needed."""
    named = by_name(mine, sizes)
    try:
        module = mine(**named) if named else mine(*sizes.values())
    except Exception as error:
        called = ", ".join(f"{name}={value}" for name, value in sizes.items())
        says = f"{mine.__name__}({called}) stops with {type(error).__name__}: {error}"
        lacking = not_written(error)
        raise Settled(wrong(says) if lacking is None else lacking) from error
    if not isinstance(module, nn.Module):
        raise Settled(wrong(f"{mine.__name__} has to be an nn.Module"))
    return module


def by_name(mine: type, sizes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a constructor takes under the book's names; nothing if it needs anything else."""
    parameters = _parameters(mine)
    needed = {name for name, one in parameters.items() if one.default is one.empty}
    fits = needed and needed <= sizes.keys()
    return {name: sizes[name] for name in parameters if name in sizes} if fits else {}


def judge_dropout(
    module: nn.Module, projections: Projections, trials: Sequence[Trial], num_heads: int
) -> Verdict:
    """Judge what is dropped in training.

    A single token has one weight, which is one: dropped, its head gives zeros, and kept, more than its value.
    Whatever is dropped before the softmax leaves it one, and shows only where there are more tokens.
    """
    (one, evaluated), (many, many_evaluated) = trials[0], trials[-1]
    value = projections.value(one["x"]).unflatten(-1, (num_heads, -1))
    out = projections.out or (lambda context: context)
    possible = [
        [out((value * torch.tensor(kept).unsqueeze(-1) / (1 - SIZES["dropout"])).flatten(-2))]
        for kept in product((0.0, 1.0), repeat=num_heads)
    ]
    module.train()
    came = [attempt(call, module, one) for _ in range(30)]
    if all(all_same(each, evaluated) for each in came):
        if all(all_same(attempt(call, module, many), many_evaluated) for _ in range(5)):
            return wrong("nothing is dropped in training")
        return wrong(
            "numbers are dropped before the softmax; it is the weights that come out of it"
        )
    if all_same(attempt(call, module, many), attempt(call, module, many)):
        return wrong("in training the same weights are dropped each time: is a seed set?")
    if all(any(all_same(each, this) for this in possible) for each in came):
        return RIGHT
    return wrong(
        "in training each weight has to become zero or be divided by 1 - p, and nothing else may change"
    )
