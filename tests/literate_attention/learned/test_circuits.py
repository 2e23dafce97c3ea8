"""Parts add up to the whole, patches are runs, matrices are scores, a cut wire is a sum without one term."""

import itertools
from functools import partial

import pytest
import torch
from harness.library.random_tensors import random_ids
from harness.library.refusals import refusals
from torch.nn.functional import softmax
from torch.testing import assert_close

import literate_attention as la

LAYERS, HEADS, KV_HEADS, HEAD_DIM, WIDTH = 3, 6, 2, 4, 10
ANGLES = {"atol": 1e-5, "rtol": 1e-5}
"""Cosines and sines are kept in float32, so two turns are only so close to their difference."""


def random_model(*, rotary=True):
    """A model in float64, whose norms have weights that nobody could forget unnoticed."""
    torch.manual_seed(123)
    rope = la.RotaryEmbedding(HEAD_DIM, context_length=17, base=50.0) if rotary else None
    sizes = {"num_heads": HEADS, "num_kv_heads": KV_HEADS, "head_dim": HEAD_DIM, "rope": rope}
    model = la.llama_model(11, WIDTH, 19, LAYERS, **sizes).double().requires_grad_(False)
    for name, weight in model.named_parameters():
        if "norm" in name:
            weight.uniform_(0.5, 2.0)
        else:
            weight.mul_(3.0)
    return model


@pytest.fixture
def model():
    return random_model()


tokens = partial(random_ids, 11)


def without_size(x):
    return x / x.square().mean(dim=-1, keepdim=True).add(1e-5).sqrt()


# The stream and what is written to it


def test_the_stream_goes_through_the_blocks(model) -> None:
    token_ids = tokens(2, 7)
    stream = la.residual_stream(model, token_ids)
    assert stream.shape == (2, LAYERS + 1, 7, WIDTH)
    assert_close(stream[:, 0], model.token_embedding.weight[token_ids])
    for layer, block in enumerate(model.blocks):
        assert_close(stream[:, layer + 1], block(stream[:, layer]))


@pytest.mark.parametrize("versus", [None, 8])
@pytest.mark.parametrize("place", [-1, 2])
def test_parts_of_a_logit_add_up_to_it(model, versus, place) -> None:
    token_ids = tokens(7)
    parts = la.logit_attribution(model, token_ids, token=3, versus=versus, place=place)
    logits = model(token_ids)[place]
    expected = logits[3] - (0.0 if versus is None else logits[versus])
    assert parts.total() == pytest.approx(expected.item(), abs=1e-9)


def test_parts_of_a_logit_by_loops(model) -> None:
    token_ids, token = tokens(7), 3
    parts = la.logit_attribution(model, token_ids, token)
    stream, outputs = la.residual_stream(model, token_ids), la.head_outputs(model, token_ids)
    size = (sum(x**2 for x in stream[-1, -1].tolist()) / WIDTH + 1e-5) ** 0.5

    def logit(x):
        weights = model.final_norm.weight.tolist()
        table = model.token_embedding.weight[token].tolist()
        products = zip(x.tolist(), weights, table, strict=True)
        return sum(one * weight * other / size for one, weight, other in products)

    assert parts.embedding.item() == pytest.approx(logit(stream[0, -1]))
    for layer, head in itertools.product(range(LAYERS), range(HEADS)):
        assert parts.heads[layer, head].item() == pytest.approx(logit(outputs[layer, head, -1]))
    for layer, block in enumerate(model.blocks):
        x = stream[layer] + block.attention(block.attention_norm(stream[layer]))
        added = block.feed_forward(block.feed_forward_norm(x))[-1]
        assert parts.feed_forward[layer].item() == pytest.approx(logit(added))


def test_of_attention_alone_the_heads_say_everything() -> None:
    torch.manual_seed(123)
    model = la.attention_only_model(11, 12, num_layers=2, num_heads=3)
    parts = la.logit_attribution(model, tokens(7), token=3)
    assert parts.feed_forward.tolist() == [0.0, 0.0]
    assert parts.total() == pytest.approx(model(tokens(7))[-1, 3].item(), abs=1e-9)


# Patching


def last_logits(model, token_ids):
    return model.logits(model.hidden_states(token_ids)[-1])


