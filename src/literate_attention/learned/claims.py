"""How a claim about a model is made: on new texts, with an interval, beside a control."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from literate_attention._argument_checks import require_at_least

__all__ = [
    "Estimate",
    "bootstrap_interval",
    "measure_claim",
    "other_heads",
    "state_claim",
]


@dataclass(frozen=True, eq=False)
class Estimate:
    """What was measured several times, and how far to trust the mean, from :func:`measure_claim`.

    Example:
        >>> one = Estimate(torch.tensor([0.4, 0.6]), mean=0.5, low=0.4, high=0.6)
        >>> print(one)
        0.50 (0.40 to 0.60)
        >>> print(one - Estimate(torch.tensor([0.1, 0.3]), mean=0.2, low=0.1, high=0.3))
        0.30 (0.30 to 0.30)
    """

    values: Float[Tensor, " draws"]
    """One number for each draw."""
    mean: float
    """Of these numbers."""
    low: float
    """Where the interval of the mean begins."""
    high: float
    """Where it ends."""

    @classmethod
    def of(cls, values: Iterable[float]) -> "Estimate":
        """Take the mean of the draws, and its interval.

        Example:
            >>> print(Estimate.of([0.5, 0.5]))
            0.50 (0.50 to 0.50)
        """
        draws = torch.tensor(list(values), dtype=torch.float64)
        return cls(draws, draws.mean().item(), *bootstrap_interval(draws))

    def __str__(self) -> str:
        """Write the mean, and the interval behind it."""
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"

    def __sub__(self, other: "Estimate") -> "Estimate":
        """Compare with what else was measured in the same draws, draw by draw."""
        return Estimate.of((self.values - other.values).tolist())


def bootstrap_interval(values: Float[Tensor, " draws"]) -> tuple[float, float]:
    r"""Say how far the mean of some numbers might have been from what it is, had others been drawn.

    .. math:: \bar v^{(b)} = \frac{1}{n} \sum_{k=1}^{n} v_{i_k}, \qquad i_k \sim \{1, \dots, n\}

    As many numbers as there are get drawn from them, and put back, again and again. The interval holds 95
    percent of the means, and leaves out the lowest and the highest :cite:p:`efron1979`.

    Raises:
        ValueError: there are fewer than two values.

    Example:
        >>> low, high = bootstrap_interval(torch.tensor([0.0, 1.0] * 50))
        >>> round(low, 1), round(high, 1)
        (0.4, 0.6)
    """
    require_at_least("the number of values", len(values), 2)
    generator = torch.Generator().manual_seed(123)
    drawn = torch.randint(len(values), (2000, len(values)), generator=generator)
    means = values[drawn].mean(dim=-1)
    low, high = means.quantile(torch.tensor([0.025, 0.975], dtype=means.dtype)).tolist()
    return low, high


def measure_claim(
    measure: Callable[[torch.Generator], Mapping[str, float]],
    *,
    num_draws: int = 10,
    seed: int = 123,
) -> dict[str, Estimate]:
    r"""Measure an effect beside its control, several times, on another text and with another control each.

    .. math:: \bar v = \frac{1}{n} \sum_{k=1}^{n} v(\text{draw } k)

    Args:
        measure: draws a text and a control, and says what it measures on them, each number by its name. All
            draws have the same names.
        num_draws: how often, at least ten times.
        seed: of the first draw; each one has its own.

    Raises:
        ValueError: there are fewer than ten draws, or there is nothing to compare with.

    Example:
        >>> def heights(generator):
        ...     grown, control = torch.rand(2, generator=generator).tolist()
        ...     return {"with water": 1 + grown, "without": control}
        >>> found = measure_claim(heights)
        >>> found["with water"].low > found["without"].high
        True
    """
    require_at_least("the number of draws", num_draws, 10)
    draws = [dict(measure(torch.Generator().manual_seed(seed + draw))) for draw in range(num_draws)]
    if len(draws[0]) < 2:
        raise ValueError(f"a claim needs a control, but only {list(draws[0])} was measured")
    return {name: Estimate.of(draw[name] for draw in draws) for name in draws[0]}


def state_claim(
    says: str,
    found: Mapping[str, Estimate],
    *,
    controls: Collection[str],
    held_out: str,
    against: str,
    kind: str = "control",
) -> str:
    """Write a claim down with all that it owes.

    Args:
        says: the claim, and in which unit it was measured.
        found: what was measured, from :func:`measure_claim`.
        controls: which of it are controls.
        held_out: what it was judged on, and how that differs from what it was found on.
        against: what would change our mind.
        kind: of control; a *positive control* is damage that matters, beside damage that does not.

    Raises:
        ValueError: there is no control, or one that was not measured.

    Example:
        >>> estimates = {
        ...     "with water": Estimate(torch.tensor([0.4, 0.6]), mean=0.5, low=0.4, high=0.6),
        ...     "without": Estimate(torch.tensor([0.1, 0.1]), mean=0.1, low=0.1, high=0.1),
        ... }
        >>> words = {"held_out": "ten other plants", "against": "they grew without it as well"}
        >>> print(state_claim("Plants need water (in cm)", estimates, controls=["without"], **words))
        Plants need water (in cm).
          with water: 0.50 (0.40 to 0.60)
          control, without: 0.10 (0.10 to 0.10)
          judged on: ten other plants
          what would change our mind: they grew without it as well
    """
    if not controls or not set(controls) <= set(found):
        raise ValueError(f"a claim needs controls that were measured, got {list(controls)}")
    lines = [f"{says}."]
    for name, estimate in found.items():
        lines.append(f"  {f'{kind}, ' if name in controls else ''}{name}: {estimate}")
    lines += [f"  judged on: {held_out}", f"  what would change our mind: {against}"]
    return "\n".join(lines)


def other_heads(
    heads: Iterable[tuple[int, int]], num_heads: int, generator: torch.Generator | None = None
) -> list[tuple[int, int]]:
    """Draw a control: for each head another of its layer, none that is given and none twice.

    Args:
        heads: the heads that a claim is about, each as (layer, head).
        num_heads: how many heads a layer has.
        generator: what draws; by default torch's own.

    Raises:
        ValueError: a layer has not enough other heads.

    Example:
        >>> other_heads([(5, 0), (5, 1), (7, 2)], num_heads=4, generator=torch.Generator().manual_seed(1))
        [(5, 3), (5, 2), (7, 0)]
    """
    heads = list(heads)
    drawn: list[tuple[int, int]] = []
    for layer, _ in heads:
        rest = [(layer, head) for head in range(num_heads)]
        rest = [head for head in rest if head not in heads + drawn]
        if not rest:
            raise ValueError(
                f"layer {layer} has {num_heads} heads, too few for as many others as were given"
            )
        drawn.append(rest[int(torch.randint(len(rest), (1,), generator=generator))])
    return drawn
