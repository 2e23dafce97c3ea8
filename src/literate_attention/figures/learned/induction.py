"""A drawing of how two heads work together to copy."""

from collections.abc import Sequence

from literate_attention.figures._arguments import clean_labels
from literate_attention.figures._card import MARGIN, WIDTH, Drawing, card
from literate_attention.figures._lettering import LINE
from literate_attention.figures._palette import HEADS, INPUT, KEY, QUERY


def draw_induction(tokens: Sequence[str]) -> Drawing:
    """Draw how two heads copy: the first notes beside each token what came before, the second finds a note.

    Args:
        tokens: a text whose last token was there before.

    Example:
        >>> draw_induction(["a", "b", "c", "a"]).alt
        "The first head tells each of 4 tokens which one came before it. The last token, 'a', looks for the
        note 'a' and finds it at place 2, beside 'b'. So 'b' comes next."
    """
    names = clean_labels(tokens)
    *before, asked = names
    found = [place for place, name in enumerate(before, start=1) if name == asked]
    column = (WIDTH - 2 * MARGIN) / len(names)
    side = min(column - 5, 26.0)
    middles = [MARGIN + (place + 0.5) * column for place in range(len(names))]
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
        places = " and ".join(f"{place + 1}, beside '{names[place]}'" for place in found)
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"The first head tells each of {len(names)} tokens which one came before it.",
            f"The last token, '{asked}', looks for the note '{asked}' and finds it at place {places}. "
            f"So '{answer}' comes next.",
        )
