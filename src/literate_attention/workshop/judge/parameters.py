"""A module's parameters: by the names of a checkpoint, or by what they make, whatever they are called."""

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter
from torch.nn.utils.parametrize import is_parametrized

from literate_attention.workshop.judge.trials import UnusableError, drawn

ROLES = ("W_query", "W_key", "W_value", "out_proj")
TORCHS = (nn.Linear, nn.MultiheadAttention)


class Projection(NamedTuple):
    """What turns vectors into others: `x @ weight + bias`."""

    weight: Tensor
    bias: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Apply it."""
        return x @ self.weight if self.bias is None else x @ self.weight + self.bias


class Projections(NamedTuple):
    """What makes queries, keys, values and, with several heads, outputs."""

    query: Projection
    key: Projection
    value: Projection
    out: Projection | None = None


def redraw(module: nn.Module, seed: int = 123) -> None:
    """Give all parameters other numbers: ones, zeros and tiny numbers hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)


def find_projections(
    module: nn.Module, d_in: int, d_out: int, num_heads: int | None = None
) -> list[Projections]:
    """Find out which parameters may make queries, keys, values, and outputs if there are heads.

    Names of the book mean what they mean there. Under other names every order is possible, the module's own
    first: three matrices, one for all three, or some for each head. `num_heads` is None for attention that is
    not multi-head attention.
    """
    found = []
    owners = {
        module.get_submodule(name.rpartition(".")[0]) for name, _ in module.named_parameters()
    }
    for turned in (False, True)[: 1 if all(isinstance(one, TORCHS) for one in owners) else 2]:
        outs = _matrices(module, d_out, turned, d_out) if num_heads is not None else {}
        for out in [name for name in outs if ROLES[3] in name.split(".")] or outs or [""]:
            wide = _matrices(module, d_in, turned)
            wide.pop(out, None)
            found += [
                Projections(*three, out=outs.get(out))
                for three in _threes(wide, d_out, num_heads or 1)
            ]
    return found


def is_plain(module: nn.Module) -> bool:
    """Tell whether there are matrices of the book's names, or three, and no more than one for outputs.

    Nor may they be computed from others, as `weight_norm` does.
    """
    if any(map(is_parametrized, module.modules())):
        return False
    names = [name for name, one in module.named_parameters() if one.ndim > 1]
    is_named = all(any(role in name.split(".") for name in names) for role in ROLES[:3])
    return is_named or len(names) in (3, 4)


def _matrices(
    module: nn.Module, size: int, turned: bool, width: int | None = None
) -> dict[str, Projection]:
    """Read parameters as `x @ weight`, as far as they take so many numbers, with the biases beside them."""
    learned = ((name, one) for name, one in module.named_parameters() if one.requires_grad)
    parameters: dict[str, Tensor] = dict(learned)
    found = {}
    for name, weight in parameters.items():
        path, dot, last = name.rpartition(".")
        owner = module.get_submodule(path)
        if isinstance(owner, TORCHS):
            weight = weight.mT if weight.ndim == 2 else weight
        elif turned:
            weight = weight.permute(*range(weight.ndim)[::-1])
        if width is not None:  # heads may stand apart in what comes in
            weight = weight.flatten(0, -2) if weight.ndim > 2 else weight
            if weight.shape != (size, width):
                continue
        if weight.ndim < 2 or size not in weight.shape:
            continue
        bias = parameters.get(path + dot + last.replace("weight", "bias").replace("W_", "b_"))
        is_beside = bias is not None and bias.ndim < weight.ndim
        matrix = weight.movedim(weight.shape.index(size), 0).flatten(1)
        found[name] = Projection(matrix, bias.flatten() if bias is not None and is_beside else None)
    return found


def _threes(
    wide: dict[str, Projection], d_out: int, num_heads: int
) -> Iterator[tuple[Projection, Projection, Projection]]:
    """Put all columns side by side, and cut them into those for queries, keys and values."""
    roles = {
        name: next((n for n, role in enumerate(ROLES) if role in name.split(".")), None)
        for name in wide
    }
    is_named = {*roles.values()} == {0, 1, 2}
    names = sorted(wide, key=lambda name: roles[name] or 0) if is_named else [*wide]
    if sum(wide[name].weight.shape[1] for name in names) != 3 * d_out:
        return
    columns = [torch.cat([wide[name].weight for name in names], dim=1)]
    biases = [bias for name in names if (bias := wide[name].bias) is not None]
    if len(biases) == len(names):
        columns.append(torch.cat(biases))
    readings = [[c.unflatten(-1, (3, -1)) for c in columns]]
    if not is_named and len(names) != 3:
        of_heads = [c.unflatten(-1, (num_heads, 3, -1)) for c in columns]
        readings.append([c.transpose(-3, -2).flatten(-2) for c in of_heads])
    for reading in readings:
        query, key, value = (Projection(*(c[..., n, :] for c in reading)) for n in range(3))
        yield from [(query, key, value)] if is_named else permutations((query, key, value))


# By the names of a checkpoint


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
    for name, one in found.items():
        if isinstance(one, UninitializedParameter) and name in expected:
            one.materialize(expected[name].shape)
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
        twins = (
            n
            for n, p in parameters.items()
            if n not in has and sorted(p.shape) == sorted(weight.shape)
        )
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
