"""The pieces of the chapter on the cache: the cache itself, and who stays in the running for a token."""

from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor

from literate_attention.models.kv_cache import KVCache, keep_top_k, keep_top_p
from literate_attention.workshop.judge.trials import Given, Judged, UnusableError, call, inputs
from literate_attention.workshop.judge.verdict import RIGHT, Verdict, remark
from literate_attention.workshop.pieces import _written_out as written_out
from literate_attention.workshop.pieces.piece import judged

# The cache


def keys_and_values(*shape: int) -> tuple[Tensor, Tensor]:
    """Count up, token by token, and if they are many, where half precision cannot; values are no keys."""
    batch, num_kv_heads, num_tokens, head_dim = shape
    by_token = torch.arange(1.0, 1 + prod(shape)) + (5000 if prod(shape) > 100 else 0)
    keys = by_token.view(num_tokens, batch, num_kv_heads, head_dim).movedim(0, 2)
    return keys, 0.25 - keys


def run_cache(implementation: Any, given: Given, name: str = "num_tokens") -> list[Tensor]:
    """Make two caches, append to both in turns, and ask the first for a number."""
    *sizes, chunks = given.values()
    cache, other = (implementation(*sizes) for _ in range(2))
    batch, num_kv_heads, _, head_dim = sizes
    return appended(cache, (batch, num_kv_heads, head_dim), chunks, name, other)


def appended(
    cache: Any, sizes: tuple[int, int, int], chunks: tuple[int, ...], name: str, other: Any
) -> list[Tensor]:
    """Append a few tokens at a time, and return all that came, and a number that the cache should know."""
    batch, num_kv_heads, head_dim = sizes
    if not hasattr(cache, "num_tokens"):
        raise UnusableError("it has no num_tokens, which says how many tokens were appended so far")
    came = [number(cache, name)]
    both = keys_and_values(batch, num_kv_heads, sum(chunks), head_dim)
    for key, value in zip(*(one.split(chunks, dim=2) for one in both), strict=True):
        came += [one.clone() for one in cache.append(key.clone(), value.clone())]
        other.append(2 * key, 2 * value)  # which is no business of the first
        came.append(number(cache, name))
    return came


def number(cache: Any, name: str) -> Tensor:
    """Ask a cache for a number."""
    found = getattr(cache, name)
    if callable(found):
        raise UnusableError(f"{name} is a method, expected a number: write @property above it")
    return torch.as_tensor(found)


def judge_views(mine: Any) -> Verdict:
    """See whether what comes back lies where it lay before: if not, it is right, but slow."""
    cache, new = mine(1, 2, 3, 2), torch.ones(1, 2, 1, 2)
    first, second = ([*cache.append(new, new)] for _ in range(2))
    if all(one.data_ptr() == other.data_ptr() for one, other in zip(first, second, strict=True)):
        return RIGHT
    return remark(
        "it copies all that it keeps with every append: take the room for max_tokens once, write into it, "
        "and return views"
    )


SIZES = "batch, num_kv_heads, max_tokens, head_dim, tokens at a time"
APPENDED = inputs(
    SIZES,
    *((1, 1, 2, 1, (1,)), (1, 1, 3, 1, (1, 1)), (1, 1, 5, 1, (2, 2))),
    *((2, 3, 5, 2, (2, 2)), (2, 3, 7, 5, (3, 1, 2))),
)

WRONG_NUM_KEYS = """
num_keys counts the tokens that there is room for, not those that are there
    return self.num_tokens -> return self.max_tokens
num_keys is always 0 | return self.num_tokens -> return 0
"""
WRONG_CACHES = """
new keys overwrite the first ones, they should stand behind them
    [old, new], dim=-2 -> [new, old[:, :, new.shape[2] :]], dim=-2
the newest keys come first, they should come last | [old, new] -> [new, old]
new keys stand beside the old ones as if they were more heads | new], dim=-2 -> new], dim=1
new keys make the old ones wider, there should be more of them | new], dim=-2 -> new], dim=-1
new keys stand below the old ones as if they were more sequences | new], dim=-2 -> new], dim=0
it returns the new keys alone, expected all so far | return self.keys, self.values -> return key, value
it returns the empty places too | return self.keys, self.values -> pad = (0, 0, 0, self.max_tokens
        - self.keys.shape[2]); return tuple(torch.nn.functional.pad(x, pad) for x in (self.keys, self.values))
keys and values are swapped | return self.keys, self.values -> return self.values, self.keys
it returns the keys twice, where are the values?
    return self.keys, self.values -> return self.keys, self.keys
num_tokens is not counted up | self.num_tokens += key.shape[-2] -> pass
num_tokens counts how often something was appended, not how many tokens | += key.shape[-2] -> += 1
num_tokens holds the new tokens alone, it should be counted up | += key.shape[-2] -> = key.shape[-2]
"""
OF_CACHE = (written_out.KVCache, written_out.joined)
ASK_FOR_KEYS = partial(run_cache, name="num_keys")
NUM_KEYS = Judged(KVCache, WRONG_NUM_KEYS, APPENDED, ASK_FOR_KEYS, code=OF_CACHE, then=judge_views)


