"""Every piece that readers write themselves, in the order of the book: one table for all that uses them."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from literate_attention.workshop.judge.trials import NOT_WRITTEN, needs
from literate_attention.workshop.judge.verdict import Verdict, remark
from literate_attention.workshop.pieces import (
    grouped_query_attention,
    kv_cache,
    latent_attention,
    linear_attention,
    ring_attention,
    rotary_embeddings,
    sparse_attention,
    story,
    transformer_block,
    windows_and_sinks,
)
from literate_attention.workshop.pieces.piece import Piece

CHAPTERS = (
    *(story, transformer_block, rotary_embeddings, kv_cache, grouped_query_attention),
    *(latent_attention, windows_and_sinks, linear_attention, sparse_attention, ring_attention),
)
PIECES = tuple(piece for chapter in CHAPTERS for piece in chapter.PIECES)
BY_NAME = {piece.name: piece for piece in PIECES}


def check_piece(mine: object, name: str | None = None) -> Verdict:
    """Check a function or a class that you wrote in place of one of the book's.

    It runs here and now: interrupt it if it loops for ever. What stands in a folder is judged by
    :func:`literate_attention.workshop.check` in a process of its own.

    Args:
        mine: your function or class.
        name: how the book calls it; by default it has the same name.

    Returns:
        The verdict: right, not written yet, or what is wrong, with the smallest input that shows it.

    Raises:
        KeyError: the book has no such piece.

    Example:
        >>> import torch
        >>> check_piece(lambda scores: torch.softmax(scores, dim=0), "softmax")
        Not yet. It runs over the first axis: the columns sum to one, not the rows.
        with scores = [[1.0, 2.0], [0.0, 3.0]]
        came:      [[0.7311, 0.2689], [0.2689, 0.7311]]
        should be: [[0.2689, 0.7311], [0.04743, 0.9526]]
    """
    name = getattr(mine, "__name__", "") if name is None else name
    if name not in BY_NAME:
        raise KeyError(f"{name} is no piece of the book; there are {', '.join(BY_NAME)}")
    with torch.random.fork_rng(devices=[]):
        return judged_apart(mine, name)


def judged_apart(mine: Any, name: str) -> Verdict:
    """Judge a piece; where one that it calls is not right, the book's takes its place."""
    check = BY_NAME[name].check
    verdict = check(mine)
    if verdict == needs(getattr(mine, "__name__", name)):
        return NOT_WRITTEN
    if verdict:
        return verdict
    functions, blamed = functions_of(mine), {}
    for function in functions:
        for other in set(function.__code__.co_names) & BY_NAME.keys() - {name}:
            part, ours = function.__globals__.get(other), BY_NAME[other].library
            if callable(part) and part is not ours and not BY_NAME[other].check(part):
                blamed[other] = ours
    if not blamed:
        return verdict
    with ExitStack() as replaced:
        for function in functions:
            replaced.enter_context(swapped(function.__globals__, blamed))
        apart = check(mine)
    names = " and ".join(one for one in BY_NAME if one in blamed)
    return remark(f"it is judged with the book's {names}: yours is not right") if apart else apart


@contextmanager
def swapped(names: dict[str, Any], others: Mapping[str, Any]) -> Iterator[None]:
    """Let names of a reader's module mean something else for a while."""
    before = {name: names[name] for name in others.keys() & names.keys()}
    names.update({name: others[name] for name in before})
    try:
        yield
    finally:
        names.update(before)


def functions_of(mine: object) -> list[Any]:
    """Return a function, or the functions that a class has for its methods."""
    some = vars(mine).values() if isinstance(mine, type) else [mine]
    bare = [getattr(one, "fget", None) or getattr(one, "__func__", one) for one in some]
    return [one for one in map(inspect.unwrap, filter(callable, bare)) if inspect.isfunction(one)]


__all__ = ["BY_NAME", "PIECES", "Piece", "check_piece"]
