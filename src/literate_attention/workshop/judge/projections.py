"""Which of a module's parameters make queries, keys, values and outputs, whatever they are called."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import torch
from torch import Tensor, nn

ROLES = ("W_query", "W_key", "W_value", "out_proj")


@dataclass(frozen=True)
class Projection:
    """What turns vectors into others: `x @ weight + bias`."""

    weight: Tensor
    bias: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Apply it."""
        return x @ self.weight if self.bias is None else x @ self.weight + self.bias


@dataclass(frozen=True)
class Projections:
    """What makes queries, keys, values and, with several heads, outputs."""

    query: Projection
    key: Projection
    value: Projection
    out: Projection | None = None

    @property
    def of_inputs(self) -> tuple[Projection, Projection, Projection]:
        """Those that an input goes through."""
        return self.query, self.key, self.value


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
    first: three matrices, one for all three, or one for each head. `num_heads` is None for attention that is
    not multi-head attention.
    """
    return [
        replace(found, out=out)
        for turned in ((False, True) if d_in == d_out else (False,))
        for found, out in _orders(module, d_in, d_out, num_heads, turned)
    ]


def _orders(
    module: nn.Module, d_in: int, d_out: int, num_heads: int | None, turned: bool
) -> Iterator[tuple[Projections, Projection | None]]:
    wide = [
        (name, projection)
        for name, one in _matrices(module, turned)
        for projection in _cut(one, d_in, d_out, num_heads)
    ]
    wide = _joined(wide, d_in, d_out, num_heads)
    named = {
        role: projection for role in ROLES for name, projection in wide if role in name.split(".")
    }
    outs: list[Projection | None] = [None]
    if num_heads is not None:
        outs = [p for _, p in _matrices(module, turned) if p.weight.shape == (d_out, d_out)]
    if all(role in named for role in ROLES[:3]):
        query, key, value = (named[role] for role in ROLES[:3])
        for out in [named["out_proj"]] if "out_proj" in named else outs or [None]:
            yield Projections(query, key, value), out
        return
    for out in outs or [None]:
        others = [p for _, p in wide if out is None or p.weight.data_ptr() != out.weight.data_ptr()]
        if len(others) == 3:
            for query, key, value in permutations(others):
                yield Projections(query, key, value), out


def _matrices(module: nn.Module, turned: bool) -> Iterator[tuple[str, Projection]]:
    """Yield all matrices as `x @ weight`, with the bias that stands beside them."""
    biases = {n: p.detach() for n, p in module.named_parameters() if p.ndim == 1}
    for name, parameter in module.named_parameters():
        weight = parameter.detach()
        owner = module.get_submodule(name.rpartition(".")[0])
        if weight.ndim == 3:  # a matrix for each head
            yield name, Projection(weight.transpose(0, 1).flatten(1))
        if weight.ndim != 2:
            continue
        bias = biases.get(name.replace("weight", "bias"))
        is_torchs = isinstance(owner, (nn.Linear, nn.MultiheadAttention))
        yield name, Projection(weight.T if is_torchs or turned else weight, bias)


def _cut(one: Projection, d_in: int, d_out: int, num_heads: int | None) -> list[Projection]:
    """Bring a matrix into the form (d_in, d_out), or cut one that holds three into them."""
    weight, bias = one.weight, one.bias
    for candidate in (weight, weight.T):
        if candidate.shape == (d_in, 3 * d_out):
            biases = [None] * 3 if bias is None else bias.chunk(3)
            return [Projection(w, b) for w, b in zip(candidate.chunk(3, -1), biases, strict=True)]
    for candidate in (weight, weight.T):
        if candidate.shape == (d_in, d_out):
            return [Projection(candidate, bias)]
        if num_heads is not None and candidate.shape == (d_in, d_out // num_heads):
            return [Projection(candidate, bias)]
    return []


def _joined(
    found: list[tuple[str, Projection]], d_in: int, d_out: int, num_heads: int | None
) -> list[tuple[str, Projection]]:
    """Put the matrices of single heads side by side; three for all heads serve each of them."""
    if num_heads is None or any(p.weight.shape[-1] == d_out for _, p in found if d_in != d_out):
        return found
    narrow = [(n, p) for n, p in found if p.weight.shape == (d_in, d_out // num_heads)]
    if len(narrow) == 3:
        return [(n, _side_by_side([p] * num_heads)) for n, p in narrow]
    if len(narrow) == 3 * num_heads:
        return [
            (narrow[role][0], _side_by_side([p for _, p in narrow[role::3]])) for role in range(3)
        ]
    return found


def _side_by_side(heads: list[Projection]) -> Projection:
    biases = [head.bias for head in heads if head.bias is not None]
    weight = torch.cat([head.weight for head in heads], dim=-1)
    return Projection(weight, torch.cat(biases) if len(biases) == len(heads) else None)
