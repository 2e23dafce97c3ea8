"""Checks of answers in the part on what attention learns."""

import torch

from literate_attention.workshop.judge.verdict import (
    Verdict,
    judge,
    result_of,
    wrong,
)

__all__ = ["check_ablation", "check_copies", "check_successor"]

TEXT = [7, 1, 4, 8, 1, 6, 9, 2, 1]
"""The last token came twice before; what it followed, what followed it and where all differ."""


def check_successor(answer: object) -> Verdict:
    """Check a function that names the next token as an induction head does.

    It is called with a list of tokens, and returns what came after the last token when it was there before,
    or None if it never was.

    Example:
        >>> check_successor(lambda tokens: tokens[tokens.index(tokens[-1]) + 1])
        Not yet. This came after the first copy of the token; the latest is asked for.
    """
    result = result_of(answer, list(TEXT))
    if result is None:
        return wrong(f"it finds nothing in {TEXT}, although {TEXT[-1]} was there before")
    mistakes = {
        "this came after the first copy of the token; the latest is asked for": 4,
        "this came before the copy, not after it": 8,
        "this is the token itself, not what came after it": 1,
        "this is the place of the answer; the token that stands there is asked for": 5,
    }
    verdict = judge(result, 6, mistakes.items())
    never = result_of(answer, [2, 7, 1]) if verdict else None
    if isinstance(never, Verdict):
        return never
    says = "of a token that was never there before, it says more than None"
    return verdict if never is None else wrong(says)


def check_copies(function: object) -> Verdict:
    """Check a function that says where a head looks that looks for copies of its own token.

    It takes the token ids of a sequence, and returns a boolean table: True in row i, column j, if token j is
    an earlier copy of token i.

    Example:
        >>> check_copies(lambda token_ids: token_ids[:, None] == token_ids)
        Not yet. A token is not an earlier copy of itself, and the future is hidden.
    """
    token_ids = torch.tensor([7, 3, 5, 3, 7, 3])
    same = token_ids[:, None] == token_ids
    behind = (token_ids[:, None] == token_ids.roll(1)).tril(-1)
    behind[:, 0] = False
    right = same.tril(-1)
    mistakes = {
        "a token is not an earlier copy of itself, and the future is hidden": same,
        "a token is not an earlier copy of itself": same.tril(),
        "these are later copies: a row is the token that looks": same.triu(1),
        "this is where an induction head looks: after the copy, not at it": behind,
        "all earlier tokens are marked, not only copies": torch.ones_like(same).tril(-1),
        "true means that the head looks there, and this is true everywhere else": ~right,
    }
    return judge(result_of(function, token_ids), right, mistakes.items())


def check_ablation(function: object) -> Verdict:
    """Check a function that computes what multi-head attention returns without one of its heads.

    It takes the context vectors of all heads, of shape ``(num_heads, num_tokens, head_dim)``, the weight of
    the output projection as ``nn.Linear`` stores it, ``(d_out, num_heads * head_dim)``, and a head's number.

    Example:
        >>> check_ablation(lambda contexts, weight, head: contexts.mT.flatten(0, 1).T @ weight.T)
        Not yet. All heads are there.
    """
    generator = torch.Generator().manual_seed(3)
    contexts = torch.randn(3, 5, 2, generator=generator)
    weight = torch.randn(7, 6, generator=generator)
    parts = torch.stack(
        [found @ weight[:, 2 * head : 2 * head + 2].T for head, found in enumerate(contexts)]
    )
    head, together = 1, parts.sum(dim=0)
    right = together - parts[head]
    mistakes = [
        ("all heads are there", together),
        ("this is what the head adds; take it away from the rest", parts[head]),
        ("heads are counted from 0: another one is missing", together - parts[head - 1]),
        ("heads are counted from 0: another one is missing", together - parts[head + 1]),
        ("the heads that are left are scaled up, and need not be", right * 3 / 2),
        (
            "these are context vectors without the head; they still go through the projection",
            torch.cat([contexts[0], contexts[1] * 0, contexts[2]], dim=-1),
        ),
    ]
    return judge(result_of(function, contexts, weight, head), right, mistakes)
