"""A ring of processes computes what one process computes, and shares the work evenly."""

import re

import pytest
import torch
from harness.library import ring
from harness.library.processes import by_torchrun, processes
from harness.library.random_tensors import query_key_value, random_tensor
from harness.library.refusals import refusals
from torch.testing import assert_close

import literate_attention as la
from literate_attention.models.ring_attention import tiles
from literate_attention.models.ring_comparison import compare_ring

Q_LEN, KV_LEN, HEAD_DIM, VALUE_DIM = 3, 13, 7, 11
BATCH, KV_HEADS, SHARED_BY = 2, 3, 5


PARTS = [(13,), (1, 12), (6, 7), (2, 3, 5, 3), (1,) * 13]


@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("sizes", PARTS, ids=str)
def test_parts_in_any_order_merge_to_the_whole(sizes, is_causal) -> None:
    query, key, value = query_key_value(BATCH, kv_len=KV_LEN)
    mask = la.causal_mask(Q_LEN, KV_LEN) if is_causal else None
    masks = (None,) * len(sizes) if mask is None else mask.split(sizes, dim=-1)
    parts = [
        la.partial_attention(query, k, v, attn_mask=each)
        for k, v, each in zip(key.split(sizes, -2), value.split(sizes, -2), masks, strict=True)
    ]
    scores = query @ key.mT / HEAD_DIM**0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    for ordered in (parts, parts[::-1]):
        first, *rest = ordered
        for part in rest:
            first = la.merge_partials(first, part)
        context, logsumexp = first
        assert_close(context, la.fused_attention(query, key, value, attn_mask=mask))
        assert_close(logsumexp, scores.logsumexp(dim=-1, keepdim=True))


@pytest.mark.parametrize("hidden", ["neither", "first", "second", "both"])
def test_a_query_without_a_key_in_one_part_is_still_right(hidden) -> None:
    query, key, value = query_key_value(BATCH, kv_len=KV_LEN)
    mask = torch.ones(Q_LEN, KV_LEN, dtype=torch.bool)
    mask[1, :6] = hidden in ("neither", "second")
    mask[1, 6:] = hidden in ("neither", "first")
    parts = [
        la.partial_attention(query, key[:, part], value[:, part], attn_mask=mask[:, part])
        for part in (slice(0, 6), slice(6, None))
    ]
    context, logsumexp = la.merge_partials(*parts)
    assert_close(context, la.fused_attention(query, key, value, attn_mask=mask))
    assert (logsumexp == -torch.inf).any() == (hidden == "both")
    gradients = la.partial_gradients(
        query, key, value, context, logsumexp, torch.ones_like(context), attn_mask=mask
    )
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("size", [1.0, 1e4, -1e4])
def test_large_scores_do_not_overflow(size) -> None:
    query, key, value = query_key_value(BATCH, kv_len=KV_LEN)
    halves = [slice(0, 6), slice(6, None)]
    parts = [la.partial_attention(size * query, key[:, half], value[:, half]) for half in halves]
    context, _ = la.merge_partials(*parts)
    assert_close(context, la.fused_attention(size * query, key, value))


@pytest.mark.parametrize("zigzag", [True, False], ids=["zig-zag", "in order"])
@pytest.mark.parametrize(("num_tokens", "world_size"), [(2, 1), (12, 3), (40, 4), (70, 5)])
def test_shards_hold_each_token_once(num_tokens, world_size, zigzag) -> None:
    shards = la.ring_shards(num_tokens, world_size, zigzag=zigzag)
    assert len(shards) == world_size
    assert sorted(shards.flatten().tolist()) == list(range(num_tokens))
    assert (shards.diff(dim=-1) == 1).all()
    x = random_tensor(BATCH, num_tokens, HEAD_DIM)
    assert torch.equal(la.join_shards([la.shard_sequence(x, shard) for shard in shards], shards), x)


