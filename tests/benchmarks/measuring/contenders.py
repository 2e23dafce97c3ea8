"""Causal multi-head attention as others write it, with our weights, so that all compute the same.

Each function takes a module of ours and returns a contender that has copies of its weights.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from harness.library.source_classes import SourceMultiHeadAttention
from torch import Tensor, nn
from torch.nn import functional

from literate_attention import MultiHeadAttention

WIDTH, HEADS = 768, 12
PACKAGES = ("llms-from-scratch", "transformers", "x-transformers")


@dataclass(frozen=True)
class Contender:
    """Attention by others, or by another way of ours."""

    name: str
    run: Callable[[Tensor], Tensor]
    module: nn.Module
    ours: nn.Module
    """The module of ours whose weights it has, and with which it is compared."""
    part: str = "peer"
    """What it is measured for: peer, source (step by step), explicit (ours, so), bare, ours or aside."""


def source(ours):
    """Return the sources' class, the explicit rung."""
    sizes = (ours.d_out, ours.d_out, ours.context_length, 0.0, ours.num_heads)
    module = SourceMultiHeadAttention(*sizes)
    module.load_state_dict({**ours.state_dict(), "mask": module.mask})
    return Contender("the sources' class", module, module, ours, part="source")


def bare(ours):
    """Return the matrix products and torch's kernel, with nothing around them."""
    layers = (ours.W_query, ours.W_key, ours.W_value)
    shape = (ours.num_heads, ours.head_dim)

    def run(x):
        query, key, value = (
            functional.linear(x, layer.weight).unflatten(-1, shape).transpose(1, 2)
            for layer in layers
        )
        context = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        together = context.transpose(1, 2).flatten(2)
        return functional.linear(together, ours.out_proj.weight, ours.out_proj.bias)

    return Contender("bare matmuls and kernel", run, ours, ours, part="bare")


def bare_joined(ours):
    """Return the same with one matrix product for query, key and value, of a matrix stored as one."""
    module = nn.Module()
    module.joined = nn.Parameter(_joined(ours).detach())
    module.out_proj = nn.Linear(ours.d_out, ours.d_out)
    module.out_proj.load_state_dict(ours.out_proj.state_dict())
    shape = (3, ours.num_heads, ours.head_dim)

    def run(x):
        query, key, value = (
            functional.linear(x, module.joined).unflatten(-1, shape).permute(2, 0, 3, 1, 4)
        )
        context = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return module.out_proj(context.transpose(1, 2).flatten(2))

    return Contender("bare, query, key and value in one matmul", run, module, ours, part="aside")


def explicit(ours):
    """Return our own explicit path: what it costs to ask for the weights."""

    def run(x):
        return ours(x, need_weights=True)[0]

    return Contender("ours, with the weights", run, ours, ours, part="explicit")


def torch_module(ours):
    """Return torch's own module, told that its mask is causal and that nobody wants weights."""
    module = nn.MultiheadAttention(ours.d_out, ours.num_heads, batch_first=True)
    _set(module.in_proj_weight, _joined(ours))
    _set(module.in_proj_bias, torch.cat([one.bias for one in _projections(ours)]))
    module.out_proj.load_state_dict(ours.out_proj.state_dict())
    # Of numbers, as torch's own function makes it: a boolean one would be converted at each forward.
    future = nn.Transformer.generate_square_subsequent_mask(ours.context_length)

    def run(x):
        mask = future[: x.shape[1], : x.shape[1]]
        return module(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0]

    return Contender("nn.MultiheadAttention", run, module, ours)


def gpt2(ours):
    """Return the attention of transformers' GPT-2."""
    from transformers.models.gpt2 import modeling_gpt2

    config = modeling_gpt2.GPT2Config(
        n_embd=ours.d_out,
        n_head=ours.num_heads,
        n_positions=ours.context_length,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
        attn_implementation="sdpa",
    )
    module = modeling_gpt2.GPT2Attention(config, layer_idx=0)
    _set(module.c_attn.weight, _joined(ours).T)
    _set(module.c_attn.bias, torch.cat([one.bias for one in _projections(ours)]))
    _set(module.c_proj.weight, ours.out_proj.weight.T)
    _set(module.c_proj.bias, ours.out_proj.bias)
    return Contender("transformers GPT2Attention", lambda x: module(x)[0], module, ours)


def x_transformers(ours):
    """Return the attention of x-transformers, on its fused path."""
    from x_transformers import Attention

    module = Attention(
        dim=ours.d_out, dim_head=ours.head_dim, heads=ours.num_heads, causal=True, flash=True
    )
    for theirs, layer in zip(
        (module.to_q, module.to_k, module.to_v, module.to_out),
        (*_projections(ours), ours.out_proj),
        strict=True,
    ):
        _set(theirs.weight, layer.weight)
    return Contender("x-transformers", module, module, ours)


def llms_from_scratch_fused(ours):
    """Return the class of llms-from-scratch with torch's kernel, and one matrix for query, key and value."""
    from llms_from_scratch.ch03 import PyTorchMultiHeadAttention as Theirs

    module = Theirs(ours.d_out, ours.d_out, ours.num_heads)
    _set(module.qkv.weight, _joined(ours))
    module.proj.load_state_dict(ours.out_proj.state_dict())
    return Contender("llms-from-scratch, fused", module, module, ours)


def flex(ours):
    """Return FlexAttention, compiled, between our projections."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def may_attend(batch, head, query, key):
        return query >= key

    length = ours.context_length
    block_mask = create_block_mask(may_attend, None, None, length, length, device="cpu")
    torch.compiler.reset()  # else the ninth size of input would quietly run without being compiled
    compiled = torch.compile(flex_attention, dynamic=False)

    def run(x):
        query, key, value = (
            layer(x).unflatten(-1, (ours.num_heads, ours.head_dim)).transpose(1, 2)
            for layer in _projections(ours)
        )
        context = compiled(query, key, value, block_mask=block_mask)
        return ours.out_proj(context.transpose(1, 2).flatten(2))

    return Contender("FlexAttention", run, ours, ours, part="aside")


PLAIN = (source, bare, bare_joined, explicit, x_transformers, llms_from_scratch_fused, flex)
BIASED = (torch_module, gpt2)


def our_module(tokens, *, biased=False):
    """Return our module, as the sources build it or with biases for query, key and value."""
    return MultiHeadAttention(WIDTH, WIDTH, tokens, 0.0, HEADS, qkv_bias=biased)


def contenders(tokens):
    """Yield all contenders, our own modules first."""
    plain, biased = our_module(tokens), our_module(tokens, biased=True)
    yield Contender("ours", plain, plain, plain, part="ours")
    yield Contender("ours, with biases", biased, biased, biased, part="ours")
    for ours, makers in ((plain, PLAIN), (biased, BIASED)):
        for make in makers:
            yield make(ours)


def expected(contender, x):
    """Return what a contender has to compute."""
    output = contender.ours(x)
    if contender.name == "x-transformers":
        output = output - contender.ours.out_proj.bias
    return output


def _projections(ours):
    return ours.W_query, ours.W_key, ours.W_value


def _joined(ours):
    return torch.cat([layer.weight for layer in _projections(ours)])


def _set(parameter, value) -> None:
    with torch.no_grad():
        parameter.copy_(value)
