"""Drawings of trained heads: all at a glance, what is claimed of some, and how two work together."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from ._canvas import MARGIN, WIDTH, Drawing, Ruler, new_canvas, spread
from ._lettering import LINE, SMALL_TEXT, clean_labels, shorten, text_width
from ._palette import BLUE, HEADS, INK, INPUT, KEY, PAPER, QUERY, QUIET, SHADE
from ._words import enumerated, format_number, plural, to_numpy

__all__ = ["draw_claim", "draw_head_scores", "draw_induction", "draw_wires"]


def draw_head_scores(scores: Mapping[str, Float[Tensor, "num_layers num_heads"]]) -> Drawing:
    """Draw how much every head is of each kind, layers from left to right; the best head is framed."""
    row, left, sentences = 11.0, MARGIN + text_width("head 0") + 5, []
    with new_canvas() as page:
        y = MARGIN
        for kind, given in scores.items():
            values = to_numpy(given, 2)
            num_layers, num_heads = values.shape
            layer, head = divmod(int(values.argmax()), num_heads)
            best, score = f"layer {layer}, head {head}", format_number(values.max())
            page.heading(MARGIN, y + 6, kind)
            page.note(WIDTH - MARGIN, y + 6, f"{best}: {score}", "right")
            y += LINE + 6
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
    estimates: Mapping[str, tuple[Float[Tensor, " draws"], float, float, float]], measures: str
) -> Drawing:
    """Draw an effect and its controls: single tries, their mean, and its interval, all from 0 to 1.

    Of each name come its tries, their mean, and where its interval begins and ends; below stands what they
    measure.
    """
    scale, height = WIDTH - 2 * MARGIN - text_width("0.00") - 8, 2 * LINE + 6
    bottom, sentences = MARGIN + height * len(estimates), []
    with new_canvas() as page:
        _, first, _, _ = next(iter(estimates.values()))
        page.dashes((MARGIN + scale * first, MARGIN), (MARGIN + scale * first, bottom))
        for share in (0, 0.5, 1):
            page.note(MARGIN + scale * share, bottom + 6, f"{share:g}")
            page.line((MARGIN + scale * share, bottom - 6), (MARGIN + scale * share, bottom - 2))
        for place, (name, (values, mean, low, high)) in enumerate(estimates.items()):
            y = MARGIN + place * height + LINE / 2
            page.text(MARGIN, y, shorten(name, WIDTH - 2 * MARGIN), ha="left")
            y += LINE
            page.box(MARGIN, y - 6, scale, 12, fill=SHADE, zorder=0)
            for value in to_numpy(values):
                page.circle(MARGIN + scale * value, y, 2, PAPER, QUIET)
            start, end, at = (MARGIN + scale * share for share in (low, high, mean))
            page.line((start, y), (end, y), color=BLUE, width=3, zorder=4, label=name)
            page.line((at, y - 6), (at, y + 6), color=INK, width=2, zorder=4)
            page.text(WIDTH - MARGIN, y, format_number(mean), ha="right")
            interval = f"{format_number(low)} to {format_number(high)}"
            sentences.append(f"{name}: {format_number(mean)}, interval {interval}.")
        page.text(MARGIN + scale / 2, bottom + LINE + 6, measures)
        legend = "circle: a try; black: mean; blue: interval; dashed: first mean"
        page.note(MARGIN, bottom + 2 * LINE + 10, legend, "left")
        return page.finish(bottom + 2.5 * LINE + 10 + MARGIN, f"{measures}.", *sentences)


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
    with new_canvas() as page:

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

    Each trial has the head that writes, which of the ends hear it, and what was measured, from 0 to 1.
    """
    start, end = MARGIN + 58, MARGIN + 104
    right = end + max(map(text_width, ends)) + max(map(text_width, kinds)) + 24
    ruler, row, sentences = Ruler(0, 1, WIDTH - MARGIN - right), 20.0, []
    height = row * max(len(ends), len(kinds))
    with new_canvas() as page:
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
        page.note(WIDTH - MARGIN, y, "bars: share of tokens guessed right", "right")
        return page.finish(y + LINE / 2 + MARGIN, *sentences)
