"""Blocks come again, the loss asks for what can be copied, and training repeats itself to the last digit.

That an induction head is learned at all, suddenly, in two layers and not in one, the page itself proves.
"""

import itertools
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from harness.library.copiers import (
    WEIGHT_OF_THOSE_THAT_COPY,
    copier,
    copies_with_notes,
    weight_before,
)
from harness.library.random_tensors import random_ids
from harness.library.refusals import refusals
from harness.library.run_in_parts import run_in_parts
from torch import nn
from torch.testing import assert_close

import literate_attention as la
from literate_attention.learned.induction import take_checkpoint

VOCAB, WIDTH, LAYERS = 11, 6, 3


def seeded_model(**options):
    torch.manual_seed(123)
    sizes = {"vocab_size": VOCAB, "embed_dim": WIDTH, "num_layers": LAYERS, "context_length": 17}
    return la.attention_only_model(**sizes | options)


def drawn(batch=5, num_tokens=17, shortest=3, longest=7):
    generator = torch.Generator().manual_seed(7)
    return la.repeated_blocks(batch, num_tokens, VOCAB, shortest, longest, generator)


def test_a_block_comes_again_and_holds_no_token_twice() -> None:
    lengths = set()
    for row in drawn(batch=101).tolist():
        length = next(n for n in range(1, 18) if row[n:] == row[:-n])
        assert len(set(row[:length])) == length
        assert set(row) <= set(range(VOCAB))
        lengths.add(length)
    assert lengths == set(range(3, 8))  # all are drawn


def test_the_loss_counts_what_comes_after_a_token_that_was_there_before() -> None:
    model, token_ids = seeded_model(), drawn()
    losses = []
    for row in token_ids.tolist():
        logits = model(torch.tensor(row))
        for i in range(len(row) - 1):
            if row[i] in row[:i]:
                losses.append(-logits[i].log_softmax(dim=-1)[row[i + 1]])
    assert_close(la.copy_loss(model, token_ids), torch.stack(losses).mean())


def test_a_block_adds_attention_to_what_came_in() -> None:
    attention = la.GroupedQueryAttention(WIDTH, WIDTH, num_heads=3, num_kv_heads=3)
    block = la.AttentionBlock(attention, WIDTH)
    x = torch.linspace(-2, 3, 10 * WIDTH).view(2, 5, WIDTH)
    of_one_size = x / x.square().mean(dim=-1, keepdim=True).add(1e-5).sqrt()
    assert_close(block(x), x + attention(of_one_size))


def test_without_positions_the_order_of_the_past_is_not_seen() -> None:
    token_ids = torch.tensor([1, 7, 2, 5, 3])
    shuffled = token_ids[torch.tensor([2, 0, 3, 1, 4])]
    blind, sighted = seeded_model(base=None, num_layers=1), seeded_model(num_layers=1)
    assert_close(blind(token_ids)[-1], blind(shuffled)[-1])
    assert not torch.allclose(sighted(token_ids)[-1], sighted(shuffled)[-1])


def trained(num_steps=5, **options):
    model = seeded_model()
    sizes = {"every": 2, "num_tokens": 14, "batch": 3}
    return model, la.train_to_copy(model, num_steps, **sizes | options)


def test_a_checkpoint_measures_and_keeps_the_weights_of_the_moment() -> None:
    model, token_ids = seeded_model(), drawn(num_tokens=14, shortest=7, longest=7)
    checkpoint = take_checkpoint(model, 3, token_ids)
    maps = la.attention_maps(model, token_ids)
    assert checkpoint.step == 3
    assert checkpoint.loss == pytest.approx(la.copy_loss(model, token_ids).item())
    assert checkpoint.copy_accuracy == la.copy_accuracy(model, token_ids)
    assert_close(
        checkpoint.induction, la.head_scores(maps, la.induction_targets(token_ids)).mean(dim=0)
    )
    assert_close(checkpoint.previous_token, maps.diagonal(-1, -2, -1).mean(dim=(0, -1)))
    before = {name: weight.clone() for name, weight in checkpoint.weights.items()}
    with torch.no_grad():
        model.token_embedding.weight.zero_()
    assert_close(checkpoint.weights, before)


def test_checkpoints_are_taken_at_the_beginning_from_time_to_time_and_at_the_end() -> None:
    model, checkpoints = trained()
    assert [one.step for one in checkpoints] == [0, 2, 4, 5]
    assert_close(checkpoints[0].weights, dict(seeded_model().state_dict()))
    assert_close(checkpoints[-1].weights, dict(model.state_dict()))


def test_the_same_seed_gives_the_same_weights_to_the_last_digit() -> None:
    """However often one looks."""
    (_, one), (_, same), (_, other) = trained(), trained(every=1), trained(seed=4)
    for name, weight in one[-1].weights.items():
        assert torch.equal(weight, same[-1].weights[name])
    assert one[-1].loss != other[-1].loss


def test_training_gives_the_threads_back_however_it_ends() -> None:
    def breaks_off(steps):
        yield 1 // (torch.get_num_threads() - 1)

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ZeroDivisionError):
            trained(progress=breaks_off)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(10, 20))
def test_another_seed_copies_by_the_plan_or_not_at_all(seed) -> None:
    """The first head's weights tell which; its notes on the letter before, and no others, are enough."""
    model, checkpoints = copier(seed, num_steps=300, every=300)
    copies = checkpoints[-1].copy_accuracy >= 0.9
    assert (weight_before(model) > WEIGHT_OF_THOSE_THAT_COPY) == copies
    itself, before, two_back = (copies_with_notes(model, back) for back in range(3))
    assert not copies or before > 0.5 > max(itself, two_back)


