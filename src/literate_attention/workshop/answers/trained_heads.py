"""Checks: where heads of a kind look, and a head that is left out of a sum."""

import torch
from torch import Tensor

from literate_attention.workshop.judge.verdict import Verdict, judge_result, result_of, wrong


def check_copies(function: object) -> Verdict:
    """Check a function that says where a head looks that looks for copies of its own token.

    Args:
        function: your function; it takes the token ids of a sequence, and returns a boolean table: True in
            row i, column j, if token j is an earlier copy of token i.

    Example:
        >>> check_copies(lambda token_ids: token_ids[:, None] == token_ids)
        Not yet. A token is not an earlier copy of itself, and the future is hidden.
    """
    token_ids = torch.tensor([7, 3, 5, 3, 7, 3])
    same = token_ids[:, None] == token_ids
    behind = (token_ids[:, None] == token_ids.roll(1)).tril(-1)
    behind[:, 0] = False
    right = same.tril(-1)
    mistakes = [
        ("a token is not an earlier copy of itself, and the future is hidden", same),
        ("a token is not an earlier copy of itself", same.tril()),
        ("these are later copies: a row is the token that looks", same.triu(1)),
        ("this is where an induction head looks: after the copy, not at it", behind),
        ("all earlier tokens are marked, not only copies", torch.ones_like(same).tril(-1)),
        ("true means that the head looks there, and this is true everywhere else", ~right),
    ]
    result = result_of(function, token_ids)
    verdict = judge_result(result, right, mistakes)
    if verdict and not (isinstance(result, Tensor) and result.dtype == torch.bool):
        return wrong("the right places, but targets have to be boolean: add .bool()")
    return verdict


def check_ablation(function: object) -> Verdict:
    """Check a function that computes what multi-head attention returns without one of its heads.

    Args:
        function: your function; it takes the context vectors of all heads, of shape
            ``(num_heads, num_tokens, head_dim)``, the weight of the output projection as ``nn.Linear`` stores
            it, of shape ``(d_out, num_heads * head_dim)``, and which head is off.

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
    head = 1
    right = parts.sum(dim=0) - parts[head]
    mistakes = [
        ("all heads are there", parts.sum(dim=0)),
        ("this is what the head adds; take it away from the rest", parts[head]),
        ("heads are counted from 0: another one is missing", parts.sum(dim=0) - parts[head - 1]),
        ("heads are counted from 0: another one is missing", parts.sum(dim=0) - parts[head + 1]),
        ("the heads that are left are scaled up, and need not be", right * 3 / 2),
        (
            "these are context vectors without the head; they still go through the projection",
            torch.cat([contexts[0], contexts[1] * 0, contexts[2]], dim=-1),
        ),
    ]
    return judge_result(result_of(function, contexts, weight, head), right, mistakes)
