"""What holds for each of the five attention classes, and for each of the three causal ones."""

import copy
import inspect
import pickle

import pytest
import torch
from harness import forks
from harness.library.loops import attend_by_loops
from harness.library.random_tensors import random_tensor
from harness.library.source_classes import (
    SourceCausalAttention,
    SourceMultiHeadAttention,
    SourceWrapper,
)
from torch import nn
from torch.testing import assert_close

import literate_attention as la

NUM_TOKENS, D_IN, D_OUT, HEADS, CONTEXT = 5, 7, 6, 3, 11

CAUSAL = {
    "causal": lambda dropout=0.0: la.CausalAttention(D_IN, D_OUT, CONTEXT, dropout, qkv_bias=True),
    "wrapper": lambda dropout=0.0: la.MultiHeadAttentionWrapper(
        D_IN, D_OUT // HEADS, CONTEXT, dropout, HEADS
    ),
    "multi-head": lambda dropout=0.0: la.MultiHeadAttention(
        D_IN, D_OUT, CONTEXT, dropout, HEADS, qkv_bias=True
    ),
}
ALL = {
    "v1": lambda: la.SelfAttention_v1(D_IN, D_OUT),
    "v2": lambda: la.SelfAttention_v2(D_IN, D_OUT, qkv_bias=True),
    **CAUSAL,
}

SOURCES = {
    "causal": (SourceCausalAttention, la.CausalAttention, ()),
    "wrapper": (SourceWrapper, la.MultiHeadAttentionWrapper, (HEADS,)),
    "multi-head": (SourceMultiHeadAttention, la.MultiHeadAttention, (HEADS,)),
}
"""The classes that readers of the sources know, and ours."""

each_module = pytest.mark.parametrize("build", ALL.values(), ids=ALL)
each_source = pytest.mark.parametrize(("theirs", "ours", "heads"), SOURCES.values(), ids=SOURCES)
each_causal = pytest.mark.parametrize("build", CAUSAL.values(), ids=CAUSAL)
both_ways = pytest.mark.parametrize("need_weights", [False, True], ids=["context", "weights too"])


def seeded(build, *arguments):
    torch.manual_seed(123)
    return build(*arguments).to(torch.float64)


def tokens(*batch, num_tokens=NUM_TOKENS):
    return random_tensor(*batch, num_tokens, D_IN)


def run(attention, x, need_weights):
    return attention(x, need_weights=True)[0] if need_weights else attention(x)


def by_loops(attention, x, attn_mask=None):
    """Return context vectors and weights as the class defines them, one number at a time."""
    if isinstance(attention, la.MultiHeadAttentionWrapper):
        contexts, weights = zip(*(by_loops(head, x) for head in attention.heads), strict=True)
        return torch.cat(contexts, dim=-1), torch.stack(weights, dim=-3)
    projected = []
    for layer in (attention.W_query, attention.W_key, attention.W_value):
        matrix = layer.weight.T if isinstance(layer, nn.Linear) else layer
        found = torch.einsum("...ni,io->...no", x, matrix)
        bias = getattr(layer, "bias", None)
        projected.append(found if bias is None else found + bias)
    num_tokens = x.shape[-2]
    allowed = torch.ones(num_tokens, num_tokens) > 0
    if hasattr(attention, "context_length"):
        allowed = allowed.tril()
    if attn_mask is not None:
        allowed = allowed & attn_mask
    if not isinstance(attention, la.MultiHeadAttention):
        return attend_by_loops(*projected, allowed)
    heads = (torch.stack(each.chunk(HEADS, dim=-1), dim=-3) for each in projected)
    context, weights = attend_by_loops(*heads, allowed)
    return attention.out_proj(torch.cat(context.unbind(-3), dim=-1)), weights


@each_module
@pytest.mark.parametrize(
    ("batch", "num_tokens"),
    [((), 1), ((2, 3), NUM_TOKENS), ((0,), CONTEXT), ((1,), CONTEXT)],
    ids=str,
)
def test_a_class_agrees_with_loops(build, batch, num_tokens) -> None:
    attention, x = seeded(build), tokens(*batch, num_tokens=num_tokens)
    expected = by_loops(attention, x)
    assert_close(attention(x, need_weights=True), expected)
    assert_close(attention(x), expected[0])


