"""Judge a module of attention by what it computes, whatever its parameters are called."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from literate_attention.workshop.judge.attending import (
    IN_HEADS,
    PROJECTED,
    attend,
    attend_in_heads,
    known_ways,
    ways_on,
)
from literate_attention.workshop.judge.projections import (
    ROLES,
    Projections,
    find_projections,
    redraw,
)
from literate_attention.workshop.judge.trials import (
    Given,
    Trial,
    Ways,
    all_same,
    attempt,
    drawn,
    explain,
    judge_gradients,
    not_written,
    try_out,
)
from literate_attention.workshop.judge.verdict import RIGHT, Verdict, remark, wrong

D_IN, D_OUT, NUM_HEADS, CONTEXT_LENGTH = 5, 6, 2, 7
SIZES: Mapping[str, Any] = {
    "d_in": D_IN,
    "d_out": D_OUT,
    "context_length": CONTEXT_LENGTH,
    "dropout": 0.5,
    "num_heads": NUM_HEADS,
}
"""What each parameter of a constructor is.

All widths differ, so that none is mistaken for another; and the root of a head's width is not its half.
"""

Way = tuple[Sequence[str], Callable[[], Tensor]]
Attend = Callable[[Projections, Tensor], Iterator[Way]]
"""What may come out of a module with these projections: what is right, then what comes of mistakes."""


def judge_attention(
    mine: object,
    attend: Attend,
    constructor: Sequence[str],
    inputs: Sequence[Given],
    *,
    has_heads: bool = False,
) -> Verdict:
    """Judge a class of attention, whose constructor takes these sizes in this order."""
    if not isinstance(mine, type):
        return wrong(f"a class is expected, got {mine!r}")
    sizes = {name: SIZES[name] for name in constructor}
    verdict = _judge_sizes(mine, attend, sizes, inputs, has_heads)
    if verdict and "qkv_bias" in _parameters(mine):
        verdict = _judge_sizes(mine, attend, {**sizes, "qkv_bias": True}, inputs, has_heads)
    if not verdict and not (verdict.is_written and has_heads):
        return verdict
    square = [{"x": drawn(*given["x"].shape[:-1], D_OUT)} for given in inputs]
    if_square = _judge_sizes(mine, attend, {**sizes, "d_in": D_OUT}, square, has_heads)
    if verdict:  # what is added where it fits shows only here
        return if_square
    return remark("it works only where d_in and d_out are the same") if if_square else verdict


def _parameters(mine: type) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(mine).parameters
    except ValueError:
        return {}


def _judge_sizes(
    mine: type,
    attend: Attend,
    sizes: Mapping[str, Any],
    inputs: Sequence[Given],
    has_heads: bool,
) -> Verdict:
    num_heads = NUM_HEADS if has_heads else None
    module = make(mine, sizes)
    if isinstance(module, Verdict):
        return module
    redraw(module)
    state = torch.get_rng_state()
    trials = try_out(module.eval(), inputs, lambda module, given: module(given["x"]))
    if isinstance(trials, Verdict):
        return trials
    again = attempt(lambda module, given: module(given["x"]), module, inputs[-1])
    if isinstance(again, Verdict) or not all_same(again, trials[-1][1]):
        return wrong("the same input gives other numbers each time, even after .eval()")
    if not torch.equal(torch.get_rng_state(), state):
        return wrong("it sets a seed, or draws, even after .eval()")
    found = find_projections(module, sizes["d_in"], D_OUT, num_heads)
    if not found:
        shapes = ", ".join(f"{n} {tuple(p.shape)}" for n, p in module.named_parameters())
        needed = f"three matrices from {sizes['d_in']} numbers to {D_OUT}"
        return wrong(
            f"{needed} are expected for d_in={sizes['d_in']} and d_out={D_OUT}, got {shapes or 'none'}"
        )
    right = [one for one in found if explain(trials, [_ways(attend, one)])]
    if not right:
        return explain(trials, [_ways(attend, one) for one in found])
    if "context_length" in sizes and not sees_itself(module, _ways(attend, right[0]), inputs[-1]):
        return wrong(
            "where the future has all the weight, nothing is left for the first token: "
            "hide scores before the softmax, not weights after it"
        )
    learned = judge_gradients(
        lambda given: module(given["x"]),
        lambda given: next(attend(right[0], given["x"]))[1](),
        inputs,
    )
    if not learned:
        return learned
    if wrongly_biased := _judge_biases(mine, right[0], sizes, has_heads):
        return wrong(wrongly_biased)
    if "dropout" in (by_name(mine, sizes) or sizes):
        if (verdict := _judge_in_training(module, trials)) is not None:
            return verdict
        return judge_dropout(module, right[0], inputs, num_heads or 1)
    return RIGHT


def _judge_in_training(module: nn.Module, trials: Sequence[Trial]) -> Verdict | None:
    """Judge whether a module runs in training as it does after .eval(), whatever is dropped."""
    inputs = [given for given, _ in trials]
    came = try_out(module.train(), inputs, lambda module, given: module(given["x"]))
    if isinstance(came, Verdict):
        says = f"In training {came.says[0].lower()}{came.says[1:]}"
        return replace(came, says=says) if came.is_written else came
    for (_, (one, *_)), (_, (expected, *_)) in zip(came, trials, strict=True):
        if one.shape != expected.shape:
            return wrong(
                f"in training the shape is {tuple(one.shape)}, expected {tuple(expected.shape)}"
            )
    return None


def sees_itself(module: nn.Module, ways: Ways, given: Given) -> bool:
    """Tell whether the first token sees itself, even if the scores of all others are far higher."""
    loud = {"x": 100 * given["x"]}
    came = attempt(lambda module, given: module(given["x"]), module, loud)
    _, compute = next(ways(loud))
    return not isinstance(came, Verdict) and torch.allclose(
        came[0][:, 0],
        compute()[:, 0],
        rtol=1e-3,
        atol=1e-3,  # of numbers near a hundred
    )


def _judge_biases(
    mine: type, found: Projections, sizes: Mapping[str, Any], has_heads: bool
) -> str | None:
    """Say what a checkpoint would miss, or would not know; outputs may be right all the same."""
    biased = [projection.bias is not None for projection in found.of_inputs]
    if sizes.get("qkv_bias") and not all(biased):
        return "qkv_bias=True adds no bias to the queries, the keys and the values"
    if "qkv_bias" in _parameters(mine) and not sizes.get("qkv_bias") and any(biased):
        return "qkv_bias=False has to leave out the biases of queries, keys and values"
    if has_heads and found.out is None:
        return "there is no output projection: a last layer takes the heads together, d_out wide"
    if has_heads and found.out and found.out.bias is None:
        return "the output projection has no bias, and the weights of GPT-2 could not be read"
    return None


def _ways(attend: Attend, projections: Projections) -> Ways:
    return lambda given: attend(projections, given["x"])


def make(mine: type, sizes: Mapping[str, Any]) -> nn.Module | Verdict:
    """Construct a reader's module, whose parameters may have other names, or fewer where none is needed."""
    named = by_name(mine, sizes)
    try:
        module = mine(**named) if named else mine(*sizes.values())
    except Exception as error:
        if (lacking := not_written(error)) is not None:
            return lacking
        called = ", ".join(f"{name}={value}" for name, value in sizes.items())
        return wrong(f"{mine.__name__}({called}) stops with {type(error).__name__}: {error}")
    if not isinstance(module, nn.Module):
        return wrong(f"{mine.__name__} has to be an nn.Module")
    return module


