"""The pieces of the chapter on windows and sinks: a mask with a window, and a cache that forgets."""

from functools import partial
from typing import Any

from torch import Tensor

from literate_attention.models.windows_and_sinks import RollingCache, window_mask
from literate_attention.story.causal_attention import causal_mask
from literate_attention.workshop.judge.trials import Given, Judged, inputs
from literate_attention.workshop.pieces.kv_cache import appended
from literate_attention.workshop.pieces.piece import judged

# The mask


WRONG_MASKS = """
the window is one key too wide: the query's own key counts too | - window + 1 -> - window
the window is one key too narrow | - window + 1 -> - window + 2
the sinks are forgotten | mask[:, :num_sinks] = past[:, :num_sinks] -> pass
there is one sink too many
    mask[:, :num_sinks] = past[:, :num_sinks]
        -> num_sinks += num_sinks > 0; mask[:, :num_sinks] = past[:, :num_sinks]
a sink is seen by queries that come before it | = past[:, :num_sinks] -> = True
the future is visible | .tril(kv_len - q_len) ->
one key of the future is visible | .tril(kv_len - q_len) -> .tril(kv_len - q_len + 1)
no query sees its own key | mask = past -> mask = past.tril(kv_len - q_len - 1)
with fewer queries than keys, the queries are the last tokens, not the first
    .tril(kv_len - q_len) -> .tril() | .triu(kv_len - q_len -> .triu(0
true and false are swapped: true is for what may be seen | return mask -> return ~mask
rows and columns are swapped: a row belongs to a query | return mask -> return mask.T
"""


# The cache


def run_cache(implementation: Any, given: Given, name: str = "num_tokens") -> list[Tensor]:
    """Make two caches, with sinks if there are any, and append to both in turns."""
    window, num_sinks, batch, num_kv_heads, chunks = given.values()
    cache, other = (implementation(window, *([num_sinks] if num_sinks else [])) for _ in range(2))
    return appended(cache, (batch, num_kv_heads, 2), chunks, name, other)


SIZES = "window, num_sinks, batch, num_kv_heads, tokens at a time"
APPENDED = inputs(
    SIZES,
    *((1, 0, 1, 1, (1, 1)), (2, 0, 1, 1, (1, 1, 1)), (3, 0, 1, 1, (1, 1, 1, 1, 1))),
    *((2, 0, 1, 1, (3, 1)), (3, 0, 1, 1, (2, 3, 1)), (2, 1, 1, 1, (1, 1, 1, 1))),
    *((2, 2, 2, 3, (1, 4, 1, 2)), (3, 2, 2, 3, (5, 3, 1, 2))),
)

WRONG_NUM_KEYS = """
num_keys counts all tokens so far, not those that are still there
    return min(self.num_tokens, self.num_sinks + self.window - 1) -> return self.num_tokens
num_keys counts one too many: the next token brings the last key of its window
    self.num_sinks + self.window - 1 -> self.num_sinks + self.window
num_keys leaves the sinks out | self.num_sinks + self.window - 1 -> self.window - 1
num_keys is wrong while the cache is not full | min(self.num_tokens, -> max(0,
"""
WRONG_CACHES = """
it keeps one key too many: the next token brings the last key of its window
    - (self.window - 1) -> - self.window
it keeps one key too few | - (self.window - 1) -> - max(self.window - 2, 0)
it keeps all keys, even those that no later token can see | self.trim(key), self.trim(value) -> key, value
with a window of one nothing should be kept, but all is: x[-0:] begins at 0, not at -0
    - (self.window - 1) -> - (self.window - 1 or 10**6)
the sinks are lost | max(self.num_sinks, -> max(0, | [x[..., : self.num_sinks, :], -> [
the sinks take the place of keys in the window, they should come on top
    - (self.window - 1) -> - max(self.window - 1 - self.num_sinks, 0)
sinks that are still in the window are kept twice | max(self.num_sinks, -> max(0,
it keeps the first keys of the window and forgets the last
    last = -> return x[..., : self.num_sinks + self.window - 1, :]; last =
it forgets before it returns: the tokens of a chunk must still see the keys before them
    return key, value -> self.window += 1; key, value = self.trim(key), self.trim(value); self.window -= 1
        ; return key, value
it returns what it keeps for the next token, expected what these tokens can see
    return key, value -> return self.keys, self.values
it returns the new keys alone, without those that were kept
    return key, value -> return key[..., -new_tokens:, :], value[..., -new_tokens:, :]
num_tokens says how many keys are kept: positions have to go on counting
    self.num_tokens += new_tokens -> self.num_tokens = self.keys.shape[-2]
    if self.num_tokens > 0 -> if hasattr(self, "keys")
num_tokens is not counted up | self.num_tokens += new_tokens -> pass
    if self.num_tokens > 0 -> if hasattr(self, "keys")
num_tokens counts how often something was appended, not how many tokens | += new_tokens -> += 1
num_tokens holds the new tokens alone, it should be counted up | += new_tokens -> = new_tokens
"""
NUM_KEYS = Judged(RollingCache, WRONG_NUM_KEYS, APPENDED, partial(run_cache, name="num_keys"))


PIECES = (
    judged(
        window_mask,
        "The last few tokens",
        "Write the position of each query in a column and that of each key in a row, and compare.",
        WRONG_MASKS,
        [
            *((1, 1, 1), (2, 2, 1), (2, 2, 2), (3, 3, 2), (1, 3, 2)),
            *((3, 3, 1, 1), (2, 2, 1, 2), (3, 3, 1, 2), (4, 4, 2, 1), (2, 5, 2, 1), (4, 7, 3, 2)),
        ],
        code=(window_mask, causal_mask),
        leave_out=("device",),
    ),
    judged(
        RollingCache,
        "A cache that forgets",
        "Return old and new keys together; of these, keep the sinks and the last window - 1.",
        WRONG_CACHES,
        APPENDED,
        run_cache,
        most=3,
        then=NUM_KEYS,
        leave_out=("trim",),
    ),
)
