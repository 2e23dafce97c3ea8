"""The fused and the explicit path are one operation: same results, same gradients, other memory."""

import importlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention as torch_attention
from torch.profiler import ProfilerActivity, profile
from torch.testing import assert_close

from literate_attention import (
    CausalAttention,
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    SelfAttention_v1,
    SelfAttention_v2,
    causal_mask,
    fused_attention,
    scaled_dot_product_attention,
)

Q_LEN, KV_LEN, HEAD_DIM, VALUE_DIM = 3, 5, 7, 11

both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])
each_dtype = pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str
)
each_batch = pytest.mark.parametrize(
    "batch", [(), (1,), (2,), (2, 3), (1, 1), (2, 1, 3), (0,), (2, 0)], ids=str
)


def random_tensor(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def query_key_value(
    *batch: int, q_len: int = Q_LEN, kv_len: int = KV_LEN, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    return (
        random_tensor(*batch, q_len, HEAD_DIM, seed=1, dtype=dtype),
        random_tensor(*batch, kv_len, HEAD_DIM, seed=2, dtype=dtype),
        random_tensor(*batch, kv_len, VALUE_DIM, seed=3, dtype=dtype),
    )


def random_mask(*shape: int) -> Tensor:
    """Allow about half of the keys; some rows may end up without any."""
    return random_tensor(*shape, seed=5) > 0


def context_and_gradients(
    arguments: tuple[Tensor, Tensor, Tensor], need_weights: bool, **options: Any
) -> list[Tensor]:
    leaves = [tensor.detach().requires_grad_() for tensor in arguments]
    result = scaled_dot_product_attention(*leaves, **options, need_weights=need_weights)
    context = result[0] if need_weights else result
    upstream = random_tensor(*context.shape, seed=9).to(context.dtype)
    return [context, *torch.autograd.grad(context, leaves, upstream)]


def assert_paths_agree(arguments: tuple[Tensor, Tensor, Tensor], **options: Any) -> None:
    fused = context_and_gradients(arguments, need_weights=False, **options)
    explicit = context_and_gradients(arguments, need_weights=True, **options)
    for name, ours, expected in zip(["context", *"qkv"], fused, explicit, strict=True):
        assert ours.isfinite().all(), name
        assert ours.dtype == expected.dtype == arguments[0].dtype
        # Half precision keeps few bits: a sum is rounded several times, the largest terms set the error
        largest = expected.abs().max().item() if expected.numel() else 0.0
        few_roundings = 4 * torch.finfo(ours.dtype).eps * largest
        loose = {"rtol": 0, "atol": few_roundings} if ours.dtype.itemsize == 2 else {}
        assert_close(ours, expected, **loose, msg=lambda text, name=name: f"{name}: {text}")


# Both paths agree


@each_batch
@each_dtype
def test_on_any_batch_and_dtype(batch: tuple[int, ...], dtype: torch.dtype) -> None:
    assert_paths_agree(query_key_value(*batch, dtype=dtype))


@each_batch
@each_dtype
@pytest.mark.parametrize(
    ("q_len", "kv_len"), [(5, 5), (3, 5), (1, 5), (5, 3), (5, 1), (1, 1)], ids=str
)
def test_when_causal(batch: tuple[int, ...], dtype: torch.dtype, q_len: int, kv_len: int) -> None:
    arguments = query_key_value(*batch, q_len=q_len, kv_len=kv_len, dtype=dtype)
    assert_paths_agree(arguments, is_causal=True)


@each_batch
@each_dtype
def test_under_one_mask_for_all(batch: tuple[int, ...], dtype: torch.dtype) -> None:
    arguments = query_key_value(*batch, dtype=dtype)
    for shape in [(Q_LEN, KV_LEN), (1, KV_LEN), (Q_LEN, 1), (1, 1)]:
        assert_paths_agree(arguments, attn_mask=random_mask(*shape))


@each_dtype
@pytest.mark.parametrize(
    ("batch", "mask_batch"),
    [
        ((2,), (2,)),
        ((2,), (1,)),
        ((2, 3), (2, 3)),
        ((2, 3), (2, 1)),
        ((2, 3), (1, 3)),
        ((2, 3), (3,)),
        ((2, 1, 3), (2, 1, 3)),
        ((2, 1, 3), (3,)),
        ((0,), (1,)),
    ],
    ids=str,
)
def test_under_a_mask_for_each(
    batch: tuple[int, ...], mask_batch: tuple[int, ...], dtype: torch.dtype
) -> None:
    arguments = query_key_value(*batch, dtype=dtype)
    for shape in [(Q_LEN, KV_LEN), (1, KV_LEN), (Q_LEN, 1)]:
        assert_paths_agree(arguments, attn_mask=random_mask(*mask_batch, *shape))


@each_batch
@each_dtype
@pytest.mark.parametrize("scale", [0.3, 1.0, -2.0, 0.0])
def test_at_any_scale(batch: tuple[int, ...], dtype: torch.dtype, scale: float) -> None:
    arguments = query_key_value(*batch, q_len=KV_LEN, dtype=dtype)
    assert_paths_agree(arguments, scale=scale)
    assert_paths_agree(arguments, scale=scale, is_causal=True)
    assert_paths_agree(arguments, scale=scale, attn_mask=random_mask(KV_LEN, KV_LEN))


@each_dtype
@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize(
    "reorder",
    [
        lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),  # what split_heads gives
        lambda x: x.mT.contiguous().mT,
        lambda x: x.repeat_interleave(2, dim=-1)[..., ::2],
        lambda x: x.flip(-2).contiguous().flip(-2)[1:],
        lambda x: x[:1, :1].expand_as(x),
    ],
    ids=["heads", "transposed", "every other", "offset", "expanded"],
)
def test_in_any_memory_order(
    reorder: Callable[[Tensor], Tensor], is_causal: bool, dtype: torch.dtype
) -> None:
    arguments = query_key_value(2, 3, q_len=KV_LEN, dtype=dtype)
    strided = tuple(reorder(tensor) for tensor in arguments)
    assert_paths_agree(strided, is_causal=is_causal)
    results = [
        scaled_dot_product_attention(*given, is_causal=is_causal)
        for given in (strided, [tensor.contiguous() for tensor in strided])
    ]
    assert_close(*results)


@each_dtype
@both_paths
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
def test_a_row_without_keys_is_zero(
    batch: tuple[int, ...], need_weights: bool, dtype: torch.dtype
) -> None:
    arguments = query_key_value(*batch, dtype=dtype)
    attn_mask = torch.ones(Q_LEN, KV_LEN, dtype=torch.bool)
    attn_mask[1] = False
    for given in (attn_mask, torch.zeros_like(attn_mask)):
        context, *gradients = context_and_gradients(arguments, need_weights, attn_mask=given)
        assert (context[..., 1, :] == 0).all()
        assert all(gradient.isfinite().all() for gradient in gradients)
        assert (gradients[0][..., 1, :] == 0).all()
        assert context.any() == given.any()


@each_dtype
@both_paths
def test_both_are_as_near_to_the_truth(
    need_weights: bool,
    dtype: torch.dtype,
    attend_by_loops: Callable[..., tuple[Tensor, Tensor]],
) -> None:
    arguments = query_key_value(2, 3, q_len=KV_LEN, dtype=dtype)
    truth, _ = attend_by_loops(*arguments, causal_mask(KV_LEN))
    result = scaled_dot_product_attention(*arguments, is_causal=True, need_weights=need_weights)
    context = result[0] if need_weights else result
    # the weights sum to one, so the largest value bounds what a rounding can do to a context
    atol = 2 * torch.finfo(dtype).eps * arguments[2].abs().max().item()
    assert_close(context.double(), truth, rtol=0, atol=atol)


@pytest.mark.parametrize("seed", range(20))
def test_on_arguments_drawn_at_random(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)

    def size(highest: int) -> int:
        return int(torch.randint(1, highest + 1, (), generator=draw))

    batch = [size(3) for _ in range(size(4) - 1)]
    q_len, kv_len, head_dim, value_dim = size(9), size(9), size(9), size(9)
    arguments = (
        random_tensor(*batch, q_len, head_dim, seed=3 * seed),
        random_tensor(*batch, kv_len, head_dim, seed=3 * seed + 1),
        random_tensor(*batch, kv_len, value_dim, seed=3 * seed + 2),
    )
    mask_batch = [length if size(2) == 1 else 1 for length in batch]
    attn_mask = torch.rand(*mask_batch, q_len, kv_len, generator=draw) < 0.7
    assert_paths_agree(arguments, attn_mask=attn_mask)
    assert_paths_agree(arguments, is_causal=True)


# Dropout


@both_paths
@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout_takes_each_weight_away_with_the_same_chance(
    need_weights: bool, is_causal: bool, p: float
) -> None:
    """With the identity as values, the context is the weights, so that the mask can be seen.

    Each element must be dropped on its own: the number of dropped ones is binomial along every
    dimension and over all. The seed is fixed; a sound generator fails one seed in ten thousand.
    """
    shape = batch, heads, length, _ = 11, 13, 31, 31
    zeros = torch.zeros(batch, heads, length, 2)
    value = torch.eye(length).expand(shape)
    torch.manual_seed(123)
    result = scaled_dot_product_attention(
        zeros, zeros, value, None, p, is_causal, need_weights=need_weights
    )
    context = result[0] if need_weights else result

    allowed = causal_mask(length) if is_causal else torch.ones(length, length, dtype=torch.bool)
    weights = (allowed / allowed.sum(dim=-1, keepdim=True)).expand(shape)
    kept = context != 0
    assert_close(context[kept], weights[kept] / (1 - p))
    assert (allowed.expand(shape) | ~kept).all()

    surprise = (~kept & allowed).float() - p * allowed
    total = surprise.sum().item() / math.sqrt(batch * heads * allowed.sum() * p * (1 - p))
    assert abs(total) < 4
    for dim in range(4):
        cells = allowed.expand(shape).sum(dim=dim)
        spread = surprise.sum(dim=dim).square()[cells > 0] / (cells[cells > 0] * p * (1 - p))
        # the mean of n squares of nearly normal numbers: 1, give or take sqrt(2 / n)
        assert abs(spread.mean() - 1) < 6 * math.sqrt(2 / spread.numel()), dim


@both_paths
def test_dropout_leaves_the_mean_where_it_was(need_weights: bool) -> None:
    arguments = query_key_value(2, q_len=KV_LEN)
    expected = scaled_dot_product_attention(*arguments, is_causal=True)
    many = [tensor.expand(4000, *tensor.shape) for tensor in arguments]
    torch.manual_seed(123)
    result = scaled_dot_product_attention(
        *many, is_causal=True, dropout_p=0.3, need_weights=need_weights
    )
    context = result[0] if need_weights else result
    standard_error = context.std(dim=0) / math.sqrt(len(context))
    assert ((context.mean(dim=0) - expected).abs() < 5 * standard_error).all()


@both_paths
def test_a_seed_repeats_dropout_and_the_next_call_does_not(need_weights: bool) -> None:
    arguments = query_key_value(2, 3)

    def attend() -> Tensor:
        result = scaled_dot_product_attention(*arguments, dropout_p=0.5, need_weights=need_weights)
        return result[0] if need_weights else result

    torch.manual_seed(123)
    first, second = attend(), attend()
    torch.manual_seed(123)
    assert torch.equal(attend(), first)
    assert not torch.equal(second, first)


# Which path is taken

MODULES = {
    "v1": lambda: SelfAttention_v1(7, 6),
    "v2": lambda: SelfAttention_v2(7, 6),
    "causal": lambda: CausalAttention(7, 6, 4096, 0.0),
    "wrapper": lambda: MultiHeadAttentionWrapper(7, 6, 4096, 0.0, 2),
    "multi-head": lambda: MultiHeadAttention(7, 6, 4096, 0.0, 2),
}


@pytest.mark.parametrize("build", MODULES.values(), ids=MODULES)
def test_the_kernel_runs_unless_weights_are_asked_for(
    build: Callable[[], nn.Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def spy(*arguments: Any, **options: Any) -> Tensor:
        calls.append(arguments)
        return torch_attention(*arguments, **options)

    # the package's attribute of this name is the function, so the module has to be fetched
    module = importlib.import_module("literate_attention.story.fused_attention")
    monkeypatch.setattr(module, "_kernel", spy)
    attention, x = build(), torch.ones(2, 5, 7)
    attention(x, need_weights=True)
    assert calls == []
    attention(x)
    assert calls


@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 1, 3)], ids=str)
def test_the_function_agrees_with_torchs(batch: tuple[int, ...]) -> None:
    arguments = query_key_value(*batch, q_len=KV_LEN)
    attn_mask = random_mask(KV_LEN, KV_LEN)
    for options in ({}, {"attn_mask": attn_mask}, {"is_causal": True}, {"scale": 0.3}):
        assert_close(fused_attention(*arguments, **options), torch_attention(*arguments, **options))


