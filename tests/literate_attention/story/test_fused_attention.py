"""torch's kernel is the formula: same results, same gradients, other memory; and our meaning of arguments."""

import json
import math
import random

import pytest
import torch
from harness.library.random_tensors import query_key_value, random_tensor
from harness.library.refusals import refusals
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as torch_attention
from torch.profiler import ProfilerActivity, profile
from torch.testing import assert_close

import literate_attention as la

Q_LEN, KV_LEN, HEAD_DIM = 3, 5, 7
HALVES = [torch.bfloat16, torch.float16]

each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *HALVES], ids=str)


def random_mask(*shape):
    """Allow about half of the keys; some rows may end up without any."""
    return random_tensor(*shape, seed=5) > 0


def in_steps(query, key, value, attn_mask=None, is_causal=False, scale=None):
    """Compute the same by the two halves, which have tests of their own against loops."""
    if is_causal:
        attn_mask = la.causal_mask(query.shape[-2], key.shape[-2])
    weights = la.attention_weights(query, key, attn_mask=attn_mask, scale=scale)
    return la.attention_output(weights, value)


def context_and_gradients(attend, arguments, **options):
    leaves = [tensor.detach().requires_grad_() for tensor in arguments]
    context = attend(*leaves, **options)
    upstream = random_tensor(*context.shape, seed=9).to(context.dtype)
    return [context, *torch.autograd.grad(context, leaves, upstream)]


def assert_agrees_with_steps(arguments, **options) -> None:
    fused = context_and_gradients(la.fused_attention, arguments, **options)
    explicit = context_and_gradients(in_steps, arguments, **options)
    for name, ours, expected in zip(["context", *"qkv"], fused, explicit, strict=True):
        assert ours.isfinite().all(), name
        assert ours.dtype == expected.dtype == arguments[0].dtype
        # Half precision keeps few bits: a sum is rounded several times, the largest terms set the error
        largest = expected.abs().max().item() if expected.numel() else 0.0
        few_roundings = 4 * torch.finfo(ours.dtype).eps * largest
        loose = {"rtol": 0, "atol": few_roundings} if ours.dtype.itemsize == 2 else {}
        assert_close(ours, expected, **loose, msg=lambda text, name=name: f"{name}: {text}")


@each_dtype
def test_when_causal(dtype) -> None:
    assert_agrees_with_steps(query_key_value(2, 3, dtype=dtype), is_causal=True)


@each_dtype
@pytest.mark.parametrize("attend", [la.fused_attention, in_steps])
def test_a_row_without_keys_is_zero(attend, dtype) -> None:
    arguments = query_key_value(2, dtype=dtype)
    attn_mask = torch.ones(Q_LEN, KV_LEN, dtype=torch.bool)
    attn_mask[1] = False
    for given in (attn_mask, torch.zeros_like(attn_mask)):
        with torch.autograd.set_detect_anomaly(True):  # nor is any step on the way no number
            context, *gradients = context_and_gradients(attend, arguments, attn_mask=given)
        assert (context[..., 1, :] == 0).all()
        assert all(gradient.isfinite().all() for gradient in gradients)
        assert (gradients[0][..., 1, :] == 0).all()
        assert context.any() == given.any()


@pytest.mark.parametrize("seed", range(20))
def test_on_arguments_drawn_at_random(seed) -> None:
    """Of any batch, an empty one too, at any scale, under masks that are spread over any dimension."""
    draw = random.Random(seed)
    batch = [draw.randint(0 if draw.random() < 0.2 else 1, 3) for _ in range(draw.randint(0, 3))]
    sizes = {size: draw.randint(1, 9) for size in ("q_len", "kv_len", "head_dim", "value_dim")}
    scale = draw.choice([None, 0.3, -2.0, 0.0])
    arguments = query_key_value(*batch, **sizes)
    shape = *batch, sizes["q_len"], sizes["kv_len"]
    attn_mask = random_mask(*(draw.choice([1, size]) for size in shape))
    for options in ({}, {"attn_mask": attn_mask}, {"is_causal": True}):
        assert_agrees_with_steps(arguments, scale=scale, **options)


@pytest.mark.usefixtures("unchecked")
def test_second_derivatives_are_those_of_the_explicit_form() -> None:
    arguments = [tensor.requires_grad_() for tensor in query_key_value(2)]
    with sdpa_kernel(SDPBackend.MATH):
        assert torch.autograd.gradgradcheck(la.fused_attention, arguments)


