"""Drawings of trained heads: all at a glance, what is claimed of some, and how two work together."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import MARGIN, WIDTH, Drawing, Ruler, card, spread
from literate_attention.figures._lettering import (
    LINE,
    SMALL_TEXT,
    clean_labels,
    shorten,
    text_width,
)
from literate_attention.figures._palette import (
    BLUE,
    HEADS,
    INK,
    INPUT,
    KEY,
    PAPER,
    QUERY,
    QUIET,
    SHADE,
)
from literate_attention.figures._words import enumerated, format_number, plural, to_numpy

__all__ = ["draw_claim", "draw_head_scores", "draw_induction", "draw_wires"]


def draw_head_scores(scores: Mapping[str, Float[Tensor, "num_layers num_heads"]]) -> Drawing:
    """Draw a score of every head of a model, layers from left to right; the best head is framed.

    Args:
        scores: for the name of each kind of head, how much every head is of this kind.

    Example:
        >>> import torch
        >>> draw_head_scores({"Previous token": torch.tensor([[0.1, 0.9], [0.2, 0.6], [0.0, 0.3]])}).alt
        'Previous token: 3 layers of 2 heads. The best is layer 0, head 1, with 0.90; 2 heads are above
        a half.'
    """
    sentences, row = [], 11.0
    with card() as page:
        y = MARGIN
        for kind, given in scores.items():
            values = to_numpy(given, 2)
            num_layers, num_heads = values.shape
            layer, head = divmod(int(values.argmax()), num_heads)
            best, score = f"layer {layer}, head {head}", format_number(values.max())
            page.heading(MARGIN, y + 6, kind)
            page.note(WIDTH - MARGIN, y + 6, f"{best}: {score}", "right")
            y += LINE + 6
            left = MARGIN + text_width("head 0") + 5
            cell = min(22.0, (WIDTH - MARGIN - left) / num_layers)
            page.note(left - 5, y, "layer", "right")
            for number in range(0, num_layers, 5):  # narrow columns have no room for more
                page.note(left + (number + 0.5) * cell, y, str(number))
            y += LINE / 2 + 1
            for number in range(0, num_heads, 2):
                name = str(number) if number else "head 0"
                page.note(left - 5, y + (number + 0.5) * row, name, "right", SMALL_TEXT)
            page.cells(values.T, left, y, cell, row, name=kind, limit=1.0, decimals=None)
            page.frame(left + layer * cell, y + head * row, cell, row, INK)
            y += num_heads * row + LINE
            high = plural(int((values > 0.5).sum()), "head is", "heads are")
            sentences.append(
                f"{kind}: {plural(num_layers, 'layer')} of {plural(num_heads, 'head')}. "
                f"The best is {best}, with {score}; {high} above a half."
            )
        page.colour_scale(MARGIN, y - LINE / 2)
        return page.finish(y + LINE / 2 + MARGIN, *sentences)


def draw_claim(
    estimates: Mapping[str, tuple[Float[Tensor, " draws"], float, float, float]],
) -> Drawing:
    """Draw an effect, its controls and their intervals; a dashed line marks the first mean.

    Args:
        estimates: for each name numbers from 0 to 1, their mean, and where its interval begins and ends.

    Example:
        >>> import torch
        >>> draws = torch.tensor([0.25, 0.75])
        >>> draw_claim({"all heads": (draws, 0.5, 0.25, 0.75), "control": (draws, 0.5, 0.25, 0.75)}).alt
        'all heads: 0.50, interval 0.25 to 0.75. control: 0.50, interval 0.25 to 0.75.'
    """
    scale = WIDTH - 2 * MARGIN - text_width("0.00") - 8
    height, sentences = 2 * LINE + 6, []
    with card() as page:
        y = MARGIN
        _, first, _, _ = next(iter(estimates.values()))
        guide = MARGIN + scale * first
        page.dashes((guide, y), (guide, y + height * len(estimates)))
        for name, (values, mean, low, high) in estimates.items():
            page.text(MARGIN, y + LINE / 2, shorten(name, WIDTH - 2 * MARGIN), ha="left")
            middle = y + 1.5 * LINE
            page.box(MARGIN, middle - 6, scale, 12, fill=SHADE, zorder=0)
            for value in to_numpy(values):
                page.circle(MARGIN + scale * value, middle, 2, PAPER, QUIET)
            start, end = (MARGIN + scale * low, middle), (MARGIN + scale * high, middle)
            page.line(start, end, color=BLUE, width=3, zorder=4, label=name)
            at = MARGIN + scale * mean
            page.line((at, middle - 6), (at, middle + 6), color=INK, width=2, zorder=4)
            page.text(WIDTH - MARGIN, middle, format_number(mean), ha="right")
            interval = f"{format_number(low)} to {format_number(high)}"
            sentences.append(f"{name}: {format_number(mean)}, interval {interval}.")
            y += height
        page.note(
            MARGIN, y + LINE / 2, "0 to 1; dots: single tries, blue: interval of their mean", "left"
        )
        return page.finish(y + LINE + MARGIN, *sentences)


def draw_induction(tokens: Sequence[str]) -> Drawing:
    """Draw how two heads copy: the first notes beside each token what was before, the second finds a note."""
    names = clean_labels(tokens)
    *before, asked = names
    found = [place for place, name in enumerate(before, start=1) if name == asked]
    column = (WIDTH - 2 * MARGIN) / len(names)
    side = min(column - 5, 26.0)
    middles = spread(len(names))
    top = MARGIN + 6 + LINE
    stand = top + side + 34
    notes = stand + side
    asks = notes + side + 46
    first, second = HEADS[0].strong, HEADS[1].strong
    with card() as page:

        def write(x: float, y: float, name: str, tint: str, strong: str) -> None:
            page.box(x - side / 2, y, side, side, fill=tint, edge=strong)
            page.text(x, y + side / 2, name)

        page.heading(MARGIN, MARGIN + 6, "layer 1: what came before me?")
        for place, (x, name) in enumerate(zip(middles, names, strict=True)):
            for y in (top, stand):
                write(x, y, name, *INPUT)
            if place:
                write(x, notes, names[place - 1], *KEY)
                start, end = (middles[place - 1] + 3, top + side + 2), (x - 3, stand - 2)
                page.arrow(start, end, color=first, width=1.4, label=f"note{place}")
        for place in found:
            x = middles[place]
            page.frame(x - side / 2, stand, side, 2 * side, second)
            start, end = (x, notes + side + 3), (middles[-1] - 3, asks - 3)
            page.arrow(start, end, color=second, width=2.2, label=f"found{place}")
        write(middles[-1], asks, asked, *QUERY)
        page.heading(MARGIN, asks + side / 2, f"layer 2: who has the note {asked}?")
        y, answer = asks + side + LINE, names[found[-1]]
        page.note(MARGIN, y, "grey: a letter, yellow: its note", "left")
        page.text(WIDTH - MARGIN, y, f"next comes {answer}", ha="right", weight="bold")
        places = enumerated(f"{place + 1}, beside '{names[place]}'" for place in found)
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"The first head tells each of {len(names)} tokens which one came before it.",
            f"The last token, '{asked}', looks for the note '{asked}' and finds it at place {places}. "
            f"So '{answer}' comes next.",
        )


def draw_wires(
    ends: Sequence[str],
    kinds: Sequence[str],
    trials: Mapping[str, tuple[str, Sequence[bool], Float[Tensor, " kinds"]]],
) -> Drawing:
    """Draw which later parts still hear what a head writes, and what the model can do with it.

    Args:
        ends: what reads the head's notes.
        kinds: the names of what was measured.
        trials: for each name the head that writes, which of the ends hear it, and the numbers from 0 to 1
            that were measured.

    Example:
        >>> import torch
        >>> trials = {"one wire cut": ("16/0", [True, False], torch.tensor([0.25]))}
        >>> draw_wires(["layer 17", "the rest"], ["words"], trials).alt
        'one wire cut: 16/0 is heard by layer 17; words: 0.25.'
    """
    start, end = MARGIN + 58, MARGIN + 104
    right = end + max(map(text_width, ends)) + max(map(text_width, kinds)) + 24
    ruler, row, sentences = Ruler(0, 1, WIDTH - MARGIN - right), 20.0, []
    height = row * max(len(ends), len(kinds))
    with card() as page:
        y = MARGIN
        for name, (writer, heard, measured) in trials.items():
            page.heading(MARGIN, y + LINE / 2, name)
            y += LINE + 4
            middle, strong = y + height / 2, HEADS[0].strong
            page.box(MARGIN, middle - 11, 56, 22, fill=HEADS[0].tint, edge=strong)
            page.text(MARGIN + 28, middle, writer)
            for place, (reader, whole) in enumerate(zip(ends, heard, strict=True)):
                at = y + (place + 0.5) * height / len(ends)
                if whole:
                    page.arrow((start, middle), (end, at), color=strong, width=2, label=reader)
                else:
                    page.dashes((start, middle), (end, at))
                page.text(end + 4, at, reader, ha="left", color=INK if whole else QUIET)
            shares, top = to_numpy(measured, 1), middle - row * len(kinds) / 2
            page.row_labels(kinds, right - 6, top, row)
            page.bars(shares, right, top, row, ruler, name=name)
            y += height + LINE / 2
            readers = enumerated(r for r, whole in zip(ends, heard, strict=True) if whole)
            found = ", ".join(
                f"{kind}: {format_number(share)}" for kind, share in zip(kinds, shares, strict=True)
            )
            sentences.append(f"{name}: {writer} is heard by {readers or 'nobody'}; {found}.")
        return page.finish(y + MARGIN / 2, *sentences)