@pytest.mark.usefixtures("unchecked")
def test_gradients() -> None:
    arguments = tuple(tensor.requires_grad_() for tensor in query_key_value(2))
    attn_mask = random_mask(Q_LEN, KV_LEN)
    assert torch.autograd.gradcheck(
        lambda *tensors: fused_attention(*tensors, attn_mask=attn_mask), arguments
    )


# Memory


def peak_bytes(run: Callable[[], object], folder: Path) -> int:
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


@pytest.mark.parametrize("name", ["causal", "wrapper", "multi-head"])
@both_paths
def test_memory_grows_linearly_on_the_fused_path_only(
    name: str, need_weights: bool, tmp_path: Path
) -> None:
    """From one doubling to the next, growth doubles if it is linear, and is fourfold if quadratic."""
    shortest = 256 if need_weights else 1024

    @torch.no_grad()
    def run(num_tokens: int) -> None:
        MODULES[name]()(torch.ones(2, num_tokens, 7), need_weights)

    peaks = [
        peak_bytes(lambda n=n: run(n), tmp_path) for n in (shortest, 2 * shortest, 4 * shortest)
    ]
    growth = (peaks[2] - peaks[1]) / (peaks[1] - peaks[0])
    assert growth == pytest.approx(4 if need_weights else 2, rel=0.1)


