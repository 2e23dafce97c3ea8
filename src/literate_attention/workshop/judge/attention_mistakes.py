"""Attention with mistakes: it is written out, and a table says what people write instead."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from literate_attention.story.multi_head_attention import merge_heads, split_heads
from literate_attention.workshop.judge.edits import Mistake, Source, mistakes_in
from literate_attention.workshop.judge.trials import Given, Way, Ways

Known = tuple[Callable[..., Tensor], list[Mistake]]
"""Right code, and what is known to be wrong."""


def weigh(query: Tensor, key: Tensor, x: Tensor | None = None) -> Tensor:
    """Return the weights of the keys; some mistakes need the inputs, too."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    q_len, kv_len = scores.shape[-2:]
    seen = torch.ones(q_len, kv_len, dtype=torch.bool, device=query.device).tril(kv_len - q_len)
    scores = scores.masked_fill(~seen, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights  # noqa: RET504


def attend(query: Tensor, key: Tensor, value: Tensor, x: Tensor | None = None) -> Tensor:
    """Return context vectors."""
    weights = weigh(query, key, x)
    context = weights @ value
    return context  # noqa: RET504


def attend_in_heads(
    query: Tensor, key: Tensor, value: Tensor, num_heads: int, out: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return what several heads find, after a last projection."""
    query, key, value = (split_heads(one, num_heads) for one in (query, key, value))
    return out(merge_heads(attend(query, key, value)))


CODE: dict[Callable[..., Tensor], tuple[Callable[..., Tensor], ...]] = {
    weigh: (weigh,),
    attend: (attend, weigh),
    attend_in_heads: (attend_in_heads, attend, weigh, split_heads, merge_heads),
}
"""What each of them is made of."""

SCALES = """
the scores are not scaled | / query.shape[-1] ** 0.5 ->
the scores are scaled by d_k, not by its square root | query.shape[-1] ** 0.5 -> query.shape[-1]
the weights are scaled, not the scores: the softmax comes last | / query.shape[-1] ** 0.5 ->
    scores.softmax(dim=-1) -> scores.softmax(dim=-1) / query.shape[-1] ** 0.5
the scores are multiplied by the square root of d_k, not divided by it
    / query.shape[-1] ** 0.5 -> * query.shape[-1] ** 0.5
"""
UNSCALED = """
the scores are scaled, and should not be | query @ key.mT -> query @ key.mT / query.shape[-1] ** 0.5
"""
MASKS = """
nothing is hidden: every token sees the future | .tril(kv_len - q_len) ->
the mask hides the past and shows the future | .tril(kv_len - q_len) -> .tril(kv_len - q_len).flip(0, 1)
the mask hides what it should show and shows what it should hide | seen = torch -> seen = ~torch
the mask hides what it should show and shows what it should hide
    .tril(kv_len - q_len) -> .tril(kv_len - q_len).logical_not()
    scores.softmax(dim=-1) -> scores.softmax(dim=-1).nan_to_num()
one token of the future is left visible | .tril(kv_len - q_len) -> .tril(kv_len - q_len + 1)
no token sees itself | .tril(kv_len - q_len) -> .tril(kv_len - q_len - 1)
hidden scores are zero, not minus infinity: zero is a score like any other | -torch.inf -> 0.0
the mask comes after the softmax, and the rows were not made to sum to one again
    scores = scores.masked_fill(~seen, -torch.inf) -> pass
    return weights -> return weights.masked_fill(~seen, 0.0)
"""
STEPS = """
the softmax runs over the queries: the columns sum to one, not the rows
    scores.softmax(dim=-1) -> scores.softmax(dim=-2)
the scores are divided by their sum, there is no softmax
    scores.softmax(dim=-1) -> scores / scores.sum(dim=-1, keepdim=True)
queries are compared with queries: keys come from the wrong projection | query @ key.mT -> query @ query.mT
keys are compared with keys: queries come from the wrong projection | query @ key.mT -> key @ key.mT
these are scores, the softmax is missing | scores.softmax(dim=-1) -> scores
query and key are swapped | scores = query @ key.mT -> scores = key @ query.mT
"""
AXES = """
the softmax runs over axis 1: in a batch these are the queries, the keys are axis -1
    scores.softmax(dim=-1) -> scores.softmax(dim=1)
the softmax runs over axis 0: in a batch these are the texts, the keys are axis -1
    scores.softmax(dim=-1) -> scores.softmax(dim=0)
"""
BY_NUMBER = """
the scores are scaled by the number of keys, not by their width
    query.shape[-1] ** 0.5 -> key.shape[-2] ** 0.5
"""
NO_CONTEXT = """
these are the weights, not the context vectors | return context -> return weights
"""
AVERAGES = """
the weights are transposed: a row averages by a column | weights @ value -> weights.mT @ value
the keys are averaged, not the values | weights @ value -> weights @ key
the queries are averaged, not the values | weights @ value -> weights @ query
"""
PROJECTED = f"""
the inputs are averaged, not the values | weights @ value -> weights @ x
the scores are scaled by the width of the inputs, not of the keys
    query.shape[-1] ** 0.5 -> x.shape[-1] ** 0.5
{BY_NUMBER}"""
IN_HEADS = f"""
the softmax runs over the heads, not over the keys | scores.softmax(dim=-1) -> scores.softmax(dim=-3)
the view cuts the sentence into heads, not the vectors: view by token first, then transpose
    x.unflatten(-1, (num_heads, -1)).transpose(-3, -2) -> x.reshape(len(x), num_heads, x.shape[-2], -1)
heads are merged without transposing them back
    x.transpose(-3, -2).flatten(-2) -> x.reshape(len(x), x.shape[-2], -1)
the scores are scaled by the width of all heads together
    query.shape[-1] ** 0.5 -> (query.shape[-1] * query.shape[-3]) ** 0.5
the scores are scaled by the number of heads, not by their width
    query.shape[-1] ** 0.5 -> query.shape[-3] ** 0.5
{BY_NUMBER}"""
ONE_KEY_A_HEAD = f"""{IN_HEADS}
each head gets every second number of a vector, not one piece of it
    (num_heads, -1)).transpose(-3, -2) -> (-1, num_heads)).movedim(-1, -3)
