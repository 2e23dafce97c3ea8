"""Drawings of what becomes of a text before attention sees it: windows, and sums of embeddings."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    INK,
    INPUT,
    LINE,
    MARGIN,
    PAPER,
    QUIET,
    SMALL_TEXT,
    WIDTH,
    Drawing,
    array,
    card,
    column_label_height,
    column_label_overhang,
    count,
    label_width,
    labels,
    number,
    some,
    text_width,
)


def draw_windows(tokens: Sequence[str], *, length: int, stride: int) -> Drawing:
    """Draw windows that slide along a text, each with its target: the same window one token later.

    Args:
        tokens: the text.
        length: how many tokens a window holds.
        stride: how many tokens further the next window starts.

    Returns:
        The drawing. Its text lists the windows.

    Raises:
        TypeError: the tokens are a single string.
        ValueError: a size is below 1, or the text is shorter than one window and the token after it.

    Example:
        >>> draw_windows(["one", "small", "step", "for"], length=2, stride=1).alt
        "2 windows of 2 tokens, each 1 token further than the one before. Window 1: input 'one' to 'small',
        target 'small' to 'step'. Window 2: input 'small' to 'step', target 'step' to 'for'."
    """
    some("length", length)
    some("stride", stride)
    if len(tokens) <= length:
        raise ValueError(f"tokens must be at least {length + 1}, got {len(tokens)}")
    tokens = labels("tokens", tokens, len(tokens), "tokens")
    starts = range(0, len(tokens) - length, stride)
    left = MARGIN + text_width("target") + 8
    column = (WIDTH - left - MARGIN) / len(tokens)
    for _ in range(2):  # narrower columns let the last label reach further
        overhang = max(0.0, column_label_overhang(tokens, column) - MARGIN + 4)
        column = (WIDTH - left - MARGIN - overhang) / len(tokens)
    height, said = 13.0, []
    with card() as page:
        y = MARGIN + column_label_height(tokens, column)
        page.column_labels(tokens, left, y, column)
        y += 4
        for i, start in enumerate(starts, start=1):
            for name, shift, fill in (("input", 0, INPUT.tint), ("target", 1, PAPER)):
                page.text(left - 8, y + height / 2, name, ha="right", size=SMALL_TEXT, color=QUIET)
                for place in range(start + shift, start + shift + length):
                    page.box(left + place * column + 1, y, column - 2, height, fill=fill, edge=INK)
                y += height + 3
            y += 9
            end = start + length
            said.append(
                f"Window {i}: input {tokens[start]!r} to {tokens[end - 1]!r}, "
                f"target {tokens[start + 1]!r} to {tokens[end]!r}."
            )
        return page.finish(
            y - 12 + MARGIN,
            f"{count(len(starts), 'window', 'windows')} of {count(length, 'token', 'tokens')}, "
            f"each {count(stride, 'token', 'tokens')} further than the one before.",
            *said,
        )


def draw_input_embeddings(
    token_embeddings: Float[Tensor, "num_tokens embed_dim"],
    position_embeddings: Float[Tensor, "num_tokens embed_dim"],
    tokens: Sequence[str],
) -> Drawing:
    """Draw input embeddings as a sum: a row for each token, and a row for each position.

    Args:
        token_embeddings: one vector for each token.
        position_embeddings: one vector for each position.
        tokens: what each token is called.

    Returns:
        The drawing. Its text tells how the first number of the sum is made.

    Raises:
        TypeError: an embedding is not a tensor, or the labels are a single string.
        ValueError: shapes or labels do not fit.

    Example:
        >>> import torch
        >>> draw_input_embeddings(torch.ones(1, 2), torch.tensor([[0.5, 2.0]]), ["one"]).alt
        "Token embeddings plus position embeddings make input embeddings, each of shape (1, 2). The first
        number of 'one' is 1.00 + 0.50 = 1.50."
    """
    by_token = array("token_embeddings", token_embeddings, "num_tokens", "embed_dim")
    num_tokens, embed_dim = by_token.shape
    by_place = array("position_embeddings", position_embeddings, num_tokens, embed_dim)
    tokens = labels("tokens", tokens, num_tokens, "tokens")
    total = by_token + by_place
    limit = max(float(abs(matrix).max()) for matrix in (by_token, by_place, total))
    places = [f"position {i}" for i in range(num_tokens)]
    left = MARGIN + max(label_width(tokens), label_width(places)) + 6
    cell = min(44.0, (WIDTH - left - MARGIN) / embed_dim)
    with card() as page:
        y = MARGIN
        for sign, name, matrix, rows in (
            ("", "token embeddings", by_token, tokens),
            ("+", "position embeddings", by_place, places),
            ("=", "input embeddings", total, tokens),
        ):
            page.text(left - 6, y + 6, sign, ha="right", weight="bold")
            page.heading(left, y + 6, name)
            y += LINE
            page.row_labels(rows, left - 6, y, LINE)
            page.cells(matrix, left, y, cell, LINE, name=name, limit=limit)
            y += num_tokens * LINE + 8
        first = [number(matrix[0, 0]) for matrix in (by_token, by_place, total)]
        return page.finish(
            y - 8 + MARGIN,
            "Token embeddings plus position embeddings make input embeddings, each of shape "
            f"({num_tokens}, {embed_dim}).",
            f"The first number of {tokens[0]!r} is {first[0]} + {first[1]} = {first[2]}.",
        )