@pytest.mark.parametrize("block_size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("zigzag", [True, False], ids=["zig-zag", "in order"])
def test_tiles_cover_what_may_be_attended_once(zigzag, is_causal, block_size) -> None:
    shards = la.ring_shards(30, 3, zigzag=zigzag)
    met = torch.zeros(30, 30)
    for q_shard in shards:
        for kv_shard in shards:
            q_at, k_at = q_shard.flatten(), kv_shard.flatten()
            for rows, columns, mask in tiles(
                q_shard, kv_shard, is_causal, block_size, torch.device("cpu")
            ):
                tile = torch.ones(len(q_at[rows]), len(k_at[columns])) if mask is None else mask
                assert tile.any()
                met[q_at[rows][:, None], k_at[columns]] += tile
    assert torch.equal(met.bool(), la.causal_mask(30) if is_causal else torch.ones(30, 30).bool())
    assert met.max() == 1


SIZES = (1, 2, 3, 4)
NUM_TOKENS = 48  # for 1, 2, 3 and 4 processes, with two chunks for each


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    with processes(max(SIZES), tmp_path_factory.mktemp("processes")) as started:
        yield started


def whole_sequence(dtype=torch.float64):
    heads = KV_HEADS * SHARED_BY
    sizes = (heads, HEAD_DIM), (KV_HEADS, HEAD_DIM), (KV_HEADS, VALUE_DIM), (heads, VALUE_DIM)
    *whole, upstream = (
        random_tensor(BATCH, num_heads, NUM_TOKENS, width, seed=seed, dtype=dtype)
        for seed, (num_heads, width) in enumerate(sizes)
    )
    return whole, upstream


def in_one_process(whole, upstream, is_causal, scale=None):
    leaves = [x.detach().requires_grad_() for x in whole]
    context = torch.nn.functional.scaled_dot_product_attention(
        *leaves, is_causal=is_causal, scale=scale, enable_gqa=True
    )
    return [context.detach(), *torch.autograd.grad(context, leaves, upstream)]


def joined(found, zigzag=True):
    for each in found:
        if isinstance(each, Exception):
            raise each
    shards = la.ring_shards(NUM_TOKENS, len(found), zigzag=zigzag)
    return [la.join_shards(parts, shards) for parts in zip(*found, strict=True)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("zigzag", [True, False], ids=["zig-zag", "in order"])
@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("block_size", [5, 256])
def test_a_ring_computes_what_one_process_computes(
    workers, size, zigzag, is_causal, block_size
) -> None:
    """Context vectors and gradients, with query heads that share keys and values."""
    whole, upstream = whole_sequence()
    options = {"is_causal": is_causal, "zigzag": zigzag, "block_size": block_size, "scale": 0.3}
    found = joined(workers.run(size, ring.attend, whole, upstream, options), zigzag)
    expected = in_one_process(whole, upstream, is_causal, scale=0.3)
    for name, ours, theirs in zip(["context", *"qkv"], found, expected, strict=True):
        assert_close(ours, theirs, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_in_any_precision(workers, dtype) -> None:
    whole, upstream = whole_sequence(dtype)
    found = joined(workers.run(4, ring.attend, whole, upstream, {"is_causal": True}))
    exact = in_one_process([x.double() for x in whole], upstream.double(), is_causal=True)
    for ours, expected in zip(found, exact, strict=True):
        assert ours.dtype == dtype
        # what is merged from four shards is rounded with each
        few_roundings = 8 * torch.finfo(dtype).eps * expected.abs().max().item()
        assert_close(ours.double(), expected, rtol=0, atol=few_roundings)


def test_zigzag_shares_the_work_evenly(workers) -> None:
    """Counted: no process does more than 1.15 of an equal part; in order, one does much more."""
    whole, upstream = whole_sequence()
    busiest = {}
    for zigzag in (True, False):
        options = {"is_causal": True, "zigzag": zigzag, "block_size": 2}
        counts = workers.run(4, ring.count_scores, whole, upstream, options)
        busiest[zigzag] = max(counts) * 4 / sum(counts)
    assert 1 <= busiest[True] <= 1.15
    assert busiest[False] > 1.5


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([[(2, n, 3)] * 3 for n in (4, 6, 8)], "they have queries of 4, 6, 8 tokens"),
        ([[(4, 8, 3), (3, 8, 3), (3, 8, 3)]], "num_heads must be divisible by num_kv_heads, got 4"),
        ([[(4, 6, 3), (4, 8, 3), (4, 8, 3)]], "of the same tokens, got 6, 8 and 8"),
        ([[(4, 7, 3)] * 3], "7 tokens cannot be cut into 2 chunks of one size, 2 for each of 1"),
    ],
)
def test_refuses_in_each_process_with_a_sentence(workers, shapes, message) -> None:
    """gloo would end them."""
    for error in workers.run(len(shapes), ring.attend_to_ones, shapes):
        assert isinstance(error, ValueError)
        assert message in str(error)


ROW, TWO = torch.ones(1, 2), torch.ones(2, 1, dtype=torch.bool)

test_refuses = refusals(
    ("got shape (2, 1)", lambda: la.partial_gradients(*[ROW] * 4, ROW[:, :1], ROW, attn_mask=TWO)),
    ("10 tokens cannot be cut into 8 chunks of one size, 2 for", lambda: la.ring_shards(10, 4)),
    ("world_size must be at least 1, got 0", lambda: la.ring_shards(8, 0)),
)


@pytest.mark.whole
def test_the_command_compares_with_one_process() -> None:
    module = "literate_attention.models.ring_comparison"
    status, said, complaints = by_torchrun(2, module, "--num-tokens", "64", "--device", "cpu")
    assert status == 0, complaints
    assert "RuntimeWarning" not in complaints
    assert re.findall(r"^process .*$", said, re.M) == [
        "process 0 on cpu: tokens 0 to 15 and 48 to 63",
        "process 1 on cpu: tokens 16 to 31 and 32 to 47",
    ]
    found = re.findall(r"^(.*): at most (\S+) from one process$", said, re.M)
    names = ["context", *(f"{part} gradient" for part in ("query", "key", "value"))]
    assert [name for name, _ in found] == names
    assert all(0 < float(difference) < 1e-5 for _, difference in found)


def test_the_command_says_how_it_is_started() -> None:
    message = "torchrun --nproc-per-node 4 -m literate_attention.models.ring_comparison"
    with pytest.raises(SystemExit, match=message):
        compare_ring([])