nothing is split: there is one wide head
    x.unflatten(-1, (num_heads, -1)).transpose(-3, -2) -> x.unsqueeze(-3)
the heads are merged in the wrong order
    x.transpose(-3, -2).flatten(-2) -> x.flip(-3).transpose(-3, -2).flatten(-2)
out_proj is never used | return out( -> return (
"""


@cache
def known_ways(
    function: Callable[..., Tensor], *, is_causal: bool, is_scaled: bool = True, more: str = ""
) -> Known:
    """Return one of the functions above as it should be, and all that is wrong in one way or in two."""
    source = Source(*CODE[function])
    if not is_causal:
        source.change("scores = scores.masked_fill(~seen, -torch.inf)", "pass")
    if not is_scaled:
        source.change("/ query.shape[-1] ** 0.5", "")
    table = [more, SCALES if is_scaled else UNSCALED, MASKS if is_causal else "", STEPS, AXES]
    table += [] if function is weigh else [NO_CONTEXT, AVERAGES]
    return source.edited(), mistakes_in(source, "".join(table), 2)


def ways_with(known: Known, arguments: Callable[[Given], Sequence[Any]]) -> Ways:
    """Return the ways to compute something of what is made of an input."""

    def way(make: Callable[[], Callable[..., Tensor]]) -> Way:
        return lambda given: make()(*arguments(given))

    right, mistakes = known
    return Ways(way(lambda: right), [(says, way(make)) for says, make in mistakes])


def results(known: Known, *given: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield what mistakes lead to, as far as they lead to anything; the first has none."""
    right, mistakes = known
    yield "", right(*given)
    for says, make in mistakes:
        with contextlib.suppress(RuntimeError, IndexError):  # these shapes may not allow a mistake
            yield ", and ".join(says), make()(*given)
