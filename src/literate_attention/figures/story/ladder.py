"""A drawing of what one kind of attention can do, and the one before it cannot."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from literate_attention.figures._arguments import Array, to_numpy
from literate_attention.figures._card import MARGIN, WIDTH, Drawing, Look, card
from literate_attention.figures._lettering import LINE, wrap
from literate_attention.figures._palette import BLUE, RULE
from literate_attention.figures._roles import head_colour
from literate_attention.figures._words import enumerated, format_number
from literate_attention.figures.story.looks import LEAST, draw_arc, places_of

_NAMES = 82.0
_HIGH = 30.0


def draw_ladder(
    rungs: Sequence[tuple[str, str, Sequence[int], Mapping[str, Tensor]]],
) -> Drawing:
    """Draw for each of some tasks where words look: with one kind of attention, and with the next.

    An arrow leads from a word to where it looks; the thicker it is, the larger the weight. Weights below a
    twentieth have no arrow. Several heads have the colours of heads.

    Args:
        rungs: for each task what is asked, a sentence, the places of the words in it that look, and the
            attention weights, of shape `(num_tokens, num_tokens)` or `(num_heads, num_tokens, num_tokens)`,
            of two kinds of attention: of the first, drawn above the sentence, and of the second, drawn below
            it. Each is named by what is to be written beside it.

    Example:
        >>> import torch
        >>> even, sharp = torch.tensor([[0.5, 0.5]]).expand(2, 2), torch.tensor([[0.5, 0.5], [0.9, 0.1]])
        >>> draw_ladder([("Which is red?", "cherry it", [1], {"average": even, "attention": sharp})]).alt
        "Which is red? In the sentence 'cherry it', with average, 'it' looks at 'cherry' (0.50) and 'it'
        (0.50); with attention, 'it' looks at 'cherry' (0.90) and 'it' (0.10)."
    """
    said = []
    with card() as page:
        y = MARGIN
        for question, sentence, asks, kinds in rungs:
            words = sentence.split()
            if y > MARGIN:
                page.line((MARGIN, y), (WIDTH - MARGIN, y), color=RULE)
                y += 8
            for line in wrap(question, WIDTH - 2 * MARGIN, "bold"):
                page.heading(MARGIN, y + 6, line)
                y += LINE
            middles = places_of(len(words), MARGIN + _NAMES)
            parts = [word.split("-") for word in words]
            deep = 12.0 * max(map(len, parts))
            top = y + _HIGH + 4
            for place, (x, lines) in enumerate(zip(middles, parts, strict=True)):
                for row, part in enumerate(lines):
                    weight = "bold" if place in asks else "normal"
                    page.text(x, top + 6 + 12 * row, part, weight=weight)
            clauses = []
            for side, (name, weights) in zip((-1, 1), kinds.items(), strict=True):
                heads = to_numpy(weights).reshape(-1, len(words), len(words))
                edge = top - 2 if side < 0 else top + deep + 2
                lines = [line for part in name.split("\n") for line in wrap(part, _NAMES)]
                start = edge + side * 16 - 6 * (len(lines) - 1)
                page.paragraph(MARGIN, start, lines, "left")
                for h, i, j in np.argwhere(heads >= LEAST).tolist():
                    if i in asks:
                        colour = BLUE if len(heads) == 1 else head_colour(h).strong
                        look: Look = {"high": _HIGH, "color": colour, "below": side > 0}
                        weight = heads[h, i, j]
                        draw_arc(page, middles, (i, j), weight, edge, inside=5.0 * h, **look)
                clauses.append(f"with {' '.join(lines)}, {_say_looks(words, asks, heads)}")
            said.append(f"{question} In the sentence '{sentence}', {'; '.join(clauses)}.")
            y = top + deep + _HIGH + 8
        return page.finish(y - 8 + MARGIN, *said)


def _say_looks(words: Sequence[str], asks: Sequence[int], heads: Array) -> str:
    looks = []
    for h, weights in enumerate(heads, start=1):
        whose = f"head {h} of " if len(heads) > 1 else ""
        for i in asks:
            seen = [
                f"'{words[j]}' ({format_number(weight)})"
                for j, weight in enumerate(weights[i])
                if weight >= LEAST
            ]
            looks.append(f"{whose}'{words[i]}' looks at {enumerated(seen)}")
    return enumerated(looks)
