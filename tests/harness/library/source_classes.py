"""The classes of the sources, in our words, with nothing but torch: for tests, and to measure.

They hold their mask as a float buffer, and compute step by step: all scores, all weights.
"""

import torch
from torch import nn


class SourceCausalAttention(nn.Module):
    """Three projections, and ones above the diagonal where a token is hidden."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(diagonal=1))

    def attend(self, query, key, value):
        """Attend, as a reader of the sources would write it: one line for each step."""
        num_tokens, width = query.shape[-2:]
        scores = query @ key.transpose(-2, -1)
        scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        weights = self.dropout(torch.softmax(scores / width**0.5, dim=-1))
        return weights @ value

    def forward(self, x):
        return self.attend(self.W_query(x), self.W_key(x), self.W_value(x))


class SourceWrapper(nn.Module):
    """Several of them, side by side."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False) -> None:
        super().__init__()
        one = (d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList([SourceCausalAttention(*one) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class SourceMultiHeadAttention(SourceCausalAttention):
    """All heads at once, and a projection of what they find."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False) -> None:
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.heads = (num_heads, d_out // num_heads)

    def forward(self, x):
        query, key, value = (
            projection(x).unflatten(-1, self.heads).transpose(1, 2)
            for projection in (self.W_query, self.W_key, self.W_value)
        )
        context = self.attend(query, key, value)
        return self.out_proj(context.transpose(1, 2).flatten(2))
