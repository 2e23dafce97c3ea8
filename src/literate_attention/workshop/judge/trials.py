"""Judge a piece by what it returns: on small inputs first, and beside the mistakes that people make."""

import contextlib
import dis
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from literate_attention.story.training import one_thread
from literate_attention.workshop.judge.edits import Mistake, Source, mistakes_in
from literate_attention.workshop.judge.verdict import RIGHT, Verdict, same, wrong

Given = Mapping[str, Any]
Run = Callable[[Any, Given], Any]
Way = Callable[[Given], Any]
"""From an input to what comes of it."""


class Ways(NamedTuple):
    """The right way to compute something, and ways with mistakes, with what to say of each."""

    right: Way
    mistakes: Sequence[tuple[tuple[str, ...], Way]]


Trial = tuple[Given, list[Tensor]]
"""An input, and what a reader's implementation made of it."""

NOT_WRITTEN = Verdict(False, "It is not written yet.", is_written=False)
TORCH = Path(torch.__file__).parent
UNNAMED = "the numbers are not the right ones"
MOST_NUMBERS_SHOWN = 12
MOST_LETTERS = 1000
"""Of what an error says."""


def call(implementation: Any, given: Given) -> Any:
    """Call a function with what is given, in this order: a reader's parameters may have other names."""
    return implementation(*given.values())


def inputs(names: str, *rows: tuple[Any, ...]) -> list[Given]:
    """Write inputs as a table; lists are tensors, and a row may have less than there are names."""
    values = ([torch.tensor(one) if isinstance(one, list) else one for one in row] for row in rows)
    return [dict(zip(names.split(", "), row, strict=False)) for row in values]


class UnusableError(Exception):
    """What a reader wrote cannot be tried; the message says why."""


