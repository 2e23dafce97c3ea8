"""Checks: from text to vectors."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from literate_attention.workshop.judge.verdict import Verdict, judge


def check_windows(answer: object, num_tokens: int, max_length: int, stride: int) -> Verdict:
    """Check how many windows a text has.

    Args:
        answer: your number.
        num_tokens: how many tokens the text has.
        max_length: how many tokens a window has.
        stride: how far the window moves.

    Example:
        >>> check_windows(7, num_tokens=10, max_length=4, stride=1)
        Not yet. One token has to be left over: the last window needs a target after its last token.
    """
    mistakes = {
        "one token has to be left over: the last window needs a target after its last token": (
            (num_tokens - max_length) // stride + 1
        ),
        "the first window counts too, before anything has moved": (
            (num_tokens - 1 - max_length) // stride
        ),
        "this counts windows that do not overlap": (num_tokens - 1) // max_length,
        "this counts every place where a stride ends, also where no whole window is left": (
            num_tokens // stride
        ),
    }
    return judge(answer, (num_tokens - 1 - max_length) // stride + 1, mistakes.items())


def check_lookup(
    answer: object,
    table: Float[Tensor, "vocab_size embed_dim"],
    token_ids: Int[Tensor, "*batch num_tokens"],
) -> Verdict:
    """Check embeddings that were looked up, or computed as a product.

    Args:
        answer: your embeddings.
        table: one row for each token of the vocabulary.
        token_ids: the tokens that were looked up.

    Example:
        >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> check_lookup(table[:2], table, torch.tensor([2, 1]))
        Not yet. These are the first rows of the table, not the rows of the tokens.
    """
    ones = nn.functional.one_hot(token_ids.long(), len(table)).to(table.dtype)
    first_rows = torch.arange(token_ids.shape[-1], device=table.device) % len(table)
    first = table[first_rows].expand(*token_ids.shape, -1)
    mistakes = [
        ("these are the first rows of the table, not the rows of the tokens", first),
        ("these are the vectors of zeros and ones, not yet multiplied by the table", ones),
        ("each row is counted from one, and Python counts from zero", table[token_ids - 1]),
        ("these are the right rows, but as columns", table[token_ids].mT),
    ]
    return judge(answer, table[token_ids], mistakes)
