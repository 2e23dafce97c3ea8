"""Drawings of matrix products: their rule, their shapes, and projections."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from .._canvas import MARGIN, WIDTH, Drawing, Look, new_canvas
from .._lettering import LINE, clean_labels, label_width, text_width
from .._palette import (
    BLUE,
    COLOURS,
    INK,
    INPUT,
    KEY,
    PAPER,
    QUERY,
    QUIET,
    RULE,
    SHADE,
    WEIGHT_TINT,
    Colour,
)
from .._words import Array, format_number, format_vector, plural, to_numpy

__all__ = ["draw_matrix_product", "draw_products", "draw_projections"]


def draw_matrix_product(
    left: Float[Tensor, "m n"], right: Float[Tensor, "n p"], *, row: int, column: int
) -> Drawing:
    """Draw the rule of the matrix product: a row on the left times a column on the right makes one number.

    The row is drawn as a query and the column as a key: attention takes this product of them.
    """
    first, second = to_numpy(left, 2), to_numpy(right, 2)
    result = first @ second
    (m, n), p = first.shape, second.shape[1]
    gap = 12.0
    cell = min(40.0, (WIDTH - 2 * MARGIN - gap) / (n + p))
    height = min(20.0, max(LINE, cell))
    first_x = (WIDTH - (n + p) * cell - gap) / 2
    second_x = first_x + n * cell + gap
    with new_canvas() as page:
        y = MARGIN + 6
        rule = "(", f"{m}", f", {n}) @ ({n}, ", f"{p}", ")  →  (", f"{m}", ", ", f"{p}", ")"
        colours = 2 * [INK, QUERY.strong, INK, KEY.strong] + [INK]
        page.words(WIDTH / 2, y, *zip(rule, colours, strict=True), centred=True)
        top = y + LINE + LINE
        bottom = top + n * height + gap + LINE
        page.note(second_x + p * cell / 2, top - 9, f"right ({n}, {p})")
        page.note(first_x + n * cell / 2, bottom - 9, f"left ({m}, {n})")
        page.note(second_x + p * cell / 2, bottom - 9, f"product ({m}, {p})")
        page.cells(second, second_x, top, cell, height, name="right", tint=KEY.tint)
        page.cells(first, first_x, bottom, cell, height, name="left", tint=QUERY.tint)
        page.cells(result, second_x, bottom, cell, height, name="product", tint=SHADE)
        across, down = second_x + column * cell, bottom + row * height
        page.frame(first_x, down, n * cell, height, QUERY.strong)
        page.frame(across, top, cell, n * height, KEY.strong)
        page.frame(across, down, cell, height, INK)
        y = bottom + m * height + 15
        result_is, terms = f" = {format_number(result[row, column])}", []
        factors = list(zip(first[row], second[:, column], strict=True))
        for place, (a, b) in enumerate(factors):
            terms += [(" + ", QUIET)] * bool(place) + [(format_number(a), QUERY.strong)]
            terms += [("·", QUIET), (format_number(b), KEY.strong)]
        page.words(WIDTH / 2, y, *terms, (result_is, INK), centred=True)
        spelled = " + ".join(f"{format_number(a)}·{format_number(b)}" for a, b in factors)
        return page.finish(
            y + LINE / 2 + MARGIN,
            f"A matrix of shape ({m}, {n}) times one of shape ({n}, {p}) gives one of shape ({m}, {p}).",
            f"Row {row + 1} times column {column + 1}: {spelled}{result_is}.",
        )


def draw_products(products: Sequence[Mapping[str, Float[Tensor, "_ _"]]]) -> Drawing:
    """Draw matrix products as shapes: each matrix a block, as high as it has rows, as wide as it has columns.

    Args:
        products: for each line two matrices and their product, by name. A name that contains query, key,
            value, context or input gives its block that colour.
    """
    rows = [{name: to_numpy(matrix, 2) for name, matrix in product.items()} for product in products]
    for left, right, result in (row.values() for row in rows):
        if not np.allclose(left @ right, result, rtol=1e-3, atol=1e-4):
            raise ValueError("the last matrix must be the product of the others, but is not")
    sign, gap, sentences = 22.0, 12.0, []

    def column(name: str, matrix: Array, unit: float) -> float:
        captions = text_width(name, weight="bold"), text_width(str(matrix.shape))
        return max(unit * matrix.shape[1], *captions)

    def width(row: Mapping[str, Array], unit: float) -> float:
        return sum(column(*block, unit) for block in row.items()) + sign * (len(row) - 1)

    units = np.arange(13.0, 0.5, -0.5)
    fits = (unit for unit in units if all(width(row, unit) <= WIDTH - 2 * MARGIN for row in rows))
    unit = next(fits)
    with new_canvas() as page:
        y = MARGIN
        for row in rows:
            height = unit * max(len(matrix) for matrix in row.values())
            x, centre = (WIDTH - width(row, unit)) / 2, y + LINE + height / 2
            for before, (name, matrix) in zip(("", "@", "="), row.items(), strict=True):
                if before:
                    page.text(x + sign / 2, centre, before)
                    x += sign
                colour, (high, wide) = _colour_of(name), matrix.shape
                middle = x + column(name, matrix, unit) / 2
                spot = middle - unit * wide / 2, centre - unit * high / 2
                look: Look = {"fill": colour.tint, "edge": colour.strong, "line": 1.2, "zorder": 2}
                page.box(*spot, unit * wide, unit * high, **look)
                page.rules(*spot, (high, wide), unit, RULE if colour.tint == PAPER else PAPER)
                page.text(middle, y + LINE / 2 - 2, name, color=colour.strong, weight="bold")
                page.note(middle, y + LINE + height + 10, str(matrix.shape))
                x += column(name, matrix, unit)
            y += LINE + height + LINE + gap
            *factors, made = (f"{name} {matrix.shape}" for name, matrix in row.items())
            sentences.append(f"{' times '.join(factors)} gives {made}.")
        return page.finish(y - gap + MARGIN, "Matrix products as shapes.", *sentences)


def _colour_of(name: str) -> Colour:
    """Find the colour of what a matrix holds by its name."""
    if name.startswith("W_"):
        return Colour(PAPER, INK)
    singular = name.replace("queries", "query")
    found = (colour for role, colour in COLOURS.items() if role in singular)
    return next(found, Colour(WEIGHT_TINT, BLUE))


def draw_projections(
    inputs: Float[Tensor, "num_tokens d_in"],
    weights: Mapping[str, Float[Tensor, "d_in d_out"]],
    tokens: Sequence[str],
) -> Drawing:
    """Draw the same inputs times several weight matrices: their queries, keys and values.

    A linear layer stores its matrix transposed: hand over ``layer.weight.T``.
    """
    x = to_numpy(inputs, 2)
    matrices = {name: to_numpy(matrix, 2) for name, matrix in weights.items()}
    tokens = clean_labels(tokens, len(x))
    (num_tokens, d_in), d_out = x.shape, max(matrix.shape[1] for matrix in matrices.values())
    limit = max(float(abs(matrix).max()) for matrix in matrices.values())
    left, sign, gap = MARGIN + label_width(tokens) + 4, 14.0, 14.0
    cell = min(32.0, (WIDTH - left - MARGIN - 30 - sign) / (d_in + 2 * d_out))
    band = LINE + max(num_tokens, d_in) * LINE
    middle = MARGIN + (len(matrices) * (band + gap) - gap) / 2 + LINE / 2
    weight_x = left + d_in * cell + 30
    output_x = weight_x + d_out * cell + sign
    sentences = []
    with new_canvas() as page:
        top = middle - num_tokens * LINE / 2
        page.heading(MARGIN, top - 9, "inputs")
        page.row_labels(tokens, left - 4, top, LINE)
        page.cells(x, left, top, cell, LINE, name="inputs", tint=INPUT.tint)
        for place, (name, matrix) in enumerate(matrices.items()):
            y = MARGIN + place * (band + gap) + LINE
            centre = y + (band - LINE) / 2
            above, beside = centre - d_in * LINE / 2, centre - num_tokens * LINE / 2
            output = x @ matrix
            page.arrow((left + d_in * cell + 3, middle), (weight_x - 4, centre))
            page.text(weight_x + d_out * cell / 2, above - 9, f"@ W_{name}")
            page.cells(matrix, weight_x, above, cell, LINE, name=f"W_{name}", limit=limit)
            page.text(output_x - sign / 2, centre, "=")
            tint, strong = COLOURS[name]
            page.text(output_x + d_out * cell / 2, beside - 9, name, weight="bold", color=strong)
            page.cells(output, output_x, beside, cell, LINE, name=name, tint=tint)
            sentences.append(
                f"W_{name} of shape {matrix.shape} makes the {name} vectors, of shape "
                f"{output.shape}; that of '{tokens[0]}' is {format_vector(output[0])}."
            )
        return page.finish(
            MARGIN + len(matrices) * (band + gap) - gap + MARGIN,
            f"Inputs of shape {x.shape}, times {plural(len(matrices), 'weight matrix', 'weight matrices')}.",
            *sentences,
        )
