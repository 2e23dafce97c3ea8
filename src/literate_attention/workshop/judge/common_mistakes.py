"""Attention with mistakes: each table begins with what is right, and says nothing of it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product

import torch
from torch import Tensor

from literate_attention.story.causal_attention import causal_mask

SCALES: Mapping[str, float] = {
    "": 0.5,
    "the scores are not scaled": 0.0,
    "the scores are scaled by d_k, not by its square root": 1.0,
    "the scores are multiplied by the square root of d_k, not divided by it": -0.5,
}
"""The power of d_k by which scores are divided."""

MASKS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "": lambda mask: mask,
    "nothing is hidden: every token sees the future": torch.ones_like,
    "the mask hides the past and shows the future": lambda mask: mask.flip(0, 1),
    "the mask hides what it should show and shows what it should hide": lambda mask: ~mask,
    "one token of the future is left visible": lambda mask: torch.ones_like(mask).tril(1),
    "no token sees itself": lambda mask: mask.tril(-1),
}

NORMALISE: Mapping[str, Callable[[Tensor], Tensor]] = {
    "": lambda scores: torch.softmax(scores, dim=-1),
    "the softmax runs over the queries: the columns sum to one, not the rows": (
        lambda scores: torch.softmax(scores, dim=-2)
    ),
    "the softmax runs over axis 1: in a batch these are the queries, the keys are axis -1": (
        lambda scores: torch.softmax(scores, dim=1)
    ),
    "the softmax runs over axis 0: in a batch these are the texts, the keys are axis -1": (
        lambda scores: torch.softmax(scores, dim=0)
    ),
    "the scores are divided by their sum, there is no softmax": (
        lambda scores: scores / scores.sum(dim=-1, keepdim=True)
    ),
    "these are scores, the softmax is missing": lambda scores: scores,
}

HIDE: Mapping[str, tuple[float, bool]] = {
    "": (-torch.inf, False),
    "hidden scores are zero, not minus infinity: zero is a score like any other": (0.0, False),
    "the mask comes after the softmax, and the rows were not made to sum to one again": (0.0, True),
}
"""What takes the place of a hidden number, and whether that is a weight."""


Weigh = Callable[[Tensor, Tensor], Tensor]
"""From queries and keys to weights."""


def ways_to_weigh(*, is_causal: bool, scaled: bool = True) -> Iterator[tuple[list[str], Weigh]]:
    """Yield ways from queries and keys to weights: the right one first, then one mistake, then two."""
    scales = SCALES if scaled else {"": 0.0, "the scores are scaled, and should not be": 0.5}
    masks = MASKS if is_causal else {"": torch.ones_like}
    hides = HIDE if is_causal else {"": HIDE[""]}
    steps = product(scales.items(), masks.items(), hides.items(), NORMALISE.items())
    for choice in sorted(steps, key=lambda choice: sum(bool(says) for says, _ in choice)):
        says = [name for name, _ in choice if name]
        if len(says) > 2:
            return
        (_, power), (_, change), (_, hide), (_, normalise) = choice
        yield says, partial(_weigh, power, change, hide, normalise)


def _weigh(
    power: float,
    change: Callable[[Tensor], Tensor],
    hide: tuple[float, bool],
    normalise: Callable[[Tensor], Tensor],
    query: Tensor,
    key: Tensor,
) -> Tensor:
    fill, after = hide
    mask = causal_mask(query.shape[-2], key.shape[-2], device=query.device)
    hidden = ~change(mask)
    scores = query @ key.mT / query.shape[-1] ** power
    if after:
        return normalise(scores).masked_fill(hidden, fill)
    return normalise(scores.masked_fill(hidden, fill))


def weights_with_mistakes(
    query: Tensor, key: Tensor, *, is_causal: bool, scaled: bool = True
) -> Iterator[tuple[list[str], Tensor]]:
    """Yield what mistakes lead to which weights, the right ones first, then one mistake, then two."""
    for says, weigh in ways_to_weigh(is_causal=is_causal, scaled=scaled):
        yield says, weigh(query, key)


def ways_to_attend(
    query: Tensor, key: Tensor, value: Tensor, *, is_causal: bool
) -> Iterator[tuple[list[str], Callable[[], Tensor]]]:
    """Yield ways to context vectors: the right one first, then those with mistakes."""
    ways = list(ways_to_weigh(is_causal=is_causal))
    orders: list[tuple[str, Tensor, Tensor, Tensor | None]] = [
        ("", query, key, value),
        ("these are the weights, not the context vectors", query, key, None),
    ]
    if key.shape == query.shape:
        orders.append(("query and key are swapped", key, query, value))
    if key.shape == value.shape:
        orders.append(("the keys are averaged, not the values", query, key, key))
    for first, asks, compared, averaged in orders:
        for says, weigh in ways:
            mistakes = [first, *says] if first else says
            yield mistakes, partial(average, weigh, asks, compared, averaged)


def average(weigh: Weigh, query: Tensor, key: Tensor, value: Tensor | None) -> Tensor:
    """Average values by the weights of a query; without values, return the weights."""
    weights = weigh(query, key)
    return weights if value is None else weights @ value


def contexts_with_mistakes(
    query: Tensor, key: Tensor, value: Tensor, *, is_causal: bool
) -> Iterator[tuple[str, Tensor]]:
    """Yield what mistakes lead to which context vectors."""
    for says, attend in ways_to_attend(query, key, value, is_causal=is_causal):
        yield ", and ".join(says), attend()
