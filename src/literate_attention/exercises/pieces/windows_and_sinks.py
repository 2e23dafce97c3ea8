"""The pieces of the chapter on windows and sinks: a mask with a window, and a cache that forgets."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from literate_attention.exercises.pieces._judged import (
    Judged,
    alone_and_in_pairs,
    rewritten,
    run_boolean_mask,
    run_mask,
)
from literate_attention.exercises.pieces._piece import Piece
from literate_attention.exercises.pieces._trials import Given
from literate_attention.exercises.pieces.kv_cache import appended, number
from literate_attention.models.grouped_query_attention import window_mask
from literate_attention.models.windows_and_sinks import RollingCache
from literate_attention.story.causal_attention import causal_mask

# The mask


def near(
    q_len: int,
    kv_len: int,
    window: int,
    num_sinks: int = 0,
    *,
    first: int | None = None,
    narrower: int = 0,
    past: Callable[[Tensor, Tensor], Tensor] = lambda query, key: key <= query,
    sinks: Callable[[Tensor, Tensor, int], Tensor] = lambda query, key, s: (
        (key < s) & (key <= query)
    ),
    written: Callable[[Tensor], Tensor] = lambda mask: mask,
) -> Tensor:
    """Do what the mask does, or something else in one of its steps."""
    start = kv_len - q_len if first is None else first
    query, key = start + torch.arange(q_len)[:, None], torch.arange(kv_len)
    in_window = past(query, key) & (key > query - window + narrower)
    return written(in_window | sinks(query, key, num_sinks))


def lengths(q_len: int, kv_len: int, window: int, num_sinks: int = 0) -> Given:
    """Write an input for the mask."""
    given = {"q_len": q_len, "kv_len": kv_len, "window": window}
    return {**given, "num_sinks": num_sinks} if num_sinks else given


WINDOW_MASK = Judged(
    window_mask,
    alone_and_in_pairs(
        lambda **changes: lambda *given: near(*given, **changes),
        {
            "the window is one key too wide: the query's own key counts too": {"narrower": -1},
            "the window is one key too narrow": {"narrower": 1},
            "the sinks are forgotten": {"sinks": lambda query, key, s: key < query * 0},
            "there is one sink too many": {
                "sinks": lambda query, key, s: (key < s + (s > 0)) & (key <= query)
            },
            "a sink is seen by queries that come before it": {
                "sinks": lambda query, key, s: (key < s) & (query == query)
            },
            "the future is visible": {"past": lambda query, key: query == query},
            "one key of the future is visible": {"past": lambda query, key: key <= query + 1},
            "no query sees its own key": {"past": lambda query, key: key < query},
            "with fewer queries than keys, the queries are the last tokens, not the first": {
                "first": 0
            },
            "true and false are swapped: true is for what may be seen": {
                "written": lambda mask: ~mask
            },
            "rows and columns are swapped: a row belongs to a query": {
                "written": lambda mask: mask.T
            },
        },
    ),
    [
        lengths(1, 1, 1),
        lengths(2, 2, 1),
        lengths(2, 2, 2),
        lengths(3, 3, 2),
        lengths(1, 3, 2),
        lengths(3, 3, 1, 1),
        lengths(2, 2, 1, 2),
        lengths(4, 4, 2, 1),
        lengths(2, 5, 2, 1),
        lengths(4, 7, 3, 2),
    ],
    run_mask,
    parts=(causal_mask,),
    then=Judged(window_mask, {}, [lengths(2, 2, 1)], run_boolean_mask, parts=(causal_mask,)),
)

# The cache

Trim = Callable[[Tensor, int, int], Tensor]
ALL = 10**6
"""More tokens than any input has."""


def trim(x: Tensor, num_sinks: int, num_last: int) -> Tensor:
    """Return the first and the last tokens, none of them twice."""
    last = max(num_sinks, x.shape[-2] - num_last)
    return torch.cat([x[:, :, :num_sinks], x[:, :, last:]], dim=2)


def roll(
    cache: Any,
    key: Tensor,
    value: Tensor,
    *,
    num_last: Callable[[int], int] = lambda window: window - 1,
    kept: Trim = trim,
    returned: Callable[[Tensor, Tensor, int, int], Tensor] = lambda new, together, s, num_last: (
        together
    ),
    counted: Callable[[int, int, int], int] = lambda num_tokens, new, kept: num_tokens + new,
) -> tuple[Tensor, Tensor]:
    """Do what append does, or something else in one of its steps."""
    sizes = cache.num_sinks, num_last(cache.window)
    old = getattr(cache, "kept", (key[:, :, :0], value[:, :, :0]))
    keys, values = torch.cat([old[0], key], dim=2), torch.cat([old[1], value], dim=2)
    cache.kept = kept(keys, *sizes), kept(values, *sizes)
    cache.num_tokens = counted(cache.num_tokens, key.shape[2], cache.kept[0].shape[2])
    return returned(key, keys, *sizes), returned(value, values, *sizes)


def run_cache(implementation: Any, given: Given) -> list[Tensor]:
    """Make a cache and append, a few tokens at a time."""
    cache = made(implementation, given)
    return appended(cache, given["batch"], given["num_kv_heads"], given["tokens at a time"], 2)


def run_num_keys(implementation: Any, given: Given) -> list[Tensor]:
    """Append, and ask for the number of keys before and after."""
    cache = made(implementation, given)
    before = number(cache, "num_keys")
    appended(cache, given["batch"], given["num_kv_heads"], given["tokens at a time"], 2)
    return [before, number(cache, "num_keys")]


def made(implementation: Any, given: Given) -> Any:
    """Make a cache, with sinks if there are any."""
    num_sinks = given["num_sinks"]
    return implementation(given["window"], *([num_sinks] if num_sinks else []))


def chunks(
    *chunks: int, window: int, num_sinks: int = 0, batch: int = 1, num_kv_heads: int = 1
) -> Given:
    """Write an input."""
    return {
        "window": window,
        "num_sinks": num_sinks,
        "batch": batch,
        "num_kv_heads": num_kv_heads,
        "tokens at a time": chunks,
    }


INPUTS = [
    chunks(1, 1, window=1),
    chunks(1, 1, 1, window=2),
    chunks(1, 1, 1, 1, 1, window=3),
    chunks(3, 1, window=2),
    chunks(2, 3, 1, window=3),
    chunks(1, 1, 1, 1, window=2, num_sinks=1),
    chunks(1, 4, 1, 2, window=2, num_sinks=2, batch=2, num_kv_heads=3),
    chunks(5, 3, 1, 2, window=3, num_sinks=2, batch=2, num_kv_heads=3),
]

NUM_KEYS = Judged(
    RollingCache,
    {
        "num_keys counts all tokens so far, not those that are still there": (
            type("RollingCache", (RollingCache,), {"num_keys": property(lambda c: c.num_tokens)})
        ),
        "num_keys counts one too many: the next token brings the last key of its window": (
            type(
                "RollingCache",
                (RollingCache,),
                {"num_keys": property(lambda c: min(c.num_tokens, c.num_sinks + c.window))},
            )
        ),
        "num_keys leaves the sinks out": (
            type(
                "RollingCache",
                (RollingCache,),
                {"num_keys": property(lambda c: min(c.num_tokens, c.window - 1))},
            )
        ),
        "num_keys is wrong while the cache is not full": (
            type(
                "RollingCache",
                (RollingCache,),
                {"num_keys": property(lambda c: c.num_sinks + c.window - 1)},
            )
        ),
    },
    INPUTS,
    run_num_keys,
)

ROLLING = Judged(
    RollingCache,
    alone_and_in_pairs(
        rewritten(RollingCache, append=roll),
        {
            "it keeps one key too many: the next token brings the last key of its window": {
                "num_last": lambda window: window
            },
            "it keeps one key too few": {"num_last": lambda window: max(window - 2, 0)},
            "it keeps all keys, even those that no later token can see": {
                "kept": lambda x, num_sinks, num_last: x
            },
            "with a window of one nothing should be kept, but all is: x[-0:] begins at 0, not at -0": {
                "num_last": lambda window: window - 1 or ALL
            },
            "the sinks are lost": {"kept": lambda x, num_sinks, num_last: trim(x, 0, num_last)},
            "the sinks take the place of keys in the window, they should come on top": {
                "kept": lambda x, num_sinks, num_last: trim(
                    x, num_sinks, max(num_last - num_sinks, 0)
                )
            },
            "sinks that are still in the window are kept twice": {
                "kept": lambda x, num_sinks, num_last: torch.cat(
                    [x[:, :, :num_sinks], trim(x, 0, num_last)], dim=2
                )
            },
            "it keeps the first keys of the window and forgets the last": {
                "kept": lambda x, num_sinks, num_last: x[:, :, : num_sinks + num_last]
            },
            "it forgets before it returns: the tokens of a chunk must still see the keys before them": {
                "returned": lambda new, together, s, num_last: trim(together, s, num_last + 1)
            },
            "it returns what it keeps for the next token, expected what these tokens can see": {
                "returned": lambda new, together, s, num_last: trim(together, s, num_last)
            },
            "it returns the new keys alone, without those that were kept": {
                "returned": lambda new, together, s, num_last: new
            },
            "num_tokens says how many keys are kept: positions have to go on counting": {
                "counted": lambda num_tokens, new, kept: kept
            },
            "num_tokens is not counted up": {"counted": lambda num_tokens, new, kept: num_tokens},
            "num_tokens counts how often something was appended, not how many tokens": {
                "counted": lambda num_tokens, new, kept: num_tokens + 1
            },
            "num_tokens holds the new tokens alone, it should be counted up": {
                "counted": lambda num_tokens, new, kept: new
            },
        },
        most=3,
    ),
    INPUTS,
    run_cache,
    then=NUM_KEYS,
)

PIECES = (
    Piece(
        library=window_mask,
        chapter="models/windows_and_sinks",
        section="The last few tokens",
        hint="Write the position of each query in a column and that of each key in a row, and compare.",
        check=WINDOW_MASK,
        leave_out=("device",),
    ),
    Piece(
        library=RollingCache,
        chapter="models/windows_and_sinks",
        section="A cache that forgets",
        hint="Return old and new keys together; of these, keep the sinks and the last window - 1.",
        check=ROLLING,
        leave_out=("trim",),
    ),
)
