"""What holds for every piece: the library's own is right, and nothing that is handed in stops a check."""

import re
from typing import Any

import pytest
import torch
from harness.library.naive_pieces import Unwritten, unwritten
from torch import nn

from literate_attention.workshop.judge.trials import Judged
from literate_attention.workshop.pieces import BY_NAME, PIECES, check_piece

of_each_piece = pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)


@of_each_piece
def test_the_librarys_own_is_right_and_a_check_changes_nothing(piece) -> None:
    assert BY_NAME[piece.name] is piece
    state = torch.get_rng_state()
    check = piece.check if isinstance(piece.check, Judged) else check_piece
    assert check(piece.library), check(piece.library)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()


LEARN_NOTHING = {
    *("causal_mask", "window_mask", "top_k_mask", "rotary_frequencies", "KVCache", "RollingCache")
}
"""What has no gradients, or is written in place."""


def detached(function):
    def changed(*given, **options):
        cut = (one.detach() if isinstance(one, torch.Tensor) else one for one in given)
        return function(*cut, **options)

    return changed


@pytest.mark.parametrize("cut", [torch.no_grad(), detached], ids=["no_grad", "detach"])
@of_each_piece
def test_what_cannot_be_learned_through_is_wrong(piece, cut) -> None:
    """All numbers are right, as the library computes them."""
    mine: Any = piece.library
    if not isinstance(mine, type):
        mine = cut(mine)
    elif hasattr(mine, "forward"):
        mine = type(mine.__name__, (mine,), {"forward": cut(mine.forward)})
    verdict = piece.check(mine)
    takes_no_vectors = {"InputEmbedding", "LanguageModel", "merge_partials"}
    right = LEARN_NOTHING | (takes_no_vectors if cut is detached else set())
    assert bool(verdict) == (piece.name in right), verdict
    assert verdict or "gradient" in verdict.says


class Returning:
    """Something that may be called and made, and returns the same from everything."""

    def __init__(self, result) -> None:
        self.result = result

    def __call__(self, *_, **__):
        return self.result


@of_each_piece
def test_what_is_not_written_is_called_so(piece) -> None:
    of_modules = piece.chapter.startswith("story") and isinstance(piece.library, type)
    for stub in (Unwritten,) if of_modules else (Unwritten, unwritten):
        verdict = piece.check(stub)
        assert not verdict.is_written
        assert not verdict


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        [1.0, 2.0],
        "softmax",
        torch.zeros(7, 3),
        lambda: 1,
        nn.Linear(2, 2),
        nn.Linear,
        print,
    ],
)
@of_each_piece
def test_no_answer_stops_a_check(piece, junk) -> None:
    for answer in (junk, Returning(junk), Returning(Returning(junk))):
        verdict = piece.check(answer)
        assert not verdict
        assert verdict.is_written
        assert re.fullmatch(r"(?s)[A-Z\d].+[^.]\.", verdict.says), verdict
