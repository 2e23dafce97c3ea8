"""Drawings of whole matrices: weights, masks, products, projections."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    INK,
    LINE,
    MARGIN,
    ORANGE,
    QUIET,
    RULE,
    TINTS,
    WIDTH,
    Array,
    Card,
    Drawing,
    array,
    card,
    column_label_height,
    count,
    index,
    label_width,
    labels,
    number,
    text_width,
)

_MOST_ROWS_IN_WORDS = 14


def attention_matrix(
    weights: Float[Tensor, "q_len kv_len"],
    tokens: Sequence[str],
    *,
    keys: Sequence[str] | None = None,
    title: str = "Attention weights",
    decimals: int = 2,
    attn_mask: Bool[Tensor, "q_len kv_len"] | None = None,
    highlight: int | None = None,
) -> Drawing:
    """Draw a matrix of attention weights or scores as a heat map, one row for each query.

    White is zero, the darkest blue is the largest number. Negative numbers are orange.

    Args:
        weights: the weights or the scores. Minus infinity is drawn as a grey cell.
        tokens: what each query is called.
        keys: what each key is called; by default as the queries.
        title: what the matrix holds; it begins the alternative text.
        decimals: how many decimals are written, where they fit.
        attn_mask: True in row i, column j: query i may attend to key j. The border of what is allowed is
            drawn, and a zero outside of it is hatched.
        highlight: the row to frame, counted from 0.

    Returns:
        The drawing. Its text tells for each query which key has the largest number.

    Raises:
        TypeError: the weights are not a tensor, or labels are a single string.
        ValueError: shapes, labels and positions do not fit, or a number cannot be drawn.

    Example:
        >>> drawing = attention_matrix(torch.tensor([[0.9, 0.1], [0.4, 0.6]]), ["one", "step"])
        >>> drawing.alt
        "Attention weights, 2 queries by 2 keys. Row 1, 'one', attends most to 'one', 0.90.
        Row 2, 'step', attends most to 'step', 0.60."
    """
    return attention_matrices(
        {title: weights},
        tokens,
        keys=keys,
        decimals=decimals,
        attn_mask=attn_mask,
        highlight=highlight,
    )


def attention_matrices(
    matrices: Mapping[str, Float[Tensor, "q_len kv_len"]],
    tokens: Sequence[str],
    *,
    keys: Sequence[str] | None = None,
    decimals: int = 2,
    attn_mask: Bool[Tensor, "q_len kv_len"] | None = None,
    highlight: int | None = None,
    columns: int = 1,
) -> Drawing:
    """Draw several matrices with the same colours: before and after a mask, or one for each head.

    Args:
        matrices: for each title a matrix of weights or scores, as in :func:`attention_matrix`.
        tokens: what each query is called.
        keys: what each key is called; by default as the queries.
        decimals: how many decimals are written, where they fit.
        attn_mask: True in row i, column j: query i may attend to key j; see :func:`attention_matrix`.
        highlight: the row to frame, counted from 0.
        columns: how many matrices stand side by side.

    Returns:
        The drawing.

    Raises:
        TypeError: a matrix is not a tensor, or labels are a single string.
        ValueError: there is no matrix, shapes, labels and positions do not fit, or a number cannot be drawn.

    Example:
        >>> scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> mask = torch.tensor([[True, False], [True, True]])
        >>> masked = scores.masked_fill(~mask, -torch.inf)
        >>> drawing = attention_matrices(
        ...     {"Before": scores, "After": masked}, ["one", "step"], attn_mask=mask
        ... )
        >>> drawing.alt
        "Before, 2 queries by 2 keys. Row 1, 'one', attends most to 'step', 2.00. Row 2, 'step', attends
        most to 'step', 4.00. After, 2 queries by 2 keys, 1 of 4 pairs hidden. Row 1, 'one', attends only
        to 'one', 1.00. Row 2, 'step', attends most to 'step', 4.00."
    """
    keys = tokens if keys is None else keys
    if not matrices:
        raise ValueError("matrices must hold at least 1 matrix, got 0")
    if columns < 1:
        raise ValueError(f"columns must be at least 1, got {columns}")
    first = array(
        next(iter(matrices)), next(iter(matrices.values())), "q_len", "kv_len", hidden=True
    )
    panels = {
        title: array(title, matrix, *first.shape, hidden=True) for title, matrix in matrices.items()
    }
    rows, width = first.shape
    queries = labels("tokens", tokens, rows, "queries")
    keys = labels("keys", keys, width, "keys")
    allowed = np.ones(first.shape, bool)
    if attn_mask is not None:
        allowed = array("attn_mask", attn_mask, *first.shape) != 0
    if highlight is not None:
        index("highlight", highlight, rows)
    hidden = {
        title: np.isneginf(values) | (~allowed & (values == 0)) for title, values in panels.items()
    }
    limit = max(
        float(np.abs(values[~hidden[title]]).max(initial=0)) for title, values in panels.items()
    )
    columns = min(columns, len(panels))
    gap = 14.0
    left = MARGIN + max(label_width(queries), text_width("query ↓")) + 5
    right = max(MARGIN, 0.71 * text_width(keys[-1]) - 4)
    cell = min(36.0, (WIDTH - left - right - (columns - 1) * gap) / (columns * width))
    height = min(22.0, max(LINE, cell))
    with card() as page:
        y = MARGIN
        for start in range(0, len(panels), columns):
            row = list(panels.items())[start : start + columns]
            if len(panels) > 1:
                for place, (title, _) in enumerate(row):
                    page.heading(y + 6, title, left + place * (width * cell + gap))
                y += LINE + 4
            if start == 0:
                page.text(left - 5, y + 6, "query ↓", ha="right", color=QUIET)
                page.text(left, y + 6, "attends to →", ha="left", color=QUIET)
                y += LINE
            y += column_label_height(keys, cell)
            page.row_labels(queries, left - 5, y, height, bold=highlight)
            for place, (title, values) in enumerate(row):
                x = left + place * (width * cell + gap)
                page.column_labels(keys, x, y, cell)
                page.cells(
                    values,
                    x,
                    y,
                    cell,
                    height,
                    gid=title,
                    decimals=decimals,
                    limit=limit,
                    hidden=hidden[title] & ~np.isneginf(values),
                )
                _draw_border(page, allowed, x, y, cell, height)
                if highlight is not None:
                    page.box(
                        x,
                        y + highlight * height,
                        width * cell,
                        height,
                        edge=ORANGE,
                        line=2,
                        zorder=4,
                    )
            y += rows * height + gap
        return page.finish(
            y - gap + MARGIN,
            " ".join(
                _in_words(
                    title, values, hidden[title], queries, keys, decimals, len(panels), highlight
                )
                for title, values in panels.items()
            ),
        )


def _draw_border(
    page: Card, allowed: Array, x: float, y: float, width: float, height: float
) -> None:
    """Draw the border between what a mask allows and what it hides."""
    for i, j in np.argwhere(allowed[:, 1:] != allowed[:, :-1]):
        edge = x + (j + 1) * width
        page.line(
            (edge, y + i * height), (edge, y + (i + 1) * height), color=ORANGE, width=2, zorder=4
        )
    for i, j in np.argwhere(allowed[1:] != allowed[:-1]):
        edge = y + (i + 1) * height
        page.line(
            (x + j * width, edge), (x + (j + 1) * width, edge), color=ORANGE, width=2, zorder=4
        )


def _in_words(
    title: str,
    values: Array,
    hidden: Array,
    queries: Sequence[str],
    keys: Sequence[str],
    decimals: int,
    panels: int,
    highlight: int | None,
) -> str:
    rows, columns = values.shape
    queries_by_keys = f"{count(rows, 'query')} by {count(columns, 'key')}"
    concealed = f", {hidden.sum()} of {hidden.size} pairs hidden" if hidden.any() else ""
    visible = np.where(hidden, -np.inf, values)
    chosen: Sequence[int] = range(rows)
    if rows * panels > _MOST_ROWS_IN_WORDS:
        strongest = int(visible.max(axis=1).argmax())
        chosen = [strongest if highlight is None else highlight]
    sentences = [f"{title}, {queries_by_keys}{concealed}."]
    for i in chosen:
        best = int(visible[i].argmax())
        how = {0: "to nothing", 1: f"only to '{keys[best]}'"}.get(
            int((~hidden[i]).sum()), f"most to '{keys[best]}'"
        )
        largest = "" if hidden[i].all() else f", {number(values[i, best], decimals)}"
        sentences.append(f"Row {i + 1}, '{queries[i]}', attends {how}{largest}.")
    return " ".join(sentences)


def dropout_masks(
    masks: Mapping[str, Shaped[Tensor, "rows columns"]], *, columns: int = 2
) -> Drawing:
    """Draw which elements dropout keeps and which it drops, one grid for each mask.

    Args:
        masks: for each title a mask, or a tensor after dropout: what is zero was dropped.
        columns: how many masks stand side by side.

    Returns:
        The drawing. Its text counts what each mask keeps.

    Raises:
        TypeError: a mask is not a tensor.
        ValueError: there is no mask, or a mask has not 2 dimensions.

    Example:
        >>> dropout_masks({"torch": torch.tensor([[2.0, 0.0], [2.0, 2.0]])}).alt
        'Dropout mask torch, 2 by 2: 3 of 4 are kept.'
    """
    if not masks:
        raise ValueError("masks must hold at least 1 mask, got 0")
    if columns < 1:
        raise ValueError(f"columns must be at least 1, got {columns}")
    kept = {title: array(title, mask, "rows", "columns") != 0 for title, mask in masks.items()}
    columns = min(columns, len(kept))
    gap = 18.0
    room = (WIDTH - 2 * MARGIN - (columns - 1) * gap) / columns
    cell = min(22.0, room / max(grid.shape[1] for grid in kept.values()))
    grids = list(kept.items())
    with card() as page:
        y = MARGIN
        for start in range(0, len(grids), columns):
            row = grids[start : start + columns]
            for place, (title, grid) in enumerate(row):
                x = MARGIN + place * (room + gap)
                page.heading(y + 6, title, x)
                page.text(
                    x, y + 6 + LINE, f"{grid.sum()} of {grid.size} kept", ha="left", color=QUIET
                )
                top = y + 2 * LINE + 2
                _draw_mask(page, title, grid, x, top, cell)
            y += 2 * LINE + 2 + cell * max(len(grid) for _, grid in row) + gap
        sentences = [
            f"Dropout mask {title}, {len(grid)} by {len(grid[0])}: {grid.sum()} of {grid.size} are kept."
            for title, grid in grids
        ]
        return page.finish(y - gap + MARGIN, " ".join(sentences))


def _draw_mask(page: Card, title: str, grid: Array, x: float, y: float, cell: float) -> None:
    page.cells(grid * 1.0, x, y, cell, cell, gid=title, limit=1.6, numbers=False)
    for i, j in np.argwhere(~grid):
        centre_x, centre_y, arm = x + (j + 0.5) * cell, y + (i + 0.5) * cell, 0.16 * cell
        page.box(x + j * cell + 1, y + i * cell + 1, cell - 2, cell - 2, edge=RULE, zorder=3)
        for turn in (-1, 1):
            page.line(
                (centre_x - arm, centre_y - turn * arm),
                (centre_x + arm, centre_y + turn * arm),
                color=QUIET,
                zorder=3,
            )


def matrix_product(
    left: Float[Tensor, "m n"], right: Float[Tensor, "n p"], *, row: int, column: int
) -> Drawing:
    """Draw the rule of the matrix product: a row on the left times a column on the right gives one number.

    The right matrix stands above the product and the left one beside it, so that the row and the column
    meet at the number that they make.

    Args:
        left: the first matrix.
        right: the second matrix; it has as many rows as the first has columns.
        row: the row of the first matrix to frame, counted from 0.
        column: the column of the second matrix to frame, counted from 0.

    Returns:
        The drawing. Its text spells out how the framed number is made.

    Raises:
        TypeError: a matrix is not a tensor.
        ValueError: the matrices do not fit together, or there is no such row or column.

    Example:
        >>> a, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
        >>> matrix_product(a, b, row=0, column=0).alt
        'A matrix of shape (1, 2) times one of shape (2, 1) gives one of shape (1, 1). Row 1 times column
        1: 1.00 × 3.00 + 2.00 × 4.00 = 11.00.'
    """
    first = array("left", left, "m", "n")
    second = array("right", right, "n", "p")
    (m, n), p = first.shape, second.shape[1]
    if len(second) != n:
        raise ValueError(
            f"left has {n} columns and right has {len(second)} rows; the product needs as many of one "
            f"as of the other"
        )
    index("row", row, m)
    index("column", column, p)
    product = first @ second
    gap = 16.0
    cell = min(34.0, (WIDTH - 2 * MARGIN - gap) / (n + p))
    height = min(20.0, max(LINE, cell))
    middle = (WIDTH - (n + p) * cell - gap) / 2 + n * cell
    with card() as page:
        top = MARGIN + LINE + 8
        bottom = top + n * height + gap + LINE
        page.words(
            *_centred(
                MARGIN + 6,
                [
                    (f"({m}, ", INK),
                    (f"{n}", ORANGE),
                    (") @ (", INK),
                    (f"{n}", ORANGE),
                    (f", {p})  =  ({m}, {p})", INK),
                ],
            )
        )
        page.text(middle, top + n * height / 2 - 4, "right", ha="right", color=QUIET)
        page.text(middle, top + n * height / 2 + 10, f"({n}, {p})", ha="right", color=QUIET)
        page.text(middle - n * cell / 2, bottom - LINE + 6, f"left ({m}, {n})", color=QUIET)
        page.text(
            middle + gap + p * cell / 2, bottom - LINE + 6, f"product ({m}, {p})", color=QUIET
        )
        page.cells(second, middle + gap, top, cell, height, gid="right", tint=TINTS[1])
        page.cells(first, middle - n * cell, bottom, cell, height, gid="left", tint=TINTS[0])
        page.cells(product, middle + gap, bottom, cell, height, gid="product", tint="#ecebe6")
        across, down = middle + gap + column * cell, bottom + row * height
        page.box(middle - n * cell, down, n * cell, height, edge=BLUE, line=2, zorder=4)
        page.box(across, top, cell, n * height, edge=ORANGE, line=2, zorder=4)
        page.box(across, down, cell, height, edge=INK, line=2, zorder=4)
        page.arrow((middle + 2, down + height / 2), (across - 2, down + height / 2), color=BLUE)
        y = bottom + m * height + 16
        pairs = list(zip(first[row], second[:, column], strict=True))
        terms = " + ".join(f"{number(a, 2)} × {number(b, 2)}" for a, b in pairs)
        result = number(product[row, column], 2)
        page.text(WIDTH / 2, y, f"row {row + 1} times column {column + 1} = {result}")
        return page.finish(
            y + 8 + MARGIN,
            f"A matrix of shape ({m}, {n}) times one of shape ({n}, {p}) gives one of shape "
            f"({m}, {p}). Row {row + 1} times column {column + 1}: {terms} = {result}.",
        )


def _centred(y: float, pieces: list[tuple[str, str]]) -> tuple[float, float, list[tuple[str, str]]]:
    width = sum(text_width(text) for text, _ in pieces)
    return (WIDTH - width) / 2, y, pieces


def projections(
    inputs: Float[Tensor, "num_tokens d_in"],
    weights: Mapping[str, Float[Tensor, "d_in d_out"]],
    tokens: Sequence[str],
) -> Drawing:
    """Draw how the same inputs are projected by several weight matrices: to queries, keys and values.

    Args:
        inputs: one vector for each token.
        weights: for each name, such as ``"query"``, a matrix that is multiplied from the right. The weight
            of a linear layer is stored transposed: hand over ``layer.weight.T``.
        tokens: what each token is called.

    Returns:
        The drawing. Its text tells the shapes, and the first token's projections.

    Raises:
        TypeError: the inputs or a weight are not a tensor, or labels are a single string.
        ValueError: there is no weight matrix, or shapes and labels do not fit.

    Example:
        >>> x, w = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
        >>> projections(x, {"query": w}, ["one"]).alt
        "Inputs of shape (1, 2), projected by 1 weight matrix. W_query of shape (2, 1) gives the query
        vectors, of shape (1, 1); that of 'one' is (11.00)."
    """
    x = array("inputs", inputs, "num_tokens", "d_in")
    if not weights:
        raise ValueError("weights must hold at least 1 matrix, got 0")
    num_tokens, d_in = x.shape
    tokens = labels("tokens", tokens, num_tokens, "tokens")
    first = array(next(iter(weights)), next(iter(weights.values())), d_in, "d_out")
    d_out = first.shape[1]
    matrices = {name: array(name, matrix, d_in, d_out) for name, matrix in weights.items()}
    left = MARGIN + label_width(tokens) + 4
    arrows, sign = 26.0, 16.0
    cell = min(26.0, (WIDTH - left - MARGIN - arrows - sign) / (d_in + 2 * d_out))
    height = LINE
    band = max(num_tokens, d_in) * height + 2 * LINE
    limit = max(float(abs(matrix).max()) for matrix in matrices.values())
    middle = MARGIN + 2 * LINE + (len(matrices) * band - LINE) / 2 - LINE / 2
    sentences = [
        f"Inputs of shape ({num_tokens}, {d_in}), projected by "
        f"{count(len(matrices), 'weight matrix').replace('matrixs', 'matrices')}."
    ]
    with card() as page:
        top = middle - num_tokens * height / 2
        page.heading(top - LINE / 2 - 2, f"inputs ({num_tokens}, {d_in})", MARGIN)
        page.row_labels(tokens, left - 4, top, height)
        page.cells(x, left, top, cell, height, gid="inputs", tint="#ecebe6")
        for place, (name, matrix) in enumerate(matrices.items()):
            y = MARGIN + LINE + place * band
            centre = y + LINE + (band - 2 * LINE) / 2
            output = x @ matrix
            edge = left + d_in * cell
            weight_x, output_x = edge + arrows, edge + arrows + d_out * cell + sign
            page.arrow((edge + 3, middle), (weight_x - 3, centre), color=QUIET)
            page.text(weight_x + d_out * cell / 2, centre - d_in * height / 2 - 8, f"W_{name}")
            page.cells(
                matrix, weight_x, centre - d_in * height / 2, cell, height,
                gid=f"W_{name}", limit=limit,
            )  # fmt: skip
            page.text(output_x - sign / 2, centre, "=")
            page.text(
                output_x + d_out * cell / 2,
                centre - num_tokens * height / 2 - 8,
                name,
                weight="bold",
            )
            page.cells(
                output, output_x, centre - num_tokens * height / 2, cell, height,
                gid=name, tint=TINTS[place % len(TINTS)],
            )  # fmt: skip
            vector = ", ".join(number(value, 2) for value in output[0])
            sentences.append(
                f"W_{name} of shape ({d_in}, {d_out}) gives the {name} vectors, of shape "
                f"({num_tokens}, {d_out}); that of '{tokens[0]}' is ({vector})."
            )
        return page.finish(
            MARGIN + LINE + len(matrices) * band - LINE + MARGIN, " ".join(sentences)
        )