def test_arguments_come_in_torchs_order() -> None:
    arguments = query_key_value(2, q_len=KV_LEN)
    attn_mask = random_mask(KV_LEN, KV_LEN)
    for options in [(attn_mask, 0.0, False), (None, 0.0, True)]:
        ours = la.fused_attention(*arguments, *options)
        assert_close(ours, torch_attention(*arguments, *options))
    ours = la.fused_attention(*arguments, None, 0.0, True, 0.3)
    assert_close(ours, torch_attention(*arguments, is_causal=True, scale=0.3))


def test_dropout_takes_weights_away_and_scales_up_the_others() -> None:
    """With the identity as values, the context is the weights, so that the mask can be seen."""
    p, length = 0.3, 31
    zeros, value = torch.zeros(143, length, 2), torch.eye(length).expand(143, -1, -1)
    torch.manual_seed(123)
    context = la.fused_attention(zeros, zeros, value, None, p, True)
    allowed = la.causal_mask(length).expand_as(context)
    weights, kept = allowed / allowed.sum(dim=-1, keepdim=True), context != 0
    assert_close(context[kept], weights[kept] / (1 - p))
    dropped, possible = (allowed & ~kept).sum().item(), allowed.sum().item()
    assert (allowed | ~kept).all()
    assert abs(dropped - p * possible) < 4 * math.sqrt(possible * p * (1 - p))


def peak_bytes(run, folder):
    """Return the most that was allocated at one time while `run` ran, as torch's profiler saw it."""
    run()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        run()
    trace = folder / "trace.json"
    recorded.export_chrome_trace(str(trace))
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    memory = [event for event in events if event.get("name") == "[memory]"]
    memory.sort(key=lambda event: event["ts"])
    totals = [event["args"]["Total Allocated"] for event in memory]
    return max(totals) - (totals[0] - memory[0]["args"]["Bytes"])


@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])
def test_memory_grows_linearly_on_the_fused_path_only(need_weights, tmp_path) -> None:
    """From one doubling to the next, growth doubles if it is linear, and is fourfold if quadratic."""
    shortest = 256 if need_weights else 1024
    attention = la.MultiHeadAttention(7, 6, 4096, 0.0, 2)

    @torch.no_grad()
    def run(num_tokens) -> None:
        attention(torch.ones(2, num_tokens, 7), need_weights=need_weights)

    peaks = [
        peak_bytes(lambda n=n: run(n), tmp_path) for n in (shortest, 2 * shortest, 4 * shortest)
    ]
    growth = (peaks[2] - peaks[1]) / (peaks[1] - peaks[0])
    assert growth == pytest.approx(4 if need_weights else 2, rel=0.1)


@pytest.mark.parametrize(
    ("batch", "mask_batch"),
    [((1, 2), ()), ((1, 2), (2,)), ((1, 2), (1, 2)), ((2,), (2,)), ((), ())],
)
def test_no_mask_is_too_short_for_the_kernel(batch, mask_batch) -> None:
    x = random_tensor(*batch, 64, HEAD_DIM)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        la.fused_attention(x, x, x, attn_mask=random_mask(*mask_batch, 64, 64))
    names = {event.key for event in recorded.key_averages()}
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in names
    assert not {"aten::bmm", "aten::_safe_softmax"} & names


X, MASK = torch.ones(2, 5, 7), torch.ones(5, 5, dtype=torch.bool)
NO_MASK = "were given together; combine them: attn_mask & causal_mask(q_len, kv_len)"

test_refuses = refusals(
    ("attn_mask must be boolean", lambda: la.fused_attention(X, X, X, MASK.float()), TypeError),
    ("batch dimensions of query, (2,), got", lambda: la.fused_attention(X, X[:1], X)),
    ("got shape (1, 2, 5, 7)", lambda: la.fused_attention(X, X, X[None])),
    ("each key needs its value, got", lambda: la.fused_attention(X, X, X.repeat(1, 2, 1))),
    ("values of shape (2, 5, 7)", lambda: la.fused_attention(X, X[:, :4], X, is_causal=True)),
    (NO_MASK, lambda: la.fused_attention(X, X, X, MASK, is_causal=True)),
    ("got shape (3, 5, 5)", lambda: la.fused_attention(X, X, X, MASK.expand(3, 5, 5))),
    ("of the query, cpu, got meta", lambda: la.fused_attention(X, X, X, MASK.to("meta"))),
)
