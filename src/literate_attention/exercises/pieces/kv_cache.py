"""The pieces of the chapter on the cache: the cache itself, and who stays in the running for a token."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from literate_attention.exercises._judging import RIGHT, Verdict, remark
from literate_attention.exercises.pieces._judged import (
    Judged,
    UnusableError,
    alone_and_in_pairs,
    rewritten,
)
from literate_attention.exercises.pieces._piece import Piece
from literate_attention.exercises.pieces._trials import Given, call
from literate_attention.models.kv_cache import KVCache, keep_top_k, keep_top_p

# The cache

Pair = tuple[Tensor, Tensor]


def add(
    cache: Any,
    key: Tensor,
    value: Tensor,
    *,
    joined: Callable[[Tensor, Tensor], Tensor] = lambda old, new: torch.cat([old, new], dim=-2),
    counted: Callable[[int, int], int] = lambda num_tokens, new_tokens: num_tokens + new_tokens,
    returned: Callable[[Pair, Pair, int], Pair] = lambda new, together, max_tokens: together,
) -> Pair:
    """Do what append does, or something else in one of its steps."""
    if cache.num_tokens or hasattr(cache, "together"):
        old_keys, old_values = cache.together
        together = joined(old_keys, key), joined(old_values, value)
    else:
        together = key, value
    cache.together = together
    cache.num_tokens = counted(cache.num_tokens, key.shape[-2])
    return returned((key, value), together, cache.keys.shape[-2])


def with_empty_places(new: Pair, together: Pair, max_tokens: int) -> Pair:
    """Return what there is room for, full or empty."""
    keys, values = (
        torch.cat([x, torch.zeros_like(x[:, :, :1]).expand(-1, -1, max_tokens - x.shape[2], -1)], 2)
        for x in together
    )
    return keys, values


def keys_and_values(batch: int, num_kv_heads: int, num_tokens: int, head_dim: int) -> Pair:
    """Count up, token by token; values are negative."""
    by_token = torch.arange(1.0, 1 + batch * num_kv_heads * num_tokens * head_dim)
    keys = by_token.view(num_tokens, batch, num_kv_heads, head_dim).movedim(0, 2)
    return keys, -keys


def run_cache(implementation: Any, given: Given) -> list[Tensor]:
    """Make a cache and append, a few tokens at a time."""
    sizes = given["batch"], given["num_kv_heads"]
    cache = implementation(*sizes, given["max_tokens"], given["head_dim"])
    return appended(cache, *sizes, given["tokens at a time"], given["head_dim"])


def appended(
    cache: Any, batch: int, num_kv_heads: int, chunks: tuple[int, ...], head_dim: int
) -> list[Tensor]:
    """Append tokens, and return all that came, and how many tokens the cache says that it has seen."""
    if not hasattr(cache, "num_tokens"):
        raise UnusableError("it has no num_tokens, which says how many tokens were appended so far")
    came = [number(cache, "num_tokens")]
    keys, values = keys_and_values(batch, num_kv_heads, sum(chunks), head_dim)
    for key, value in zip(keys.split(chunks, dim=2), values.split(chunks, dim=2), strict=True):
        came += [one.clone() for one in cache.append(key.clone(), value.clone())]
        came.append(number(cache, "num_tokens"))
    return came


def number(cache: Any, name: str) -> Tensor:
    """Ask a cache for a number."""
    found = getattr(cache, name)
    if callable(found):
        raise UnusableError(f"{name} is a method, expected a number: write @property above it")
    return torch.as_tensor(found)


def chunks(*chunks: int, batch: int = 1, heads: int = 1, head_dim: int = 1) -> Given:
    """Write an input for a cache."""
    return {
        "batch": batch,
        "num_kv_heads": heads,
        "max_tokens": sum(chunks) + 1,
        "head_dim": head_dim,
        "tokens at a time": chunks,
    }


def run_num_keys(implementation: Any, given: Given) -> list[Tensor]:
    """Append, and ask for the number of keys before and after."""
    cache = implementation(1, 1, given["max_tokens"], 1)
    before = number(cache, "num_keys")
    appended(cache, 1, 1, given["tokens at a time"], 1)
    return [before, number(cache, "num_keys")]


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


CACHE_INPUTS = [
    chunks(1),
    chunks(1, 1),
    chunks(2, 2),
    chunks(2, 2, batch=2, heads=3, head_dim=2),
    chunks(3, 1, 2, batch=2, heads=3, head_dim=5),
]

NUM_KEYS = Judged(
    KVCache,
    {
        "num_keys counts the tokens that there is room for, not those that are there": (
            type("KVCache", (KVCache,), {"num_keys": property(lambda self: self.keys.shape[-2])})
        ),
        "num_keys is always 0": type("KVCache", (KVCache,), {"num_keys": 0}),
    },
    CACHE_INPUTS,
    run_num_keys,
    then=judge_views,
)

CACHE = Judged(
    KVCache,
    alone_and_in_pairs(
        rewritten(KVCache, append=add),
        {
            "new keys overwrite the first ones, they should stand behind them": {
                "joined": lambda old, new: torch.cat([new, old[:, :, new.shape[2] :]], dim=2)
            },
            "the newest keys come first, they should come last": {
                "joined": lambda old, new: torch.cat([new, old], dim=2)
            },
            "new keys stand beside the old ones as if they were more heads": {
                "joined": lambda old, new: torch.cat([old, new], dim=1)
            },
            "new keys make the old ones wider, there should be more of them": {
                "joined": lambda old, new: torch.cat([old, new], dim=-1)
            },
            "new keys stand below the old ones as if they were more sequences": {
                "joined": lambda old, new: torch.cat([old, new], dim=0)
            },
            "it returns the new keys alone, expected all so far": {
                "returned": lambda new, together, _: new
            },
            "it returns the empty places too": {"returned": with_empty_places},
            "keys and values are swapped": {
                "returned": lambda new, together, _: (together[1], together[0])
            },
            "it returns the keys twice, where are the values?": {
                "returned": lambda new, together, _: (together[0], together[0])
            },
            "num_tokens is not counted up": {"counted": lambda num_tokens, new_tokens: num_tokens},
            "num_tokens counts how often something was appended, not how many tokens": {
                "counted": lambda num_tokens, new_tokens: num_tokens + 1
            },
            "num_tokens holds the new tokens alone, it should be counted up": {
                "counted": lambda num_tokens, new_tokens: new_tokens
            },
        },
    ),
    CACHE_INPUTS,
    run_cache,
    then=NUM_KEYS,
)

# Who stays in the running


def hide(logits: Tensor, hidden: Tensor) -> Tensor:
    """Set what is hidden to minus infinity."""
    return logits.masked_fill(hidden, -torch.inf)


def highest(logits: Tensor, k: int) -> Tensor:
    """Return the places of the highest scores."""
    return logits.topk(min(k, logits.shape[-1])).indices


def lowest_of(logits: Tensor, k: int) -> Tensor:
    """Return the lowest of the highest scores."""
    return logits.topk(min(k, logits.shape[-1])).values[..., -1:]


TOP_K = Judged(
    keep_top_k,
    {
        "one token too many stays": lambda logits, k: keep_top_k(logits, k + 1),
        "one token too few stays: the lowest of the highest should stay, too": (
            lambda logits, k: hide(logits, logits <= lowest_of(logits, k))
        ),
        "the others are set to zero, which is a score like any other": (
            lambda logits, k: logits.masked_fill(logits < lowest_of(logits, k), 0.0)
        ),
        "the lowest stay, the highest should": lambda logits, k: -keep_top_k(-logits, k),
        "the highest are hidden, they should stay": (
            lambda logits, k: hide(logits, logits >= lowest_of(logits, k))
        ),
        "the highest of all rows together stay, expected those of each row": (
            lambda logits, k: hide(logits, logits < lowest_of(logits.flatten(), k))
        ),
        "the scores come back sorted, each should stay in its place": (
            lambda logits, k: keep_top_k(logits.sort(dim=-1, descending=True).values, k)
        ),
        "it returns the highest scores alone, expected all, the others at minus infinity": (
            lambda logits, k: logits.topk(min(k, logits.shape[-1])).values
        ),
        "it returns the places of the highest scores": highest,
        "it returns probabilities, expected scores": (
            lambda logits, k: keep_top_k(logits, k).softmax(dim=-1)
        ),
        "of equal scores only some stay: compare with the lowest that stays": (
            lambda logits, k: torch.full_like(logits, -torch.inf).scatter(
                -1, highest(logits, k), logits.gather(-1, highest(logits, k))
            )
        ),
    },
    [
        {"logits": torch.tensor([2.0, 1.0, 3.0]), "k": 1},
        {"logits": torch.tensor([2.0, 1.0, 3.0]), "k": 2},
        {"logits": torch.tensor([[-0.5, 0.5, -2.0, 1.5], [4.0, 7.0, 5.0, 6.0]]), "k": 2},
        {"logits": torch.tensor([[-0.5, 0.5, -2.0, 1.5], [4.0, 7.0, 5.0, 6.0]]), "k": 3},
        {"logits": torch.tensor([2.0, 1.0, 3.0]), "k": 5},
        {"logits": torch.tensor([2.0, 3.0, 2.0, 1.0, 2.0]), "k": 2},
    ],
)


def drop(
    logits: Tensor,
    p: float,
    *,
    probabilities: Callable[[Tensor], Tensor] = lambda logits: logits.softmax(dim=-1),
    order: Callable[[Tensor], Tensor] = lambda logits: logits.argsort(dim=-1, descending=True),
    dropped: Callable[[Tensor, Tensor, float], Tensor] = lambda total, own, p: total - own >= p,
    put_back: Callable[[Tensor, Tensor], Tensor] = lambda dropped, order: torch.zeros_like(
        dropped
    ).scatter(-1, order, dropped),
    written: Callable[[Tensor, Tensor], Tensor] = hide,
) -> Tensor:
    """Do what top-p does, or something else in one of its steps."""
    places = order(logits)
    own = probabilities(logits).gather(-1, places)
    return written(logits, put_back(dropped(own.cumsum(dim=-1), own, p), places))


TOP_P = Judged(
    keep_top_p,
    alone_and_in_pairs(
        lambda **changes: lambda logits, p: drop(logits, p, **changes),
        {
            "one token too few stays: the one that reaches p should stay, too": {
                "dropped": lambda total, own, p: total >= p
            },
            "the token that goes beyond p is dropped, it should stay, too": {
                "dropped": lambda total, own, p: total > p
            },
            "one token too many stays: those that stay have p without it": {
                "dropped": lambda total, own, p: (
                    torch.cat([torch.zeros_like(total[..., :2]), (total - own)[..., 1:-1]], dim=-1)
                    >= p
                )
            },
            "each token with a probability of p stays, the sum of the most probable should reach p": {
                "dropped": lambda total, own, p: own < p
            },
            "those that should be dropped stay, and the others are dropped": {
                "dropped": lambda total, own, p: total - own < p
            },
            "the probabilities are summed in the order of the vocabulary: sort them first": {
                "order": lambda logits: torch.arange(logits.shape[-1]).expand_as(logits)
            },
            "the least probable come first in the sum, the most probable should": {
                "order": lambda logits: logits.argsort(dim=-1)
            },
            "what is dropped is not put back from the sorted order into that of the vocabulary": {
                "put_back": lambda dropped, order: dropped
            },
            "what is dropped is put back by the wrong order: scatter, or the inverse of the sort": {
                "put_back": lambda dropped, order: dropped.gather(-1, order)
            },
            "the scores are summed, the probabilities should be": {
                "probabilities": lambda logits: logits
            },
            "the softmax runs over the rows of the batch, not over the tokens": {
                "probabilities": lambda logits: logits.softmax(dim=0)
            },
            "the others are set to zero, which is a score like any other": {
                "written": lambda logits, hidden: logits.masked_fill(hidden, 0.0)
            },
            "it returns probabilities, expected scores": {
                "written": lambda logits, hidden: hide(logits, hidden).softmax(dim=-1)
            },
            "the scores come back sorted, each should stay in its place": {
                "put_back": lambda dropped, order: dropped,
                "written": lambda logits, hidden: hide(
                    logits.sort(dim=-1, descending=True).values, hidden
                ),
            },
        },
    ),
    [
        {"logits": torch.tensor([0.2, 0.1, 0.7]).log(), "p": 0.5},
        {"logits": torch.tensor([0.2, 0.1, 0.7]).log(), "p": 0.8},
        {"logits": torch.tensor([0.3, 0.1, 0.4, 0.2]).log() + 1, "p": 0.6},
        {"logits": torch.tensor([0.3, 0.1, 0.4, 0.2]).log() + 1, "p": 0.01},
        {"logits": torch.tensor([[0.3, 0.1, 0.4, 0.2], [0.03, 0.9, 0.05, 0.02]]).log(), "p": 0.8},
        {"logits": torch.tensor([0.3, 0.1, 0.4, 0.2]).log(), "p": 1.0},
    ],
    then=Judged(
        keep_top_p,
        {
            "one token too many stays where those more probable have exactly p: that is enough": (
                lambda logits, p: drop(logits, p, dropped=lambda total, own, p: total - own > p)
            ),
        },
        [{"logits": torch.tensor([0.0, 0.0]), "p": 0.5}],
        run=lambda implementation, given: call(implementation, given).sort(dim=-1).values,
    ),
)

PIECES = (
    Piece(
        library=KVCache,
        chapter="models/kv_cache",
        section="A cache that is allocated once",
        hint="New keys go behind those that are there; what comes back is all so far, and no empty place.",
        check=CACHE,
        leave_out=("device", "dtype", "nbytes"),
        in_model=True,
    ),
    Piece(
        library=keep_top_k,
        chapter="models/kv_cache",
        section="Writing a text",
        hint="Find the lowest score that stays, and hide what is below it.",
        check=TOP_K,
    ),
    Piece(
        library=keep_top_p,
        chapter="models/kv_cache",
        section="Writing a text",
        hint="A token is dropped if those more probable have p already; sort, sum up, and undo the sort.",
        check=TOP_P,
    ),
)
