"""Judge a piece by what it returns: on small inputs first, and beside the mistakes that people make."""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from traceback import walk_tb
from typing import Any, NamedTuple

import torch
from torch import Tensor

from literate_attention.workshop.judge.verdict import RIGHT, Verdict, same, wrong

Given = Mapping[str, Any]
Run = Callable[[Any, Given], Any]
Ways = Callable[[Given], Iterator[tuple[Sequence[str], Callable[[], Any]]]]
"""From an input to ways of computing: the right one first, with nothing to say, then those with mistakes."""

Way = Callable[[Given], Any]
"""From an input to what comes of it."""

Trial = tuple[Given, list[Tensor]]
"""An input, and what a reader's implementation made of it."""

NOT_WRITTEN = Verdict(False, "It is not written yet.", is_written=False)
TORCH = Path(torch.__file__).parent
MOST_NUMBERS_SHOWN = 12
MOST_LETTERS = 1000
"""Of what an error says."""


def call(implementation: Any, given: Given) -> Any:
    """Call a function with what is given, in this order: a reader's parameters may have other names."""
    return implementation(*given.values())


def judge_by_ways(mine: object, ways: Ways, inputs: Iterable[Given], run: Run = call) -> Verdict:
    """Compare what an implementation returns with all that may come of an input, right or wrong."""
    if not callable(mine):
        return wrong(f"a function or a class is expected, got {type(mine).__name__}")
    trials = try_out(mine, inputs, run)
    if isinstance(trials, Verdict):
        return trials
    verdict = explain(trials, [ways])
    if not verdict or not trials:
        return verdict
    return judge_gradients(
        lambda given: run(mine, given),
        lambda given: next(ways(given))[1](),
        [given for given, _ in trials],
    )


def try_out(mine: object, inputs: Iterable[Given], run: Run) -> list[Trial] | Verdict:
    """Run what a reader wrote on each input; an error becomes a verdict, and so does a changed input."""
    trials = []
    for given in inputs:
        came = attempt(run, mine, given)
        if isinstance(came, Verdict):
            return came
        trials.append((given, came))
    return trials


def attempt(run: Run, mine: object, given: Given) -> list[Tensor] | Verdict:
    """Run what a reader wrote on one input."""
    copy, case = copied(given), described(given)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        torch.set_warn_always(True)
        try:
            result = run(mine, copy)
        except Exception as error:
            if (lacking := not_written(error)) is not None:
                return lacking
            if any("The use of `x.T`" in str(one.message) for one in noted):
                return wrong(
                    ".T turns all axes of a batch around; .mT, or transpose(-2, -1), turns the last two",
                    case=case,
                )
            return wrong(f"it stops with {type(error).__name__}: {message_of(error)}", case=case)
        finally:
            torch.set_warn_always(False)
    several = result if isinstance(result, (tuple, list)) else [result]
    for one in several:
        if not isinstance(one, Tensor):
            return wrong(f"a tensor is expected, it returns {type(one).__name__}", case=case)
    for name, value in given.items():
        if isinstance(value, Tensor) and not torch.equal(value, copy[name]):
            return wrong(f"it changes {name}, which belongs to whoever calls it", case=case)
    return [one.detach().clone() for one in several]


def judge_gradients(mine: Way, right: Way, inputs: Sequence[Given]) -> Verdict:
    """Compare what one backward pass brings to what is given and to parameters, if it brings anything."""
    for given in reversed(inputs):
        with contextlib.suppress(RuntimeError):  # as of a cache, which is written in place
            if should := backward(right, given):
                return compare_gradients(mine, should, given)
    return RIGHT


def compare_gradients(mine: Way, should: "Backward", given: Given) -> Verdict:
    """Compare what a backward pass brings with what it should bring."""
    try:
        came = backward(mine, given)
    except RuntimeError as error:
        return wrong(f"nothing can be learned through it: backward stops with {message_of(error)}")
    if came is None or came.num_outputs < should.num_outputs:
        return wrong("nothing can be learned through it: no gradient flows back")
    for name, gradient in should.gradients.items():
        if not same(came.gradients[name], gradient):
            return wrong(
                f"the numbers are right, but not the gradient of {name}: is something detached?"
            )
    if came.num_parameters < should.num_parameters:
        return wrong("the numbers are right, but no gradient reaches some of the parameters")
    return RIGHT


