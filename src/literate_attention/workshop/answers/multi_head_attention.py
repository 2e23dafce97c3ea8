"""Checks: several heads."""

import torch
from torch import Tensor, nn

from literate_attention.workshop.judge.verdict import RIGHT, Verdict, judge, result_of, wrong


def check_heads(module: object, num_heads: int, width: int, d_in: int) -> Verdict:
    """Check a module of several heads: how many there are, and how wide its context vectors are.

    Args:
        module: your module.
        num_heads: how many heads it should have.
        width: how wide its context vectors should be, all heads together.
        d_in: how wide its inputs are.

    Example:
        >>> from literate_attention import MultiHeadAttentionWrapper
        >>> wrapper = MultiHeadAttentionWrapper(3, 2, 6, dropout=0.0, num_heads=2)
        >>> check_heads(wrapper, num_heads=2, width=2, d_in=3)
        Not yet. The context vectors are 4 wide, as each of the 2 heads adds 2.
    """
    if not isinstance(module, nn.Module):
        return wrong(f"a module is expected, got {type(module).__name__}")
    device = next((parameter.device for parameter in module.parameters()), None)
    result = result_of(module, torch.zeros(1, 1, d_in, device=device), need_weights=True)
    if isinstance(result, Verdict):
        return result
    match result:
        case (Tensor() as context, Tensor() as weights) if context.ndim and weights.ndim > 2:
            pass
        case _:
            return wrong("it does not return context vectors, and the weights of each head")
    if weights.shape[-3] != num_heads:
        return wrong(f"the number of heads is {weights.shape[-3]}, expected {num_heads}")
    found = context.shape[-1]
    if found == num_heads * width:
        return wrong(
            f"the context vectors are {found} wide, as each of the {num_heads} heads adds {width}"
        )
    if found != width:
        return wrong(f"the context vectors are {found} wide, expected {width}")
    return RIGHT


def check_parameter_count(
    answer: object, d_in: int, d_out: int, *, qkv_bias: bool = False
) -> Verdict:
    """Check how many parameters a :class:`.MultiHeadAttention` has.

    Args:
        answer: your number, or a module of yours.
        d_in: how wide an input is.
        d_out: how wide a context vector is, all heads together.
        qkv_bias: whether the projections to query, key and value add a bias.

    Example:
        >>> check_parameter_count(4 * 768 * 768, d_in=768, d_out=768)
        Not yet. The bias of out_proj is missing.
    """
    if isinstance(answer, nn.Module):
        answer = sum(parameter.numel() for parameter in answer.parameters())
    one, bias, out, out_bias = d_in * d_out, d_out, d_out * d_out, d_out
    biases = 3 * bias * qkv_bias
    right = 3 * one + biases + out + out_bias
    mistakes = {
        "the bias of out_proj is missing": right - out_bias,
        "out_proj is missing": right - out - out_bias,
        "query, key and value are three matrices, this counts one": right - 2 * one,
        "the biases of query, key and value are missing": right - biases,
        "all biases are missing": right - biases - out_bias,
        "query, key and value have no bias here": right + 3 * bias,
    }
    return judge(answer, right, mistakes.items())
