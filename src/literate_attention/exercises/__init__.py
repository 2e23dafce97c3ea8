"""Checks for the exercises of the book: each takes your answer and says in words what is wrong with it.

A check computes the right answer, and then the wrong ones that people give. If yours is one of these, it
knows what you did. No check raises an error for a wrong answer, whatever it is: each returns a
:class:`Verdict`, which prints as a sentence.
"""

from literate_attention.workshop.answers.learned import (
    check_ablation,
    check_copies,
    check_successor,
)
from literate_attention.workshop.answers.models import check_one_pass
from literate_attention.workshop.answers.story import (
    check_attention,
    check_context_vector,
    check_copied_weights,
    check_cost,
    check_dropout,
    check_heads,
    check_last_state,
    check_lookup,
    check_mask,
    check_parameter_count,
    check_projected_context,
    check_weights,
    check_windows,
)
from literate_attention.workshop.judge.verdict import Verdict
from literate_attention.workshop.pieces import check_piece

__all__ = [
    "Verdict",
    "check_ablation",
    "check_attention",
    "check_context_vector",
    "check_copied_weights",
    "check_copies",
    "check_cost",
    "check_dropout",
    "check_heads",
    "check_last_state",
    "check_lookup",
    "check_mask",
    "check_one_pass",
    "check_parameter_count",
    "check_piece",
    "check_projected_context",
    "check_successor",
    "check_weights",
    "check_windows",
]
