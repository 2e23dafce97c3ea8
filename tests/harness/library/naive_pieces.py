"""The pieces of SmolLM2 as a reader may write them: plain, right, and slow; or not at all."""

import torch
from torch import nn


def softmax(scores):
    exponentials = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def causal_mask(q_len, kv_len=None):
    if kv_len is None:
        kv_len = q_len
    return torch.tril(torch.ones(q_len, kv_len), diagonal=kv_len - q_len).bool()


def mask_scores(scores, attn_mask):
    return scores.masked_fill(~attn_mask, -torch.inf)


def split_heads(x, num_heads):
    *batch, num_tokens, width = x.shape
    return x.view(*batch, num_tokens, num_heads, width // num_heads).transpose(-3, -2)


def merge_heads(x):
    *batch, num_heads, num_tokens, head_dim = x.shape
    return x.transpose(-3, -2).reshape(*batch, num_tokens, num_heads * head_dim)


class RMSNorm(nn.Module):
    def __init__(self, embed_dim, eps=1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(embed_dim))

    def forward(self, x):
        wide = x.float()
        size = torch.sqrt(wide.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (wide / size).to(x.dtype) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, embed_dim, hidden_dim) -> None:
        super().__init__()
        self.W_gate = nn.Linear(embed_dim, hidden_dim, bias=False)
        self.W_up = nn.Linear(embed_dim, hidden_dim, bias=False)
        self.W_down = nn.Linear(hidden_dim, embed_dim, bias=False)

    def forward(self, x):
        gate = self.W_gate(x)
        return self.W_down(gate * torch.sigmoid(gate) * self.W_up(x))


class TransformerBlock(nn.Module):
    def __init__(self, attention, embed_dim, hidden_dim, eps=1e-5) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = attention
        self.feed_forward_norm = RMSNorm(embed_dim, eps)
        self.feed_forward = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x, **options):
        x = x + self.attention(self.attention_norm(x), **options)
        return x + self.feed_forward(self.feed_forward_norm(x))


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, blocks, eps=1e-5) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = RMSNorm(embed_dim, eps)

    def hidden_states(self, token_ids, caches=None):
        x = self.token_embedding(token_ids)
        for layer, block in enumerate(self.blocks):
            x = block(x) if caches is None else block(x, cache=caches[layer])
        return self.final_norm(x)

    def logits(self, hidden):
        return hidden @ self.token_embedding.weight.T

    def forward(self, token_ids, caches=None):
        return self.logits(self.hidden_states(token_ids, caches))


def rotary_frequencies(head_dim, base=10_000.0):
    return 1.0 / base ** (torch.arange(0, head_dim, 2) / head_dim)


def rotate_half_split(x, cos, sin):
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class RotaryEmbedding(nn.Module):
    def __init__(self, head_dim, context_length, base=10_000.0) -> None:
        super().__init__()
        self.frequencies = rotary_frequencies(head_dim, base)
        self.context_length = context_length

    def forward(self, x, start=0):
        positions = torch.arange(start, start + x.shape[-2])
        if start + len(positions) > self.context_length:
            raise ValueError(f"there are {self.context_length} positions")
        angles = torch.outer(positions.float(), self.frequencies)
        return rotate_half_split(x, torch.cos(angles), torch.sin(angles))


class KVCache:
    def __init__(self, batch, num_kv_heads, max_tokens, head_dim) -> None:
        self.max_tokens = max_tokens
        self.keys = torch.zeros(batch, num_kv_heads, 0, head_dim)
        self.values = torch.zeros(batch, num_kv_heads, 0, head_dim)

    @property
    def num_tokens(self):
        return self.keys.shape[-2]

    @property
    def num_keys(self):
        return self.num_tokens

    def append(self, key, value):
        if self.num_tokens + key.shape[-2] > self.max_tokens:
            raise ValueError(f"there is room for {self.max_tokens} tokens")
        self.keys = torch.cat([self.keys, key], dim=-2)
        self.values = torch.cat([self.values, value], dim=-2)
        return self.keys, self.values


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, num_kv_heads, *, rope=None) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = d_out // num_heads
        self.rope = rope
        self.W_query = nn.Linear(d_in, num_heads * self.head_dim, bias=False)
        self.W_key = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_in, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_out, bias=False)

    def forward(self, x, *, cache=None):
        query = split_heads(self.W_query(x), self.num_heads)
        key = split_heads(self.W_key(x), self.num_kv_heads)
        value = split_heads(self.W_value(x), self.num_kv_heads)
        if self.rope is not None:
            start = 0 if cache is None else cache.num_tokens
            query, key = self.rope(query, start), self.rope(key, start)
        if cache is not None:
            key, value = cache.append(key, value)
        return self.out_proj(merge_heads(self.attend(query, key, value)))

    def attend(self, query, key, value):
        key = key.repeat_interleave(self.num_heads // self.num_kv_heads, dim=-3)
        value = value.repeat_interleave(self.num_heads // self.num_kv_heads, dim=-3)
        scores = query @ key.transpose(-2, -1) / self.head_dim**0.5
        scores = mask_scores(scores, causal_mask(scores.shape[-2], scores.shape[-1]))
        return softmax(scores) @ value


PIECES = {
    one.__name__: one
    for one in (
        *(softmax, causal_mask, mask_scores, split_heads, merge_heads),
        *(RMSNorm, SwiGLU, TransformerBlock, LanguageModel),
        *(rotary_frequencies, rotate_half_split, RotaryEmbedding, KVCache, GroupedQueryAttention),
    )
}


class Unwritten(nn.Module):
    def __init__(self, *_, **__) -> None:
        super().__init__()
        raise NotImplementedError


def unwritten(*_, **__):
    raise NotImplementedError
