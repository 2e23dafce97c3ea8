"""The pieces of the story: from a softmax to several heads."""

from functools import partial
from typing import Any

import torch

from literate_attention.story.causal_attention import CausalAttention, causal_mask, mask_scores
from literate_attention.story.inputs import InputEmbedding
from literate_attention.story.multi_head_attention import (
    MultiHeadAttention,
    merge_heads,
    split_heads,
)
from literate_attention.story.self_attention import (
    SelfAttention_v1,
    SelfAttention_v2,
    attention_weights,
)
from literate_attention.story.simple_attention import dot_product_attention, softmax
from literate_attention.workshop.judge.attention_mistakes import (
    BY_NUMBER,
    attend,
    known_ways,
    ways_with,
    weigh,
)
from literate_attention.workshop.judge.attention_modules import judge_attention
from literate_attention.workshop.judge.parameters import plain
from literate_attention.workshop.judge.trials import (
    Given,
    UnusableError,
    all_same,
    drawn,
    inputs,
    judge_by_ways,
)
from literate_attention.workshop.pieces import _written_out as written_out
from literate_attention.workshop.pieces.piece import Piece, judged

_TABLES = (11, 4, 6)
"""How many tokens there are, how wide an embedding is, and how many positions there are."""


def _embed(implementation: Any, given: Given) -> Any:
    """Embed token ids with tables that are the same for all, whatever they are called."""
    module = implementation(*_TABLES)
    found = [p.squeeze() for p in module.parameters() if p.squeeze().ndim == 2]
    tables = {max(p.shape): p if len(p) == max(p.shape) else p.mT for p in found}
    rows = drawn(17, 4, seed=1)
    if set(tables) not in ({6, 11}, {17}):
        raise UnusableError(
            f"{implementation.__name__}{_TABLES} needs a table of 11 rows for tokens and one of 6 for "
            f"positions, its parameters have the shapes {[tuple(p.shape) for p in found]}{plain(module)}"
        )
    for both in (rows.roll(6, 0), rows):  # in one table: positions first, or tokens first
        parts = {11: rows[:11], 6: rows[11:], 17: both}
        with torch.no_grad():
            for number, table in tables.items():
                table.copy_(parts[number])
        result = module(given["token_ids"])
        if 17 not in tables or all_same([result], [_embed(InputEmbedding, given)]):
            break
    return result


WRONG_EMBEDDINGS = """
the positions are missing: the same tokens in another order give the same vectors
    + self.position_embedding(positions) ->
the first position is number 1, it should be number 0
    positions = torch.arange(num_tokens -> positions = torch.arange(1, num_tokens + 1
the token embeddings are missing, these are positions only
    self.token_embedding(token_ids) + -> 0 * self.token_embedding(token_ids) +
the positions are looked up by token, not by place
    self.position_embedding(positions) -> self.position_embedding(token_ids)
token and position are multiplied, not added | (token_ids) + -> (token_ids) *
token and position stand side by side, they should be added
    return self.token_embedding(token_ids) + self.position_embedding(positions) -> t = self.token_embedding(
        token_ids); return torch.cat([t, self.position_embedding(positions).expand_as(t)], dim=-1)
the positions count the texts of a batch, not the tokens of a text
    self.position_embedding(positions) -> self.position_embedding(torch.arange(len(token_ids)))[:, None]
every token gets the first position
    self.position_embedding(positions) -> self.position_embedding(0 * positions)
the positions run backwards | self.position_embedding(positions) -> self.position_embedding(positions.flip(0))
"""
WRONG_SOFTMAX = """
it divides the exponentials by nothing: a row has to sum to one | / powers.sum(dim=-1, keepdim=True) ->
it returns the scores as they are | powers = -> return scores; powers =
it runs over the first axis: the columns sum to one, not the rows | amax(dim=-1 -> amax(dim=0
    sum(dim=-1 -> sum(dim=0
it runs over axis 1: in a batch these are the queries, the last axis is -1
    amax(dim=-1 -> amax(dim=min(1, scores.ndim - 1) | sum(dim=-1 -> sum(dim=min(1, scores.ndim - 1)
it divides by the sums of the columns, not of the rows | sum(dim=-1 -> sum(dim=0
the largest scores lack keepdim: each is subtracted from a column, not from its row
    amax(dim=-1, keepdim=True) -> amax(dim=-1)
the sums lack keepdim: each of them divides a column, not its row | sum(dim=-1, keepdim=True) -> sum(dim=-1)
it divides by the sum of all numbers, not of each row | sum(dim=-1, keepdim=True) -> sum()
large scores overflow: subtract the largest of a row first | - scores.amax(dim=-1, keepdim=True) ->
the largest of all scores is subtracted, it should be the largest of each row
    amax(dim=-1, keepdim=True) -> max()
it divides the scores by their sum, without exponentials
    torch.exp(scores - scores.amax(dim=-1, keepdim=True)) -> scores
these are the logarithms of the weights | powers = -> return scores.log_softmax(dim=-1); powers =
each score is treated on its own, as in a sigmoid | powers = -> return scores.sigmoid(); powers =
"""
WRONG_CAUSAL_MASKS = """
it hides the past and shows the future | return mask -> return mask.flip(0, 1) | q_len + 0 -> q_len
true and false are swapped: true is for what may be seen | return mask -> return ~mask
no token sees itself | q_len + 0 -> q_len - 1
one token of the future is left visible | q_len + 0 -> q_len + 1
with fewer queries than keys, the queries are the last tokens, not the first | tril(kv_len - -> tril(q_len -
the offset has the wrong sign: the last of fewer queries still sees all keys
    tril(kv_len - -> tril(2 * q_len - kv_len -
rows and columns are swapped: a row belongs to a query | return mask -> return mask.T
kv_len is ignored: there has to be a column for each key | kv_len or q_len -> q_len
there are as many columns as queries, expected one for each key | ones(q_len, kv_len -> ones(q_len, q_len
nothing is hidden | return mask -> return torch.ones_like(mask)
everything is hidden | return mask -> return torch.zeros_like(mask)
"""


