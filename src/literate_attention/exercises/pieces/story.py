"""The pieces of the story: from a softmax to several heads."""

import torch

from literate_attention.exercises.pieces._piece import Piece
from literate_attention.exercises.pieces._trials import drawn, judge_by_trials
from literate_attention.story.causal_attention import causal_mask
from literate_attention.story.simple_attention import naive_softmax, softmax

SIMPLE_ATTENTION = (
    Piece(
        library=softmax,
        chapter="story/simple_attention",
        section="Step 2: weights",
        hint="Subtract the largest score of a row before the exponential: the weights stay as they are.",
        check=lambda mine: judge_by_trials(
            mine,
            softmax,
            {
                "it divides the exponentials by nothing: a row has to sum to one": torch.exp,
                "it runs over the first axis: the columns sum to one, not the rows": (
                    lambda scores: scores.softmax(dim=0)
                ),
                "it divides by the sum of all numbers, not of each row": (
                    lambda scores: scores.exp() / scores.exp().sum()
                ),
                "large scores overflow: subtract the largest of a row first": naive_softmax,
                "it divides the scores by their sum, without exponentials": (
                    lambda scores: scores / scores.sum(dim=-1, keepdim=True)
                ),
                "these are the logarithms of the weights": lambda scores: scores.log_softmax(-1),
            }.items(),
            [
                {"scores": torch.tensor([0.0, 1.0])},
                {"scores": torch.tensor([[1.0, 2.0], [0.0, 3.0]])},
                {"scores": drawn(2, 3, 4)},
                {"scores": torch.tensor([1000.0, 1001.0])},
            ],
        ),
        in_model=True,
        exercise="ex-simple-softmax",
    ),
)

CAUSAL_ATTENTION = (
    Piece(
        library=causal_mask,
        chapter="story/causal_attention",
        section="The mask in the library",
        hint="Row i is true up to column i; with fewer queries than keys, the last row sees all keys.",
        check=lambda mine: judge_by_trials(
            mine,
            causal_mask,
            {
                "it hides the past and shows the future": (
                    lambda q, k=None: causal_mask(q, k).flip(0, 1)
                ),
                "true and false are swapped: true is for what may be seen": (
                    lambda q, k=None: ~causal_mask(q, k)
                ),
                "no token sees itself": lambda q, k=None: causal_mask(q, k).tril((k or q) - q - 1),
                "one token of the future is left visible": (
                    lambda q, k=None: torch.ones(q, k or q).tril((k or q) - q + 1) > 0
                ),
                "with fewer queries than keys, the queries are the last tokens, not the first": (
                    lambda q, k=None: torch.ones(q, k or q).tril() > 0
                ),
            }.items(),
            [
                {"q_len": 1},
                {"q_len": 2},
                {"q_len": 3},
                {"q_len": 1, "kv_len": 3},
                {"q_len": 2, "kv_len": 5},
            ],
        ),
        leave_out=("device",),
        in_model=True,
    ),
)

PIECES = (*SIMPLE_ATTENTION, *CAUSAL_ATTENTION)
