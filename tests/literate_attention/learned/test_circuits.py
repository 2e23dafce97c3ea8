"""Parts add up to the whole, patches are runs, matrices are scores, a cut wire is a sum without one term."""

import itertools
from functools import partial

import pytest
import torch
from harness.library.random_tensors import random_ids
from harness.library.refusals import refusals
from harness.library.run_in_parts import run_in_parts
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


def test_the_stream_and_what_heads_write_to_it(model) -> None:
    token_ids = tokens(2, 7)
    run = run_in_parts(model, token_ids)
    assert_close(la.residual_stream(model, token_ids), run.stream)
    assert_close(la.head_outputs(model, token_ids), run.outputs)


@pytest.mark.parametrize("versus", [None, 8])
@pytest.mark.parametrize("place", [-1, 2])
def test_parts_of_a_logit_by_loops(model, versus, place) -> None:
    token_ids, token = tokens(7), 3
    parts = la.logit_attribution(model, token_ids, token, versus=versus, place=place)
    run = run_in_parts(model, token_ids)
    size = (sum(x**2 for x in run.stream[-1, place].tolist()) / WIDTH + 1e-5) ** 0.5
    table = model.token_embedding.weight
    direction = table[token] - (0.0 if versus is None else table[versus])

    def logit(x):
        weights = model.final_norm.weight.tolist()
        products = zip(x[place].tolist(), weights, direction.tolist(), strict=True)
        return sum(one * weight * other / size for one, weight, other in products)

    assert parts.embedding.item() == pytest.approx(logit(run.stream[0]))
    for layer, head in itertools.product(range(LAYERS), range(HEADS)):
        assert parts.heads[layer, head].item() == pytest.approx(logit(run.outputs[layer, head]))
    for found, added in zip(parts.feed_forward, run.feed_forward, strict=True):
        assert found.item() == pytest.approx(logit(added))
    assert parts.total() == pytest.approx(logit(run.stream[-1]))


def test_of_attention_alone_the_heads_say_everything() -> None:
    torch.manual_seed(123)
    model = la.attention_only_model(11, 12, num_layers=2, num_heads=3)
    parts = la.logit_attribution(model, tokens(7), token=3)
    assert parts.feed_forward.tolist() == [0.0, 0.0]
    assert parts.total() == pytest.approx(model(tokens(7))[-1, 3].item(), abs=1e-9)


def test_a_patched_place_is_a_run_with_one_vector_replaced(model) -> None:
    one, other, places = tokens(7), tokens(7, seed=2), [2, 5, 6]
    patched = la.patch_residual_stream(model, one, other, places)
    replacing = run_in_parts(model, other).stream
    for layer, (row, place) in itertools.product(range(LAYERS + 1), enumerate(places)):
        others = torch.zeros(LAYERS + 1, 7, 1, dtype=torch.bool)
        others[layer, place] = True
        run = run_in_parts(
            model, one, enter=lambda at, x, others=others: x.where(~others[at], replacing[at])
        )
        assert_close(patched[layer, row], run.logits[-1])
    assert not la.patch_residual_stream(model.requires_grad_(), one, other, places).requires_grad


def test_a_patched_head_is_a_run_with_one_part_replaced(model) -> None:
    one, other = tokens(7), tokens(7, seed=2)
    patched = la.patch_heads(model, one, other)
    assert_close(la.patch_heads(model, one, other, first=1), patched[1:])
    replacing = run_in_parts(model, other).outputs
    for place in itertools.product(range(LAYERS), range(HEADS)):
        run = run_in_parts(
            model,
            one,
            say=lambda *at, place=place: replacing[place] if at[:2] == place else at[2],
        )
        assert_close(patched[place], run.logits[-1])


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
@pytest.mark.parametrize("part", ["key", "value", "query"])
def test_keys_do_not_see_what_the_heads_write(model, wires, instead, part) -> None:
    token_ids, written = tokens(7), {}

    def say(layer, head, output):
        written[layer, head] = output
        return output

    def hear(layer, heard, head, x):
        for sender, ends in wires.items():
            if heard == part and (layer, head) in ends:
                x = x - written[sender] + instead(written[sender])
        return x

    expected = run_in_parts(model, token_ids, hear=hear, say=say)
    with la.path_patch(model, wires, instead, part):
        cut, maps = model.hidden_states(token_ids), la.attention_maps(model, token_ids)
    assert_close(maps, expected.maps)
    assert_close(cut, expected.hidden)
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
    ("stages 0 to 3, got -1", lambda: la.run_from_layer(M, torch.zeros(7, WIDTH), -1)),
    ("as many tokens, got 7 and 6", lambda: la.patch_heads(M, SEVEN, SIX)),
    ("as many tokens, got 7 and 6", lambda: la.patch_residual_stream(M, SEVEN, SIX, [0])),
    ("there is no layer 3", lambda: la.patch_heads(M, SEVEN, SEVEN, first=3)),
    ("there is no head 6", lambda: la.qk_circuit(M, 2, 6)),
    ("there is no head -1", lambda: la.ov_circuit(M, 2, -1)),
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
