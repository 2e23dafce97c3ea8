"""Checks for the exercises of the book: each takes your answer and says in words what is wrong with it.

A check computes the right answer, and then the wrong ones that people give. If yours is one of these, it
knows what you did. No check raises an error for a wrong answer, whatever it is: each returns a
:class:`Verdict`, which prints as a sentence.
"""

from literate_attention.workshop import answers
from literate_attention.workshop.answers import *
from literate_attention.workshop.judge.verdict import Verdict
from literate_attention.workshop.pieces import check_piece

__all__ = ["Verdict", "check_piece", *answers.__all__]
