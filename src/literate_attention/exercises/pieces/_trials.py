"""Judge a piece by what it returns: on small inputs first, and beside the mistakes that people make."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from literate_attention.exercises._judging import RIGHT, Verdict, same, wrong

Given = Mapping[str, Any]
Run = Callable[[Any, Given], Any]
Mistakes = Iterable[tuple[str, Any]]

NOT_WRITTEN = Verdict(False, "It is not written yet.", is_written=False)
MOST_NUMBERS_SHOWN = 24


def call(implementation: Any, given: Given) -> Any:
    """Call a function with what is given, in this order: a reader's parameters may have other names."""
    return implementation(*given.values())


def judge_by_trials(
    mine: object,
    right: object,
    mistakes: Mistakes,
    inputs: Iterable[Given],
    run: Run = call,
) -> Verdict:
    """Compare what an implementation returns with what the right one does, then with wrong ones.

    Args:
        mine: a reader's function or class.
        right: the library's own.
        mistakes: implementations that are wrong, each with what to say of it, the likeliest first.
        inputs: what to try it on, the smallest first.
        run: runs an implementation on one input, and returns a tensor, or several.

    Returns:
        The verdict, with the smallest input that shows what is wrong.
    """
    if not callable(mine):
        return wrong(f"a function or a class is expected, got {type(mine).__name__}")
    trials = []
    for given in inputs:
        came = attempt(run, mine, given)
        if isinstance(came, Verdict):
            return came
        trials.append((given, came, tensors(run(right, copied(given)))))
    differing = [trial for trial in trials if not all_same(trial[1], trial[2])]
    if not differing:
        return RIGHT
    case = shown(*differing[0])
    for says, mistake in mistakes:
        if all(gives(mistake, run, given, came) for given, came, _ in trials):
            return wrong(says, case=case)
    _, came, should = differing[0]
    shapes = [tuple(one.shape) for one in came], [tuple(one.shape) for one in should]
    if shapes[0] != shapes[1]:
        return wrong(f"the shape is {listed(shapes[0])}, expected {listed(shapes[1])}", case=case)
    return wrong("the numbers are others", case=case)


def attempt(run: Run, mine: object, given: Given) -> list[Tensor] | Verdict:
    """Run what a reader wrote; an error becomes a verdict, and so does an input that was changed."""
    copy = copied(given)
    try:
        result = run(mine, copy)
        came = [one.detach().clone() for one in tensors(result)]
    except NotImplementedError:
        return NOT_WRITTEN
    except TypeError as error:
        if str(error).startswith("expected a tensor"):
            return wrong(f"it returns {error.args[1]}, a tensor is expected", case=described(given))
        return wrong(f"it stops with TypeError: {error}", case=described(given))
    except Exception as error:
        message = str(error).strip().rstrip(".") or "no message"
        return wrong(f"it stops with {type(error).__name__}: {message}", case=described(given))
    for name, value in given.items():
        if isinstance(value, Tensor) and not torch.equal(value, copy[name]):
            return wrong(
                f"it changes {name}, which belongs to whoever calls", case=described(given)
            )
    return came


def gives(mistake: object, run: Run, given: Given, came: list[Tensor]) -> bool:
    """Tell whether a wrong implementation returns what a reader's does."""
    try:
        return all_same(tensors(run(mistake, copied(given))), came)
    except Exception:
        return False


def copied(given: Given) -> Given:
    """Copy tensors, which an implementation may change."""
    return {n: v.clone() if isinstance(v, Tensor) else v for n, v in given.items()}


def tensors(result: object) -> list[Tensor]:
    """List the tensors that an implementation returned.

    Raises:
        TypeError: it returned something else.
    """
    several = result if isinstance(result, (tuple, list)) else [result]
    for one in several:
        if not isinstance(one, Tensor):
            raise TypeError("expected a tensor", type(one).__name__)
    return list(several)


def all_same(some: list[Tensor], others: list[Tensor]) -> bool:
    """Tell whether two lists of tensors hold the same numbers."""
    return len(some) == len(others) and all(
        same(one.detach().cpu().double(), other.detach().cpu().double())
        for one, other in zip(some, others, strict=True)
    )


def shown(given: Given, came: list[Tensor], should: list[Tensor]) -> str:
    """Write an input, what came of it, and what should have come."""
    lines = [described(given)]
    for one, other in zip(came, should, strict=False):
        if not all_same([one], [other]):
            lines += [f"came:      {numbers_of(one)}", f"should be: {numbers_of(other)}"]
            break
    return "\n".join(line for line in lines if line)


def described(given: Given) -> str:
    """Write an input, with its numbers if they are few."""
    return "\n".join(f"with {name} = {numbers_of(value)}" for name, value in given.items())


def numbers_of(value: object) -> str:
    """Write a tensor on one line: its numbers, or its shape if they are many."""
    if not isinstance(value, Tensor):
        return str(value)
    if value.numel() > MOST_NUMBERS_SHOWN:
        return f"a tensor of shape {tuple(value.shape)} that begins {first_numbers(value)}"
    if value.is_floating_point():
        return str(rounded(value.tolist()))
    return str(value.tolist())


def first_numbers(value: Tensor) -> str:
    """Write the first numbers of a tensor."""
    first = value.flatten()[:4].tolist()
    return ", ".join(f"{one:.4g}" for one in first) + ", ..."


def rounded(value: Any) -> Any:
    """Round numbers in lists for the eye."""
    return [rounded(one) for one in value] if isinstance(value, list) else float(f"{value:.4g}")


def listed(shapes: list[tuple[int, ...]]) -> str:
    """Write one shape, or several."""
    return " and ".join(map(str, shapes))


def drawn(*shape: int, seed: int = 123) -> Tensor:
    """Draw numbers, the same in each process."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def by_number_of_tokens(*widths: int, most: int = 4) -> Iterator[Given]:
    """Yield inputs `x` of one token, then of more."""
    for num_tokens in range(1, most + 1):
        yield {"x": drawn(*widths[:-1], num_tokens, widths[-1])}