def test_a_patched_place_is_a_run_with_one_vector_replaced(model) -> None:
    one, other, places = tokens(7), tokens(7, seed=2), [2, 5, 6]
    patched = la.patch_residual_stream(model, one, other, places)
    assert patched.shape == (LAYERS + 1, 3, 11)
    replacing = la.residual_stream(model, other)
    for row, place in enumerate(places):
        changed = one.clone()
        changed[place] = other[place]
        assert_close(patched[0, row], last_logits(model, changed))  # the embedding is the token
        for layer in range(LAYERS):

            def replace(_, inputs, at):
                x = inputs[0].clone()
                x[at[1]] = replacing[at]
                return (x,)

            hook = model.blocks[layer].register_forward_pre_hook(
                lambda block, inputs, at=(layer, place): replace(block, inputs, at)
            )
            assert_close(patched[layer, row], last_logits(model, one))
            hook.remove()
    assert_close(patched[-1, 2], last_logits(model, other))
    assert_close(patched[-1, 0], last_logits(model, one))  # too late: nobody reads it any more
    assert not la.patch_residual_stream(model.requires_grad_(), one, other, places).requires_grad


def test_a_patched_head_is_a_run_with_one_part_replaced(model) -> None:
    one, other = tokens(7), tokens(7, seed=2)
    patched = la.patch_heads(model, one, other)
    assert_close(la.patch_heads(model, one, other, first=1), patched[1:])
    replacing, x = la.residual_stream(model, other), la.residual_stream(model, one)
    for layer, head in itertools.product(range(LAYERS), range(HEADS)):
        block = model.blocks[layer]
        columns = slice(head * HEAD_DIM, (head + 1) * HEAD_DIM)
        found = []
        hook = block.attention.out_proj.register_forward_pre_hook(
            lambda _, inputs, found=found: found.append(inputs[0])
        )
        for stream in (x, replacing):
            block.attention(block.attention_norm(stream[layer]))
        hook.remove()
        mixed = found[0].clone()
        mixed[:, columns] = found[1][:, columns]
        y = x[layer] + block.attention.out_proj(mixed)
        y = y + block.feed_forward(block.feed_forward_norm(y))
        assert_close(patched[layer, head], la.run_from_layer(model, y, layer + 1))


# Circuits of weights


@pytest.mark.parametrize("rotary", [True, False])
def test_the_weights_say_what_the_heads_look_at(rotary) -> None:
    model, token_ids = random_model(rotary=rotary), tokens(7)
    maps, stream = la.attention_maps(model, token_ids), la.residual_stream(model, token_ids)
    for layer, head in itertools.product(range(LAYERS), range(HEADS)):
        x = without_size(stream[layer])
        scores = torch.full((7, 7), -torch.inf, dtype=torch.float64)
        for i, j in itertools.product(range(7), range(7)):
            if j <= i:
                scores[i, j] = x[i] @ la.qk_circuit(model, layer, head, i - j) @ x[j]
        assert_close(maps[layer, head], softmax(scores, dim=-1), **ANGLES)
    unturned = x @ la.qk_circuit(model, layer, head) @ x.T
    unturned = softmax(unturned.masked_fill(~la.causal_mask(7), -torch.inf), dim=-1)
    assert torch.allclose(maps[layer, head], unturned) == (not rotary)


def test_the_weights_say_what_the_heads_write(model) -> None:
    token_ids = tokens(7)
    maps, outputs = la.attention_maps(model, token_ids), la.head_outputs(model, token_ids)
    stream = la.residual_stream(model, token_ids)
    for layer, head in itertools.product(range(LAYERS), range(HEADS)):
        written = without_size(stream[layer]) @ la.ov_circuit(model, layer, head)
        assert_close(outputs[layer, head], maps[layer, head] @ written)


# A wire