WRONG_HIDING = """
it hides what may be seen, and shows what is hidden | ~attn_mask -> attn_mask
hidden scores are zero, not minus infinity: zero is a score like any other | -torch.inf -> 0.0
hidden scores are plus infinity, not minus | -torch.inf -> torch.inf
hidden scores are a large negative number, not minus infinity | -torch.inf -> -1e9
hidden scores are a large negative number, not minus infinity | -torch.inf -> -1e4
hidden scores are the smallest number there is, not minus infinity
    -torch.inf -> torch.finfo(torch.float32).min
hidden scores are not numbers: zero times infinity is none
    scores.masked_fill(~attn_mask, -torch.inf) -> scores + ~attn_mask * -torch.inf
the mask is added to the scores as zeros and ones
    scores.masked_fill(~attn_mask, -torch.inf) -> scores + attn_mask
nothing is hidden | .masked_fill(~attn_mask, -torch.inf) ->
these are weights already: the softmax comes later | -torch.inf) -> -torch.inf).softmax(-1)
"""
WRONG_SPLITS = """
the view cuts the sentence, not the vectors: view by token first, then transpose
    x.unflatten(-1, (num_heads, -1)).transpose(-3, -2) -> x.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)
tokens and heads still have to be transposed | .transpose(-3, -2) ->
each head gets every second number of a vector, not one piece of it
    (num_heads, -1)).transpose(-3, -2) -> (-1, num_heads)).movedim(-1, -3)
the heads are in the wrong order | .transpose(-3, -2) -> .transpose(-3, -2).flip(-3)
each head lies on its side: only tokens and heads are transposed | .transpose(-3, -2) -> .transpose(-3, -2).mT
num_heads is taken for the width of a head
    require_head_split("the width of x", x.shape[-1], num_heads) -> num_heads = x.shape[-1] // num_heads
each head gets the whole vector
    x.unflatten(-1, (num_heads, -1)).transpose(-3, -2) -> torch.stack([x] * num_heads, dim=-3)
"""
WRONG_MERGES = """
heads and tokens have to be transposed before they are put together
    x.transpose(-3, -2).flatten(-2) -> x.reshape(*x.shape[:-3], x.shape[-2], -1)
the heads are in the wrong order | x.transpose -> x.flip(-3).transpose
the heads are added, they should stand side by side | transpose(-3, -2).flatten(-2) -> sum(dim=-3)
the heads are averaged, they should stand side by side | transpose(-3, -2).flatten(-2) -> mean(dim=-3)
they are transposed, and not put together | .flatten(-2) ->
the numbers of the heads alternate, each head should be one piece | transpose(-3, -2) -> movedim(-3, -1)
the heads stand one below the other, not side by side | transpose(-3, -2).flatten(-2) -> flatten(-3, -2)
"""

