"""The piece of the chapter on ring attention: the step that merges two parts of a softmax."""

from typing import Any

import torch

from literate_attention.models.ring_attention import merge_partials
from literate_attention.workshop.judge.trials import Given, Judged, drawn, inputs
from literate_attention.workshop.pieces import _written_out as written_out
from literate_attention.workshop.pieces.piece import judged


def run_merge(implementation: Any, given: Given) -> Any:
    """Merge two parts."""
    z1, l1, z2, l2 = given.values()
    return implementation((z1, l1), (z2, l2))


PARTS = "context, logsumexp, other context, other logsumexp"
NO_KEYS = """
a query that finds no key in either part should get zeros: -inf minus -inf is no number
    exponentials(l1, merged), exponentials(l2, merged) -> (l1 - merged).exp(), (l2 - merged).exp()
a query that finds no key in either part should get minus infinity for a log-sum-exp
    logsumexp = merged -> logsumexp = merged.nan_to_num(neginf=0.0)
"""
WRONG_MERGES = """
the context vectors: both parts count alike | s1 * z1 + s2 * z2 -> (z1 + z2) / 2
the context vectors: they are added, not averaged | s1 * z1 + s2 * z2 -> z1 + z2
the context vectors: the sum of the shares is not one; divide by it
    s1 * z1 + s2 * z2 -> l1.exp() * z1 + l2.exp() * z2
the context vectors: these are shares of the log-sum-exps, not of their exponentials
    s1 * z1 + s2 * z2 -> (l1 * z1 + l2 * z2) / (l1 + l2)
the context vectors: each part has the share of the other | s1 * z1 + s2 * z2 -> s1 * z2 + s2 * z1
the context vectors: those of the part with more weight are taken alone
    s1 * z1 + s2 * z2 -> torch.where(l1 >= l2, z1, z2)
the context vectors: large log-sum-exps overflow; subtract before the exponential
    s1 * z1 + s2 * z2 -> (l1.exp() * z1 + l2.exp() * z2) / (l1.exp() + l2.exp())
the log-sum-exp: this is the larger of both | logsumexp = merged -> logsumexp = torch.maximum(l1, l2)
the log-sum-exp: this is that of the first part | logsumexp = merged -> logsumexp = l1
the log-sum-exp: these are added; add the exponentials | logsumexp = merged -> logsumexp = l1 + l2
the log-sum-exp: the logarithm is missing | logsumexp = merged -> logsumexp = l1.exp() + l2.exp()
the log-sum-exp: they are averaged; add the exponentials | logsumexp = merged -> logsumexp = (l1 + l2) / 2
the log-sum-exp: the exponentials overflow; use logaddexp
    logsumexp = merged -> logsumexp = (l1.exp() + l2.exp()).log()
the log-sum-exp: the exponentials overflow, and the shares with them; use logaddexp
    torch.logaddexp(l1, l2) -> (l1.exp() + l2.exp()).log()
"""


PIECES = (
    judged(
        merge_partials,
        "Merging what two parts found",
        "The weight of a part is the exponential of its log-sum-exp; average by the shares of both.",
        WRONG_MERGES,
        inputs(
            PARTS,
            ([[1.0]], [[0.5]], [[5.0]], [[2.0]]),
            (drawn(2, 3), drawn(2, 1, seed=1), drawn(2, 3, seed=2), drawn(2, 1, seed=3)),
            ([[1.0]], [[0.5]], [[0.0]], [[-torch.inf]]),
            (
                drawn(2, 2, 3),
                drawn(2, 2, 1, seed=1),
                drawn(2, 2, 3, seed=2),
                drawn(2, 2, 1, seed=3),
            ),
            ([[1.0]], [[100.0]], [[5.0]], [[101.0]]),
        ),
        run_merge,
        code=(written_out.merge_partials,),
        then=Judged(
            merge_partials,
            NO_KEYS,
            inputs(PARTS, ([[0.0]], [[-torch.inf]], [[0.0]], [[-torch.inf]])),
            run_merge,
            code=(written_out.merge_partials,),
        ),
        exercise="ex-ring-merge",
    ),
)
