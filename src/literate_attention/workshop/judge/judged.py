"""What the pieces of the models share: how a module is judged, and how mistakes are put together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from literate_attention.story.training import one_thread
from literate_attention.workshop.judge.edits import Mistake, Source, mistakes_in
from literate_attention.workshop.judge.trials import (
    Given,
    Run,
    UnusableError,
    Way,
    Ways,
    call,
    copied,
    drawn,
    judge_by_ways,
)
from literate_attention.workshop.judge.verdict import Verdict


@dataclass(frozen=True)
class Judged:
    """Judge what a reader wrote by what it returns.

    Args:
        right: the library's own.
        table: the mistakes that are known by name, as edits of right code (see :mod:`.edits`).
        inputs: what to try it on, the smallest first.
        run: runs an implementation on one input, and returns a tensor, or several.
        code: what is edited, and what that calls; by default the library's own.
        then: what is judged of it if all of this is right.
        most: how many mistakes are looked for at once.
    """

    right: Callable[..., Any]
    table: str
    inputs: Sequence[Given]
    run: Run = call
    code: tuple[Callable[..., Any], ...] = ()
    then: Callable[[object], Verdict] | None = None
    most: int = 2

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
        verdict = self.judge(mine)
        return self.then(mine) if verdict and self.then else verdict

    def judge(self, mine: object) -> Verdict:
        """Judge by what is returned alone."""
        with torch.no_grad(), torch.random.fork_rng(devices=[]), one_thread():
            return judge_by_ways(mine, self.ways, self.inputs, self.run)


def loaded(module: Any, like: nn.Module) -> Any:
    """Load numbers that were drawn into a module, by the names that the library's own has.

    Raises:
        UnusableError: its parameters have other names or shapes.
    """
    if not isinstance(module, nn.Module):
        raise UnusableError(f"a subclass of nn.Module is expected, got {type(module).__name__}")
    expected = dict(like.named_parameters())
    found = fitting(module, expected)
    with torch.no_grad():
        for seed, (name, weight) in enumerate(sorted(expected.items())):
            found[name].copy_(0.6 * drawn(*weight.shape, seed=seed))
    return module


def fitting(module: nn.Module, expected: Mapping[str, Tensor]) -> dict[str, nn.Parameter]:
    """Return the parameters of a module under all their names, if they are those of a checkpoint.

    Raises:
        UnusableError: they have other names or shapes.
    """
    found = dict(module.named_parameters(remove_duplicate=False))
    known = {id(found[name]) for name in expected if name in found}
    others = {name: found[name] for name in found if id(found[name]) not in known}
    lacking = {
        name: weight
        for name, weight in expected.items()
        if name not in found or found[name].shape != weight.shape
    }
    if lacking or others:
        has = {name: found[name] for name in lacking if name in found} | others
        raise UnusableError(what_does_not_fit(module, lacking, has))
    return found


def what_does_not_fit(
    module: nn.Module, lacking: Mapping[str, Tensor], has: Mapping[str, Tensor]
) -> str:
    """Say why a checkpoint cannot be read: what a module lacks of it, and what it has instead."""
    for name in dict.fromkeys(one.partition(".")[0] for one in lacking):
        if isinstance(getattr(module, name, None), (list, tuple)):
            return (
                f"{name} is a plain list, in which PyTorch finds no parameters: use nn.ModuleList"
            )
    if not lacking and all(name.endswith("bias") for name in has):
        return f"no biases are expected, found {', '.join(has)}: give nn.Linear bias=False"
    parameters = dict(module.named_parameters())
    for name, weight in has.items():
        twins = (n for n, p in parameters.items() if n not in has and p.shape == weight.shape)
        if not lacking and weight.ndim > 1 and (twin := next(twins, None)):
            return f"{name} is one matrix with {twin}, as a checkpoint has it: assign that to it"
    if not lacking:
        return (
            f"no checkpoint has the parameter {', '.join(has)}: "
            "what is computed, and not learned, is a buffer, see register_buffer"
        )
    return (
        "a checkpoint is read by the names of its parameters: "
        f"expected {shapes(lacking)}, found {shapes(has)}{plain(module)}"
    )


def plain(module: nn.Module) -> str:
    """Say which tensors of a module are not learned: they are no parameters, or frozen."""
    found = [n for one in module.modules() for n, v in vars(one).items() if isinstance(v, Tensor)]
    if found:
        return f"; {', '.join(found)} cannot be learned: make nn.Parameter of a plain tensor"
    frozen = [name for name, one in module.named_parameters() if not one.requires_grad]
    return f"; {', '.join(frozen)} cannot be learned: requires_grad is off" if frozen else ""


def shapes(parameters: Mapping[str, Tensor]) -> str:
    """List parameters with their shapes, the first few of them."""
    listed = [f"{name} {tuple(weight.shape)}" for name, weight in parameters.items()]
    return ", ".join([*listed[:4], "and others"] if listed[4:] else listed) or "nothing"
