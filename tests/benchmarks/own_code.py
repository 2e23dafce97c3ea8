"""What makes plain code slower than the library's?

The prompt is 512 tokens, which are the words of Python's own documentation; then come 33 tokens, the most
probable ones, in float32. One token's time is what all take, less the median of what the first one takes, on
average over the last 32; without a cache, over 2. Plain code is right and simple: a cache that is joined anew
for each token, a copy of the keys and values for each query head, scores and weights that are written down,
angles that are computed at each call. Each other contender is this code with one part of it exchanged. All
have the same weights, and all are seen to add the same tokens before any is timed. In every round all run in
an order drawn anew. times_ours is a contender's time divided by that of the library in the same round; median
and quartiles over rounds.
"""

from functools import partial

import torch
from decoding import PROMPT, prompt
from harness.library.naive_pieces import PIECES, causal_mask, mask_scores, softmax
from harness.library.naive_pieces import GroupedQueryAttention as GroupedAttention
from measuring.circumstances import cores
from measuring.timing import compared, interleaved, less_median, say

import literate_attention as la
from literate_attention.workshop.assembling import Assembly, assemble

NEW, NEW_WITHOUT_CACHE = 32, 2
ROUNDS = 5


class WithoutCache(GroupedAttention):
    """Takes no cache, so that the whole text runs through the model for each token."""

    def forward(self, x):
        """Attend."""
        return super().forward(x)


class InGroups(GroupedAttention):
    """The heads of a group share keys and values, which are not copied."""

    def attend(self, query, key, value):
        """Attend with the queries of a group one below the other."""
        scores = la.stack_groups(query, self.num_kv_heads) @ key.mT / self.head_dim**0.5
        mask = causal_mask(query.shape[-2], key.shape[-2])
        weights = softmax(mask_scores(la.unstack_groups(scores, self.num_heads), mask))
        return la.unstack_groups(
            la.stack_groups(weights, self.num_kv_heads) @ value, self.num_heads
        )


EXCHANGED = {
    "plain": {},
    "plain, no cache": {"GroupedQueryAttention": WithoutCache},
    "plain, room for the cache taken at once": {"KVCache": la.KVCache},
    "plain, no copies for each head": {"GroupedQueryAttention": InGroups},
    "plain, the fused kernel without copies": {"GroupedQueryAttention": la.GroupedQueryAttention},
    "plain, angles computed once": {"RotaryEmbedding": la.RotaryEmbedding},
}


def measure():
    """Let the library, plain code, and plain code with one part exchanged continue a text."""
    torch.set_num_threads(cores())
    token_ids = prompt()
    model, _ = la.load_smollm2("cpu")
    weights = model.state_dict()
    assemblies = {"ours": Assembly(model, lambda size: list(la.empty_caches(model, 1, size)))}
    assemblies |= {
        name: assemble({**PIECES, **parts}, weights) for name, parts in EXCHANGED.items()
    }
    say("comparing")
    expected = written(assemblies["ours"], token_ids, 1 + NEW)
    calls, more = {}, {}
    for name, assembly in assemblies.items():
        run = partial(written, assembly, token_ids)
        new = more[name] = NEW_WITHOUT_CACHE if assembly.new_caches(1) is None else NEW
        if run(1 + new) != expected[: 1 + new]:
            raise AssertionError(f"{name} adds other tokens than ours")
        calls |= {(name, 1): partial(run, 1), (name, 1 + new): partial(run, 1 + new)}
    times = interleaved(calls, rounds=ROUNDS, warm_up=0, named="own code")
    later = {
        name: [taken / new for taken in less_median(times[name, 1 + new], times[name, 1])]
        for name, new in more.items()
    }
    for name, each in later.items():
        yield {"step": f"a token after {PROMPT}"} | compared(name, each, ours=later["ours"])


def written(assembly, token_ids, new):
    """Return the tokens that come."""
    return list(assembly.write(token_ids, new, la.greedy))