class Backward(NamedTuple):
    """What a backward pass brings: from how many tensors, to what was given, to how many parameters."""

    num_outputs: int
    gradients: dict[str, Tensor]
    num_parameters: int


def backward(compute: Way, given: Given) -> Backward | None:
    """Go back from what is computed, weighed by drawn numbers; None if there is no way back."""
    watched = {
        name: value.clone().requires_grad_()
        for name, value in given.items()
        if isinstance(value, Tensor) and value.is_floating_point()
    }
    with torch.enable_grad():
        found = [one for one in tensors(compute({**given, **watched})) if one.requires_grad]
        if not found:
            return None
        loss = torch.stack([(one * drawn(*one.shape)).sum() for one in found]).sum()
        if not (reached := leaves(loss.grad_fn)):
            return None
        gradients = torch.autograd.grad(loss, reached)
    grads = dict(zip(map(id, reached), gradients, strict=True))
    return Backward(
        len(found),
        {n: grads.get(id(v), torch.zeros_like(v)) for n, v in watched.items()},
        sum(one.numel() for one in reached)
        - sum(v.numel() for v in watched.values() if id(v) in grads),
    )


def leaves(node: Any) -> list[Tensor]:
    """List what a graph of autograd begins with."""
    nodes, seen = [node], {node}
    for one in nodes:
        new = {other for other, _ in one.next_functions if other is not None} - seen
        nodes += new
        seen |= new
    return [one.variable for one in nodes if hasattr(one, "variable")]


def message_of(error: BaseException) -> str:
    """Return what an error says, on one line."""
    return " ".join(str(error)[:MOST_LETTERS].split()).rstrip(".") or "no message"


class EndlessError(NotImplementedError):
    """A piece has been called that does not end; the message is its name."""


def not_written(error: Exception) -> Verdict | None:
    """Say what is not written yet, if that is why code has stopped: torch raises such errors, too."""
    if isinstance(error, EndlessError):
        return Verdict(False, f"It waits for {error}, which does not end.", is_written=False)
    if not isinstance(error, NotImplementedError):
        return None
    *_, (frame, _) = walk_tb(error.__traceback__)
    if TORCH in Path(frame.f_code.co_filename).parents:
        return None
    name = frame.f_code.co_qualname.rpartition("<locals>.")[2].partition(".")[0]
    return needs(name)


def needs(name: str) -> Verdict:
    """Say that a piece is not written yet."""
    return Verdict(False, f"It needs {name}, which is not written yet.", is_written=False)


def explain(trials: Sequence[Trial], candidates: Iterable[Ways]) -> Verdict:
    """Find the shortest list of mistakes that explains all that came.

    If it is not known which parameter is which, there are candidates: the ways for each possibility.
    """
    rights = []
    for ways in candidates:
        right = [tensors(next(ways(given))[1]()) for given, _ in trials]
        if all(all_same(came, one) for (_, came), one in zip(trials, right, strict=True)):
            return RIGHT
        rights.append((ways, right))
    for number in (1, 2, 3):
        for ways, right in rights:
            for says in mistakes_that_explain(trials, ways, number):
                return wrong(*says, case=smallest(trials, right))
    right = rights[0][1]
    shapes = {
        (tuple(a.shape), tuple(b.shape))
        for (_, came), one in zip(trials, right, strict=True)
        for a, b in zip(came, one, strict=False)
        if a.shape != b.shape
    }
    counts = {
        (len(came), len(one))
        for (_, came), one in zip(trials, right, strict=True)
        if len(came) != len(one)
    }
    if counts:
        number, expected_number = min(counts)
        returned = "1 tensor" if number == 1 else f"{number} tensors"
        return wrong(
            f"it returns {returned}, expected {expected_number}", case=smallest(trials, right)
        )
    if shapes:
        found, expected = min(shapes)
        return wrong(f"the shape is {found}, expected {expected}", case=smallest(trials, right))
    return wrong("the numbers are not the right ones", case=smallest(trials, right))


