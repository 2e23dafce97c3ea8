"""Drawings of processes in a ring: what goes round, and who computes what, and when."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Int
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Canvas, Drawing, Look, new_canvas
from .._lettering import LINE, TEXT, clean_labels, text_width, wrap
from .._palette import BLUE, Colour
from .._words import enumerated, plural, to_numpy

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
    """Draw a ring of processes, round by round: queries stay where they are, keys and values go on."""
    names, size, gap = clean_labels(tokens, shards.numel()), len(shards), 22.0
    _require_colours(size)
    texts = [" ".join(names[token] for token in row) for row in shards.flatten(1).tolist()]
    first, width = MARGIN + gap / 2, (WIDTH - 2 * MARGIN - size * gap) / size
    lines = [wrap(text, width - 6) for text in texts]
    height = 12.0 * max(map(len, lines)) + 8
    lefts = [first + place * (width + gap) for place in range(size)]

    def write(y: float, owners: Sequence[int], is_query: bool = False) -> float:
        for x, owner in zip(lefts, owners, strict=True):
            tint, strong = PROCESSES[owner]
            look: Look = {"fill": "none" if is_query else tint, "edge": strong, "rounding": 3}
            page.box(x, y, width, height, **look)
            page.lines(x + width / 2, y + height / 2 - 6 * (len(lines[owner]) - 1), lines[owner])
        return y + height / 2

    with new_canvas() as page:
        for place, x in enumerate(lefts):
            page.text(x + width / 2, MARGIN + 6, f"process {place}", weight="bold")
        y = MARGIN + LINE + 6
        page.note(first, y + 4, "queries, in every round", "left")
        write(y + LINE, range(size), is_query=True)
        y += LINE + height + 16
        for step in range(size):
            page.note(first, y, f"keys and values, round {step}", "left")
            middle = write(y + LINE - 4, [(place - step) % size for place in range(size)])
            for x in [2 - width, *lefts] if step < size - 1 else []:
                end = min(x + width + gap - 3, WIDTH - 2) if x > 0 else first - 3
                start = x + width + 3 if x > 0 else 2
                page.arrow((start, middle), (end, middle), color=BLUE, width=1.8)
            y += LINE - 4 + height + 18
        have = [
            ", ".join(f"process {place} has '{texts[place - step]}'" for place in range(size))
            for step in range(size)
        ]
        return page.finish(
            y - 18 + MARGIN,
            f"{plural(size, 'process', 'processes')} in a ring. Queries, in every round: {have[0]}.",
            *(f"Keys and values, round {step}: {held}." for step, held in enumerate(have)),
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
    room, left = (WIDTH - 2 * MARGIN - 14) / 2, MARGIN + text_width("process 0") + 6
    scale = (WIDTH - left - MARGIN) / max(work.ends for work in works.values())
    sentences = []
    with new_canvas() as page:
        for place, (name, work) in enumerate(works.items()):
            x = MARGIN + place * (room + 14)
            page.heading(x, MARGIN + 6, name)
            page.note(x + room, MARGIN + 6, "query ↓  key →", "right")
            _draw_squares(page, work, x, MARGIN + LINE + 2, room)
        y = MARGIN + LINE + 2 + room + 16
        for name, work in works.items():
            page.heading(MARGIN, y, name)
            page.note(WIDTH - MARGIN, y, f"takes as long as {work.ends:g} scores", "right")
            y = top = y + LINE - 4
            for process, row in enumerate(work.scores):
                tint, strong = PROCESSES[process]
                page.text(MARGIN, y + LINE / 2, f"process {process}", ha="left")
                for step, (start, scores) in enumerate(zip(work.starts, row, strict=True)):
                    x, width = left + scale * start, scale * scores
                    if scores:
                        page.box(x, y + 1, width, LINE - 2, fill=tint, edge=strong, line=0.8)
                    if width >= text_width(str(step)) + 2:
                        page.text(x + width / 2, y + LINE / 2, str(step))
                    if waits := scale * (work.slowest[step] - scores):
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
        x, y = MARGIN, y + LINE + 2
        for hatch, meaning in (
            ("//////", "the future, not computed"),
            (WAITS, "waits for the others"),
        ):
            page.hatched(x, y - 7, 16, 14, hatch)
            page.note(x + 22, y, meaning, "left")
            x += 22 + text_width(meaning) + 16
        return page.finish(y + LINE / 2 + MARGIN, *sentences)


def _draw_squares(page: Canvas, work: _Work, x: float, y: float, room: float) -> None:
    """Draw the scores in a square, with the places of queries and keys."""
    size = len(work.step_of)
    margin = text_width("00") if room / size >= 1.5 * TEXT else 0.0
    left, top, cell = x + margin, y + margin, (room - margin) / size
    for token in range(size if margin else 0):
        at = (token + 0.5) * cell
        page.note(left + at, y + margin / 2, str(token))
        page.note(x + margin / 2, top + at, str(token))
    for (i, j), step in np.ndenumerate(work.step_of):
        across, down = left + j * cell, top + i * cell
        if j > i:  # the future
            page.hatched(across, down, cell, cell)
            continue
        tint, _ = PROCESSES[work.process_of[i]]
        page.box(across, down, cell, cell, fill=tint, edge="white", line=0.8)
        if cell >= TEXT:
            page.text(across + cell / 2, down + cell / 2, str(step))
