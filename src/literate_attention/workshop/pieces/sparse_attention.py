"""The pieces of the chapter on sparse attention: an index, what it chooses, and what teaches it."""

from typing import Any

from literate_attention.models.sparse_attention import index_loss, index_scores, top_k_mask
from literate_attention.story.causal_attention import causal_mask
from literate_attention.workshop.judge.trials import Given, Judged, call, drawn
from literate_attention.workshop.pieces.piece import judged

# The choice


def run_count(implementation: Any, given: Given) -> Any:
    """Count how many keys each query may read, where any of several equal ones may be chosen."""
    return call(implementation, given).sum(dim=-1)


WRONG_CHOICES = """
the mask comes too late: keys of the future are among the best, and take the places of others
    scores.masked_fill(~attn_mask, -torch.inf) -> scores
a query with fewer keys than k gets hidden ones as well | True) & attn_mask -> True)
the mask is not used: the future is chosen | scores.masked_fill(~attn_mask, -torch.inf) -> scores
    True) & attn_mask -> True)
the lowest scores are chosen | -torch.inf -> torch.inf
    min(k, scores.shape[-1]) -> min(k, scores.shape[-1]), largest=False
one key too many is chosen | min(k, scores.shape[-1]) -> min(k + 1, scores.shape[-1])
one key too few is chosen | min(k, scores.shape[-1]) -> min(k, scores.shape[-1]) - 1
each key chooses its best queries, expected the other way round
    scores.topk(min(k, scores.shape[-1])) -> scores.topk(min(k, scores.shape[-2]), dim=-2)
    chosen.scatter(-1, -> chosen.scatter(-2,
true and false are swapped: true is for what may be read
    return chosen.scatter(-1, best, True) & attn_mask -> return ~(chosen.scatter(-1, best, True) & attn_mask)
hidden keys have a score of zero, which is better than one below zero | -torch.inf -> 0.0
"""
WRONG_TIES = """
of equal scores all are chosen, so a query may read more than k keys
    return chosen.scatter(-1, best, True) & attn_mask
        -> return (scores >= scores.gather(-1, best[..., -1:])) & attn_mask
"""
TIES = Judged(
    top_k_mask,
    WRONG_TIES,
    [([[1.0, 1.0, 1.0]], 2, causal_mask(1, 3)), ([[0.0, 2.0, 0.0]], 2, causal_mask(1, 3))],
    run_count,
)

# The index


WRONG_SCORES = """
there is no ReLU: a head should keep quiet if its query and the key do not point the same way
    relu(query @ key.unsqueeze(-3).mT) -> query @ key.unsqueeze(-3).mT
the ReLU comes after the heads are summed | relu(query @ key.unsqueeze(-3).mT) -> query @ key.unsqueeze(-3).mT
    torch.einsum("...hqk,...qh->...qk", found, head_weights)
        -> relu(torch.einsum("...hqk,...qh->...qk", found, head_weights))
the weights are inside the ReLU, so that no head can vote against a key
    relu(query @ key.unsqueeze(-3).mT) -> relu(query @ key.unsqueeze(-3).mT * head_weights.mT.unsqueeze(-1))
    torch.einsum("...hqk,...qh->...qk", found, head_weights) -> found.sum(dim=-3)
the weights of the heads are left out
    torch.einsum("...hqk,...qh->...qk", found, head_weights) -> found.sum(dim=-3)
the weights of the heads go through a softmax, so that no head can vote against a key
    found, head_weights -> found, head_weights.softmax(dim=-1)
the weights are those of the key, expected those of the query | ...qh-> -> ...kh->
the scores are not scaled | scale * -> 1.0 *
the scores are scaled by the width of a key alone, and not by the number of heads
    (query.shape[-3] * query.shape[-1]) -> query.shape[-1]
the scores are scaled by the number of heads alone, and not by the width of a key
    (query.shape[-3] * query.shape[-1]) -> query.shape[-3]
the heads are averaged: divide by the root of their number
    (query.shape[-3] * query.shape[-1]) -> (query.shape[-3] ** 2 * query.shape[-1])
the scale lacks a root | ** -0.5 -> ** -1
the scores go through a softmax: an index has none | return scale * -> return torch.softmax(scale *
    found, head_weights) -> found, head_weights), dim=-1)
"""