PIECES = (
    judged(
        InputEmbedding,
        "The module",
        "Positions are 0, 1, 2 and so on, as many as there are tokens, whatever the tokens are.",
        WRONG_EMBEDDINGS,
        inputs("token_ids", ([[5]],), ([[5, 2]],), ([[5, 2, 5], [0, 4, 1]],), ([[10, 7]],)),
        run=_embed,
        batch="batch ",
        exercise="ex-inputs-build",
    ),
    judged(
        softmax,
        "Step 2: weights",
        "Subtract the largest score of a row before the exponential: the weights stay as they are.",
        WRONG_SOFTMAX,
        [
            ([0.0, 1.0],),
            ([[1.0, 2.0], [0.0, 3.0]],),
            ([[[1.0, 2.0], [0.0, 3.0]], [[1.0, 1.0], [2.0, 0.0]]],),
            (drawn(2, 3, 4),),
            ([1000.0, 1001.0],),
            ([[0.0, 200.0], [-200.0, -201.0]],),
        ],
        code=(written_out.softmax,),
        in_model=True,
        exercise="ex-simple-softmax",
    ),
    Piece(
        dot_product_attention,
        "All tokens at once",
        "Scores are products of all rows with all rows; each row of weights averages the inputs.",
        lambda mine: judge_by_ways(
            mine,
            ways_with(
                known_ways(attend, is_causal=False, is_scaled=False),
                lambda given: 3 * [given["inputs"]],
            ),
            inputs(
                "inputs",
                ([[1.0, 2.0]],),
                ([[1.0, 0.0], [0.0, 2.0]],),
                ([[[1.0], [2.0]], [[0.0], [1.0]]],),
                (drawn(2, 4, 3),),
            ),
        ),
        leave_out=("need_weights",),
        exercise="ex-simple-function",
    ),
    Piece(
        attention_weights,
        "Weights and the context vector",
        "How wide a key is, tells by what scores are divided; the softmax runs over the keys.",
        lambda mine: judge_by_ways(
            mine,
            ways_with(
                known_ways(weigh, is_causal=False, more=BY_NUMBER),
                lambda given: [*given.values()],
            ),
            inputs(
                "query, key",
                ([[2.0]], [[1.0], [0.0]]),
                (drawn(2, 4, seed=1), drawn(3, 4, seed=2)),
                (drawn(2, 3, 6, seed=3), drawn(2, 5, 6, seed=4)),
            ),
        ),
        leave_out=("attn_mask", "scale"),
    ),
    Piece(
        SelfAttention_v1,
        "Attention as a module",
        "Three products make queries, keys and values; scores are divided by the root of d_out.",
        partial(judge_attention, num_sizes=2),
        leave_out=("need_weights",),
        batch="",
        exercise="ex-self-forward",
    ),
    Piece(
        SelfAttention_v2,
        "Linear layers instead of bare parameters",
        "The same as before, with nn.Linear in place of a parameter and a product.",
        partial(judge_attention, num_sizes=2),
        leave_out=("need_weights",),
        batch="",
    ),
    judged(
        mask_scores,
        "Hiding the future before the softmax",
        "Which score makes a softmax give exactly zero?",
        WRONG_HIDING,
        [
            ([[1.0]], [[True]]),
            ([[1.0, 2.0], [3.0, 4.0]], causal_mask(2)),
            (drawn(2, 3, 3), torch.eye(3).flip(0) == 1),
        ],
        in_model=True,
    ),
    judged(
        causal_mask,
        "The mask in the library",
        "Row i is true up to column i; with fewer queries than keys, the last row sees all keys.",
        WRONG_CAUSAL_MASKS,
        [(1,), (2,), (3,), (1, 3), (2, 5)],
        code=(written_out.causal_mask,),
        leave_out=("device",),
        in_model=True,
    ),
    Piece(
        CausalAttention,
        "The module",
        "Mask the scores before the softmax, drop weights after it, and leave batches in front.",
        partial(judge_attention, num_sizes=4),
        leave_out=("attn_mask", "need_weights"),
        batch="batch ",
        exercise="ex-causal-build",
    ),
    judged(
        split_heads,
        "One projection, split into heads",
        "First a view that cuts each vector, then a transpose that brings the heads in front.",
        WRONG_SPLITS,
        [
            (torch.arange(4.0).view(1, 1, 4), 2),
            (torch.arange(8.0).view(1, 2, 4), 2),
            (torch.arange(36.0).view(2, 3, 6), 2),
            (torch.arange(36.0).view(2, 3, 6), 3),
        ],
        batch="batch ",
        in_model=True,
        exercise="ex-multi-head-apart",
    ),
    judged(
        merge_heads,
        "Putting the heads back together",
        "It undoes the split: first the transpose, then the pieces of a token side by side.",
        WRONG_MERGES,
        [
            (torch.arange(4.0).view(1, 2, 1, 2),),
            (torch.arange(8.0).view(1, 2, 2, 2),),
            (torch.arange(36.0).view(2, 2, 3, 3),),
            (torch.arange(48.0).view(2, 3, 4, 2),),
        ],
        batch="batch ",
        in_model=True,
    ),
    Piece(
        MultiHeadAttention,
        "The module",
        "Project, split, attend in every head at once, merge, and project once more.",
        partial(judge_attention, num_sizes=5),
        leave_out=("attn_mask", "need_weights"),
        batch="batch ",
        exercise="ex-multi-head-build",
    ),
)