def mistakes_that_explain(
    trials: Sequence[Trial], ways: Ways, number: int
) -> Iterator[Sequence[str]]:
    """Yield what to say of each way that makes so many mistakes and leads to what came on every input."""
    largest_first = [(list(ways(given)), came) for given, came in reversed(trials)]
    for place, (says, _) in enumerate(largest_first[0][0]):
        if len(says) == number and all(
            leads_to(computed[place][1], came) for computed, came in largest_first
        ):
            yield says


def leads_to(compute: Callable[[], Any], came: list[Tensor]) -> bool:
    """Tell whether a way of computing leads to what came."""
    try:
        return all_same(tensors(compute()), came)
    except Exception:  # a mistake may be none that this input allows
        return False


def copied(given: Given) -> Given:
    """Copy tensors, which an implementation may change."""
    return {n: v.clone() if isinstance(v, Tensor) else v for n, v in given.items()}


def tensors(result: Any) -> list[Tensor]:
    """List the tensors that an implementation returned."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def all_same(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    """Tell whether two lists of tensors hold the same numbers."""
    return len(some) == len(others) and all(map(same, some, others))


def smallest(trials: Sequence[Trial], right: Sequence[list[Tensor]]) -> str:
    """Write the smallest input that shows a mistake, what came of it, and what should have come."""
    for (given, came), should in zip(trials, right, strict=True):
        if all_same(came, should):
            continue
        if len(came) != len(should):
            return f"{described(given)}\ncame: {len(came)} tensors\nshould be: {len(should)}"
        pairs = zip(came, should, strict=True)
        one, other = next(pair for pair in pairs if not all_same([pair[0]], [pair[1]]))
        first = 0 if one.shape != other.shape else first_difference(one, other)
        return (
            f"{described(given)}\ncame:      {numbers_of(one, first)}"
            f"\nshould be: {numbers_of(other, first)}"
        )
    return ""


def first_difference(one: Tensor, other: Tensor) -> int:
    """Return the place at which two tensors of one shape begin to differ."""
    pairs = zip(one.flatten(), other.flatten(), strict=True)
    return next(n for n, pair in enumerate(pairs) if not all_same([pair[0]], [pair[1]]))


def described(given: Given) -> str:
    """Write an input, with its numbers if they are few."""
    return "\n".join(f"with {name} = {numbers_of(value)}" for name, value in given.items())


def numbers_of(value: object, first: int = 0) -> str:
    """Write a tensor on one line: its numbers, or if they are many, its shape and a few from a place on."""
    if not isinstance(value, Tensor):
        return str(value)
    is_usual = value.dtype in (torch.float32, torch.bool, torch.int64)
    of_type = "" if is_usual else f" ({str(value.dtype).removeprefix('torch.')})"
    if value.numel() > MOST_NUMBERS_SHOWN:
        some = ", ".join(f"{one:.4g}" for one in value.flatten()[first : first + 4].tolist())
        begins = f"has at {place_of(first, value.shape)}" if first else "begins"
        return f"a tensor of shape {tuple(value.shape)}{of_type} that {begins} {some}"
    return f"{rounded(value.tolist())}{of_type}"


def place_of(number: int, shape: Sequence[int]) -> list[int]:
    """Return the indices of a number that is known by its place in the flattened tensor."""
    place: list[int] = []
    for size in reversed(shape):
        number, index = divmod(number, size)
        place.insert(0, index)
    return place


def rounded(value: Any) -> Any:
    """Round numbers in lists for the eye."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def drawn(*shape: int, seed: int = 123) -> Tensor:
    """Draw numbers, the same in each process."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
