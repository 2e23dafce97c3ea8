"""Drawings of processes in a ring: what goes round, and who computes what, and when."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Int
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    LINE,
    MARGIN,
    QUIET,
    TEXT,
    WIDTH,
    Array,
    Card,
    Colour,
    Drawing,
    array,
    card,
    count,
    labels,
    some,
    text_width,
    wrap,
)

PROCESSES: Final = (
    Colour("#d3dbe6", "#44566e"),
    Colour("#e9d3c3", "#7c4a26"),
    Colour("#d2ddc9", "#4a5f37"),
    Colour("#e0d2de", "#6b4a66"),
)
"""Pale, so that nobody takes a process for a head; each is named beside it as well."""
WAITS: Final = "xxxx"
"""How the time is hatched in which a process waits."""


def draw_ring(
    tokens: Sequence[str], shards: Int[Tensor, "world_size num_chunks chunk_tokens"]
) -> Drawing:
    """Draw a ring of processes, round by round: queries stay where they are, keys and values go on.

    Args:
        tokens: the sequence.
        shards: for each process the positions of its tokens.

    Returns:
        The drawing. Its text tells whose keys each process holds in each round.

    Raises:
        TypeError: the shards are not a tensor, or the tokens are a single string.
        ValueError: there are more than four processes, or not as many tokens as the shards have.

    Example:
        >>> import torch
        >>> draw_ring(["one", "step"], torch.tensor([[[0]], [[1]]])).alt
        "2 processes in a ring. Process 0 asks for 'one', process 1 for 'step', in every round. Round 0:
        process 0 holds the keys of 'one', process 1 of 'step'. Round 1: process 0 holds the keys of
        'step', process 1 of 'one'."
    """
    held = _shards("shards", shards).reshape(len(shards), -1)
    names = labels("tokens", tokens, held.size, "tokens")
    texts = [" ".join(names[token] for token in row) for row in held]
    size, gap = len(texts), 22.0
    width = (WIDTH - 2 * MARGIN - size * gap) / size
    lines = [wrap(text, width - 6) for text in texts]
    height = LINE * max(map(len, lines)) + 4
    lefts = [MARGIN + gap / 2 + place * (width + gap) for place in range(size)]
    with card() as page:
        y = MARGIN
        for place, x in enumerate(lefts):
            page.text(x + width / 2, y + 6, f"process {place}", weight="bold")
        y += LINE + 6
        page.text(MARGIN + gap / 2, y + 4, "queries, in every round", ha="left", color=QUIET)
        y += LINE
        for place, x in enumerate(lefts):
            _box_of_text(page, lines[place], x, y, width, height, "none", PROCESSES[place].strong)
        y += height + 16
        for step in range(size):
            page.text(
                *(MARGIN + gap / 2, y, f"keys and values, round {step}"), ha="left", color=QUIET
            )
            y += LINE - 4
            for place, x in enumerate(lefts):
                owner = (place - step) % size
                _box_of_text(page, lines[owner], x, y, width, height, *PROCESSES[owner])
                if step < size - 1:
                    page.arrow(
                        (x + width + 3, y + height / 2),
                        (x + width + gap - 3, y + height / 2),
                        color=BLUE,
                        width=1.8,
                        name=f"step{step}, process{place}",
                    )
            if step < size - 1:
                page.arrow(
                    (2, y + height / 2), (lefts[0] - 3, y + height / 2), color=BLUE, width=1.8
                )
            y += height + 18
        return page.finish(
            y - 18 + MARGIN,
            f"{count(size, 'process', 'processes')} in a ring.",
            "Process "
            + ", process ".join(
                f"{place} {'asks ' if not place else ''}for '{text}'"
                for place, text in enumerate(texts)
            )
            + ", in every round.",
            *(
                f"Round {step}: process "
                + ", process ".join(
                    f"{place} {'holds the keys ' if not place else ''}of '{texts[place - step]}'"
                    for place in range(size)
                )
                + "."
                for step in range(size)
            ),
        )


def _box_of_text(
    page: Card,
    lines: Sequence[str],
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    edge: str,
) -> None:
    page.box(x, y, width, height, fill=fill, edge=edge, rounding=3)
    top = y + (height - LINE * len(lines)) / 2
    for number, line in enumerate(lines):
        page.text(x + width / 2, top + (number + 0.5) * LINE, line)


class _Work(NamedTuple):
    process_of: Array
    step_of: Array
    scores: Array
    starts: Array

    @property
    def ends(self) -> float:
        return float(self.starts[-1] + self.scores[:, -1].max())


def draw_ring_work(
    orders: Mapping[str, Int[Tensor, "world_size num_chunks chunk_tokens"]],
) -> Drawing:
    """Draw who computes which causal scores, in which round, and how long the processes wait for each other.

    A row of the squares is a query, a column is a key; hatched is the future. Below, time runs to the right,
    a score takes a unit of it, and a round ends when its slowest process is done; crossed is waiting.

    Args:
        orders: for the name of each order of the tokens, the positions that each process holds.

    Returns:
        The drawing. Its text tells how many scores each process computes, and how long it takes.

    Raises:
        TypeError: shards are not a tensor.
        ValueError: there is no order, there are more than two, or one has more than four processes.

    Example:
        >>> import torch
        >>> draw_ring_work({"in order": torch.arange(4).view(2, 1, 2)}).alt
        'in order: 2 processes compute 3 and 7 scores; with waiting it takes as long as 7.'
    """
    if not 1 <= len(orders) <= 2:
        raise ValueError(f"orders must be 1 or 2, got {len(orders)}")
    works = {name: _work(name, shards) for name, shards in orders.items()}
    gap = 14.0
    room = (WIDTH - 2 * MARGIN - gap) / 2
    longest = max(work.ends for work in works.values())
    label = text_width("process 0") + 6
    scale = (WIDTH - 2 * MARGIN - label) / longest
    with card() as page:
        y = MARGIN
        bottom = y
        for place, (name, work) in enumerate(works.items()):
            x = MARGIN + place * (room + gap)
            page.heading(x, y + 6, name)
            page.text(x + room, y + 6, "query ↓  key →", ha="right", color=QUIET)
            bottom = max(bottom, _draw_squares(page, work, x, y + LINE + 2, room))
        y = bottom + 16
        for name, work in works.items():
            page.heading(MARGIN, y, name)
            page.text(
                WIDTH - MARGIN, y, f"takes as long as {work.ends:g} scores", ha="right", color=QUIET
            )
            y += LINE - 4
            for process, row in enumerate(work.scores):
                page.text(MARGIN, y + LINE / 2, f"process {process}", ha="left")
                for step, scores in enumerate(row):
                    start = MARGIN + label + scale * work.starts[step]
                    waits = scale * (work.scores[:, step].max() - scores)
                    if scores:
                        _draw_piece(page, process, step, start, y + 1, scale * scores)
                    if waits:
                        page.hatched(start + scale * scores, y + 1, waits, LINE - 2, WAITS)
                y += LINE
            for start in work.starts[1:]:
                at = MARGIN + label + scale * start
                page.line((at, y - LINE * len(work.scores) - 2), (at, y), zorder=4)
            y += 14
        says = "colour: process; number: round; line: a new round"
        page.text(MARGIN, y, says, ha="left", color=QUIET)
        y += LINE + 2
        page.hatched(MARGIN, y - 7, 16, 14)
        page.text(MARGIN + 22, y, "the future, not computed", ha="left", color=QUIET)
        x = MARGIN + 22 + text_width("the future, not computed") + 16
        page.hatched(x, y - 7, 16, 14, WAITS)
        page.text(x + 22, y, "waits for the others", ha="left", color=QUIET)
        return page.finish(
            y + LINE / 2 + MARGIN,
            *(
                f"{name}: {count(len(work.scores), 'process computes', 'processes compute')} "
                f"{_listed(work.scores.sum(axis=1))} scores; with waiting it takes as long as "
                f"{work.ends:g}."
                for name, work in works.items()
            ),
        )


def _work(name: str, shards: Tensor) -> _Work:
    held = _shards(name, shards)
    size, num_tokens = len(held), held.size
    process_of = np.empty(num_tokens, int)
    for process, tokens in enumerate(held):
        process_of[tokens.ravel()] = process
    step_of = (process_of[:, None] - process_of) % size
    allowed = np.tri(num_tokens, dtype=bool)
    scores = np.zeros((size, size))
    rows, columns = np.nonzero(allowed)
    np.add.at(scores, (process_of[rows], step_of[rows, columns]), 1)
    starts = np.concatenate([[0.0], scores.max(axis=0).cumsum()[:-1]])
    return _Work(process_of, np.where(allowed, step_of, -1), scores, starts)


def _draw_squares(page: Card, work: _Work, x: float, y: float, room: float) -> float:
    """Draw the scores in a square, with the places of queries and keys; return where it ends."""
    margin = text_width("00") if room / len(work.step_of) >= 1.5 * TEXT else 0.0
    x, y, room = x + margin, y + margin, room - margin
    cell = room / len(work.step_of)
    for token in range(len(work.step_of) if margin else 0):
        at = (token + 0.5) * cell
        page.text(x + at, y - margin / 2, str(token), color=QUIET)
        page.text(x - margin / 2, y + at, str(token), color=QUIET)
    for (i, j), step in np.ndenumerate(work.step_of):
        left, top = x + j * cell, y + i * cell
        if step < 0:
            page.hatched(left, top, cell, cell)
            continue
        page.box(
            left, top, cell, cell, fill=PROCESSES[work.process_of[i]].tint, edge="white", line=0.8
        )
        if cell >= TEXT:
            page.text(left + cell / 2, top + cell / 2, str(step))
    return y + room


def _draw_piece(page: Card, process: int, step: int, x: float, y: float, width: float) -> None:
    tint, strong = PROCESSES[process]
    page.box(x, y, width, LINE - 2, fill=tint, edge=strong, line=0.8)
    if width >= text_width(str(step)) + 2:
        page.text(x + width / 2, y + LINE / 2 - 1, str(step))


def _shards(name: str, shards: Tensor) -> Array:
    held = array(name, shards, "world_size", "num_chunks", "chunk_tokens").astype(int)
    some("the number of processes", len(held))
    if len(held) > len(PROCESSES):
        raise ValueError(f"{name} must be for 1 to {len(PROCESSES)} processes, got {len(held)}")
    return held


def _listed(values: Array) -> str:
    *most, last = (f"{value:g}" for value in values)
    return f"{', '.join(most)} and {last}" if most else last
