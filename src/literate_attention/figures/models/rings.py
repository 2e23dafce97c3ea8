"""Drawings of processes in a ring: what goes round, and who computes what, and when."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Int
from torch import Tensor

from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, Look, card
from literate_attention.figures._lettering import LINE, TEXT, clean_labels, text_width, wrap
from literate_attention.figures._palette import BLUE, QUIET, Colour
from literate_attention.figures._words import enumerated, plural, to_numpy

__all__ = ["draw_ring", "draw_ring_work"]

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
        shards: for each of up to four processes the positions of its tokens.
    """
    names = clean_labels(tokens, shards.numel())
    _require_colours(len(shards))
    texts = [" ".join(names[token] for token in row) for row in shards.flatten(1).tolist()]
    size, gap = len(texts), 22.0
    width = (WIDTH - 2 * MARGIN - size * gap) / size
    lines = [wrap(text, width - 6) for text in texts]
    height = LINE * max(map(len, lines)) + 4
    first = MARGIN + gap / 2
    lefts = [first + place * (width + gap) for place in range(size)]

    def write(lines: Sequence[str], x: float, y: float, fill: str, edge: str) -> None:
        page.box(x, y, width, height, fill=fill, edge=edge, rounding=3)
        top = y + (height - LINE * len(lines)) / 2
        for number, line in enumerate(lines):
            page.text(x + width / 2, top + (number + 0.5) * LINE, line)

    with card() as page:
        y = MARGIN + LINE + 6
        page.note(first, y + 4, "queries, in every round", "left")
        y += LINE
        for place, x in enumerate(lefts):
            page.text(x + width / 2, MARGIN + 6, f"process {place}", weight="bold")
            write(lines[place], x, y, "none", PROCESSES[place].strong)
        y += height + 16
        for step in range(size):
            page.note(first, y, f"keys and values, round {step}", "left")
            y += LINE - 4
            middle = y + height / 2
            blue: Look = {"color": BLUE, "width": 1.8}
            for place, x in enumerate(lefts):
                owner = (place - step) % size
                write(lines[owner], x, y, *PROCESSES[owner])
                if step < size - 1:
                    page.arrow((x + width + 3, middle), (x + width + gap - 3, middle), **blue)
            if step < size - 1:
                page.arrow((2, middle), (first - 3, middle), **blue)
            y += height + 18

        def have(texts: Sequence[str]) -> str:
            return ", ".join(f"process {place} has '{text}'" for place, text in enumerate(texts))

        return page.finish(
            y - 18 + MARGIN,
            f"{plural(size, 'process', 'processes')} in a ring.",
            f"Queries, in every round: {have(texts)}.",
            *(
                f"Keys and values, round {step}: {have(texts[-step:] + texts[:-step])}."
                for step in range(size)
            ),
        )


def _require_colours(processes: int) -> None:
    if processes > len(PROCESSES):
        raise ValueError(f"at most {len(PROCESSES)} processes have a colour, got {processes}")


class _Work:
    """Which process computes each row, in which round each score, and how long all that takes."""

    def __init__(self, shards: Tensor) -> None:
        held = to_numpy(shards).astype(int).reshape(len(shards), -1)
        size, num_tokens = len(held), held.size
        _require_colours(size)
        self.process_of = np.empty(num_tokens, int)
        self.process_of[held] = np.arange(size)[:, None]
        self.step_of = (self.process_of[:, None] - self.process_of) % size
        self.scores = np.zeros((size, size))
        for row, column in zip(*np.tril_indices(num_tokens), strict=True):
            self.scores[self.process_of[row], self.step_of[row, column]] += 1
        self.slowest = self.scores.max(axis=0)
        self.starts = self.slowest.cumsum() - self.slowest
        self.ends = self.slowest.sum()


