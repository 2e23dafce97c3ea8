"""The piece of the chapter on ring attention: the step that merges two parts of a softmax."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from literate_attention.exercises.pieces._judged import Judged, UnusableError, alone_and_in_pairs
from literate_attention.exercises.pieces._piece import Piece
from literate_attention.exercises.pieces._trials import Given, drawn
from literate_attention.models.ring_attention import exponentials, merge_partials

Merge = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Part = tuple[Tensor, Tensor]


def shares(l1: Tensor, l2: Tensor) -> tuple[Tensor, Tensor]:
    """Return how much of all the weight each part has; nothing, if neither has a key."""
    merged = torch.logaddexp(l1, l2)
    return exponentials(l1, merged), exponentials(l2, merged)


def by_shares(z1: Tensor, l1: Tensor, z2: Tensor, l2: Tensor) -> Tensor:
    """Average context vectors by the shares of their parts."""
    first, second = shares(l1, l2)
    return first * z1 + second * z2


def by_overflowing_shares(z1: Tensor, l1: Tensor, z2: Tensor, l2: Tensor) -> Tensor:
    """Average context vectors by the formula, with a sum of exponentials that may be too large."""
    merged = overflowing(l1, l2)
    return (l1 - merged).exp() * z1 + (l2 - merged).exp() * z2


def overflowing(l1: Tensor, l2: Tensor) -> Tensor:
    """Compute the log-sum-exp by the formula."""
    return (l1.exp() + l2.exp()).log()


def by_unguarded_shares(z1: Tensor, l1: Tensor, z2: Tensor, l2: Tensor) -> Tensor:
    """Average context vectors by the formula, whether there is a key or not."""
    merged = torch.logaddexp(l1, l2)
    return (l1 - merged).exp() * z1 + (l2 - merged).exp() * z2


def merging(
    context: Merge = by_shares, logsumexp: Callable[[Tensor, Tensor], Tensor] = torch.logaddexp
) -> Callable[[Part, Part], Part]:
    """Merge context vectors and log-sum-exps as one is told to."""
    return lambda one, other: (context(*one, *other), logsumexp(one[1], other[1]))


def run_merge(implementation: Any, given: Given) -> Any:
    """Merge two parts."""
    z1, l1, z2, l2 = given.values()
    result = implementation((z1, l1), (z2, l2))
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise UnusableError("a pair is expected: context vectors, and log-sum-exps")
    return result


def parts(z1: Tensor, l1: Tensor, z2: Tensor, l2: Tensor) -> Given:
    """Write an input."""
    return {"context": z1, "logsumexp": l1, "other context": z2, "other logsumexp": l2}


NO_KEYS = Judged(
    merge_partials,
    {
        "a query that finds no key in either part should get zeros: -inf minus -inf is no number": (
            merging(by_unguarded_shares)
        ),
        "a query that finds no key in either part should get minus infinity for a log-sum-exp": (
            merging(by_shares, lambda l1, l2: torch.logaddexp(l1, l2).nan_to_num(neginf=0.0))
        ),
    },
    [parts(*map(torch.tensor, ([[0.0]], [[-torch.inf]], [[0.0]], [[-torch.inf]])))],
    run_merge,
)

MERGE = Judged(
    merge_partials,
    alone_and_in_pairs(
        merging,
        {
            "the context vectors: both parts count alike": {
                "context": lambda z1, l1, z2, l2: (z1 + z2) / 2
            },
            "the context vectors: they are added, not averaged": {
                "context": lambda z1, l1, z2, l2: z1 + z2
            },
            "the context vectors: the sum of the shares is not one; divide by it": {
                "context": lambda z1, l1, z2, l2: l1.exp() * z1 + l2.exp() * z2
            },
            "the context vectors: these are shares of the log-sum-exps, not of their exponentials": {
                "context": lambda z1, l1, z2, l2: (l1 * z1 + l2 * z2) / (l1 + l2)
            },
            "the context vectors: each part has the share of the other": {
                "context": lambda z1, l1, z2, l2: by_shares(z2, l1, z1, l2)
            },
            "the context vectors: those of the part with more weight are taken alone": {
                "context": lambda z1, l1, z2, l2: torch.where(l1 >= l2, z1, z2)
            },
            "the context vectors: large log-sum-exps overflow; subtract before the exponential": {
                "context": lambda z1, l1, z2, l2: (
                    (l1.exp() * z1 + l2.exp() * z2) / (l1.exp() + l2.exp())
                )
            },
            "the log-sum-exp: this is the larger of both": {"logsumexp": torch.maximum},
            "the log-sum-exp: this is that of the first part": {"logsumexp": lambda l1, l2: l1},
            "the log-sum-exp: these are added; add the exponentials": {"logsumexp": torch.add},
            "the log-sum-exp: the logarithm is missing": {
                "logsumexp": lambda l1, l2: l1.exp() + l2.exp()
            },
            "the log-sum-exp: they are averaged; add the exponentials": {
                "logsumexp": lambda l1, l2: (l1 + l2) / 2
            },
            "the log-sum-exp: the exponentials overflow; use logaddexp": {"logsumexp": overflowing},
            "the log-sum-exp: the exponentials overflow, and the shares with them; use logaddexp": {
                "context": by_overflowing_shares,
                "logsumexp": overflowing,
            },
        },
    ),
    [
        parts(*map(torch.tensor, ([[1.0]], [[0.5]], [[5.0]], [[2.0]]))),
        parts(drawn(2, 3), drawn(2, 1, seed=1), drawn(2, 3, seed=2), drawn(2, 1, seed=3)),
        parts(*map(torch.tensor, ([[1.0]], [[0.5]], [[0.0]], [[-torch.inf]]))),
        parts(
            drawn(2, 2, 3), drawn(2, 2, 1, seed=1), drawn(2, 2, 3, seed=2), drawn(2, 2, 1, seed=3)
        ),
        parts(*map(torch.tensor, ([[1.0]], [[100.0]], [[5.0]], [[101.0]]))),
    ],
    run_merge,
    then=NO_KEYS,
)

PIECES = (
    Piece(
        library=merge_partials,
        chapter="models/ring_attention",
        section="Merging what two parts found",
        hint="The weight of a part is the exponential of its log-sum-exp; average by the shares of both.",
        check=MERGE,
        exercise="ex-ring-merge",
    ),
)