def by_name(mine: type, sizes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a constructor takes under the book's names; nothing if it needs anything else."""
    parameters = _parameters(mine)
    needed = {name for name, one in parameters.items() if one.default is one.empty}
    fits = needed and needed <= sizes.keys()
    return {name: sizes[name] for name in parameters if name in sizes} if fits else {}


def remark_on_names(mine: object, verdict: Verdict) -> Verdict:
    """Say under which names the weights of a checkpoint are looked for, if something right has others."""
    if not verdict or verdict.says or not isinstance(mine, type):
        return verdict
    module = make(mine, {**SIZES, "d_in": D_OUT})
    if isinstance(module, Verdict):
        return verdict
    found = dict.fromkeys(name.partition(".")[0] for name, _ in module.named_parameters())
    takes_sizes, has_bias = takes(mine, *SIZES.values()), takes(mine, *SIZES.values(), True)
    lacks_bias = takes_sizes and not has_bias  # with fewer sizes it is an exercise of its own
    lacking = [name for name in ROLES if not isinstance(getattr(module, name, None), nn.Linear)]
    others = [name for name in found if name not in ROLES or name in lacking]
    if not lacking:
        return remark(f"to read GPT-2, it takes {QKV_BIAS}") if lacks_bias else verdict
    also = f", and takes {QKV_BIAS}" if lacks_bias else ""
    instead = f" in place of {', '.join(others)}" if others else ""
    layers = "the layer" if len(lacking) == 1 else "layers that are called"
    return remark(
        f"to run with the weights of GPT-2, it needs {layers} {', '.join(lacking)}{instead}{also}"
    )


QKV_BIAS = "qkv_bias, as the stub does"


def takes(mine: type, *arguments: object) -> bool:
    """Tell whether a class can be made with so many arguments."""
    try:
        inspect.signature(mine).bind(*arguments)
    except (TypeError, ValueError):
        return False
    return True


def judge_dropout(
    module: nn.Module, projections: Projections, inputs: Sequence[Given], num_heads: int
) -> Verdict:
    """Judge what is dropped in training.

    A single token has one weight, which is one: dropped, its head gives zeros, and kept, twice its value.
    Whatever is dropped before the softmax leaves it one, and shows only where there are more tokens.
    """
    x, many = inputs[0]["x"], inputs[-1]["x"]
    value = projections.value(x).unflatten(-1, (num_heads, -1))
    out = projections.out or (lambda context: context)
    possible = [
        out((value * 2 * torch.tensor(kept).unsqueeze(-1)).flatten(-2))
        for kept in product((0.0, 1.0), repeat=num_heads)
    ]
    as_if_evaluated = out(value.flatten(-2))
    module.train()
    came = [module(x).detach() for _ in range(30)]
    if all(torch.allclose(one, as_if_evaluated, atol=1e-4) for one in came):
        module.eval()
        evaluated = module(many)
        module.train()
        if all(torch.allclose(module(many), evaluated, atol=1e-4) for _ in range(5)):
            return wrong("nothing is dropped in training")
        return wrong(
            "numbers are dropped before the softmax; it is the weights that come out of it"
        )
    if all(any(torch.allclose(one, p, atol=1e-4) for p in possible) for one in came):
        return RIGHT
    return wrong(
        "in training it is not the weights that are dropped: each becomes zero, or is divided by 1 - p"
    )


def one_head(is_causal: bool) -> Attend:
    """Tell what may come out of attention with one head."""
    known = known_ways(attend, is_causal=is_causal, more=PROJECTED)
    return lambda one, x: ways_on(known, one.query(x), one.key(x), one.value(x), x)


def several_heads(one: Projections, x: Tensor) -> Iterator[Way]:
    """Tell what may come out of causal attention with several heads."""
    known = known_ways(attend_in_heads, is_causal=True, more=IN_HEADS)
    out = one.out or (lambda context: context)
    return ways_on(known, one.query(x), one.key(x), one.value(x), NUM_HEADS, out)