@pytest.mark.parametrize(
    ("batch", "mask_batch"),
    [((1, 2), ()), ((1, 2), (2,)), ((1, 2), (1, 2)), ((2,), (2,)), ((), ())],
)
def test_no_mask_is_too_short_for_the_kernel(
    batch: tuple[int, ...], mask_batch: tuple[int, ...]
) -> None:
    x = random_tensor(*batch, 64, HEAD_DIM)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        fused_attention(x, x, x, attn_mask=random_mask(*mask_batch, 64, 64))
    names = {event.key for event in recorded.key_averages()}
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in names
    assert not {"aten::bmm", "aten::_safe_softmax"} & names


# Large numbers


@both_paths
@pytest.mark.parametrize("is_causal", [False, True])
def test_half_precision_scores_are_scaled_before_they_overflow(
    need_weights: bool, is_causal: bool
) -> None:
    x = torch.full((1, 1, 4, 64), 40.0, dtype=torch.float16)
    assert (x @ x.mT).isinf().all()
    result = scaled_dot_product_attention(x, x, x, is_causal=is_causal, need_weights=need_weights)
    assert_close(result[0] if need_weights else result, x)


# What is refused

X = torch.ones(2, 5, 7)
MASK = torch.ones(5, 5, dtype=torch.bool)

