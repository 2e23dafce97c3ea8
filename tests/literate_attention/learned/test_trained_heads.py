"""Maps, their scores and heads switched off: by hand, by loops, by another formula."""

import itertools
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from literate_attention import (
    LanguageModel,
    ablate_heads,
    attention_maps,
    copy_accuracy,
    first_token_targets,
    head_scores,
    induction_targets,
    llama_model,
    previous_token_targets,
    resume,
    split_heads,
    top_heads,
)

LAYERS, HEADS, HEAD_DIM = 3, 6, 4


@pytest.fixture
def model() -> LanguageModel:
    torch.manual_seed(123)
    return llama_model(
        11, 10, 17, LAYERS, num_heads=HEADS, num_kv_heads=2, head_dim=HEAD_DIM
    ).requires_grad_(False)


def tokens(*shape: int, seed: int = 1) -> Tensor:
    return torch.randint(11, shape, generator=torch.Generator().manual_seed(seed))


def random_maps(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.rand(shape, generator=generator, dtype=torch.float64).tril().softmax(dim=-1)


# Maps


def test_maps_are_what_each_attention_returns(model: LanguageModel) -> None:
    token_ids = tokens(2, 7)
    maps = attention_maps(model, token_ids)
    assert maps.shape == (2, LAYERS, HEADS, 7, 7)
    x = model.token_embedding(token_ids)
    for layer, block in enumerate(model.blocks):
        attended, weights = block.attention(block.attention_norm(x), need_weights=True)
        assert_close(maps[:, layer], weights)
        x = x + attended
        x = x + block.feed_forward(block.feed_forward_norm(x))


# Targets


def test_maps_of_some_layers(model: LanguageModel) -> None:
    token_ids = torch.tensor([[3, 8, 5, 2], [1, 0, 4, 4]])
    maps = attention_maps(model, token_ids)
    assert torch.equal(attention_maps(model, token_ids, layers=[2, 0]), maps[:, [0, 2]])


def test_a_resumed_model_is_the_same_above(model: LanguageModel) -> None:
    """What the first blocks have read is not read again; what is switched off above is missing in both."""
    token_ids = torch.tensor([[3, 8, 5, 2], [1, 0, 4, 4]])
    whole, state = model(token_ids), torch.get_rng_state()
    for layer in (1, 2):
        upper = resume(model, token_ids, layer)
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.equal(upper(token_ids), whole)
        with ablate_heads(model, [(2, 1)]):
            assert torch.equal(upper(token_ids), model(token_ids))
            assert not torch.equal(upper(token_ids), whole)
        with ablate_heads(model, [(layer - 1, 1)]):
            assert torch.equal(upper(token_ids), whole)


def test_targets_by_hand() -> None:
    assert previous_token_targets(1).tolist() == first_token_targets(1).tolist() == [[False]]
    assert previous_token_targets(5).nonzero().tolist() == [[1, 0], [2, 1], [3, 2], [4, 3]]
    assert first_token_targets(5).nonzero().tolist() == [[1, 0], [2, 0], [3, 0], [4, 0]]
    a, b = 3, 8
    assert induction_targets(torch.tensor([a, b, a, a, b])).nonzero().tolist() == [
        [2, 1],  # the second a, behind the first
        [3, 1],  # the third as well; behind the second stands the third itself
        [4, 2],
    ]


# Scores


def test_scores_by_loops() -> None:
    maps, token_ids = random_maps(2, 3, 5, 13, 13), tokens(2, 13)
    targets = induction_targets(token_ids)
    scores = head_scores(maps, targets)
    for row, layer, head in itertools.product(range(2), range(3), range(5)):
        sums = [
            sum(maps[row, layer, head, i, j].item() for j in range(13) if targets[row, i, j])
            for i in range(13)
            if targets[row, i].any()
        ]
        assert scores[row, layer, head].item() == pytest.approx(sum(sums) / len(sums))


def test_targets_may_be_for_all_sequences() -> None:
    maps, targets = random_maps(2, 3, 5, 7, 7), previous_token_targets(7)
    assert_close(head_scores(maps, targets)[1], head_scores(maps[1], targets))
    assert_close(head_scores(maps, targets), head_scores(maps, targets.expand(2, 7, 7)))


def test_top_heads_are_in_order() -> None:
    scores = torch.zeros(3, 5)
    scores[2, 4], scores[0, 1], scores[1, 0] = 0.5, 0.75, 0.25
    assert top_heads(scores, 3) == [(0, 1), (2, 4), (1, 0)]
    assert len(set(top_heads(scores, 15))) == 15


# Ablation


def hidden_states_without(
    model: LanguageModel, token_ids: Tensor, heads: list[tuple[int, int]], *, mean: bool = False
) -> Tensor:
    """Take away what each head adds: its weights, its values, and its columns of the output projection."""
    x = model.token_embedding(token_ids)
    for layer, block in enumerate(model.blocks):
        attention, normed = block.attention, block.attention_norm(x)
        attended, weights = attention(normed, need_weights=True)
        value = split_heads(attention.W_value(normed), attention.num_kv_heads)
        for head in {head for there, head in heads if there == layer}:
            group = head * attention.num_kv_heads // attention.num_heads
            found = weights[..., head, :, :] @ value[..., group, :, :]
            columns = attention.out_proj.weight[:, head * HEAD_DIM : (head + 1) * HEAD_DIM]
            attended = attended - found @ columns.T
            if mean:
                attended = attended + found.mean(dim=(0, 1)) @ columns.T
        x = x + attended
        x = x + block.feed_forward(block.feed_forward_norm(x))
    return model.final_norm(x)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize(
    "heads",
    [[], [(1, 0)], [(0, 5)], [(2, 3), (0, 1), (2, 5)], [(1, head) for head in range(6)]],
    ids=str,
)
def test_without_heads_their_part_of_the_sum_is_missing(
    model: LanguageModel, heads: list[tuple[int, int]], mean: bool
) -> None:
    token_ids = tokens(2, 7)
    with ablate_heads(model, heads, **({"mean": True} if mean else {})):
        without = model.hidden_states(token_ids)
    assert_close(without, hidden_states_without(model, token_ids, heads, mean=mean))
    assert torch.equal(without, model.hidden_states(token_ids)) == (not heads)


def test_what_the_heads_found_is_not_overwritten(model: LanguageModel) -> None:
    project, found = model.blocks[1].attention.out_proj, torch.ones(1, 7, HEADS * HEAD_DIM)
    with ablate_heads(model, [(1, 2)]):
        project(found)
    assert torch.equal(found, torch.ones_like(found))


def test_heads_work_again_after_an_exception(model: LanguageModel) -> None:
    token_ids = tokens(7)
    expected = model(token_ids)

    def fail_without_heads() -> None:
        with ablate_heads(model, [(0, 1), (2, 2)]):
            assert not torch.equal(model(token_ids), expected)
            raise KeyError

    with pytest.raises(KeyError):
        fail_without_heads()
    assert torch.equal(model(token_ids), expected)
    for module in model.modules():
        assert not module._forward_pre_hooks


def test_nothing_is_switched_off_if_one_head_is_not_there(model: LanguageModel) -> None:
    with pytest.raises(ValueError, match="there is no head 6"):
        ablate_heads(model, [(0, 1), (0, 6)]).__enter__()
    assert not any(module._forward_pre_hooks for module in model.modules())


# Copying


class Saying(nn.Module):
    """A model that names a given token at every place."""

    def __init__(self, named: Tensor) -> None:
        super().__init__()
        self.named = named

    def hidden_states(self, token_ids: Tensor) -> Tensor:
        return nn.functional.one_hot(self.named, 11).float().expand(*token_ids.shape, 11)

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden


@pytest.mark.usefixtures("unchecked")
def test_copying_by_hand() -> None:
    """Of the second half all tokens but the first can be copied: three of four here."""
    token_ids = torch.tensor([[3, 8, 5, 2, 3, 8, 5, 2], [1, 1, 8, 8, 1, 1, 8, 8]])
    right = token_ids.roll(-1, dims=1)
    assert copy_accuracy(Saying(right), token_ids) == 1.0
    named = torch.zeros_like(right)
    named[0, 4] = 8
    named[:, :4] = right[:, :4]  # the first half does not count
    named[:, 7] = right[:, 7]  # nor does what follows the end
    assert copy_accuracy(Saying(named), token_ids) == pytest.approx(1 / 6)


# What is refused

MAPS, BOTH = torch.zeros(3, 6, 5, 5), torch.zeros(2, 3, 6, 5, 5)
ONCE_AND_AGAIN = torch.tensor([[1, 2, 3, 4, 5], [1, 2, 1, 2, 1]])
NEAR, NOT_TWICE = previous_token_targets(5), "the second half of token_ids must be the first once"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: head_scores(MAPS, NEAR[:4, :4]), "targets must be as large as a map, (5, 5)"),
        (lambda _: head_scores(MAPS, NEAR.expand(2, 5, 5)), "got shape (2, 5, 5)"),
        (
            lambda _: head_scores(BOTH, induction_targets(ONCE_AND_AGAIN)),
            "1 of 2 sequences have no",
        ),
        (lambda model: ablate_heads(model, [(3, 0)]).__enter__(), "the model has 3 layers,"),
        (lambda model: ablate_heads(model, [(2, 6)]).__enter__(), "layer 2 has 6 heads, counted"),
        (lambda model: ablate_heads(model, [(-1, 0)]).__enter__(), "there is no layer -1"),
        (lambda model: ablate_heads(model, [(0, -1)]).__enter__(), "there is no head -1"),
        (
            lambda model: resume(model, torch.tensor([1, 2]), layer=0),
            "of 3 blocks, 1 to 2 can have read a text already, got 0",
        ),
        (lambda model: resume(model, torch.tensor([1, 2]), layer=3), "already, got 3"),
        (lambda model: attention_maps(model, tokens(3), [0, 7]), "must be asked for; got [0, 7]"),
        (lambda model: attention_maps(model, tokens(3), [-1]), "the model has 3 layers"),
        (lambda model: attention_maps(model, tokens(3), []), "must be asked for; got []"),
        (
            lambda model: resume(model, torch.tensor([1, 2]), layer=1)(torch.tensor([1, 3])),
            "the first blocks have read another text",
        ),
        (lambda model: copy_accuracy(model, torch.tensor([1, 2, 3, 1, 2])), NOT_TWICE),
        (lambda model: copy_accuracy(model, torch.tensor([1, 2, 3, 1, 5, 3])), NOT_TWICE),
    ],
)
def test_refused(
    model: LanguageModel, call: Callable[[LanguageModel], object], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call(model)