# Who stays in the running

WRONG_TOP_K = """
one token too many stays | min(k, -> min(k + 1,
one token too few stays: the lowest of the highest should stay, too | logits < lowest -> logits <= lowest
the others are set to zero, which is a score like any other | -torch.inf -> 0.0
the lowest stay, the highest should | logits.shape[-1])) -> logits.shape[-1]), largest=False)
    logits < lowest -> logits > lowest
the highest are hidden, they should stay | logits < lowest -> logits >= lowest
the highest of all rows together stay, expected those of each row
    logits.topk(min(k, logits.shape[-1])) -> logits.flatten().topk(min(k, logits.numel()))
the scores come back sorted, each should stay in its place
    lowest = -> logits = logits.sort(dim=-1, descending=True).values; lowest =
it returns the highest scores alone, expected all, the others at minus infinity
    lowest = -> return logits.topk(min(k, logits.shape[-1])).values; lowest =
it returns the places of the highest scores
    lowest = -> return logits.topk(min(k, logits.shape[-1])).indices; lowest =
it returns probabilities, expected scores | -torch.inf) -> -torch.inf).softmax(dim=-1)
of equal scores only some stay: compare with the lowest that stays
    lowest = -> top = logits.topk(min(k, logits.shape[-1]))
        ; return torch.full_like(logits, -torch.inf).scatter(-1, top.indices, top.values); lowest =
"""
TWO_ROWS = [[-0.5, 0.5, -2.0, 1.5], [4.0, 7.0, 5.0, 6.0]]


TIES = """
one token too many stays where those more probable have exactly p: that is enough
    total - own >= p -> total - own > p
"""
WRONG_TOP_P = """
one token too few stays: the one that reaches p should stay, too | total - own >= p -> total >= p
the token that goes beyond p is dropped, it should stay, too | total - own >= p -> total > p
one token too many stays: those that stay have p without it
    total - own >= p -> torch.cat([0 * own[..., :2], (total - own)[..., 1:-1]], dim=-1) >= p
each token with a probability of p stays, the sum of the most probable should reach p
    total - own >= p -> own < p
those that should be dropped stay, and the others are dropped | total - own >= p -> total - own < p
the probabilities are summed in the order of the vocabulary: sort them first
    logits.argsort(dim=-1, descending=True) -> torch.arange(logits.shape[-1]).expand_as(logits)
the least probable come first in the sum, the most probable should | , descending=True ->
what is dropped is not put back from the sorted order into that of the vocabulary
    torch.zeros_like(dropped).scatter(-1, order, dropped) -> dropped
what is dropped is put back by the wrong order: scatter, or the inverse of the sort
    torch.zeros_like(dropped).scatter(-1, order, dropped) -> dropped.gather(-1, order)
the scores are summed, the probabilities should be | logits.softmax(dim=-1).gather -> logits.gather
the softmax runs over the rows of the batch, not over the tokens | softmax(dim=-1) -> softmax(dim=0)
the others are set to zero, which is a score like any other | -torch.inf -> 0.0
it returns probabilities, expected scores | -torch.inf) -> -torch.inf).softmax(dim=-1)
the scores come back sorted, each should stay in its place
    torch.zeros_like(dropped).scatter(-1, order, dropped) -> dropped
    return logits -> return logits.gather(-1, order)
"""
THREE = torch.tensor([0.2, 0.1, 0.7]).log()
FOUR = torch.tensor([0.3, 0.1, 0.4, 0.2]).log()


PIECES = (
    judged(
        KVCache,
        "A cache that is allocated once",
        "New keys go behind those that are there; what comes back is all so far, and no empty place.",
        WRONG_CACHES,
        APPENDED,
        run_cache,
        code=OF_CACHE,
        then=NUM_KEYS,
        leave_out=("device", "dtype", "nbytes"),
        in_model=True,
    ),
    judged(
        keep_top_k,
        "Writing a text",
        "Find the lowest score that stays, and hide what is below it.",
        WRONG_TOP_K,
        [
            *(([2.0, 1.0, 3.0], 1), ([2.0, 1.0, 3.0], 2), (TWO_ROWS, 2), (TWO_ROWS, 3)),
            *(([2.0, 1.0, 3.0], 5), ([2.0, 3.0, 2.0, 1.0, 2.0], 2)),
        ],
    ),
    judged(
        keep_top_p,
        "Writing a text",
        "A token is dropped if those more probable have p already; sort, sum up, and undo the sort.",
        WRONG_TOP_P,
        [
            *((THREE, 0.5), (THREE, 0.8), (FOUR + 1, 0.6), (FOUR + 1, 0.01)),
            (torch.stack([FOUR, torch.tensor([0.03, 0.9, 0.05, 0.02]).log()]), 0.8),
            (FOUR, 1.0),
        ],
        code=(written_out.keep_top_p,),
        then=Judged(
            keep_top_p,
            TIES,
            [([0.0, 0.0], 0.5)],
            run=lambda implementation, given: call(implementation, given).sort(dim=-1).values,
            code=(written_out.keep_top_p,),
        ),
    ),
)
