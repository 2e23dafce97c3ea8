"""Each piece of the models is judged by itself: what is right is right, and what is wrong is named."""

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm

from literate_attention.exercises._judging import wrong
from literate_attention.exercises.pieces import (
    BY_NAME,
    Piece,
    check_piece,
    grouped_query_attention,
    kv_cache,
    ring_attention,
    rotary_embeddings,
    transformer_block,
    windows_and_sinks,
)
from literate_attention.exercises.pieces._judged import Judged

PIECES: list[Piece] = [
    *transformer_block.PIECES,
    *rotary_embeddings.PIECES,
    *grouped_query_attention.PIECES,
    *kv_cache.PIECES,
    *windows_and_sinks.PIECES,
    *ring_attention.PIECES,
]


def judged(piece: Piece) -> Judged:
    assert isinstance(piece.check, Judged)
    return piece.check


def mistakes_of(judge: Any, number: int) -> dict[tuple[str, ...], Any]:
    """Return the wrong implementations that make so many mistakes, by what is to be said."""
    mistakes = {
        says if isinstance(says, tuple) else (says,): mistake
        for says, mistake in judge.mistakes.items()
    }
    return {says: mistake for says, mistake in mistakes.items() if len(says) == number}


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_the_librarys_own_is_right(piece: Piece) -> None:
    assert BY_NAME[piece.name] is piece
    assert piece.check(piece.library), piece.check(piece.library)


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_every_mistake_is_named_as_what_it_is(piece: Piece) -> None:
    mistakes = mistakes_of(judged(piece), 1)
    assert len(mistakes) >= 6
    if isinstance(judged(piece).then, Judged):
        mistakes |= mistakes_of(judged(piece).then, 1)
    for says, mistake in mistakes.items():
        verdict = piece.check(mistake)
        assert not verdict
        assert verdict.says == wrong(*says).says
        assert "should be" in verdict.case


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_two_mistakes_at_once_are_never_right(piece: Piece) -> None:
    pairs = mistakes_of(judged(piece), 2)
    sentences = {wrong(*says).says for says in [*mistakes_of(judged(piece), 1), *pairs]}
    for mistake in list(pairs.values())[:: max(len(pairs) // 6, 1)]:
        verdict = piece.check(mistake)
        assert not verdict
        assert verdict.says in sentences  # of several that come to the same, the first is named


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("RMSNorm", "mean is subtracted", "weight is one too large"),
        ("RMSNorm", "root of the sum", "weight is not used"),
        ("SwiGLU", "are swapped", "activation is GELU"),
        ("SwiGLU", "activation is ReLU", "are added"),
        ("TransformerBlock", "stand on the stream", "of the attention serves both"),
        ("TransformerBlock", "nothing is added to what came in", "nothing is added to what the"),
        ("TransformerBlock", "has no norm before it", "not told the options"),
        ("LanguageModel", "last norm is missing", "gets the first cache"),
        ("LanguageModel", "run in reverse", "handed out in reverse"),
        ("RotaryEmbedding", "the other pairing", "start is ignored"),
        ("RotaryEmbedding", "turns the wrong way", "counted from 1"),
        ("RotaryEmbedding", "all tokens get", "base is not used"),
        ("window_mask", "one key too wide", "sinks are forgotten"),
        ("window_mask", "queries are the last tokens", "true and false"),
        ("GroupedQueryAttention", "neighbouring heads", "stands at the upper left"),
        ("GroupedQueryAttention", "stands at the upper left", "begin at 0 again"),
        ("GroupedQueryAttention", "mask is missing", "not scaled"),
        ("GroupedQueryAttention", "whole width", "keys are not turned"),
        ("GroupedQueryAttention", "merged in the wrong order", "out_proj is forgotten"),
        ("KVCache", "newest keys come first", "counts how often"),
        ("KVCache", "overwrite the first", "holds the new tokens alone"),
        ("keep_top_p", "too few stays", "is not put back"),
        ("keep_top_p", "scores are summed", "set to zero"),
        ("RollingCache", "sinks are lost", "positions have to go on"),
        ("RollingCache", "one key too few", "counts how often"),
        ("merge_partials", "count alike", "larger of both"),
    ],
)
def test_common_mistakes_that_come_together_are_both_named(
    name: str, first: str, second: str
) -> None:
    pairs = mistakes_of(judged(BY_NAME[name]), 2)
    says, mistake = next(
        (says, pair) for says, pair in pairs.items() if first in says[0] and second in says[1]
    )
    assert check_piece(mistake, name).says == wrong(*says).says


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_sentences_are_plain(piece: Piece) -> None:
    for (says,) in mistakes_of(judged(piece), 1):
        assert re.fullmatch(r"([a-z]|W_)[^\n]+[^.]", says), says


# Whatever is handed in


class Unwritten(nn.Module):
    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()
        raise NotImplementedError


def unwritten(*_: object, **__: object) -> Tensor:
    raise NotImplementedError


class Returning:
    """Something that may be called and made, and returns the same from everything."""

    def __init__(self, result: object) -> None:
        self.result = result

    def __call__(self, *_: object, **__: object) -> Any:
        return self.result


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_what_is_not_written_is_called_so(piece: Piece) -> None:
    for stub in (Unwritten, unwritten):
        assert not piece.check(stub).is_written


@pytest.mark.parametrize("junk", [None, [1.0, 2.0], "text", torch.zeros(7, 3), nn.Linear(2, 2)])
@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_no_answer_stops_a_check(piece: Piece, junk: object) -> None:
    for answer in (junk, Returning(junk), Returning(Returning(junk))):
        verdict = piece.check(answer)
        assert not verdict
        assert verdict.is_written
        assert re.fullmatch(r"[A-Z\d].+[^.]\.", verdict.says), verdict


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_a_check_changes_nothing(piece: Piece) -> None:
    state = torch.get_rng_state()
    piece.check(piece.library)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()


# The transformer block


class TorchsNorm(nn.Module):
    def __init__(self, width: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.weight.shape, self.weight, self.epsilon)


class ByNorm(TorchsNorm):
    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        size = (length**2 / x.shape[-1] + self.epsilon) ** 0.5
        return (wide / size * self.weight.float()).type_as(x)


def test_norms_in_other_styles_are_right() -> None:
    for norm in (TorchsNorm, ByNorm):
        verdict = check_piece(norm, "RMSNorm")
        assert verdict, verdict


def test_names_of_parameters_are_those_of_a_checkpoint() -> None:
    class Scaling(nn.Module):
        def __init__(self, width: int, eps: float = 1e-5) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width))

    assert (
        "names of its parameters: expected weight (2,), found scale (2,)"
        in check_piece(Scaling, "RMSNorm").says
    )