class Settled(Exception):  # noqa: N818 - it is no error
    """It is known what is wrong, or that nothing is written yet."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self.verdict = verdict


@dataclass(frozen=True)
class Judged:
    """Judge what a reader wrote by what it returns.

    Args:
        right: the library's own.
        table: the mistakes that are known by name, as edits of right code (see :mod:`.edits`).
        given: what to try it on, the smallest first: by name, or in the order of its parameters.
        run: runs an implementation on one input, and returns a tensor, or several.
        code: what is edited, and what that calls; by default the library's own.
        then: what is judged of it if all of this is right.
        most: how many mistakes are looked for at once.
    """

    right: Callable[..., Any]
    table: str
    given: Sequence[Given | tuple[Any, ...]]
    run: Run = call
    code: tuple[Callable[..., Any], ...] = ()
    then: Callable[[object], Verdict] | None = None
    most: int = 2

    @cached_property
    def inputs(self) -> list[Given]:
        """What to try it on, by name."""
        names = ", ".join(inspect.signature(self.right).parameters)
        return [inputs(names, one)[0] if isinstance(one, tuple) else one for one in self.given]

    @cached_property
    def mistakes(self) -> list[Mistake]:
        """What to say of each mistake, or of several, and what makes the wrong code."""
        return mistakes_in(Source(*(self.code or (self.right,))), self.table, self.most)

    @cached_property
    def ways(self) -> Ways:
        """The right way of computing, and those with mistakes."""

        def way(make: Callable[[], Any]) -> Way:
            return lambda given: self.run(make(), copied(given))

        return Ways(way(lambda: self.right), [(says, way(make)) for says, make in self.mistakes])

    def __call__(self, mine: object) -> Verdict:
        """Judge a function or a class."""
        with torch.no_grad(), torch.random.fork_rng(devices=[]), one_thread():
            verdict = judge_by_ways(mine, self.ways, self.inputs, self.run)
        return self.then(mine) if verdict and self.then else verdict


def judge_by_ways(mine: object, ways: Ways, inputs: Iterable[Given], run: Run = call) -> Verdict:
    """Compare what an implementation returns with all that may come of an input, right or wrong."""
    if not callable(mine):
        return wrong(f"a function or a class is expected, got {type(mine).__name__}")
    trials: list[Trial] = []
    stops = RIGHT
    for given in inputs:
        try:
            trials.append((given, attempt(run, mine, given)))
        except Settled as settled:
            stops = settled.verdict
            if isinstance(settled.__cause__, UnusableError):
                return stops
            break
    verdict = explain(trials, [ways])  # it has stopped, but may have been wrong before
    if not (verdict and stops):
        return stops if verdict else verdict
    return judge_what_is_right(lambda given: run(mine, given), ways.right, trials)


def attempt(run: Run, mine: object, given: Given) -> list[Tensor]:
    """Run what a reader wrote on one input.

    Raises:
        Settled: it stops, it changes the input, or it returns no tensors.
    """
    copy, case = copied(given), described(given)

    def settled(says: str) -> Settled:
        return Settled(wrong(says, case=case))

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        torch.set_warn_always(True)
        try:
            result = run(mine, copy)
        except UnusableError as error:
            raise settled(str(error)) from error
        except Exception as error:
            if (lacking := not_written(error)) is not None:
                raise Settled(lacking) from error
            says = f"it stops with {type(error).__name__}: {message_of(error)}"
            if any("The use of `x.T`" in str(one.message) for one in noted):
                says = ".T turns all axes of a batch around; .mT, or transpose(-2, -1), turns the last two"
            raise settled(says) from error
        finally:
            torch.set_warn_always(False)
    for one in tensors(result):
        if not isinstance(one, Tensor):
            raise settled(f"a tensor is expected, it returns {type(one).__name__}")
    for name, value in given.items():
        if isinstance(value, Tensor) and not torch.equal(value, copy[name]):
            raise settled(f"it changes {name}, which belongs to whoever calls it")
    return [one.detach().clone() for one in tensors(result)]


def judge_what_is_right(mine: Way, right: Way, trials: Sequence[Trial]) -> Verdict:
    """Compare the types of right numbers, and what a backward pass brings, if it brings anything."""
    if sets_seed(mine, trials[-1][0]):
        return wrong(
            "the numbers are right, but it sets a seed: what others draw is no longer random"
        )
    for given, came in trials:
        for one, other in zip(came, tensors(right(given)), strict=True):
            is_typed = other.is_floating_point() or other.dtype == torch.bool
            if is_typed and one.dtype != other.dtype:
                return wrong(f"the numbers are right, but of type {one.dtype}, not {other.dtype}")
    for given, _ in reversed(trials):
        with contextlib.suppress(RuntimeError):  # as of a cache, which is written in place
            if should := backward(right, given):
                return compare_gradients(mine, should, given)
    return RIGHT


def sets_seed(mine: Way, given: Given) -> bool:
    """Tell whether random numbers are the same after each call, although one is drawn between."""
    states = []
    for _ in range(2):
        mine(copied(given))
        states.append(torch.get_rng_state())
        torch.rand(1)
    return torch.equal(*states)


Backward = tuple[int, dict[str, Tensor]]
"""What a backward pass brings: from how many tensors, and to what; of parameters, in any layout, sorted."""


def compare_gradients(mine: Way, should: Backward, given: Given) -> Verdict:
    """Compare what a backward pass brings with what it should bring."""
    nothing = "nothing can be learned through it:"
    try:
        came = backward(mine, given)
    except RuntimeError as error:
        return wrong(f"{nothing} backward stops with {message_of(error)}")
    if came is None or came[0] < should[0]:
        return wrong(f"{nothing} no gradient flows back")
    for name, gradient in should[1].items():
        found = came[1][name]
        if found.numel() <= gradient.numel() and not same(found, gradient):  # some have more biases
            why = "it is not a number" if found.isnan().any() else "is something detached?"
            why = why if gradient.any() else "it should be detached"
            return wrong(f"the numbers are right, but not the gradient of {name}: {why}")
    return RIGHT


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
    grads = {id(one): gradient for one, gradient in zip(reached, gradients, strict=True)}
    by_name = {name: grads.pop(id(v), torch.zeros_like(v)) for name, v in watched.items()}
    of_parameters = torch.cat([torch.zeros(0), *(one.flatten() for one in grads.values())])
    return len(found), {**by_name, "the parameters": of_parameters.sort().values}


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


def not_written(error: Exception) -> Verdict | None:
    """Say what is not written yet, if that is why code has stopped: torch raises such errors, too."""
    if not isinstance(error, NotImplementedError):
        return None
    place: Any = error.__traceback__
    while place.tb_next:
        place = place.tb_next
    code = place.tb_frame.f_code
    is_raised_there = dis.opname[code.co_code[place.tb_lasti]] == "RAISE_VARARGS"
    if TORCH in Path(code.co_filename).parents or not is_raised_there:
        return None
    name = code.co_qualname.rpartition("<locals>.")[2].partition(".")[0]
    return needs(name)


def needs(name: str) -> Verdict:
    """Say that a piece is not written yet."""
    says = f"It needs {name}, which is not written yet."
    return Verdict(False, says, is_written=False, first=name)


@torch.no_grad()
def fits(trials: Sequence[Trial], ways: Ways) -> bool:
    """Tell whether the right way leads to all that came."""
    return all(all_same(came, tensors(ways.right(given))) for given, came in trials)


@torch.no_grad()
def explain(trials: Sequence[Trial], candidates: Sequence[Ways]) -> Verdict:
    """Find the shortest list of mistakes that explains all that came.

    If it is not known which parameter is which, there are candidates: the ways for each possibility.
    """
    if any(fits(trials, ways) for ways in candidates):
        return RIGHT
    rights = [[tensors(ways.right(given)) for given, _ in trials] for ways in candidates]
    known = (
        (one, right)
        for ways, right in zip(candidates, rights, strict=True)
        for one in ways.mistakes
    )
    for (says, mistake), right in sorted(known, key=lambda one: len(one[0][0])):
        if all(leads_to(mistake, *trial) for trial in reversed(trials)):  # the largest first
            return wrong(*says, case=smallest(trials, right))
    return wrong(what_differs(trials, rights[0]), case=smallest(trials, rights[0]))


def what_differs(trials: Sequence[Trial], right: Sequence[list[Tensor]]) -> str:
    """Say of a mistake that has no name what can be seen from outside."""
    pairs = [(came, one) for (_, came), one in zip(trials, right, strict=True)]
    if lengths := {(len(a), len(b)) for a, b in pairs if len(a) != len(b)}:
        returned, expected = min(lengths)
        return f"it returns {returned} tensor{'' if returned == 1 else 's'}, expected {expected}"
    both = [pair for a, b in pairs for pair in zip(a, b, strict=True)]
    if shapes := {(tuple(a.shape), tuple(b.shape)) for a, b in both if a.shape != b.shape}:
        return "the shape is {}, expected {}".format(*min(shapes))
    if types := {a.dtype for a, b in both if b.dtype == torch.bool != a.dtype}:
        return f"it is of type {types.pop()}, expected torch.bool"
    return UNNAMED


def leads_to(compute: Way, given: Given, came: list[Tensor]) -> bool:
    """Tell whether a way of computing leads to what came."""
    try:
        return all_same(tensors(compute(given)), came)
    except Exception:  # a mistake may be none that this input allows
        return False


def copied(given: Given) -> Given:
    """Copy tensors, which an implementation may change."""
    return {n: v.clone() if isinstance(v, Tensor) else v for n, v in given.items()}


def tensors(result: Any) -> list[Any]:
    """List the tensors that an implementation returned."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def all_same(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    """Tell whether two lists of tensors hold the same numbers."""
    return len(some) == len(others) and all(map(same, some, others))


def smallest(trials: Sequence[Trial], right: Sequence[list[Tensor]]) -> str:
    """Write the smallest input that shows a mistake, what came of it, and what should have come."""
    given, came, should = next(
        (given, came, should)
        for (given, came), should in zip(trials, right, strict=True)
        if not all_same(came, should)
    )
    if len(came) != len(should):
        return f"{described(given)}\ncame: {len(came)} tensors\nshould be: {len(should)}"
    one, other = next(pair for pair in zip(came, should, strict=True) if not same(*pair))
    numbers = enumerate(zip(one.flatten(), other.flatten(), strict=False))
    alike = one.shape == other.shape
    first = next(n for n, pair in numbers if not same(*pair)) if alike else 0
    return (
        f"{described(given)}\ncame:      {numbers_of(one, first)}"
        f"\nshould be: {numbers_of(other, first)}"
    )


def described(given: Given) -> str:
    """Write an input, with its numbers if they are few."""
    return "\n".join(f"with {name} = {numbers_of(value)}" for name, value in given.items())


def numbers_of(value: object, first: int = 0) -> str:
    """Write a tensor on one line: its numbers, or if they are many, its shape and a few from a place on."""
    if not isinstance(value, Tensor):
        return str(value)
    is_usual = value.dtype in (torch.float32, torch.bool, torch.int64)
    of_type = "" if is_usual else f" ({str(value.dtype).removeprefix('torch.')})"
    if value.numel() <= MOST_NUMBERS_SHOWN:
        return f"{rounded(value.tolist())}{of_type}"
    some = ", ".join(f"{one:.4g}" for one in value.flatten()[first : first + 4].tolist())
    place = (torch.arange(value.numel()) == first).view(value.shape).nonzero()[0].tolist()
    begins = f"has at {place}" if first else "begins"
    return f"a tensor of shape {tuple(value.shape)}{of_type} that {begins} {some}"


def rounded(value: Any) -> Any:
    """Round numbers in lists for the eye."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def drawn(*shape: int, seed: int = 123) -> Tensor:
    """Draw numbers, the same in each process."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
