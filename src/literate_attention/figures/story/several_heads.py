"""Drawings of several heads: what each looks at, and how vectors are split among them."""

from collections.abc import Mapping, Sequence

from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from literate_attention.figures._arguments import to_numpy
from literate_attention.figures._card import MARGIN, WIDTH, Card, Drawing, Look, Point, card
from literate_attention.figures._labels import clean_labels, column_label_height, label_width
from literate_attention.figures._lettering import LINE
from literate_attention.figures._palette import INK, RULE
from literate_attention.figures._roles import INPUT, head_colour
from literate_attention.figures._words import format_number, name_largest, plural
from literate_attention.figures.story.arcs import write_arcs


def draw_heads(
    weights: Float[Tensor, "num_heads num_tokens num_tokens"],
    tokens: Sequence[str],
    *,
    contexts: Float[Tensor, "num_heads num_tokens head_dim"],
    attn_mask: Bool[Tensor, "num_tokens num_tokens"],
) -> Drawing:
    """Draw what each head looks at; then what it hands back, and all of it put side by side.

    Weights are coloured as in :func:`draw_attention_matrix`, what a head hands back in the head's own colour.

    Args:
        weights: the attention weights of each head.
        tokens: what each token is called.
        contexts: the context vectors of each head.
        attn_mask: True in row i, column j: query i may attend to key j. The border of what is allowed is
            drawn, and every zero beyond it is hatched.

    Example:
        >>> import torch
        >>> weights, contexts, mask = torch.eye(2)[None], torch.ones(1, 2, 3), torch.eye(2) > 0
        >>> draw_heads(weights, ["one", "step"], contexts=contexts, attn_mask=mask).alt
        "1 head, each with weights of 2 by 2. In head 1, 'step' attends most to 'step', 1.00. Their context
        vectors, each 3 wide, are put side by side: 3 wide."
    """
    w, z, allowed = to_numpy(weights), to_numpy(contexts), to_numpy(attn_mask)
    num_heads, num_tokens, head_dim = z.shape
    tokens = clean_labels(tokens, num_tokens)
    limit = max(1.0, float(abs(w).max()))
    left = MARGIN + label_width(tokens) + 4
    room = WIDTH - left - MARGIN
    arrow, narrow = 14.0, min(30.0, 0.4 * room / head_dim)
    cell = min(40.0, (room - arrow - head_dim * narrow) / num_tokens)
    end, height = left + num_tokens * cell, num_tokens * LINE
    with card() as page:
        y = MARGIN
        for h in range(num_heads):
            page.heading(MARGIN, y + 6, f"head {h + 1}", head_colour(h).strong)
            if h == 0:
                y += max(column_label_height(tokens, cell) - LINE + 4, 0.0)
                page.column_labels(tokens, left, y + LINE + 2, cell)
                page.note(end + arrow + head_dim * narrow / 2, y + 8, "context")
            y += LINE + 2
            page.row_labels(tokens, left - 4, y, LINE)
            hidden = (allowed == 0) & (w[h] == 0)
            look: Look = {"limit": limit, "hidden": hidden, "alike": w}
            page.cells(w[h], left, y, cell, LINE, name=f"weights{h}", **look)
            page.border(allowed, left, y, cell, LINE)
            page.arrow((end + 2, y + height / 2), (end + arrow - 2, y + height / 2))
            own: Look = {"tint": head_colour(h).tint, "alike": z}
            page.cells(z[h], end + arrow, y, narrow, LINE, name=f"contexts{h}", **own)
            y += height + 8
        page.line((MARGIN, y), (WIDTH - MARGIN, y), color=RULE)
        y = _write_step(page, y + 10, "all heads, side by side", (num_tokens, num_heads * head_dim))
        page.row_labels(tokens, left - 4, y - 4, LINE)
        wide = min(30.0, room / (num_heads * head_dim))
        for h in range(num_heads):
            own = {"tint": head_colour(h).tint, "alike": z}
            x = left + h * head_dim * wide
            page.cells(z[h], x, y - 4, wide, LINE, name=f"joined{h}", **own)
        return page.finish(
            y - 4 + height + MARGIN,
            f"{plural(num_heads, 'head')}, each with weights of {num_tokens} by {num_tokens}.",
            *(
                f"In head {h}, '{tokens[-1]}' attends most to {name_largest(row, tokens)}, "
                f"{format_number(row.max())}."
                for h, row in enumerate(w[:, -1], start=1)
            ),
            f"Their context vectors, each {head_dim} wide, are put side by side: "
            f"{num_heads * head_dim} wide.",
        )


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


def draw_head_arcs(
    heads: Mapping[str, Float[Tensor, "num_tokens"]],
    tokens: Sequence[str],
    *,
    query: int,
    together: Float[Tensor, "num_tokens"],
) -> Drawing:
    """Draw where one token looks, once for each head: the thicker an arc, the larger the weight.

    Args:
        heads: for each title the weights of one head, a row of them.
        tokens: what each token is called.
        query: which token looks, counted from 0.
        together: the weights of a single attention, to be drawn above the heads.

    Example:
        >>> import torch
        >>> rows = {"head 1": torch.tensor([0.9, 0.1]), "head 2": torch.tensor([0.2, 0.8])}
        >>> draw_head_arcs(rows, ["one", "step"], query=1, together=torch.tensor([0.6, 0.4])).alt
        "Where 'step' looks. one row of weights for everything: most to 'one', 0.60. head 1: most to 'one',
        0.90. head 2: most to 'step', 0.80."
    """
    given = {"one row of weights for everything": together, **heads}
    rows = {name: to_numpy(weights) for name, weights in given.items()}
    colours = [INK, *(head_colour(h).strong for h in range(len(heads)))]
    tokens = clean_labels(tokens, len(together))
    with card() as page:
        y = MARGIN
        for (name, row), colour in zip(rows.items(), colours, strict=True):
            y = write_arcs(page, y, name, row, tokens, query=query, colour=colour)
        return page.finish(
            y - 8 + MARGIN,
            f"Where '{tokens[query]}' looks.",
            *(
                f"{name}: most to {name_largest(row, tokens)}, {format_number(row.max())}."
                for name, row in rows.items()
            ),
        )
