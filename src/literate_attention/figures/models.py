"""Drawings of the models: streams, turned arrows, shared heads, parts of a mask, processes in a ring."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ._canvas import MARGIN, WIDTH, Canvas, Drawing, Look, column_width, new_canvas
from ._lettering import (
    LINE,
    SMALL_TEXT,
    TEXT,
    clean_labels,
    label_height,
    label_width,
    shorten,
    text_width,
    wrap,
)
from ._palette import (
    BLUE,
    INK,
    INPUT,
    KEY,
    PAPER,
    QUERY,
    RULE,
    SHADE,
    VALUE,
    WEIGHT_TINT,
    Colour,
    head_colour,
)
from ._words import enumerated, format_number, format_vector, plural, quote, to_numpy

__all__ = [
    "draw_half_planes",
    "draw_latent",
    "draw_mask_parts",
    "draw_residual_streams",
    "draw_ring",
    "draw_ring_work",
    "draw_shared_heads",
    "draw_turned_arrows",
]

_PARTS: Final = ("attention", "feed-forward")
_LANE: Final = 7.0


def draw_residual_streams(
    tokens: Sequence[str], stream: Float[Tensor, "stages num_tokens embed_dim"]
) -> Drawing:
    """Draw the way of each token through blocks: a line that each part reads, and adds to.

    Between the parts it is written how long the vector is there. A normed vector, of which keys and values
    are made, leads by an arrow to the attention of the tokens that look at it.

    The stream is that of up to three tokens: as they enter, then after each attention and feed-forward.
    """
    lengths = np.linalg.norm(to_numpy(stream), axis=-1)
    names, column = clean_labels(tokens, lengths.shape[1]), (WIDTH - 2 * MARGIN) / 3
    lefts = [MARGIN + 6 + column * place for place in range(len(names))]
    with new_canvas() as page:
        y = MARGIN + LINE / 2
        for x, name in zip(lefts, names, strict=True):
            page.heading(x - 6, y, shorten(name, column - 8, "bold"))
        top = y = y + LINE
        for stage, row in enumerate(lengths):
            if stage:
                y = _draw_part(page, lefts, y, _PARTS[(stage - 1) % 2])
            for x, length in zip(lefts, row, strict=True):
                page.note(x + 8, y, f"length {format_number(length)}", "left")
            y += LINE
        for x in lefts:
            page.arrow((x, top - 4), (x, y), color=INK, width=2.4)
        told = [
            ", ".join(
                f"{format_number(n)} {f'after {_PARTS[(i - 1) % 2]}' if i else 'long'}"
                for i, n in enumerate(column)
            )
            for column in lengths.T
        ]
        return page.finish(
            y + MARGIN,
            f"The streams of {plural(len(names), 'token')} through {plural(len(lengths) // 2, 'block')}.",
            "Each part reads a normalized copy of the stream and adds to it; only attention also reads the "
            "normalized copies of the tokens before.",
            *(f"The vector of '{name}' is {long}." for name, long in zip(names, told, strict=True)),
        )


def _draw_part(page: Canvas, lefts: Sequence[float], y: float, part: str) -> float:
    """Draw what one part reads and adds in every column; return where the next line of text is."""
    box, width, height = 18.0, 66.0, 22.0
    looks = part == "attention" and len(lefts) > 1
    norm = y + LINE / 2
    body = norm + height + (_LANE * (len(lefts) + 2) if looks else 12)
    for x in lefts:
        left, middle = x + box, x + box + width / 2
        page.arrow((x, norm + height / 2), (left, norm + height / 2))
        page.box(left, norm, width, height, fill=PAPER, edge=RULE, rounding=3)
        page.note(middle, norm + height / 2, "norm", size=SMALL_TEXT)
        page.arrow((middle, norm + height), (middle, body))
        page.box(left, body, width, height, fill=SHADE, edge=INK, rounding=3)
        page.text(middle, body + height / 2, part, size=SMALL_TEXT)
        page.arrow((left, body + height / 2), (x + 5, body + height / 2))
        page.circle(x, body + height / 2, 5, PAPER, INK)
        page.text(x, body + height / 2, "+", weight="bold")
    blue: Look = {"color": BLUE, "width": 1.6}
    for place, x in enumerate(lefts[:-1] if looks else []):
        # a normed vector goes along a lane of its own to the attention of all later tokens
        start, lane = x + box + width - 8, norm + height + _LANE * (place + 1)
        ends = [later + box + 8 + 9 * place for later in lefts[place + 1 :]]
        page.line((start, norm + height), (start, lane), (ends[-1], lane), **blue)
        for end in ends:
            page.arrow((end, lane), (end, body), **blue)
    return body + height + LINE


def draw_turned_arrows(pairs: Mapping[str, Float[Tensor, "2 2"]]) -> Drawing:
    """Draw a query and a key as arrows, and the angle between them, for several pairs of places."""
    arrows = {name: to_numpy(pair, 2) for name, pair in pairs.items()}
    longest = max(float(np.linalg.norm(pair, axis=1).max()) for pair in arrows.values())
    room = (WIDTH - 2 * MARGIN) / len(arrows)
    radius, top, sentences = min(room / 2 - 14, 70.0), MARGIN + LINE + 8, []
    with new_canvas() as page:
        for place, (name, pair) in enumerate(arrows.items()):
            x, y = MARGIN + room * (place + 0.5), top + radius
            page.text(x, MARGIN + LINE / 2, name, weight="bold")
            page.cross(x, y, radius)
            for arrow, colour, label in zip(pair, (QUERY, KEY), "qk", strict=True):
                across, up = radius * arrow / longest
                page.arrow((x, y), (x + across, y - up), color=colour.strong, width=2.0)
                beside = x + 1.12 * across, y - 1.12 * up
                page.text(*beside, label, color=colour.strong, weight="bold")
            start, stop = np.arctan2(pair[:, 1], pair[:, 0])
            turn = (stop - start + math.pi) % math.tau - math.pi  # the short way round
            arc, reach = start + turn * np.linspace(0, 1, 25), 0.35 * radius
            page.line(*zip(x + reach * np.cos(arc), y - reach * np.sin(arc), strict=True))
            angle, score = f"{abs(math.degrees(turn)):.0f}°", format_number(pair[0] @ pair[1])
            page.text(x, top + 2 * radius + LINE, f"angle {angle}, score {score}")
            query, key = map(format_vector, pair)
            sentences.append(
                f"{name}: the query is {query}, the key {key}, the angle between them {angle}, their score "
                f"{score}."
            )
        return page.finish(top + 2 * radius + 1.5 * LINE + MARGIN, *sentences)


def draw_shared_heads(num_heads: int, num_kv_heads: Sequence[int]) -> Drawing:
    """Draw which key-value head each query head uses, for several numbers of the former."""
    left, gap = 100.0, 62.0
    step = (WIDTH - left - MARGIN) / num_heads
    sentences = [f"Which of {num_heads} query heads share keys and values."]
    with new_canvas() as page:
        y = MARGIN + LINE
        for kv_heads in num_kv_heads:
            below, of_keys = y + gap / 2, plural(kv_heads, "key-value head")
            page.text(MARGIN, y, f"{num_heads} query heads", ha="left", color=QUERY.strong)
            page.text(MARGIN, below + 13, of_keys, ha="left", color=KEY.strong)
            served = []
            for kv_head in range(kv_heads):
                heads = [h for h in range(num_heads) if h * kv_heads // num_heads == kv_head]
                middle = left + step * (sum(heads) / len(heads) + 0.5)
                for head in heads:
                    x = left + step * (head + 0.5)
                    page.line((x, y), (middle, below + 12), color=INK)
                    page.circle(x, y, 9, QUERY.tint, QUERY.strong)
                    page.text(x, y, str(head))
                look: Look = {"fill": KEY.tint, "edge": KEY.strong, "rounding": 3, "zorder": 3}
                page.box(middle - 11, below + 3, 22, 19, **look)
                page.text(middle, below + 12.5, str(kv_head))
                served.append(f"{kv_head} serves {', '.join(map(str, heads))}")
            sentences.append(f"{of_keys}: {'; '.join(served)}.")
            y += gap + LINE + 6
        return page.finish(y - LINE - 6 + MARGIN, *sentences)


def draw_latent(num_heads: int) -> Drawing:
    """Draw what is kept of one token, with keys and values and with a latent, and what is made of it."""
    left, high, gap = MARGIN + 76.0, 20.0, 22.0
    room = WIDTH - left - MARGIN
    step = room / (2 * num_heads)
    with new_canvas() as page:

        def box(x: float, y: float, width: float, text: str, **look: Any) -> None:
            page.box(x, y, width, high, rounding=3, zorder=3, **look)
            page.text(x + width / 2, y + high / 2, text)

        y = MARGIN + 6
        for title in ("Multi-head attention", "Latent attention"):
            is_latent = title == "Latent attention"
            page.heading(MARGIN, y, title)
            y += LINE - 4
            page.note(MARGIN, y + high / 2, "the token", "left")
            box(left, y, room, "x", fill=INPUT.tint, edge=INPUT.strong)
            y += high + gap
            if is_latent:
                page.note(MARGIN, y + high / 2, "kept", "left")
                for x, width, name in ((0.0, 2 / 3, "latent"), (0.7, 0.3, "rotated key")):
                    middle = left + (x + width / 2) * room
                    page.arrow((middle, y - gap), (middle, y))
                    box(left + x * room, y, width * room, name, fill=PAPER, edge=INK)
                y += high + gap
            page.note(MARGIN, y + high / 2, "made again" if is_latent else "kept", "left")
            for place in range(2 * num_heads):
                (name, colour), x = (
                    (("k", KEY), ("v", VALUE))[place % 2],
                    left + step * (place + 0.5),
                )
                page.arrow((left + room / 3 if is_latent else x, y - gap), (x, y))
                if is_latent and name == "k":
                    page.arrow((left + 0.85 * room, y - gap), (x, y))
                look: Look = {"fill": colour.tint, "edge": colour.strong}
                if is_latent:
                    look |= {"fill": PAPER, "linestyle": "--"}
                box(x - step / 2 + 3, y, step - 6, f"{name}{place // 2 + 1}", **look)
            y += high + LINE + 8
        return page.finish(
            y - LINE - 8 + MARGIN,
            f"What is kept of one token. Multi-head attention: a key and a value for each of "
            f"{plural(num_heads, 'head')}. Latent attention: a latent, from which all these keys and values "
            f"can be made again, and a rotated key, which is part of every key.",
        )


def draw_half_planes(
    latents: Float[Tensor, "num_tokens 2"],
    directions: Float[Tensor, "num_heads 2"],
    least: float,
    tokens: Sequence[str],
) -> Drawing:
    """Draw latents of two numbers as points, and for up to three heads the line beyond which each attends."""
    points, heads = to_numpy(latents, 2), to_numpy(directions, 2)
    names = clean_labels(tokens, len(points))
    centre, radius = WIDTH / 2, WIDTH / 2 - MARGIN - 14
    unit = radius / (1.35 * max(math.hypot(*point) for point in points))

    def at(x: float, y: float) -> tuple[float, float]:
        return centre + unit * x, centre - unit * y

    at_place: dict[tuple[int, int], list[str]] = {}
    for name, point in zip(names, points, strict=True):
        x, y = at(*point)
        at_place.setdefault((round(x), round(y)), []).append(name)
    sentences = [f"{plural(len(names), 'token')} as points of the plane, and a line for each head."]
    with new_canvas() as page:
        for (x, y), here in at_place.items():
            page.circle(x, y, 4, INK, INK)
            for name, below in zip(here, (13, -13), strict=False):
                page.text(x, y + below, name)
        for head, (across, up) in enumerate(heads):
            length, colour = math.hypot(across, up), head_colour(head).strong
            away = least / length
            reach = math.sqrt((radius / unit) ** 2 - away**2)
            across, up = across / length, up / length
            ends = [at(away * across - s * up, away * up + s * across) for s in (-reach, reach)]
            page.line(*ends, color=colour, width=1.8)
            for x, y in ends:
                page.arrow((x, y), (x + 16 * across, y - 16 * up), color=colour, width=1.8)
            x, y = ends[0]
            aside = 22 + text_width("head 1") / 2 * abs(across)
            beside: Look = {"color": colour, "weight": "bold"}
            page.text(x + aside * across, y - aside * up, f"head {head + 1}", **beside)
            seen = [
                name
                for name, score in zip(names, points @ heads[head], strict=True)
                if score >= least
            ]
            sentences.append(f"Head {head + 1} attends to {enumerated(seen)}.")
        for here in at_place.values():
            if len(here) > 1:
                sentences.append(f"{quote(here)} have the same latent.")
        page.note(MARGIN, WIDTH, "a head attends on the side of its arrows", "left")
        return page.finish(WIDTH + LINE / 2 + MARGIN, *sentences)


def draw_mask_parts(
    parts: Mapping[str, Bool[Tensor, "num_tokens num_tokens"]], tokens: Sequence[str]
) -> Drawing:
    """Draw which query may attend to which key, and why: a mask in one or two parts.

    A row is a query, a column is a key: True where it may attend to it. What belongs to no part is hatched.
    """
    allowed = {name: to_numpy(part, 2) != 0 for name, part in parts.items()}
    size = len(tokens)
    names = clean_labels(tokens, len(next(iter(allowed.values()))))
    reasons = np.sum(list(allowed.values()), axis=0)
    if (reasons > 1).any():  # one sign would cover the other
        raise ValueError(f"each pair must be in one part, got {(reasons > 1).sum()} in both")
    left = MARGIN + label_width(names) + 6
    cell = column_width(names, left, 36.0)
    top = MARGIN + label_height(names, cell)
    with new_canvas() as page:
        page.note(MARGIN, top + size * cell + LINE, "row: query; column: key", "left")
        page.column_labels(names, left, top, cell)
        page.row_labels(names, left - 6, top, cell)
        page.hatched(left, top, size * cell, size * cell)
        x, y = MARGIN, top + size * cell + 2 * LINE + 4
        for number, (name, part) in enumerate(allowed.items()):
            for i, j in np.argwhere(part):
                _draw_sign(page, number, left + j * cell, top + i * cell, cell, 0.17 * cell)
            _draw_sign(page, number, x, y - 8, 16.0, 3.4)
            page.text(x + 22, y, name, ha="left")
            x += 22 + text_width(name) + 16
        page.hatched(x, y - 8, 16, 16)
        page.note(x + 22, y, "hidden", "left")
        counts = {name: int(part.sum()) for name, part in allowed.items()}
        counts["hidden"] = int((reasons == 0).sum())
        seen = (
            f"{quote(names[j] for j in part[-1].nonzero()[0])} ({name})"
            for name, part in allowed.items()
            if part[-1].any()
        )
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"Which of {size} keys each of {size} queries may attend to.",
            "; ".join(f"{name}: {plural(n, 'pair')}" for name, n in counts.items()) + ".",
            f"The last query, '{names[-1]}', sees {' and '.join(seen)}.",
        )


def _draw_sign(page: Canvas, part: int, x: float, y: float, side: float, radius: float) -> None:
    """Tell two parts apart: by a ground, and by a shape for those who do not see its colour."""
    page.box(x, y, side, side, fill=(WEIGHT_TINT, SHADE)[part], edge=RULE, line=0.8)
    if part:
        page.diamond(x + side / 2, y + side / 2, radius + 1, PAPER, INK)
    else:
        page.circle(x + side / 2, y + side / 2, radius, BLUE, BLUE)


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
