# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Right code, step by step, where the library's own is too short to have mistakes in its steps."""

import torch

from literate_attention.models.ring_attention import exponentials
from literate_attention.workshop.judge.attention_mistakes import attend


def softmax(scores):
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


def causal_mask(q_len, kv_len=None):
    kv_len = kv_len or q_len
    mask = torch.ones(q_len, kv_len, dtype=torch.bool)
    mask = mask.tril(kv_len - q_len + 0)
    return mask  # noqa: RET504


class KVCache:
    def __init__(self, batch, num_kv_heads, max_tokens, head_dim):
        self.keys = self.values = None
        self.num_tokens, self.max_tokens = 0, max_tokens

    def append(self, key, value):
        self.keys, self.values = joined(self.keys, key), joined(self.values, value)
        self.num_tokens += key.shape[-2]
        return self.keys, self.values

    @property
    def num_keys(self):
        return self.num_tokens


def joined(old, new):
    return new if old is None else torch.cat([old, new], dim=-2)


def keep_top_p(logits, p):
    order = logits.argsort(dim=-1, descending=True)
    own = logits.softmax(dim=-1).gather(-1, order)
    total = own.cumsum(dim=-1)
    dropped = total - own >= p
    hidden = torch.zeros_like(dropped).scatter(-1, order, dropped)
    return logits.masked_fill(hidden, -torch.inf)


def merge_partials(one, other):
    (z1, l1), (z2, l2) = one, other
    merged = torch.logaddexp(l1, l2)
    s1, s2 = exponentials(l1, merged), exponentials(l2, merged)
    context = s1 * z1 + s2 * z2
    logsumexp = merged
    return context, logsumexp


def grouped_attention(query, key, value, **_):
    times = query.shape[-3] // key.shape[-3]
    key = key.repeat_interleave(times, dim=-3)
    value = value.repeat_interleave(times, dim=-3)
    return attend(query, key, value)