@both_ways
@pytest.mark.parametrize(
    ("kind", "batch", "mask_shape"),
    [
        ("causal", (2,), (5, 5)),
        ("causal", (2,), (2, 1, 5)),
        ("causal", (2,), (2, 5, 1)),
        ("multi-head", (), (5, 5)),
        ("multi-head", (), (HEADS, 1, 5)),
        ("multi-head", (2,), (2, HEADS, 5, 5)),
        ("multi-head", (2, 3), (3, 1, 5, 1)),
    ],
    ids=str,
)
def test_under_a_mask_it_agrees_with_loops(need_weights, kind, batch, mask_shape) -> None:
    """Some tokens have no key left; the future stays hidden, whatever the mask says."""
    attention, x = seeded(CAUSAL[kind]), tokens(*batch)
    attn_mask = random_tensor(*mask_shape, seed=5) > -0.3
    attn_mask[..., 0, 0] = False
    expected = by_loops(attention, x, attn_mask)
    result = attention(x, attn_mask=attn_mask, need_weights=need_weights)
    assert_close(result, expected if need_weights else expected[0])
    with torch.autograd.set_detect_anomaly(True):
        (result[0] if need_weights else result).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())


@each_module
@both_ways
def test_a_copy_computes_the_same(build, need_weights) -> None:
    attention, x = seeded(build), tokens(2)
    assert list(attention.buffers()) == []  # nothing but the parameters is kept
    for twin in (copy.deepcopy(attention), pickle.loads(pickle.dumps(attention))):
        assert torch.equal(run(twin, x, need_weights), run(attention, x, need_weights))


@each_module
@both_ways
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_a_module_can_change_its_dtype(build, need_weights, dtype) -> None:
    attention, x = seeded(build), tokens(2)
    expected = run(attention, x, need_weights)
    context = run(attention.to(dtype), x.to(dtype), need_weights)
    assert context.dtype == dtype
    # about ten roundings in a row, to 8 bits in the worst case
    assert_close(context.double(), expected, rtol=0, atol=10 * torch.finfo(dtype).eps)


@each_module
@both_ways
def test_half_precision_scores_are_scaled_before_they_overflow(build, need_weights) -> None:
    """A score of 40 * 40 * 64 is too large for float16, divided by the square root of 64 it is not."""
    kind = type(build())
    sizes = {"context_length": 4, "dropout": 0.0, "num_heads": 1}
    taken = {name: sizes[name] for name in inspect.signature(kind).parameters if name in sizes}
    attention = kind(64, 64, **taken).half()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.copy_(torch.eye(64) if parameter.ndim == 2 else torch.zeros(64))
    x = torch.full((1, 4, 64), 40.0, dtype=torch.float16)
    assert (x @ x.mT).isinf().all()
    assert_close(run(attention, x, need_weights), x)


@each_module
@both_ways
def test_a_module_moves_to_another_device(build, need_weights) -> None:
    attention, x = seeded(build), tokens(2)
    expected = run(attention, x, need_weights)
    with torch.device("meta"):  # where new tensors are made by default
        assert_close(run(attention, x, need_weights), expected)
        assert all(parameter.is_meta for parameter in build().parameters())
    context = run(attention.to("meta"), x.to("meta"), need_weights)
    assert context.is_meta
    assert context.shape == (2, NUM_TOKENS, D_OUT)


