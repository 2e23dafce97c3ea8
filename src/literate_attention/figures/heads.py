"""Drawings of several heads: what each looks at, and how vectors are split among them."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    LINE,
    MARGIN,
    QUIET,
    RULE,
    STRONG,
    TINTS,
    WIDTH,
    Card,
    Drawing,
    array,
    card,
    column_label_height,
    label_width,
    labels,
    number,
)


def heads(
    weights: Float[Tensor, "num_heads num_tokens num_tokens"],
    contexts: Float[Tensor, "num_heads num_tokens head_dim"],
    tokens: Sequence[str],
) -> Drawing:
    """Draw what each head looks at, what it hands back, and how the results are put side by side.

    Args:
        weights: the attention weights of each head.
        contexts: the context vectors of each head.
        tokens: what each token is called.

    Returns:
        The drawing. Its text tells for each head the largest weight.

    Raises:
        TypeError: weights or contexts are not a tensor, or labels are a single string.
        ValueError: shapes and labels do not fit.

    Example:
        >>> weights = torch.tensor([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.1, 0.9]]])
        >>> heads(weights, weights @ torch.eye(2), ["one", "step"]).alt
        "2 heads, each with weights of 2 by 2 and context vectors 2 wide; side by side they are 4 wide. Head
        1: 'step' attends most to 'one', 0.50. Head 2: 'step' attends most to 'step', 0.90."
    """
    w = array("weights", weights, "num_heads", "num_tokens", "num_tokens")
    num_heads, num_tokens, _ = w.shape
    w = array("weights", weights, num_heads, num_tokens, num_tokens)
    z = array("contexts", contexts, num_heads, num_tokens, "head_dim")
    head_dim = z.shape[2]
    tokens = labels("tokens", tokens, num_tokens, "tokens")
    left = MARGIN + label_width(tokens) + 4
    gap = 12.0
    room = (WIDTH - left - MARGIN - (num_heads - 1) * gap) / num_heads
    cell = min(22.0, room / num_tokens)
    wide = min(30.0, room / head_dim)
    with card() as page:
        y = MARGIN + LINE + 2
        starts = [left + h * (room + gap) for h in range(num_heads)]
        middles = [start + cell * num_tokens / 2 for start in starts]
        top = y + column_label_height(tokens, cell)
        page.row_labels(tokens, left - 4, top, LINE)
        for h, (x, middle) in enumerate(zip(starts, middles, strict=True)):
            _name_head(page, h, x, MARGIN, cell * num_tokens)
            page.column_labels(tokens, x, top, cell)
            page.cells(w[h], x, top, cell, LINE, gid=f"weights{h}", limit=float(abs(w).max()))
            below = top + num_tokens * LINE
            page.arrow((middle, below + 4), (middle, below + 26))
            page.text(middle + 6, below + 14, "@ values", ha="left", color=QUIET)
            second = below + 32
            page.cells(
                z[h], middle - head_dim * wide / 2, second, wide, LINE,
                gid=f"contexts{h}", tint=TINTS[h % len(TINTS)],
            )  # fmt: skip
        y = top + num_tokens * LINE + 32
        page.row_labels(tokens, left - 4, y, LINE)
        y += num_tokens * LINE
        joined = min(30.0, (WIDTH - left - MARGIN) / (num_heads * head_dim))
        for h, middle in enumerate(middles):
            page.arrow((middle, y + 4), (left + (h + 0.5) * head_dim * joined, y + 30))
        page.text(WIDTH - MARGIN, y + 22, "side by side", ha="right", color=QUIET)
        y += 36
        page.row_labels(tokens, left - 4, y, LINE)
        for h in range(num_heads):
            page.cells(
                z[h], left + h * head_dim * joined, y, joined, LINE,
                gid=f"joined{h}", tint=TINTS[h % len(TINTS)],
            )  # fmt: skip
        y += num_tokens * LINE
        found = []
        for h in range(num_heads):
            last = w[h, -1]
            best = int(last.argmax())
            found.append(
                f"Head {h + 1}: '{tokens[-1]}' attends most to '{tokens[best]}', {number(last[best], 2)}."
            )
        return page.finish(
            y + MARGIN,
            f"{num_heads} heads, each with weights of {num_tokens} by {num_tokens} and context vectors "
            f"{head_dim} wide; side by side they are {num_heads * head_dim} wide. {' '.join(found)}",
        )


def _name_head(page: Card, h: int, x: float, y: float, width: float) -> None:
    page.text(x + width / 2, y + 6, f"head {h + 1}", weight="bold", color=STRONG[h % len(STRONG)])


def head_split(
    x: Float[Tensor, "batch num_tokens embed_dim"], tokens: Sequence[str], *, num_heads: int
) -> Drawing:
    """Draw how vectors are split among heads, shape by shape: a view, then a transpose.

    Only the first text of the batch is drawn; the others lie behind it.

    Args:
        x: queries, keys or values of all heads together.
        tokens: what each token is called.
        num_heads: how many heads share a vector.

    Returns:
        The drawing. Its text lists the shapes.

    Raises:
        TypeError: `x` is not a tensor, or labels are a single string.
        ValueError: the width of `x` is not divisible by ``num_heads``, or labels do not fit.

    Example:
        >>> head_split(torch.arange(8.0).reshape(1, 2, 4), ["one", "step"], num_heads=2).alt
        'Split of 4 numbers a token among 2 heads. Start: (1, 2, 4). After view: (1, 2, 2, 2), each vector
        is cut into 2 pieces. After transpose(1, 2): (1, 2, 2, 2), each head has its own 2 tokens.'
    """
    values = array("x", x, "batch", "num_tokens", "embed_dim")
    batch, num_tokens, embed_dim = values.shape
    tokens = labels("tokens", tokens, num_tokens, "tokens")
    if num_heads < 1 or embed_dim % num_heads:
        raise ValueError(
            f"the width of x must be divisible by num_heads, got {embed_dim} and {num_heads}"
        )
    head_dim = embed_dim // num_heads
    left = MARGIN + label_width(tokens) + 6
    gap = 10.0
    cell = min(34.0, (WIDTH - left - MARGIN - 8 - (num_heads - 1) * gap) / embed_dim)
    pieces = values[0].reshape(num_tokens, num_heads, head_dim).transpose(1, 0, 2)
    shapes = (
        f"({batch}, {num_tokens}, {embed_dim})",
        f"({batch}, {num_tokens}, {num_heads}, {head_dim})",
        f"({batch}, {num_heads}, {num_tokens}, {head_dim})",
    )
    height = num_tokens * LINE
    with card() as page:
        y = MARGIN
        _shape(page, y, "one vector a token", shapes[0])
        y += LINE + 8
        _stack(page, left, y, embed_dim * cell, height, batch)
        page.row_labels(tokens, left - 6, y, LINE)
        page.cells(values[0], left, y, cell, LINE, gid="start", tint="#ecebe6")
        y += height + 10
        page.arrow((left + embed_dim * cell / 2, y), (left + embed_dim * cell / 2, y + 16))
        y += 22
        _shape(page, y, "view", shapes[1])
        y += LINE + 8
        page.row_labels(tokens, left - 6, y, LINE)
        for h, piece in enumerate(pieces):
            page.cells(
                piece, left + h * (head_dim * cell + gap), y, cell, LINE,
                gid=f"view{h}", tint=TINTS[h % len(TINTS)],
            )  # fmt: skip
        y += height + 10
        page.arrow((left + embed_dim * cell / 2, y), (left + embed_dim * cell / 2, y + 16))
        y += 22
        _shape(page, y, "transpose(1, 2)", shapes[2])
        y += LINE + 4
        for h, piece in enumerate(pieces):
            _name_head(page, h, left, y, head_dim * cell)
            y += LINE
            page.row_labels(tokens, left - 6, y, LINE)
            page.cells(piece, left, y, cell, LINE, gid=f"head{h}", tint=TINTS[h % len(TINTS)])
            y += height + 8
        return page.finish(
            y - 8 + MARGIN,
            f"Split of {embed_dim} numbers a token among {num_heads} heads. Start: {shapes[0]}. "
            f"After view: {shapes[1]}, each vector is cut into {num_heads} pieces. "
            f"After transpose(1, 2): {shapes[2]}, each head has its own {num_tokens} tokens.",
        )


def _shape(page: Card, y: float, what: str, shape: str) -> None:
    page.heading(y + 6, what)
    page.text(WIDTH - MARGIN, y + 6, shape, ha="right", color=QUIET)


def _stack(page: Card, x: float, y: float, width: float, height: float, batch: int) -> None:
    """Hint at the other texts of a batch, as sheets behind the first."""
    for behind in range(min(batch, 3) - 1, 0, -1):
        page.box(x + 3 * behind, y - 3 * behind, width, height, fill="#ffffff", edge=RULE, zorder=0)
