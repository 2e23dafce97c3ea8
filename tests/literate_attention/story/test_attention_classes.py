"""What holds for each of the five attention classes, and for each of the three causal ones."""

import copy
import inspect
import io
import pickle

import pytest
import torch
from harness import forks
from harness.library.random_tensors import random_tensor
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

each_module = pytest.mark.parametrize("build", ALL.values(), ids=ALL)
each_causal = pytest.mark.parametrize("build", CAUSAL.values(), ids=CAUSAL)
both_ways = pytest.mark.parametrize("need_weights", [False, True], ids=["context", "weights too"])


def seeded(build, *arguments):
    torch.manual_seed(123)
    return build(*arguments).to(torch.float64)


def tokens(*batch, num_tokens=NUM_TOKENS):
    return random_tensor(*batch, num_tokens, D_IN)


def run(attention, x, need_weights):
    return attention(x, need_weights=True)[0] if need_weights else attention(x)


@each_module
@pytest.mark.parametrize(
    ("batch", "num_tokens"),
    [((), 1), ((2, 3), NUM_TOKENS), ((0,), CONTEXT), ((1,), CONTEXT)],
    ids=str,
)
def test_asking_for_the_weights_changes_nothing(build, batch, num_tokens) -> None:
    attention, x = seeded(build), tokens(*batch, num_tokens=num_tokens)
    context, weights = attention(x, need_weights=True)
    assert context.shape == (*batch, num_tokens, D_OUT)
    assert weights.shape[-2:] == (num_tokens, num_tokens)
    assert_close(attention(x), context)


@each_causal
@both_ways
def test_change_the_future_and_the_past_does_not_move(build, need_weights) -> None:
    attention, x = seeded(build), tokens(2)
    before = run(attention, x, need_weights)
    for now in range(NUM_TOKENS - 1):
        changed = x.clone()
        changed[:, now + 1 :] = 100 * torch.rand_like(changed[:, now + 1 :])
        after = run(attention, changed, need_weights)
        assert_close(after[:, : now + 1], before[:, : now + 1])
        assert not after[:, now + 1 :].isclose(before[:, now + 1 :]).any()


@each_module
def test_sequences_of_a_batch_know_nothing_of_each_other(build) -> None:
    attention, x = seeded(build), tokens(2, 3)
    expected = [[attention(sequence) for sequence in sequences] for sequences in x]
    assert_close(attention(x), torch.stack([torch.stack(row) for row in expected]))


@pytest.mark.usefixtures("unchecked")  # thousands of calls
@each_module
@both_ways
def test_gradients(build, need_weights) -> None:
    attention = seeded(build)
    names = [name for name, _ in attention.named_parameters()]

    def output(x, *parameters):
        given = dict(zip(names, parameters, strict=True))
        result = torch.func.functional_call(attention, given, (x,), {"need_weights": need_weights})
        return result[0] if need_weights else result

    inputs = (tokens(2).requires_grad_(), *attention.parameters())
    assert torch.autograd.gradcheck(output, inputs, fast_mode=True)


@each_module
def test_nothing_but_the_parameters_is_kept(build) -> None:
    attention = seeded(build)
    assert list(attention.buffers()) == []
    assert set(attention.state_dict()) == {name for name, _ in attention.named_parameters()}


@each_module
@both_ways
def test_a_copy_computes_the_same(build, need_weights) -> None:
    attention, x = seeded(build), tokens(2)
    saved = io.BytesIO()
    torch.save(attention.state_dict(), saved)
    saved.seek(0)
    restored = build().to(torch.float64)
    restored.load_state_dict(torch.load(saved))
    for twin in (copy.deepcopy(attention), pickle.loads(pickle.dumps(attention)), restored):
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


# Dropout


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


@each_causal
@pytest.mark.parametrize("stream", ["torch", "mkl"])
def test_a_dropout_of_ours_takes_the_place_of_the_modules_own(build, stream) -> None:
    attention, x = seeded(build), tokens(2)
    dropout = la.ReproducibleDropout(0.5, stream)
    for module in [attention, *getattr(attention, "heads", [])]:
        if hasattr(module, "dropout"):
            module.dropout = dropout
    _, weights = seeded(build)(x, need_weights=True)
    torch.manual_seed(5)
    context, dropped = attention(x, need_weights=True)
    torch.manual_seed(5)
    assert_close(attention(x), context)
    torch.manual_seed(5)
    if isinstance(attention, la.MultiHeadAttentionWrapper):
        expected = torch.stack([dropout(head) for head in weights.unbind(-3)], dim=-3)
    else:
        expected = dropout(weights)
    assert_close(dropped, expected)


# What is refused


@each_causal
@both_ways
def test_refuses_a_sequence_that_is_too_long(build, need_weights) -> None:
    with pytest.raises(ValueError, match="has 13 tokens, but context_length is 11; shorten"):
        build()(torch.ones(2, 13, D_IN), need_weights=need_weights)
