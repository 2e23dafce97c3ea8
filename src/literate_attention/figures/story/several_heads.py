"""Drawings of several heads: what each looks at, and how vectors are split among them."""

from collections.abc import Sequence

from jaxtyping import Float, Shaped
from torch import Tensor

from literate_attention.figures._arguments import Array, to_numpy
from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, Look, Point, card
from literate_attention.figures._labels import clean_labels, label_width
from literate_attention.figures._lettering import LINE
from literate_attention.figures._palette import INK
from literate_attention.figures._roles import INPUT, head_colour
from literate_attention.figures._words import format_number, plural, quote
from literate_attention.figures.story.looks import draw_circle


def _write_step(page: Card, y: float, what: str, shape: tuple[int, ...]) -> float:
    """Name an operation and the shape after it; return where the picture of it begins."""
    page.heading(MARGIN, y + 6, what)
    page.note(WIDTH - MARGIN, y + 6, str(shape), "right")
    return y + LINE + 8


def draw_weight_split(
    x: Shaped[Tensor, "batch num_tokens embed_dim"], tokens: Sequence[str], *, num_heads: int
) -> Drawing:
    """Draw how vectors, of the first text of a batch, are split among heads: a view, then a transpose.

    Args:
        x: the queries, keys or values of all heads together.
        tokens: what each token is called.
        num_heads: how many heads share a vector.

    Example:
        >>> import torch
        >>> draw_weight_split(torch.arange(12).reshape(1, 3, 4), ["a", "b", "c"], num_heads=2).alt
        'Split among 2 heads. At first (1, 3, 4): each of 3 tokens has 4 numbers. After view (1, 3, 2, 2):
        each token is a block, with a row of 2 numbers for each head. After transpose(1, 2) (1, 2, 3, 2):
        each head is a block, with a row for each of 3 tokens.'
    """
    values = to_numpy(x)
    batch, num_tokens, embed_dim = values.shape
    tokens = clean_labels(tokens, num_tokens)
    head_dim = embed_dim // num_heads
    pieces = values[0].reshape(num_tokens, num_heads, head_dim)
    shapes = (
        (batch, num_tokens, embed_dim),
        (batch, num_tokens, num_heads, head_dim),
        (batch, num_heads, num_tokens, head_dim),
    )
    heads = [f"head {h + 1}" for h in range(num_heads)]
    labelled = label_width([*tokens, heads[-1]]) + 6
    left = MARGIN + labelled
    gap = 10.0
    cell = min(40.0, (WIDTH - left - MARGIN) / embed_dim)
    block = labelled + head_dim * cell
    side_by_side = max(1, int((WIDTH - 2 * MARGIN + gap) // (block + gap)))
    numbers: Look = {"decimals": 2 if x.is_floating_point() else 0, "alike": values}

    def corner(place: int, y: float, rows: int) -> Point:
        down, across = divmod(place, side_by_side)
        return left + across * (block + gap), y + down * (rows + 1) * LINE + down * gap + LINE

    def bottom(y: float, blocks: int, rows: int) -> float:
        return corner(blocks - 1, y, rows)[1] + rows * LINE

    with card() as page:
        y = _write_step(page, MARGIN, "one vector for each token", shapes[0])
        page.row_labels(tokens, left - 6, y, LINE)
        page.cells(values[0], left, y, cell, LINE, name="x", tint=INPUT.tint, **numbers)

        y += num_tokens * LINE + 12
        y = _write_step(page, y, "view: a block for each token", shapes[1])
        for i, token in enumerate(tokens):
            x_block, y_block = corner(i, y, num_heads)
            page.heading(x_block, y_block - LINE + 5, token)
            for h, name in enumerate(heads):
                y_row, (tint, strong) = y_block + h * LINE, head_colour(h)
                page.text(x_block - 6, y_row + LINE / 2, name, ha="right", color=strong)
                own: Look = {"name": f"view{i},{h}", "tint": tint}
                page.cells(pieces[i, h][None], x_block, y_row, cell, LINE, **own, **numbers)

        y = bottom(y, num_tokens, num_heads) + 12
        y = _write_step(page, y, "transpose(1, 2): a block for each head", shapes[2])
        for h, name in enumerate(heads):
            x_block, y_block = corner(h, y, num_tokens)
            tint, strong = head_colour(h)
            page.heading(x_block, y_block - LINE + 5, name, strong)
            page.row_labels(tokens, x_block - 6, y_block, LINE)
            own = {"name": f"head{h}", "tint": tint}
            page.cells(pieces[:, h], x_block, y_block, cell, LINE, **own, **numbers)
        return page.finish(
            bottom(y, num_heads, num_tokens) + MARGIN,
            f"Split among {plural(num_heads, 'head')}.",
            f"At first {shapes[0]}: each of {num_tokens} tokens has {embed_dim} numbers.",
            f"After view {shapes[1]}: each token is a block, with a row of {head_dim} numbers for each head.",
            f"After transpose(1, 2) {shapes[2]}: each head is a block, with a row for each of "
            f"{num_tokens} tokens.",
        )


def draw_head_circles(
    heads: Float[Tensor, "num_heads 3 3"],
    tokens: Sequence[str],
    *,
    alone: Float[Tensor, "3 3"],
) -> Drawing:
    """Draw where each of three tokens looks, once for each head: the thicker an arrow, the larger the weight.

    Args:
        heads: the weights of several heads.
        tokens: what each token is called, in the order of the clock.
        alone: the weights of a single head, to be drawn above the others.

    Example:
        >>> import torch
        >>> hands, onward = ["rock", "scissors", "paper"], torch.eye(3).roll(1, 1)
        >>> draw_head_circles(onward[None], hands, alone=torch.full((3, 3), 0.33)).alt
        "Where 'rock', 'scissors' and 'paper' look. A single head: 'rock' gives 'scissors' 0.33 and 'paper'
        0.33; 'scissors' gives 'paper' 0.33 and 'rock' 0.33; 'paper' gives 'rock' 0.33 and 'scissors' 0.33.
        Head 1: 'rock' gives 'scissors' 1.00 and 'paper' 0.00; 'scissors' gives 'paper' 1.00 and 'rock' 0.00;
        'paper' gives 'rock' 1.00 and 'scissors' 0.00."
    """
    weights = to_numpy(heads)
    tokens = clean_labels(tokens, 3)
    with card() as page:

        def draw(own: Array, name: str, x: float, y: float, color: str) -> float:
            page.text(x, y + 6, name, color=color, weight="bold")
            top = x, y + 1.5 * LINE
            return draw_circle(page, tokens, own, top, color=color, label=f"{name}: ") + 1.5 * LINE

        y = draw(to_numpy(alone), "a single head", WIDTH / 2, MARGIN, INK)
        for h, own in enumerate(weights):
            x, colour = WIDTH / 4 + h % 2 * WIDTH / 2, head_colour(h).strong
            low = draw(own, f"head {h + 1}", x, y, colour)
            y = low if h % 2 else y
        return page.finish(
            low - LINE + MARGIN,
            f"Where {quote(tokens)} look.",
            f"A single head: {_say_circle(to_numpy(alone), tokens)}.",
            *(f"Head {h}: {_say_circle(own, tokens)}." for h, own in enumerate(weights, start=1)),
        )


def _say_circle(weights: Array, tokens: Sequence[str]) -> str:
    gifts = [
        [f"'{tokens[j % 3]}' {format_number(weights[i, j % 3])}" for j in (i + 1, i + 2)]
        for i in range(3)
    ]
    return "; ".join(
        f"'{token}' gives {' and '.join(pair)}" for token, pair in zip(tokens, gifts, strict=True)
    )