FUNCTIONS: dict[str, Callable[..., object]] = {
    "fused function": fused_attention,
    "fused path": scaled_dot_product_attention,
    "explicit path": lambda *tensors, **options: scaled_dot_product_attention(
        *tensors, need_weights=True, **options
    ),
}

each_function = pytest.mark.parametrize("attend", FUNCTIONS.values(), ids=FUNCTIONS)


@pytest.mark.usefixtures("unchecked")
@each_function
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X.long(), X, X), {}, "query must hold floating-point numbers, got torch.int64"),
        ((X, X.long(), X), {}, "key must hold floating-point numbers, got torch.int64"),
        ((X, X, X.bool()), {}, "value must hold floating-point numbers, got torch.bool"),
        ((X, X, X), {"attn_mask": MASK.float()}, "attn_mask must be boolean, True = may attend"),
    ],
)
def test_refuses_what_is_of_another_type(
    attend: Callable[..., object],
    arguments: tuple[Tensor, Tensor, Tensor],
    options: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        attend(*arguments, **options)


@pytest.mark.usefixtures("unchecked")
@each_function
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            (X[0, 0], X, X),
            {},
            "query must have at least 2 dimensions (num_tokens, head_dim), got 1: shape (7,)",
        ),
        ((X, X[0, 0], X), {}, "key must have at least 2 dimensions"),
        ((X, X, X[0, 0]), {}, "value must have at least 2 dimensions"),
        (
            (X, X[..., :4], X),
            {},
            "the last dimension of key must be the width of query = 7, got shape (2, 5, 4)",
        ),
        (
            (X, X[:, :4], X[:, :3]),
            {},
            "key and value must have the same number of tokens, got 4 keys and 3 values",
        ),
        (
            (X, X[:1], X),
            {},
            "key must have the batch dimensions of query, (2,), got shape (1, 5, 7)",
        ),
        (
            (X, X, X[None]),
            {},
            "value must have the batch dimensions of query, (2,), got shape (1, 2, 5, 7)",
        ),
        ((X, X, X), {"dropout_p": 1.0}, "dropout_p must lie in [0, 1), got 1.0"),
        ((X, X, X), {"dropout_p": -0.5}, "dropout_p must lie in [0, 1), got -0.5"),
        (
            (X, X, X),
            {"attn_mask": MASK, "is_causal": True},
            "were given together; combine them: attn_mask & causal_mask(q_len, kv_len)",
        ),
        (
            (X, X, X),
            {"attn_mask": MASK[:4]},
            "scores of shape (2, 5, 5), (*batch, queries, keys), got shape (4, 5)",
        ),
        ((X, X, X), {"attn_mask": MASK[0]}, "got shape (5,)"),
        ((X, X, X), {"attn_mask": MASK.expand(3, 5, 5)}, "got shape (3, 5, 5)"),
        ((X, X, X), {"attn_mask": MASK.expand(1, 2, 5, 5)}, "got shape (1, 2, 5, 5)"),
    ],
)
def test_refuses_sizes_that_do_not_fit(
    attend: Callable[..., object],
    arguments: tuple[Tensor, Tensor, Tensor],
    options: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        attend(*arguments, **options)


def test_the_function_alone_is_not_causal_for_unequal_lengths() -> None:
    message = (
        "is_causal needs as many queries as keys, got 3 and 5; "
        "pass attn_mask=causal_mask(q_len, kv_len) instead"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        fused_attention(*query_key_value(2), is_causal=True)


@pytest.mark.usefixtures("unchecked")
@both_paths
def test_refuses_an_unknown_stream(need_weights: bool) -> None:
    message = "stream must be one of ('torch', 'mkl'), got 'cuda'"
    with pytest.raises(ValueError, match=re.escape(message)):
        scaled_dot_product_attention(X, X, X, dropout_stream="cuda", need_weights=need_weights)
