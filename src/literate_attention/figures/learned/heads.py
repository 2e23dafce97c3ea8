"""Drawings of trained heads: all of them at a glance, and what is left without some."""

from collections.abc import Mapping
from typing import Final

from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._arguments import to_numpy
from literate_attention.figures._card import MARGIN, WIDTH, Drawing, Ruler, card
from literate_attention.figures._lettering import LINE, SMALL_TEXT, shorten, text_width
from literate_attention.figures._palette import BLUE, INK
from literate_attention.figures._words import format_number, plural

_ROW: Final = 11.0
_LABELLED: Final = 5
"""Every fifth layer has its number written above it; narrow columns have no room for more."""


def draw_head_scores(scores: Mapping[str, Float[Tensor, "num_layers num_heads"]]) -> Drawing:
    """Draw a score of every head of a model, layers from left to right; the best head is framed.

    White is 0 and the darkest blue is 1.

    Args:
        scores: for the name of each kind of head, how much every head is of this kind.

    Example:
        >>> import torch
        >>> draw_head_scores({"Previous token": torch.tensor([[0.1, 0.9], [0.2, 0.6], [0.0, 0.3]])}).alt
        'Previous token: 3 layers of 2 heads. The best is layer 0, head 1, with 0.90; 2 heads are above
        a half.'
    """
    sentences = []
    with card() as page:
        y = MARGIN
        for kind, given in scores.items():
            values = to_numpy(given)
            num_layers, num_heads = values.shape
            layer, head = divmod(int(values.argmax()), num_heads)
            best, score = f"layer {layer}, head {head}", format_number(values.max())
            page.heading(MARGIN, y + 6, kind)
            page.note(WIDTH - MARGIN, y + 6, f"{best}: {score}", "right")
            y += LINE + 6
            left = MARGIN + text_width("head 0") + 5
            cell = min(22.0, (WIDTH - MARGIN - left) / num_layers)
            page.note(left - 5, y, "layer", "right")
            for number in range(0, num_layers, _LABELLED):
                page.note(left + (number + 0.5) * cell, y, str(number))
            y += LINE / 2 + 1
            for number in range(0, num_heads, 2):
                name = str(number) if number else "head 0"
                page.note(left - 5, y + (number + 0.5) * _ROW, name, "right", SMALL_TEXT)
            page.cells(values.T, left, y, cell, _ROW, name=kind, limit=1.0, decimals=None)
            page.frame(left + layer * cell, y + head * _ROW, cell, _ROW, INK)
            y += num_heads * _ROW + LINE
            high = plural(int((values > 0.5).sum()), "head is", "heads are")
            sentences.append(
                f"{kind}: {plural(num_layers, 'layer')} of {plural(num_heads, 'head')}. "
                f"The best is {best}, with {score}; {high} above a half."
            )
        page.colour_scale(MARGIN, y - LINE / 2)
        return page.finish(y + LINE / 2 + MARGIN, *sentences)


def draw_shares(shares: Mapping[str, float]) -> Drawing:
    """Draw shares of a whole as bars, one below the other; a dashed line marks the first.

    Args:
        shares: for each name a number from 0 to 1.

    Example:
        >>> draw_shares({"all heads": 0.75, "without one": 0.5}).alt
        'all heads: 0.75. without one: 0.50.'
    """
    ruler = Ruler(0.0, 1.0, WIDTH - 2 * MARGIN - text_width("0.00") - 8)
    height = 2 * LINE + 6
    with card() as page:
        y = MARGIN
        first = MARGIN + ruler.scale * next(iter(shares.values()))
        page.dashes((first, y), (first, y + height * len(shares)))
        for name, share in shares.items():
            page.text(MARGIN, y + LINE / 2, shorten(name, WIDTH - 2 * MARGIN), ha="left")
            page.bar(MARGIN, y + 1.5 * LINE, 13, ruler, share, facecolor=BLUE, label=name)
            page.text(WIDTH - MARGIN, y + 1.5 * LINE, format_number(share), ha="right")
            y += height
        sentences = (f"{name}: {format_number(share)}." for name, share in shares.items())
        return page.finish(y + MARGIN / 2, *sentences)