COMPILED = """
import torch
from literate_attention import *

def compiled(module, *arguments, **options):
    together = torch.compile(module, fullgraph=True, backend="eager", dynamic=True)
    results = together(*arguments, **options), module(*arguments, **options)
    torch.testing.assert_close(*results)

x, sizes = torch.randn(2, 5, 7), {"context_length": 11, "dropout": 0.0}
for attention in (
    SelfAttention_v1(7, 6),
    SelfAttention_v2(7, 6),
    CausalAttention(7, 6, **sizes),
    MultiHeadAttentionWrapper(7, 6, **sizes, num_heads=2),
    MultiHeadAttention(7, 6, **sizes, num_heads=2),
):
    compiled(attention, x)
    compiled(attention, x, need_weights=True)
is_token = torch.tensor([[True] * 5, [False, True, True, True, False]])[:, None]
compiled(CausalAttention(7, 6, **sizes), x, attn_mask=is_token, need_weights=True)
for need_weights in (False, True):
    compiled(attention, x, attn_mask=is_token[:, None], need_weights=need_weights)
compiled(InputEmbedding(13, 5, 7), torch.tensor([[1, 12, 3]]))
compiled(ReproducibleDropout(0.5, "torch").eval(), x)

sizes = {"num_layers": 2, "num_heads": 6, "num_kv_heads": 2}
texts = [torch.randint(11, (2, length)) for length in (5, 7, 1, 9)]
for window in (None, 3):
    model = llama_model(11, 12, 16, **sizes, rope=RotaryEmbedding(2, 13), window=window)
    together = torch.compile(model, fullgraph=True, backend="eager")
    lengths = {1: torch.export.Dim("num_tokens", min=2, max=13)}
    exported = torch.export.export(model, (texts[0],), dynamic_shapes=[lengths])
    traced = torch.jit.trace(model, (texts[0],))
    for text in texts:
        torch.testing.assert_close(traced(text), model(text))
        torch.testing.assert_close(together(text), model(text))
        if text.shape[1] > 1:
            torch.testing.assert_close(exported.module()(text), model(text))
    torch.compiler.reset()  # it compiles anew only so often
    assert torch.equal(generate(together, texts[0], 8), generate(model, texts[0], 8))
"""


def test_every_module_compiles_without_a_graph_break() -> None:
    """In a process of its own, where no checker of types stands around every function."""
    status, _, complaints = forks.run(exec, COMPILED, {})
    assert status == 0, complaints


@each_causal
@both_ways
def test_dropout_acts_while_training_only(build, need_weights) -> None:
    attention, x = seeded(build, 0.5), tokens(2)
    expected = run(seeded(build), x, need_weights)
    assert not torch.equal(run(attention, x, need_weights), run(attention, x, need_weights))
    attention.eval()
    before = torch.get_rng_state()
    assert_close(run(attention, x, need_weights), expected)
    assert torch.equal(torch.get_rng_state(), before)
    attention.train()
    assert not torch.equal(run(attention, x, need_weights), expected)


@pytest.mark.parametrize("kind", ["causal", "multi-head"])
@pytest.mark.parametrize("stream", ["torch", "mkl"])
def test_a_dropout_of_ours_takes_the_place_of_the_modules_own(kind, stream) -> None:
    attention, x = seeded(CAUSAL[kind]), tokens(2)
    _, weights = attention(x, need_weights=True)
    attention.dropout = la.ReproducibleDropout(0.5, stream)
    torch.manual_seed(5)
    context, dropped = attention(x, need_weights=True)
    torch.manual_seed(5)
    assert_close(attention(x), context)
    torch.manual_seed(5)
    assert_close(dropped, attention.dropout(weights))


@each_causal
@both_ways
def test_refuses_a_sequence_that_is_too_long(build, need_weights) -> None:
    with pytest.raises(ValueError, match="has 13 tokens, but context_length is 11; shorten"):
        build()(torch.ones(2, 13, D_IN), need_weights=need_weights)


def in_their_order(seed, build, heads, bias, p=0.0):
    torch.manual_seed(seed)
    return build(D_IN, D_OUT, CONTEXT, p, *heads, bias).double()


@each_source
@both_ways
@pytest.mark.parametrize("qkv_bias", [False, True], ids=["plain", "bias"])
def test_a_checkpoint_with_masks_loads(theirs, ours, heads, qkv_bias, need_weights) -> None:
    source = in_their_order(1, theirs, heads, qkv_bias)
    attention, x = in_their_order(2, ours, heads, qkv_bias), tokens(2)
    checkpoint = source.state_dict()
    masks = {name for name in checkpoint if name.endswith("mask")}
    assert masks
    attention.load_state_dict(checkpoint, strict=True)
    assert masks <= set(checkpoint), "the caller's own dictionary stays as it was"
    assert_close(run(attention, x, need_weights), source(x))


@each_source
def test_dropout_falls_on_the_same_weights(theirs, ours, heads) -> None:
    """On the explicit path; a fused kernel draws in an order of its own."""
    x, source = tokens(2), in_their_order(123, theirs, heads, False, 0.5)
    expected = source(x)
    attention = in_their_order(123, ours, heads, False, 0.5)
    assert_close(run(attention, x, need_weights=True), expected)
