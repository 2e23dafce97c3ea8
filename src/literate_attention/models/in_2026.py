"""What the attention of a model keeps, reads and multiplies, counted from its settings."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

__all__ = [
    "Feature",
    "Model",
    "Store",
    "features_of",
    "index",
    "keys_and_values",
    "latents",
    "one_vector",
    "state",
    "total",
]


class Feature(NamedTuple):
    """Something that a model does in its own way."""

    part: str
    """Queries, keys and values, mask, positions, cache or output."""
    words: str
    """What it does there."""
    section: str
    """The page that explains it, and the section on it."""


PARTS = ("queries", "keys, values", "mask", "positions", "cache", "output")
"""The parts of attention, in the order in which a model is described."""

SECTIONS = {
    "absorbed": "models/latent_attention.md#why-a-rotation-resists",
    "blocks": "models/sparse_attention.md#a-block-hides-a-needle",
    "cache": "models/kv_cache.md#one-cache-for-several-layers",
    "gates": "models/linear_attention.md#gates",
    "grouped": "models/grouped_query_attention.md#one-set-of-keys-for-several-questions",
    "latent": "models/latent_attention.md#keep-less-and-make-the-rest-again",
    "linear": "models/linear_attention.md#move-the-brackets",
    "longer": "models/rotary_embeddings.md#longer-texts-than-in-training",
    "multi-head": "story/multi_head_attention.md#heads-side-by-side",
    "norm": "models/grouped_query_attention.md#the-module",
    "query latent": "models/latent_attention.md#the-module",
    "rotary": "models/rotary_embeddings.md#turn-a-part-or-nothing-at-all",
    "sinks": "models/windows_and_sinks.md#a-sink-that-is-learned",
    "sparse": "models/sparse_attention.md#a-cheap-index",
    "window": "models/windows_and_sinks.md#the-last-few-tokens",
}
"""The pages that explain what models do, and the sections of them.