HEADS, HEAD_DIM = 6, 4


def small_model():
    torch.manual_seed(123)
    heads = {"num_heads": HEADS, "num_kv_heads": 2, "head_dim": HEAD_DIM}
    return la.llama_model(11, 10, 17, LAYERS, **heads).requires_grad_(False)


@pytest.fixture
def model():
    return small_model()


tokens = partial(random_ids, 11)


def random_maps(*shape):
    generator = torch.Generator().manual_seed(5)
    return torch.rand(shape, generator=generator, dtype=torch.float64).tril().softmax(dim=-1)


def test_targets_of_induction_by_hand() -> None:
    a, b = 3, 8
    assert la.induction_targets(torch.tensor([a, b, a, a, b])).nonzero().tolist() == [
        [2, 1],  # the second a, behind the first
        [3, 1],  # the third as well; behind the second stands the third itself
        [4, 2],
    ]


def test_scores_by_loops() -> None:
    maps, token_ids = random_maps(2, 3, 5, 13, 13), tokens(2, 13)
    targets = la.induction_targets(token_ids)
    scores = la.head_scores(maps, targets)
    for row, layer, head in itertools.product(range(2), range(3), range(5)):
        sums = [
            sum(maps[row, layer, head, i, j].item() for j in range(13) if targets[row, i, j])
            for i in range(13)
            if targets[row, i].any()
        ]
        assert scores[row, layer, head].item() == pytest.approx(sum(sums) / len(sums))


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize(
    "heads",
    [[], [(1, 0)], [(0, 5)], [(2, 3), (0, 1), (2, 5)], [(1, head) for head in range(6)]],
    ids=str,
)
def test_without_heads_their_part_of_the_sum_is_missing(model, heads, mean) -> None:
    token_ids = tokens(2, 7)

    def say(layer, head, output):
        if (layer, head) not in heads:
            return output
        return output.mean(dim=(0, 1)).expand_as(output) * mean

    with la.ablate_heads(model, heads, **({"mean": True} if mean else {})):
        without = model.hidden_states(token_ids)
    assert_close(without, run_in_parts(model, token_ids, say=say).hidden)
    assert torch.equal(without, model.hidden_states(token_ids)) == (not heads)


def test_what_the_heads_found_is_not_overwritten(model) -> None:
    project, found = model.blocks[1].attention.out_proj, torch.ones(1, 7, HEADS * HEAD_DIM)
    with la.ablate_heads(model, [(1, 2)]):
        project(found)
    assert torch.equal(found, torch.ones_like(found))


def test_heads_work_again_after_an_exception(model) -> None:
    with pytest.raises(KeyError), la.ablate_heads(model, [(0, 1), (2, 2)]):
        raise KeyError
    assert not any(module._forward_pre_hooks for module in model.modules())


def saying(named):
    """Return a model that names a given token at every place."""
    logits = nn.functional.one_hot(named, 11).float()
    return SimpleNamespace(
        hidden_states=lambda token_ids: logits.expand(*token_ids.shape, 11),
        logits=lambda hidden: hidden,
    )


@pytest.mark.usefixtures("unchecked")
def test_copying_by_hand() -> None:
    """Of the second half all tokens but the first can be copied: three of four here."""
    token_ids = torch.tensor([[3, 8, 5, 2, 3, 8, 5, 2], [1, 1, 8, 8, 1, 1, 8, 8]])
    right = token_ids.roll(-1, dims=1)
    assert la.copy_accuracy(saying(right), token_ids) == 1.0
    named = torch.zeros_like(right)
    named[0, 4] = 8
    named[:, :4] = right[:, :4]  # the first half does not count
    named[:, 7] = right[:, 7]  # nor does what follows the end
    assert la.copy_accuracy(saying(named), token_ids) == pytest.approx(1 / 6)


M, MAPS, BOTH = small_model(), torch.zeros(3, 6, 5, 5), torch.zeros(2, 3, 6, 5, 5)
ONE_REPEATS = torch.tensor([[1, 2, 3, 4, 5], [1, 2, 1, 2, 1]])
NEAR, NOT_TWICE = la.previous_token_targets(5), "token_ids must be the first once"


def ablate(*head) -> None:
    try:
        with la.ablate_heads(M, [(0, 1), head]):
            raise AssertionError
    finally:  # nothing is switched off if one head is not there
        assert not any(module._forward_pre_hooks for module in M.modules())


test_refused = refusals(
    ("a block of 12 tokens, no two alike, needs", lambda: la.repeated_blocks(5, 17, VOCAB, 3, 12)),
    ("come again must be at least 1", lambda: la.copy_loss(seeded_model(), torch.arange(11)[None])),
    ("as large as a map, (5, 5)", lambda: la.head_scores(MAPS, NEAR[:4, :4])),
    ("got shape (2, 5, 5)", lambda: la.head_scores(MAPS, NEAR.expand(2, 5, 5))),
    ("1 of 2 sequences have", lambda: la.head_scores(BOTH, la.induction_targets(ONE_REPEATS))),
    ("the model has 3 layers,", lambda: ablate(3, 0)),
    ("layer 2 has 6 heads, counted", lambda: ablate(2, 6)),
    ("there is no layer -1", lambda: ablate(-1, 0)),
    ("there is no head -1", lambda: ablate(0, -1)),
    (NOT_TWICE, lambda: la.copy_accuracy(M, torch.tensor([1, 2, 3, 1, 2]))),
    (NOT_TWICE, lambda: la.copy_accuracy(M, torch.tensor([1, 2, 3, 1, 5, 3]))),
)