# What teaches it


WRONG_LOSSES = """
the future is not hidden from the index | scores.masked_fill(future, -torch.inf) -> scores
    log_share.masked_fill(future, 0.0) -> log_share
the two are exchanged: a key counts by the weight that it has in attention, not by its share in the index
    kl_div(log_share.masked_fill(future, 0.0), wanted, reduction="none")
        -> (log_share.exp() * (log_share - wanted.log())).masked_fill(future, 0.0)
in the future it computes 0 times the logarithm of 0, which is not a number
    kl_div(log_share.masked_fill(future, 0.0), wanted, reduction="none")
        -> wanted * (wanted.log() - log_share)
it is the cross-entropy, which lacks the logarithm of the weights
    kl_div(log_share.masked_fill(future, 0.0), wanted, reduction="none")
        -> -wanted * log_share.masked_fill(future, 0.0)
kl_div expects the logarithm of the index's shares, it got the shares
    log_share.masked_fill -> log_share.exp().masked_fill
kl_div got the scores, expected the logarithm of their softmax
    scores.masked_fill(future, -torch.inf).log_softmax(dim=-1) -> scores
the softmax runs over the queries, expected the keys | .log_softmax(dim=-1) -> .log_softmax(dim=-2)
the weights go through a softmax, and are one already | .mean(dim=-3) -> .mean(dim=-3).softmax(dim=-1)
the weights of all heads are summed, expected their mean | .mean(dim=-3) -> .sum(dim=-3)
the largest weight of all heads counts, expected their mean | .mean(dim=-3) -> .amax(dim=-3)
it is divided by the number of keys, too: only queries are averaged | .sum(dim=-1).mean() -> .mean()
the queries are summed, expected their mean | .sum(dim=-1).mean() -> .sum()
the sum is divided by the number of texts, as by batchmean, expected that of queries
    .sum(dim=-1).mean() -> .sum() / len(scores)
"""


def weights_of(*shape: int) -> Any:
    """Draw weights of causal attention."""
    hidden = drawn(*shape, seed=1).masked_fill(~causal_mask(shape[-1]), float("-inf"))
    return hidden.softmax(dim=-1)


PIECES = (
    judged(
        top_k_mask,
        "How many keys does a query need?",
        "Hide first: set the scores of hidden keys to minus infinity, then take topk and scatter.",
        WRONG_CHOICES,
        [
            ([[3.0, 1.0, 2.0]], 2, causal_mask(1, 3)),
            ([[1.0, 2.0], [3.0, 4.0]], 1, causal_mask(2)),
            ([[-1.0, 2.0], [-3.0, -4.0]], 2, causal_mask(2)),
            (drawn(4, 4), 2, causal_mask(4)),
            (drawn(2, 3, 5), 3, causal_mask(3, 5)),
            (drawn(2, 3, 4, 4), 9, causal_mask(4)),
        ],
        then=TIES,
    ),
    judged(
        index_scores,
        "A cheap index",
        "Compare all heads with the one key, take the ReLU, and sum the heads with their weights.",
        WRONG_SCORES,
        [
            ([[[1.0]]], [[2.0]], [[3.0]]),
            ([[[2.0]], [[-3.0]]], [[1.0], [-1.0]], [[2.0, -1.0]]),
            (drawn(2, 3, 4), drawn(3, 4, seed=1), drawn(3, 2, seed=2)),
            (drawn(2, 3, 2, 4), drawn(2, 5, 4, seed=1), drawn(2, 2, 3, seed=2)),
        ],
    ),
    judged(
        index_loss,
        "Who teaches the index?",
        "Detach the weights, average their heads, and use kl_div with the log_softmax of causal scores.",
        WRONG_LOSSES,
        [
            ([[0.0, 0.0], [0.0, 1.0]], [[[1.0, 0.0], [0.5, 0.5]]]),
            (drawn(4, 4), weights_of(2, 4, 4)),
            (drawn(2, 5, 5), weights_of(2, 3, 5, 5)),
        ],
    ),
)
