"""Rotations: by hand, by complex numbers, and what they leave of two positions."""

import cmath
import math

import pytest
import torch
from harness.library.random_tensors import random_tensor
from harness.library.refusals import refusals
from torch.testing import assert_close

import literate_attention as la

BATCH, HEADS, NUM_TOKENS, HEAD_DIM, CONTEXT, D_IN = 2, 3, 5, 14, 31, 11
ROTATIONS = {"half-split": la.rotate_half_split, "interleaved": la.rotate_interleaved}

each_rotation = pytest.mark.parametrize("rotate", ROTATIONS.values(), ids=ROTATIONS)


def angles(positions):
    return torch.outer(positions.double(), la.rotary_frequencies(HEAD_DIM, base=100.0).double())


def test_the_table_holds_position_times_frequency() -> None:
    rope = la.RotaryEmbedding(HEAD_DIM, CONTEXT, base=100.0)
    for position in range(CONTEXT):
        for pair in range(HEAD_DIM // 2):
            angle = position * 100.0 ** (-2 * pair / HEAD_DIM)
            # the frequencies are rounded to float32
            assert rope.cos[position, pair].item() == pytest.approx(math.cos(angle), abs=1e-5)
            assert rope.sin[position, pair].item() == pytest.approx(math.sin(angle), abs=1e-5)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (0,)], ids=str)
@each_rotation
def test_a_rotation_is_a_product_of_complex_numbers(rotate, batch) -> None:
    x, phi = random_tensor(*batch, NUM_TOKENS, HEAD_DIM), angles(torch.arange(NUM_TOKENS))
    turned = rotate(x, phi.cos(), phi.sin())
    assert turned.shape == x.shape
    pairs = HEAD_DIM // 2
    for pair in range(pairs):
        real, imaginary = (
            (pair, pair + pairs) if rotate is la.rotate_half_split else (2 * pair, 2 * pair + 1)
        )
        for token in range(NUM_TOKENS):
            unit = cmath.exp(1j * phi[token, pair].item())
            expected = torch.complex(x[..., token, real], x[..., token, imaginary]) * unit
            assert_close(turned[..., token, real], expected.real)
            assert_close(turned[..., token, imaginary], expected.imag)


@pytest.mark.parametrize("start", [0, 1, 7, CONTEXT - NUM_TOKENS])
def test_a_text_that_starts_later_is_a_piece_of_the_longer_one(start) -> None:
    rope = la.RotaryEmbedding(HEAD_DIM, CONTEXT).double()
    x = random_tensor(BATCH, HEADS, CONTEXT, HEAD_DIM)
    piece = slice(start, start + NUM_TOKENS)
    assert torch.equal(rope(x[..., piece, :], start), rope(x)[..., piece, :])


def test_reordered_rows_make_one_pairing_of_the_other() -> None:
    """Scores are equal to the last bit but one; with the wrong pairing they are not even close."""
    x = random_tensor(BATCH, NUM_TOKENS, D_IN)
    phi = angles(torch.arange(NUM_TOKENS))
    weights = [random_tensor(HEADS * HEAD_DIM, D_IN, seed=seed) for seed in (1, 2)]

    def scores(rotate, *weights):
        query, key = (
            rotate(la.split_heads(x @ weight.T, HEADS), phi.cos(), phi.sin()) for weight in weights
        )
        return query @ key.mT

    reordered = [la.interleaved_to_half_split(weight, HEADS) for weight in weights]
    expected = scores(la.rotate_interleaved, *weights)
    assert_close(scores(la.rotate_half_split, *reordered), expected)
    assert (
        not scores(la.rotate_half_split, *weights)[..., 1:, :1].isclose(expected[..., 1:, :1]).any()
    )


def test_yarn_keeps_fast_pairs_and_slows_slow_ones_down() -> None:
    frequencies = la.rotary_frequencies(64, base=10_000.0)
    ratio = frequencies / la.scale_yarn(frequencies, 8.0, original_context=1024)
    turns = 1024 * frequencies / (2 * math.pi)
    assert_close(ratio[turns > 40], torch.ones_like(ratio[turns > 40]))
    assert_close(ratio[turns < 0.5], torch.full_like(ratio[turns < 0.5], 8.0))
    assert (ratio.diff() >= -1e-6).all()
    assert ((ratio > 1.01) & (ratio < 7.99)).sum() > 3


def test_yarn_lengthens_queries_and_keys() -> None:
    assert la.yarn_attention_factor(4.0) == pytest.approx(1 + 0.1 * math.log(4))
    assert la.yarn_attention_factor(0.5) == 1.0
    plain, longer = (la.RotaryEmbedding(64, 8, attention_factor=factor) for factor in (1.0, 1.25))
    x = random_tensor(3, 64).float()
    assert_close(longer(x), 1.25 * plain(x))


def test_the_tables_are_no_part_of_a_checkpoint_but_move_with_the_module() -> None:
    rope = la.RotaryEmbedding(64, 8)
    assert rope.state_dict() == {}
    assert rope.to(torch.bfloat16).cos.dtype == torch.bfloat16
    assert rope.to("meta").sin.is_meta


def test_the_tables_are_there_after_a_life_without_memory() -> None:
    """No checkpoint brings them: whoever builds on the meta device, or empties a module, has them too."""
    x, settings = torch.ones(5, 64), {"scale": lambda x: x / 2, "attention_factor": 1.25}
    rope = la.RotaryEmbedding(64, 8, 100.0, **settings)
    expected = rope(x)
    with torch.device("meta"):
        without_memory = la.RotaryEmbedding(64, 8, 100.0, **settings)
        assert without_memory(torch.ones(5, 64)).is_meta
    assert torch.equal(rope.to("meta")(x), expected)  # as after load_state_dict(..., assign=True)
    for module in (without_memory, rope.to("meta"), rope.half()):
        assert torch.equal(module.to_empty(device="cpu").float()(x), expected)


@each_rotation
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_what_is_turned_keeps_its_type(rotate, dtype) -> None:
    turned = rotate(torch.ones(3, 14, dtype=dtype), *torch.ones(2, 3, 7).double())
    assert turned.dtype == dtype


@pytest.mark.parametrize("start", [0, 7])
def test_a_part_is_turned_and_the_rest_has_no_position(start) -> None:
    x = random_tensor(BATCH, HEADS, NUM_TOKENS, HEAD_DIM)
    rope = la.PartialRotaryEmbedding(6, CONTEXT, base=100.0, dtype=torch.float64)
    turned = rope(x, start)
    whole = la.RotaryEmbedding(6, CONTEXT, base=100.0, dtype=torch.float64)
    assert_close(turned[..., :6], whole(x[..., :6], start))
    assert torch.equal(turned[..., 6:], x[..., 6:])


test_refuses = refusals(
    ("at least 0, got -5", lambda: la.RotaryEmbedding(64, 8)(torch.ones(5, 64), start=-5)),
    ("head_dim must be even, since RoPE turns pairs", lambda: la.rotary_frequencies(7)),
    ("the sequence has 9 tokens", lambda: la.RotaryEmbedding(64, 8)(torch.ones(5, 64), start=4)),
    ("number of angles = 64, got shape (5", lambda: la.RotaryEmbedding(64, 8)(torch.ones(5, 2))),
    ("number of angles = 4, got shape", lambda: la.PartialRotaryEmbedding(4, 8)(torch.ones(5, 2))),
    ("number of angles = 4, got shape (5, 2", lambda: la.rotate_interleaved(*torch.ones(3, 5, 2))),
)