def draw_ring_work(
    orders: Mapping[str, Int[Tensor, "world_size num_chunks chunk_tokens"]],
) -> Drawing:
    """Draw who computes which causal scores, in which round, and how long the processes wait for each other.

    In the squares, rows are queries and columns are keys; the future is hatched. Below, time runs to the
    right: a score takes a unit of it, and a round ends when its slowest process is done. Each order of the
    tokens, of one or two, tells the positions that each process holds.
    """
    works = {name: _Work(shards) for name, shards in orders.items()}
    gap = 14.0
    room = (WIDTH - 2 * MARGIN - gap) / 2
    left = MARGIN + text_width("process 0") + 6
    scale = (WIDTH - left - MARGIN) / max(work.ends for work in works.values())
    sentences = []
    with card() as page:
        for place, (name, work) in enumerate(works.items()):
            x = MARGIN + place * (room + gap)
            page.heading(x, MARGIN + 6, name)
            page.note(x + room, MARGIN + 6, "query ↓  key →", "right")
            _draw_squares(page, work, x, MARGIN + LINE + 2, room)
        y = MARGIN + LINE + 2 + room + 16
        for name, work in works.items():
            page.heading(MARGIN, y, name)
            page.note(WIDTH - MARGIN, y, f"takes as long as {work.ends:g} scores", "right")
            y += LINE - 4
            top = y
            for process, row in enumerate(work.scores):
                page.text(MARGIN, y + LINE / 2, f"process {process}", ha="left")
                for step, (start, scores) in enumerate(zip(work.starts, row, strict=True)):
                    x, width = left + scale * start, scale * scores
                    if scores:
                        tint, strong = PROCESSES[process]
                        page.box(x, y + 1, width, LINE - 2, fill=tint, edge=strong, line=0.8)
                        if width >= text_width(str(step)) + 2:
                            page.text(x + width / 2, y + LINE / 2, str(step))
                    if scores < work.slowest[step]:
                        waits = scale * (work.slowest[step] - scores)
                        page.hatched(x + width, y + 1, waits, LINE - 2, WAITS)
                y += LINE
            for start in work.starts[1:]:
                page.line((left + scale * start, top - 2), (left + scale * start, y), zorder=4)
            y += 14
            each = enumerated(f"{scores:g}" for scores in work.scores.sum(axis=1))
            compute = plural(len(work.scores), "process computes", "processes compute")
            long = f"with waiting it takes as long as {work.ends:g}"
            sentences.append(f"{name}: {compute} {each} scores; {long}.")
        page.note(MARGIN, y, "colour: process; number: round; line: a new round", "left")
        y += LINE + 2
        x, legend = MARGIN, {"//////": "the future, not computed", WAITS: "waits for the others"}
        for hatch, meaning in legend.items():
            page.hatched(x, y - 7, 16, 14, hatch)
            page.note(x + 22, y, meaning, "left")
            x += 22 + text_width(meaning) + 16
        return page.finish(y + LINE / 2 + MARGIN, *sentences)


def _draw_squares(page: Card, work: _Work, x: float, y: float, room: float) -> None:
    """Draw the scores in a square, with the places of queries and keys."""
    size = len(work.step_of)
    margin = text_width("00") if room / size >= 1.5 * TEXT else 0.0
    left, top, cell = x + margin, y + margin, (room - margin) / size
    for token in range(size if margin else 0):
        at = (token + 0.5) * cell
        page.text(left + at, y + margin / 2, str(token), color=QUIET)
        page.text(x + margin / 2, top + at, str(token), color=QUIET)
    for (i, j), step in np.ndenumerate(work.step_of):
        across, down = left + j * cell, top + i * cell
        if j > i:  # the future
            page.hatched(across, down, cell, cell)
            continue
        tint, _ = PROCESSES[work.process_of[i]]
        page.box(across, down, cell, cell, fill=tint, edge="white", line=0.8)
        if cell >= TEXT:
            page.text(across + cell / 2, down + cell / 2, str(step))