@pytest.mark.parametrize(
    "wires",
    [
        {(0, 3): [(1, 1)]},
        {(0, 5): [(2, 0)]},
        {(1, 2): [(2, 0), (2, 1)]},
        {(0, 0): [(1, 0), (2, 1)], (0, 4): [(1, 0)], (1, 5): [(2, 1), (2, 0)]},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "instead", [torch.zeros_like, partial(torch.roll, shifts=2, dims=0)], ids=["zeros", "shifted"]
)
@pytest.mark.parametrize(
    ("part", "count"), [("key", KV_HEADS), ("value", KV_HEADS), ("query", HEADS)]
)
def test_keys_do_not_see_what_the_heads_write(model, wires, instead, part, count) -> None:
    token_ids, written = tokens(7), {}
    with la.path_patch(model, wires, instead, part):
        cut, maps = model.hidden_states(token_ids), la.attention_maps(model, token_ids)
    x = model.token_embedding(token_ids)
    for layer, block in enumerate(model.blocks):
        attention, normed = block.attention, block.attention_norm(x)
        made = {
            "query": la.split_heads(attention.W_query(normed), HEADS),
            "key": la.split_heads(attention.W_key(normed), KV_HEADS),
            "value": la.split_heads(attention.W_value(normed), KV_HEADS),
        }
        for head in range(count):
            senders = [sender for sender, ends in wires.items() if (layer, head) in ends]
            hidden = [written[sender] - instead(written[sender]) for sender in senders]
            if hidden:
                less = block.attention_norm(x - torch.stack(hidden).sum(dim=0))
                made[part][head] = la.split_heads(getattr(attention, f"W_{part}")(less), count)[
                    head
                ]
        key = attention.rope(made["key"]).repeat_interleave(HEADS // KV_HEADS, dim=0)
        scores = attention.rope(made["query"]) @ key.mT / HEAD_DIM**0.5
        weights = softmax(scores.masked_fill(~la.causal_mask(7), -torch.inf), dim=-1)
        assert_close(maps[layer], weights)
        found = weights @ made["value"].repeat_interleave(HEADS // KV_HEADS, dim=0)
        for head in range(HEADS):
            columns = slice(head * HEAD_DIM, (head + 1) * HEAD_DIM)
            written[layer, head] = found[head] @ attention.out_proj.weight[:, columns].T
        x = x + attention.out_proj(found.transpose(0, 1).flatten(1))
        x = x + block.feed_forward(block.feed_forward_norm(x))
    assert_close(cut, model.final_norm(x))
    assert not torch.allclose(cut, model.hidden_states(token_ids))


def test_the_wire_is_whole_again_after_an_exception(model) -> None:
    with pytest.raises(KeyError), la.path_patch(model, {(0, 1): [(1, 0), (2, 1)]}):
        raise KeyError
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


def test_a_hook_of_the_readers_own_is_no_cut(model) -> None:
    seen = []
    projection = model.blocks[2].attention.W_key
    projection.register_forward_hook(lambda _, __, key: seen.append(key))
    with la.path_patch(model, {(0, 1): [(2, 0)]}):
        model(tokens(7))
    assert len(seen) == 1


# What is refused

M, SEVEN, SIX = random_model(), tokens(7), tokens(6)


def normed():
    return la.llama_model(11, WIDTH, 19, 2, num_heads=2, num_kv_heads=2, qk_norm=True)


def cut(sender, end, **options) -> None:
    with la.path_patch(M, {sender: [end]}, **options):
        raise AssertionError


def cut_twice() -> None:
    with la.path_patch(M, {(0, 1): [(2, 0)]}):
        cut((1, 1), (2, 0))


test_refused = refusals(
    ("stream has the stages 0 to 3, got 4", lambda: la.run_from_layer(M, torch.zeros(7, WIDTH), 4)),
    (
        "stream has the stages 0 to 3, got -1",
        lambda: la.run_from_layer(M, torch.zeros(7, WIDTH), -1),
    ),
    ("as many tokens, got 7 and 6", lambda: la.patch_heads(M, SEVEN, SIX)),
    ("as many tokens, got 7 and 6", lambda: la.patch_residual_stream(M, SEVEN, SIX, [0])),
    ("there is no layer 3", lambda: la.patch_heads(M, SEVEN, SEVEN, first=3)),
    ("there is no head 6", lambda: la.qk_circuit(M, 2, 6)),
    ("there is no head -1", lambda: la.ov_circuit(M, 2, -1)),
    ("there is no layer 3", lambda: la.qk_circuit(M, 3, 0)),
    ("there is no layer 3", lambda: la.ov_circuit(M, 3, 0)),
    ("distance must be at least 0, got -5", lambda: la.qk_circuit(M, 0, 0, distance=-5)),
    ("no matrix says how a head scores two tokens", lambda: la.qk_circuit(normed(), 1, 0)),
    ("token id -1 is outside the vocabulary", lambda: la.logit_attribution(M, SEVEN, -1)),
    ("token id 11 is outside the", lambda: la.logit_attribution(M, SEVEN, 1, versus=11)),
    ("there is no head 6", lambda: cut((0, 6), (1, 0))),
    ("can end in layers 2 to 2, got 1", lambda: cut((1, 0), (1, 0))),
    ("can end in layers 2 to 2, got 3", lambda: cut((1, 0), (3, 0))),
    ("has 2 key-value heads, counted", lambda: cut((1, 0), (2, 2))),
    ("has 6 heads,", lambda: cut((1, 0), (2, 6), part="query")),
    ("wires to layer 2 are already cut; name all of them in one call", cut_twice),
)
