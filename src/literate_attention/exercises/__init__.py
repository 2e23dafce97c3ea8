"""Checks for the exercises of the book: each takes your answer and says in words what is wrong with it.

A check computes the right answer, and then the wrong ones that people give. If yours is one of these, it
knows what you did. No check raises an error for a wrong answer, whatever it is: each returns a
:class:`Verdict`, which prints as a sentence.
"""

from literate_attention.workshop.answers.causal_attention import (
    check_dropout,
    check_mask,
    check_weights,
)
from literate_attention.workshop.answers.fused_attention import check_one_pass
from literate_attention.workshop.answers.induction import check_successor
from literate_attention.workshop.answers.inputs import check_lookup, check_windows
from literate_attention.workshop.answers.long_sequences import check_cost, check_last_state
from literate_attention.workshop.answers.multi_head_attention import (
    check_heads,
    check_parameter_count,
)
from literate_attention.workshop.answers.self_attention import (
    check_copied_weights,
    check_projected_context,
)
from literate_attention.workshop.answers.simple_attention import check_context_vector
from literate_attention.workshop.answers.summary import check_attention
from literate_attention.workshop.answers.trained_heads import check_ablation, check_copies
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
