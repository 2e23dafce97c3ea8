"""Attention by loops: what all implementations are held against."""

import itertools
import math

import torch


def attend_by_loops(query, key, value, allowed=None, scale=None):
    """Compute scaled dot-product attention as its formula reads, one float64 at a time."""
    *batch, q_len, head_dim = query.shape
    kv_len = key.shape[-2]
    scale = 1 / math.sqrt(head_dim) if scale is None else scale
    if allowed is None:
        allowed = torch.ones(q_len, kv_len, dtype=torch.bool)
    allowed = allowed.expand(*batch, q_len, kv_len)
    context = torch.zeros(*batch, q_len, value.shape[-1], dtype=torch.float64)
    weights = torch.zeros(*batch, q_len, kv_len, dtype=torch.float64)
    for index in itertools.product(*map(range, batch)):
        q, k, v = query[index].tolist(), key[index].tolist(), value[index].tolist()
        may = allowed[index].tolist()
        for i in range(q_len):
            scores = {
                j: scale * sum(a * b for a, b in zip(q[i], k[j], strict=True))
                for j in range(kv_len)
                if may[i][j]
            }
            total = sum(math.exp(score) for score in scores.values())
            weight = {j: math.exp(score) / total for j, score in scores.items()}
            weights[(*index, i)] = weights.new_tensor([weight.get(j, 0) for j in range(kv_len)])
            context[(*index, i)] = context.new_tensor(
                [sum(weight[j] * column[j] for j in weight) for column in zip(*v, strict=True)]
            )
    return context, weights