:meta hide-value:
"""


@dataclass(frozen=True, kw_only=True)
class Store:
    r"""Something that a layer keeps of a text in entries of one size, to which queries attend.

    After :math:`n` tokens there are :math:`\lfloor n / t \rfloor` entries. Of these, a query sees the last
    :math:`w` or the best :math:`k`.

    Args:
        new: what it is.
        width: how many numbers are in an entry.
        per_entry: how many multiplications all heads need for an entry that they see.
        per_token: how many more they need for a token, however many entries there are.
        tokens_each: how many tokens share an entry, :math:`t`; None if there is one for all.
        window: how many of the last entries a query sees, :math:`w`, that of its own token included.
        best: how many entries are chosen for a query, :math:`k`.
        is_shared: whether an earlier layer keeps it, so that this one only reads it.
    """

    new: tuple[Feature, ...]
    width: int
    per_entry: int
    per_token: int = 0
    tokens_each: int | None = 1
    window: int | None = None
    best: int | None = None
    is_shared: bool = False

    def entries(self, num_tokens: int, limit: int | None) -> int:
        """Return how many entries there are after so many tokens, no more than the limit."""
        count = num_tokens // self.tokens_each if self.tokens_each else 1
        return count if limit is None else min(count, limit)

    def kept(self, num_tokens: int) -> int:
        """Return how many numbers are kept of so many tokens for those that follow.

        Of a window of :math:`w` these are :math:`w - 1` entries, because the next token brings its own.
        """
        if self.is_shared:
            return 0
        limit = self.window and self.window - 1
        return self.width * self.entries(num_tokens, limit)

    def read(self, num_tokens: int) -> int:
        """Return how many numbers the last of so many tokens reads."""
        return self.width * self.entries(num_tokens, self.window or self.best)

    def work(self, num_tokens: int) -> int:
        """Return how many multiplications the last of so many tokens needs."""
        seen = self.entries(num_tokens, self.window or self.best)
        return self.per_token + self.per_entry * seen


def features_of(store: Store) -> tuple[Feature, ...]:
    """Return what a layer keeps, and what its settings say about who sees how much of it."""
    each = f"entries of {store.tokens_each} tokens each"
    tokens = "tokens" if store.tokens_each == 1 else each
    features = [*store.new]
    if store.window:
        words = f"the last {store.window:,} tokens"
        features.append(Feature("mask", words, SECTIONS["window"]))
    if store.best:
        words = f"the best {store.best:,} {tokens}"
        features.append(Feature("mask", words, SECTIONS["sparse"]))
    elif store.tokens_each not in (1, None):
        features.append(Feature("mask", f"all {each}", SECTIONS["blocks"]))
    if store.is_shared:
        words = "that of an earlier layer"
        features.append(Feature("cache", words, SECTIONS["cache"]))
    return tuple(features)


def keys_and_values(
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    value_dim: int | None = None,
    **settings: Any,
) -> Store:
    """Return what heads keep that share keys and values, or not; settings are those of a :class:`Store`."""
    both = head_dim + (value_dim or head_dim)
    words, section = f"{num_kv_heads} for {num_heads} heads", SECTIONS["grouped"]
    if num_kv_heads == num_heads:
        words, section = f"one for each of {num_heads} heads", SECTIONS["multi-head"]
    new = (Feature("keys, values", words, section),)
    return Store(new=new, width=num_kv_heads * both, per_entry=num_heads * both, **settings)


def latents(
    num_heads: int, head_dim: int, latent_dim: int, rope_dim: int, value_dim: int, **settings: Any
) -> Store:
    """Return what latent attention keeps: a latent and a rotated key, which queries absorb.

    The part of a query that is not rotated is ``head_dim`` wide.
    """
    words = f"made from {latent_dim} + {rope_dim} numbers"
    return Store(
        new=(Feature("keys, values", words, SECTIONS["latent"]),),
        width=latent_dim + rope_dim,
        per_entry=num_heads * (2 * latent_dim + rope_dim),
        per_token=num_heads * latent_dim * (head_dim + value_dim),
        **settings,
    )


def one_vector(num_heads: int, head_dim: int, **settings: Any) -> Store:
    """Return what is kept where one vector is the key of all heads, and the value too."""
    words = f"one vector is both for {num_heads} heads"
    new = (Feature("keys, values", words, SECTIONS["grouped"]),)
    return Store(new=new, width=head_dim, per_entry=2 * num_heads * head_dim, **settings)


def state(num_heads: int, head_dim: int) -> Store:
    """Return what linear attention keeps: a state for each head, however long the text is."""
    numbers = num_heads * head_dim**2
    words = f"{num_heads} states of {head_dim} by {head_dim}"
    new = (Feature("cache", words, SECTIONS["linear"]),)
    return Store(new=new, width=numbers, per_entry=4 * numbers, tokens_each=None)


def index(num_heads: int, head_dim: int, *, adds_heads: bool = True, **settings: Any) -> Store:
    """Return what an index keeps to choose what queries see: a key of its own for each entry.

    With ``adds_heads`` its heads add their scores up, each with a weight; without, each chooses for itself.
    """
    new = (Feature("queries", f"{num_heads} more for an index", SECTIONS["sparse"]),)
    per_entry = num_heads * (head_dim + adds_heads)
    return Store(new=new, width=head_dim, per_entry=per_entry, **settings)


Layers = tuple[tuple[Any, ...], ...]
"""For each kind of layer a number, how many there are, and behind it each :class:`Store` of one of them."""


def total(layers: Layers, quantity: Literal["kept", "read", "work"], num_tokens: int) -> int:
    """Return what all layers keep, read or multiply (their ``work``) for the last of so many tokens.

    Example:
        What DeepSeek-V3 keeps of a token, in 61 layers:

        >>> total(((61, latents(128, 128, 512, 64, 128)),), "kept", 1)
        35136
    """
    return sum(
        count * getattr(store, quantity)(num_tokens)
        for count, *stores in layers
        for store in stores
    )


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model as its attention sees it.

    Args:
        name: what it is called.
        year: when it came out.
        source: the model of transformers in whose configuration its settings were read.
        card: where those were read that differ from what this configuration has by default.
        layers: how many layers are of a kind, and behind it what each of these keeps.
        also: what else is new, and in how many layers.
    """

    name: str
    year: int
    source: str
    card: str | None = None
    layers: Layers
    also: tuple[tuple[int, Feature], ...] = ()

    def num_layers(self) -> int:
        """Return how many layers it has."""
        return sum(count for count, *_ in self.layers)

    def features(self) -> dict[Feature, int]:
        """Return all that is new, and in how many layers."""
        found = Counter[Feature]()
        for count, *stores in self.layers:
            of_layer = (feature for store in stores for feature in features_of(store))
            for feature in dict.fromkeys(of_layer):  # two stores may share it
                found[feature] += count
        for count, feature in self.also:
            found[feature] += count
        return dict(sorted(found.items(), key=lambda pair: PARTS.index(pair[0].part)))
