"""Drawings of whole matrices: weights, masks, products, projections."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    COLOURS,
    INK,
    INPUT,
    KEY,
    LINE,
    MARGIN,
    PAPER,
    QUERY,
    QUIET,
    RULE,
    SHADE,
    WIDTH,
    Array,
    Card,
    Colour,
    Drawing,
    allowed_pairs,
    array,
    card,
    column_label_height,
    column_label_overhang,
    count,
    index,
    label_width,
    labels,
    largest,
    number,
    products,
    some,
    text_width,
    vector,
    wrap,
)

_MOST_ROWS_IN_WORDS = 12
_WEIGHT_TINT = "#c5dcf0"
_T = TypeVar("_T")


def draw_attention_matrix(
    weights: Float[Tensor, "q_len kv_len"],
    tokens: Sequence[str],
    *,
    keys: Sequence[str] | None = None,
    title: str = "Attention weights",
    decimals: int = 2,
    attn_mask: Bool[Tensor, "q_len kv_len"] | None = None,
    highlight: int | None = None,
) -> Drawing:
    """Draw attention weights or scores as a heat map, one row for each query.

    White is zero and the darkest blue is 1, so that weights look alike in all figures and an even row looks
    even. If a number is larger, the darkest blue is that number. Numbers below zero are orange. Minus
    infinity is a grey cell.

    Args:
        weights: the weights or the scores.
        tokens: what each query is called.
        keys: what each key is called; by default as the queries.
        title: what the matrix holds; the alternative text begins with it.
        decimals: how many decimals are written, where they fit.
        attn_mask: True in row i, column j: query i may attend to key j. The border of what is allowed is
            drawn, and every zero beyond it is hatched.
        highlight: which row to frame, counted from 0.

    Returns:
        The drawing. Its text tells to which key each query attends most.

    Raises:
        TypeError: the weights are not a tensor, or labels are a single string.
        ValueError: shapes, labels or positions do not fit, or a number cannot be drawn.

    Example:
        >>> import torch
        >>> draw_attention_matrix(torch.tensor([[0.9, 0.1], [0.5, 0.5]]), ["one", "step"]).alt
        "Attention weights, 2 queries by 2 keys. Row 1, 'one', attends most to 'one', 0.90.
        Row 2, 'step', attends most to 'one' and 'step', 0.50."
    """
    return draw_attention_matrices(
        {title: weights},
        tokens,
        keys=keys,
        decimals=decimals,
        attn_mask=attn_mask,
        highlight=highlight,
    )


def draw_attention_matrices(
    matrices: Mapping[str, Float[Tensor, "q_len kv_len"]],
    tokens: Sequence[str],
    *,
    keys: Sequence[str] | None = None,
    decimals: int = 2,
    attn_mask: Bool[Tensor, "q_len kv_len"] | None = None,
    highlight: int | None = None,
    columns: int = 1,
) -> Drawing:
    """Draw several matrices in the same colours: before and after a mask, or one for each head.

    Args:
        matrices: for each title a matrix of weights or scores, as in :func:`draw_attention_matrix`.
        tokens: what each query is called.
        keys: what each key is called; by default as the queries.
        decimals: how many decimals are written, where they fit.
        attn_mask: True in row i, column j: query i may attend to key j; see :func:`draw_attention_matrix`.
        highlight: which row to frame, counted from 0.
        columns: how many matrices stand side by side. Where numbers do not fit, a scale explains the
            colours.

    Returns:
        The drawing. Where there are many rows, its text tells only of the strongest, or the highlighted.

    Raises:
        TypeError: a matrix is not a tensor, or labels are a single string.
        ValueError: there is no matrix, shapes, labels or positions do not fit, or a number cannot be drawn.

    Example:
        >>> import torch
        >>> scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> mask = torch.tensor([[True, False], [True, True]])
        >>> after = scores.masked_fill(~mask, -torch.inf)
        >>> draw_attention_matrices(
        ...     {"Before": scores, "After": after}, ["one", "step"], attn_mask=mask
        ... ).alt
        "Before, 2 queries by 2 keys. Row 1, 'one', attends most to 'step', 2.00. Row 2, 'step', attends
        most to 'step', 4.00. After, 2 queries by 2 keys, 1 of 4 pairs hidden. Row 1, 'one', attends only
        to 'one', 1.00. Row 2, 'step', attends most to 'step', 4.00."
    """
    some("the number of matrices", len(matrices))
    title, first = next(iter(matrices.items()))
    shape = array(title, first, "q_len", "kv_len", hidden=True).shape
    panels = {title: array(title, given, *shape, hidden=True) for title, given in matrices.items()}
    queries = labels("tokens", tokens, shape[0], "queries")
    keys = labels("keys", tokens if keys is None else keys, shape[1], "keys")
    allowed = allowed_pairs(attn_mask, shape)
    if highlight is not None:
        index("highlight", highlight, shape[0])
    hidden = {
        title: np.isneginf(values) | (~allowed & (values == 0)) for title, values in panels.items()
    }
    shown = np.concatenate([values[~hidden[title]] for title, values in panels.items()])
    limit = float(abs(shown).max(initial=1.0))
    columns, gap = min(some("columns", columns), len(panels)), 14.0
    left = MARGIN + max(label_width(queries), text_width("query ↓")) + 5

    def cell_width(right: float) -> float:
        room = WIDTH - left - right - (columns - 1) * gap
        return min(44.0, room / (columns * shape[1]))

    right = MARGIN
    for _ in range(2):  # narrower cells let the last label reach further
        right = max(MARGIN, column_label_overhang(keys, cell_width(right)) + 4)
    cell = cell_width(right)
    height = min(22.0, max(LINE, cell))
    with card() as page:
        y = MARGIN
        written = True
        for row in _batched(panels, columns):
            y += LINE * _headings(
                page, row if len(panels) > 1 else (), left, y, cell * shape[1], gap
            )
            if row[0] == title:
                page.text(left - 5, y + 6, "query ↓", ha="right", color=QUIET)
                page.text(left, y + 6, "attends to →", ha="left", color=QUIET)
                y += LINE + 2
            y += column_label_height(keys, cell)
            page.row_labels(queries, left - 5, y, height, bold=highlight)
            for place, name in enumerate(row):
                x = left + place * (shape[1] * cell + gap)
                page.column_labels(keys, x, y, cell)
                written &= page.cells(
                    panels[name],
                    x,
                    y,
                    cell,
                    height,
                    name=name,
                    decimals=decimals,
                    limit=limit,
                    hidden=hidden[name],
                    alike=shown,
                )
                page.border(allowed, x, y, cell, height)
                if highlight is not None:
                    page.frame(x, y + highlight * height, shape[1] * cell, height, QUERY.strong)
            y += shape[0] * height + gap
        if not written:
            page.colour_scale(left, y, limit, signed=bool((shown < 0).any()), decimals=decimals)
            y += LINE + gap
        many = len(panels) * shape[0] > _MOST_ROWS_IN_WORDS
        return page.finish(
            y - gap + MARGIN,
            *(
                sentence
                for name, values in panels.items()
                for sentence in _in_words(
                    name, values, hidden[name], queries, keys, decimals, highlight, many
                )
            ),
        )


def _batched(items: Mapping[str, _T], size: int) -> Iterator[tuple[str, ...]]:
    names = iter(items)
    while batch := tuple(islice(names, size)):
        yield batch


def _headings(
    page: Card, titles: Sequence[str], x: float, y: float, width: float, gap: float
) -> int:
    """Write titles side by side, each over its own column; return how many lines they take."""
    wrapped = [wrap(title, width + gap - 6, "bold") for title in titles]
    for place, lines in enumerate(wrapped):
        for line, text in enumerate(lines):
            page.heading(x + place * (width + gap), y + 6 + line * LINE, text)
    return max(map(len, wrapped), default=0)


def _in_words(
    title: str,
    values: Array,
    hidden: Array,
    queries: Sequence[str],
    keys: Sequence[str],
    decimals: int,
    highlight: int | None,
    many: bool,
) -> Iterator[str]:
    size = f"{count(len(queries), 'query', 'queries')} by {count(len(keys), 'key', 'keys')}"
    concealed = f", {hidden.sum()} of {hidden.size} pairs hidden" if hidden.any() else ""
    yield f"{title}, {size}{concealed}."
    visible = np.where(hidden, -np.inf, values)
    strongest = int(visible.max(axis=1).argmax())
    for i in [strongest if highlight is None else highlight] if many else range(len(queries)):
        most = visible[i].max()
        if np.isneginf(most) or not values[i][~hidden[i]].any():
            yield f"Row {i + 1}, '{queries[i]}', attends to nothing."
        else:
            how = "only" if hidden[i].sum() == len(keys) - 1 else "most"
            where = f"{largest(visible[i], keys)}, {number(most, decimals)}"
            yield f"Row {i + 1}, '{queries[i]}', attends {how} to {where}."


def draw_dropout_masks(
    masks: Mapping[str, Shaped[Tensor, "rows columns"]], *, columns: int = 2
) -> Drawing:
    """Draw what dropout keeps (blue) and what it drops (crossed out), one grid for each mask.

    Args:
        masks: for each title a mask, or a tensor after dropout: what is zero was dropped.
        columns: how many masks stand side by side.

    Returns:
        The drawing. Its text counts what each mask keeps.

    Raises:
        TypeError: a mask is not a tensor.
        ValueError: there is no mask, or a mask does not have two dimensions.

    Example:
        >>> import torch
        >>> draw_dropout_masks({"torch": torch.tensor([[2.0, 0.0], [2.0, 2.0]])}).alt
        'Dropout mask torch, 2 by 2: 3 of 4 are kept.'
    """
    some("the number of masks", len(masks))
    kept = {title: array(title, mask, "rows", "columns") != 0 for title, mask in masks.items()}
    columns, gap = min(some("columns", columns), len(kept)), 18.0
    room = (WIDTH - 2 * MARGIN - (columns - 1) * gap) / columns
    cell = min(22.0, room / max(grid.shape[1] for grid in kept.values()))
    with card() as page:
        y = MARGIN
        for row in _batched(kept, columns):
            y += LINE * _headings(page, row, MARGIN, y, room, gap)
            for place, title in enumerate(row):
                grid, x = kept[title], MARGIN + place * (room + gap)
                page.text(x, y + 6, f"{grid.sum()} of {grid.size} kept", ha="left", color=QUIET)
                _draw_mask(page, title, grid, x, y + LINE + 2, cell)
            y += LINE + 2 + cell * max(len(kept[title]) for title in row) + gap
        return page.finish(
            y - gap + MARGIN,
            *(
                f"Dropout mask {title}, {len(grid)} by {len(grid[0])}: "
                f"{grid.sum()} of {grid.size} are kept."
                for title, grid in kept.items()
            ),
        )


def _draw_mask(page: Card, title: str, grid: Array, x: float, y: float, cell: float) -> None:
    page.cells(grid * 1.0, x, y, cell, cell, name=title, limit=1.4, numbers=False)
    arm = 0.16 * cell
    for i, j in np.argwhere(~grid):
        across, down = x + (j + 0.5) * cell, y + (i + 0.5) * cell
        page.box(
            across - cell / 2 + 1, down - cell / 2 + 1, cell - 2, cell - 2, edge=RULE, zorder=3
        )
        for tilt in (-arm, arm):
            page.line((across - arm, down - tilt), (across + arm, down + tilt), zorder=3)


def draw_matrix_product(
    left: Float[Tensor, "m n"], right: Float[Tensor, "n p"], *, row: int, column: int
) -> Drawing:
    """Draw the rule of the matrix product: a row on the left times a column on the right makes one number.

    The second matrix stands above the product and the first beside it, so that the row and the column
    meet at the number that they make. The row is drawn as a query and the column as a key: this is the
    product that attention takes of them.

    Args:
        left: the first matrix.
        right: the second matrix; it has as many rows as the first has columns.
        row: which row of the first matrix to frame, counted from 0.
        column: which column of the second matrix to frame, counted from 0.

    Returns:
        The drawing. Its text spells out how the framed number is made.

    Raises:
        TypeError: a matrix is not a tensor.
        ValueError: the matrices do not fit together, or there is no such row or column.

    Example:
        >>> import torch
        >>> a, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
        >>> draw_matrix_product(a, b, row=0, column=0).alt
        'A matrix of shape (1, 2) times one of shape (2, 1) gives one of shape (1, 1).
        Row 1 times column 1: 1.00·3.00 + 2.00·4.00 = 11.00.'
    """
    first = array("left", left, "m", "n")
    second = array("right", right, "n", "p")
    (m, n), p = first.shape, second.shape[1]
    if len(second) != n:
        raise ValueError(
            f"left has {n} columns, but right has {len(second)} rows; both numbers must be the same"
        )
    index("row", row, m)
    index("column", column, p)
    result = first @ second
    gap = 12.0
    cell = min(40.0, (WIDTH - 2 * MARGIN - gap) / (n + p))
    height = min(20.0, max(LINE, cell))
    first_x = (WIDTH - (n + p) * cell - gap) / 2
    second_x = first_x + n * cell + gap
    with card() as page:
        y = MARGIN + 6
        rule = [
            ("(", INK), (f"{m}", QUERY.strong), (f", {n}) @ ({n}, ", INK), (f"{p}", KEY.strong),
            (")  →  (", INK), (f"{m}", QUERY.strong), (", ", INK), (f"{p}", KEY.strong), (")", INK),
        ]  # fmt: skip
        page.words((WIDTH - sum(text_width(text) for text, _ in rule)) / 2, y, rule)
        top = y + LINE + LINE
        bottom = top + n * height + gap + LINE
        page.text(second_x + p * cell / 2, top - 9, f"right ({n}, {p})", color=QUIET)
        page.text(first_x + n * cell / 2, bottom - 9, f"left ({m}, {n})", color=QUIET)
        page.text(second_x + p * cell / 2, bottom - 9, f"product ({m}, {p})", color=QUIET)
        page.cells(second, second_x, top, cell, height, name="right", tint=KEY.tint)
        page.cells(first, first_x, bottom, cell, height, name="left", tint=QUERY.tint)
        page.cells(result, second_x, bottom, cell, height, name="product", tint=SHADE)
        across, down = second_x + column * cell, bottom + row * height
        page.frame(first_x, down, n * cell, height, QUERY.strong)
        page.frame(across, top, cell, n * height, KEY.strong)
        page.frame(across, down, cell, height, INK)
        y = bottom + m * height + 15
        written = number(result[row, column])
        factors = first[row], second[:, column]
        room = WIDTH - 2 * MARGIN - text_width(f" = {written}")
        terms = products(*factors, (QUERY.strong, KEY.strong), room)
        sum_in_colours = [*terms, (f" = {written}", INK)]
        page.words(
            (WIDTH - sum(text_width(text) for text, _ in sum_in_colours)) / 2, y, sum_in_colours
        )
        spelled = " + ".join(f"{number(a)}·{number(b)}" for a, b in zip(*factors, strict=True))
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"A matrix of shape ({m}, {n}) times one of shape ({n}, {p}) gives one of shape ({m}, {p}).",
            f"Row {row + 1} times column {column + 1}: {spelled} = {written}.",
        )


def draw_products(products: Sequence[Mapping[str, Float[Tensor, "_ _"]]]) -> Drawing:
    """Draw matrix products as shapes: each matrix a block, as high as it has rows, as wide as it has columns.

    Args:
        products: one line each: for each name a matrix, in the order in which they are multiplied; the last
            is their product. A name that contains query, key, value, context or input gives its block that
            colour.

    Returns:
        The drawing. Its text tells the shapes, line by line.

    Raises:
        TypeError: a matrix is not a tensor.
        ValueError: there is no product, matrices do not fit together, or the last is not their product.

    Example:
        >>> import torch
        >>> x, w = torch.ones(5, 3), torch.ones(3, 2)
        >>> draw_products([{"inputs": x, "W_query": w, "queries": x @ w}]).alt
        'Matrix products as shapes. inputs (5, 3) times W_query (3, 2) gives queries (5, 2).'
    """
    some("the number of products", len(products))
    rows = [
        {name: array(name, matrix, "rows", "columns") for name, matrix in product.items()}
        for product in products
    ]
    for row in rows:
        *factors, (name, result) = row.items()
        some("the number of factors", len(factors))
        for (before, a), (after, b) in pairwise(factors):
            if a.shape[1] != len(b):
                raise ValueError(
                    f"{before} has {a.shape[1]} columns, but {after} has {len(b)} rows; "
                    f"both numbers must be the same"
                )
        expected = (
            np.linalg.multi_dot([a for _, a in factors]) if len(factors) > 1 else factors[0][1]
        )
        if expected.shape != result.shape or not np.allclose(
            expected, result, rtol=1e-3, atol=1e-4
        ):
            times = " times ".join(name for name, _ in factors)
            raise ValueError(f"{name} must be {times}, but its numbers are others")
    sign, gap = 22.0, 12.0

    def width(row: Mapping[str, Array], unit: float) -> float:
        blocks = (max(unit * m.shape[1], _caption_width(name, m)) for name, m in row.items())
        return sum(blocks) + sign * (len(row) - 1)

    room = WIDTH - 2 * MARGIN
    unit = next(
        (u for u in np.arange(13.0, 1.0, -0.5) if all(width(row, u) <= room for row in rows)), 1.0
    )
    sentences = []
    with card() as page:
        y = MARGIN
        for row in rows:
            height = unit * max(len(matrix) for matrix in row.values())
            x = (WIDTH - width(row, unit)) / 2
            middle = y + LINE + height / 2
            for place, (name, matrix) in enumerate(row.items()):
                high, wide = unit * len(matrix), unit * matrix.shape[1]
                column = max(wide, _caption_width(name, matrix))
                if place:
                    page.text(x + sign / 2, middle, "=" if place == len(row) - 1 else "@")
                    x += sign
                colour = _role(name)
                left, top = x + (column - wide) / 2, middle - high / 2
                rule = RULE if colour.tint == PAPER else PAPER
                page.box(
                    left, top, wide, high, fill=colour.tint, edge=colour.strong, line=1.2, zorder=2
                )
                for i in range(1, len(matrix)):
                    page.line(
                        (left, top + i * unit), (left + wide, top + i * unit), color=rule, zorder=3
                    )
                for j in range(1, matrix.shape[1]):
                    page.line(
                        (left + j * unit, top), (left + j * unit, top + high), color=rule, zorder=3
                    )
                page.text(
                    x + column / 2, y + LINE / 2 - 2, name, color=colour.strong, weight="bold"
                )
                page.text(x + column / 2, y + LINE + height + 10, _shape(matrix), color=QUIET)
                x += column
            y += LINE + height + LINE + gap
            *multiplied, last = [f"{name} {_shape(matrix)}" for name, matrix in row.items()]
            sentences.append(f"{' times '.join(multiplied)} gives {last}.")
        return page.finish(y - gap + MARGIN, "Matrix products as shapes.", *sentences)


def _shape(matrix: Array) -> str:
    return f"({len(matrix)}, {matrix.shape[1]})"


def _caption_width(name: str, matrix: Array) -> float:
    return max(text_width(name, weight="bold"), text_width(_shape(matrix)))


def _role(name: str) -> Colour:
    """Find the colour of what a matrix holds by its name."""
    if name.startswith("W_"):
        return Colour(PAPER, INK)
    stems = {
        "input": "input",
        "quer": "query",
        "key": "key",
        "value": "value",
        "context": "context",
    }
    return next(
        (COLOURS[role] for stem, role in stems.items() if stem in name), Colour(_WEIGHT_TINT, BLUE)
    )


def draw_projections(
    inputs: Float[Tensor, "num_tokens d_in"],
    weights: Mapping[str, Float[Tensor, "d_in d_out"]],
    tokens: Sequence[str],
) -> Drawing:
    """Draw the same inputs times several weight matrices: their queries, keys and values.

    Args:
        inputs: one vector for each token.
        weights: for each name, such as ``"query"``, the matrix that the inputs are multiplied with. A
            linear layer stores it transposed: hand over ``layer.weight.T``.
        tokens: what each token is called.

    Returns:
        The drawing. Its text tells the shapes, and what becomes of the first token.

    Raises:
        TypeError: the inputs or a weight are not a tensor, or the labels are a single string.
        ValueError: there is no weight matrix, or shapes or labels do not fit.

    Example:
        >>> import torch
        >>> x, w = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
        >>> draw_projections(x, {"query": w}, ["one"]).alt
        "Inputs of shape (1, 2), times 1 weight matrix. W_query of shape (2, 1) makes the query vectors, of
        shape (1, 1); that of 'one' is (11.00)."
    """
    x = array("inputs", inputs, "num_tokens", "d_in")
    some("the number of weights", len(weights))
    num_tokens, d_in = x.shape
    tokens = labels("tokens", tokens, num_tokens, "inputs")
    name, first = next(iter(weights.items()))
    d_out = array(name, first, d_in, "d_out").shape[1]
    matrices = {name: array(name, given, d_in, d_out) for name, given in weights.items()}
    limit = max(float(abs(matrix).max()) for matrix in matrices.values())
    alone = num_tokens == 1
    left = MARGIN + (0 if alone else label_width(tokens) + 4)
    fan, sign, gap = 30.0, 14.0, 14.0
    cell = min(32.0, (WIDTH - left - MARGIN - fan - sign) / (d_in + 2 * d_out))
    band = LINE + max(num_tokens, d_in) * LINE
    middle = MARGIN + (len(matrices) * (band + gap) - gap) / 2 + LINE / 2
    weight_x = left + d_in * cell + fan
    output_x = weight_x + d_out * cell + sign
    with card() as page:
        top = middle - num_tokens * LINE / 2
        page.heading(MARGIN, top - 9, tokens[0] if alone else "inputs")
        if not alone:
            page.row_labels(tokens, left - 4, top, LINE)
        page.cells(x, left, top, cell, LINE, name="inputs", tint=INPUT.tint)
        sentences = []
        for place, (name, matrix) in enumerate(matrices.items()):
            y = MARGIN + place * (band + gap) + LINE
            centre = y + (band - LINE) / 2
            above, beside = centre - d_in * LINE / 2, centre - num_tokens * LINE / 2
            output = x @ matrix
            page.arrow((left + d_in * cell + 3, middle), (weight_x - 4, centre))
            page.text(weight_x + d_out * cell / 2, above - 9, f"@ W_{name}")
            page.cells(matrix, weight_x, above, cell, LINE, name=f"W_{name}", limit=limit)
            page.text(output_x - sign / 2, centre, "=")
            color = COLOURS[name].strong if name in COLOURS else INK
            page.text(output_x + d_out * cell / 2, beside - 9, name, weight="bold", color=color)
            tint = COLOURS.get(name, INPUT).tint
            page.cells(output, output_x, beside, cell, LINE, name=name, tint=tint)
            sentences.append(
                f"W_{name} of shape ({d_in}, {d_out}) makes the {name} vectors, of shape "
                f"({num_tokens}, {d_out}); that of '{tokens[0]}' is {vector(output[0])}."
            )
        factors = count(len(matrices), "weight matrix", "weight matrices")
        return page.finish(
            MARGIN + len(matrices) * (band + gap) - gap + MARGIN,
            f"Inputs of shape ({num_tokens}, {d_in}), times {factors}.",
            *sentences,
        )
