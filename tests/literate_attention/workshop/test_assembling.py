"""A model that is put together of a reader's pieces computes what ours does, whichever are theirs."""

import pytest
import torch
from harness.library import naive_pieces
from harness.library.small_llama import SIZES, TEXT, small_llama
from torch import nn
from torch.testing import assert_close

from literate_attention.workshop import assembling
from literate_attention.workshop.assembling import assemble, share_weights
from literate_attention.workshop.judge.trials import UnusableError

NAIVE = naive_pieces.PIECES


@pytest.fixture
def ours():
    return small_llama()


def greedily(assembly, most=12):
    return list(assembly.write(TEXT, most, lambda logits: logits.argmax(dim=-1)))


@pytest.mark.parametrize(
    "names",
    [(), tuple(NAIVE), *((name,) for name in NAIVE), *({*NAIVE} - {name} for name in NAIVE)],
    ids=lambda names: f"{len(names)}{'' if len(names) != 1 else names[0]}",
)
def test_whatever_is_theirs_the_model_is_ours(ours, names) -> None:
    theirs = assemble({name: NAIVE[name] for name in names}, ours.model.state_dict(), SIZES)
    assert_close(theirs.logits(TEXT), ours.logits(TEXT))
    assert greedily(theirs) == greedily(ours)


@pytest.mark.parametrize("name", NAIVE)
def test_each_piece_that_is_theirs_runs_even_if_all_around_it_is_ours(ours, name) -> None:
    called: list[str] = []

    def piece(*arguments, **options):
        called.append(name)
        return NAIVE[name](*arguments, **options)

    assemble({name: piece}, ours.model.state_dict(), SIZES).logits(TEXT)
    assert called


def test_a_step_of_ours_that_is_not_found_is_an_error(ours, monkeypatch) -> None:
    steps = {"GroupedQueryAttention": {"scores.softmax(dim=1)": "softmax(scores)"}}
    monkeypatch.setattr(assembling, "BY_PIECES", steps)
    with pytest.raises(ValueError, match=r"has 'scores\.softmax\(dim=1\)' 0 times, expected once"):
        assemble({}, ours.model.state_dict(), SIZES)


@pytest.mark.parametrize("name", ["LanguageModel", "TransformerBlock", "GroupedQueryAttention"])
def test_without_caches_the_whole_text_runs_again(ours, name) -> None:
    class Forgetful(NAIVE[name]):
        if name == "LanguageModel":

            def hidden_states(self, token_ids):
                return super().hidden_states(token_ids)

        else:

            def forward(self, x):
                return super().forward(x)

    theirs = assemble({**NAIVE, name: Forgetful}, ours.model.state_dict(), SIZES)
    assert theirs.new_caches(3) is None
    assert_close(theirs.logits(TEXT), ours.logits(TEXT))
    assert greedily(theirs) == greedily(ours)


def test_weights_are_shared_and_tied_ones_stay_tied(ours) -> None:
    class Tied(NAIVE["LanguageModel"]):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            self.head = nn.Linear(1, 1, bias=False)
            self.head.weight = self.token_embedding.weight

        def logits(self, hidden):
            return self.head(hidden)

    weights = ours.model.state_dict()
    model = assemble({"LanguageModel": Tied}, weights, SIZES).model
    place = weights["token_embedding.weight"].data_ptr()
    assert model.token_embedding.weight.data_ptr() == model.head.weight.data_ptr() == place


@pytest.mark.parametrize(
    ("name", "shape", "says"),
    [
        ("weight", (2, 3), r"expected weight \(2, 3\), found weight \(3, 2\)"),
        ("W", (3, 2), r"expected W \(3, 2\), found weight \(3, 2\)"),
    ],
)
def test_weights_that_do_not_fit_are_refused(name, shape, says) -> None:
    with pytest.raises(UnusableError, match=says):
        share_weights(nn.Linear(2, 3, bias=False), {name: torch.ones(shape)})
