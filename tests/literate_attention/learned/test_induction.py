"""Blocks come again, the loss asks for what can be copied, and training repeats itself to the last digit.

That an induction head is learned at all, suddenly, in two layers and not in one, the page itself proves.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from harness.library.copiers import (
    WEIGHT_OF_THOSE_THAT_COPY,
    copier,
    copies_with_notes,
    weight_before,
)
from torch import Tensor
from torch.testing import assert_close

from literate_attention import (
    AttentionBlock,
    Checkpoint,
    GroupedQueryAttention,
    LanguageModel,
    attention_maps,
    attention_only_model,
    copy_accuracy,
    copy_loss,
    empty_caches,
    generate,
    head_scores,
    induction_targets,
    repeated_blocks,
    train_to_copy,
)
from literate_attention.learned.induction import take_checkpoint

VOCAB, WIDTH, LAYERS = 11, 6, 3


def seeded_model(**options: Any) -> LanguageModel:
    torch.manual_seed(123)
    sizes = {"vocab_size": VOCAB, "embed_dim": WIDTH, "num_layers": LAYERS, "context_length": 17}
    return attention_only_model(**sizes | options)


def drawn(batch: int = 5, num_tokens: int = 17, shortest: int = 3, longest: int = 7) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    return repeated_blocks(batch, num_tokens, VOCAB, shortest, longest, generator)


# The task


def test_a_block_comes_again_and_holds_no_token_twice() -> None:
    lengths = set()
    for row in drawn(batch=101).tolist():
        length = next(n for n in range(1, 18) if row[n:] == row[:-n])
        assert len(set(row[:length])) == length
        assert set(row) <= set(range(VOCAB))
        lengths.add(length)
    assert lengths == set(range(3, 8))  # all are drawn


def test_a_generator_decides_the_rows() -> None:
    assert torch.equal(drawn(), drawn())
    torch.manual_seed(1)
    first = repeated_blocks(2, 17, VOCAB, 3, 7)
    assert not torch.equal(first, repeated_blocks(2, 17, VOCAB, 3, 7))


def test_blocks_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(ValueError, match="a block of 12 tokens, no two alike, needs as many"):
        repeated_blocks(5, 17, VOCAB, 3, 12)


# The loss


def test_the_loss_counts_what_comes_after_a_token_that_was_there_before() -> None:
    model, token_ids = seeded_model(), drawn()
    losses = []
    for row in token_ids.tolist():
        logits = model(torch.tensor(row))
        for i in range(len(row) - 1):
            if row[i] in row[:i]:
                losses.append(-logits[i].log_softmax(dim=-1)[row[i + 1]])
    assert_close(copy_loss(model, token_ids), torch.stack(losses).mean())


def test_where_nothing_comes_again_there_is_no_loss() -> None:
    with pytest.raises(ValueError, match="number of tokens that come again must be at least 1"):
        copy_loss(seeded_model(), torch.arange(VOCAB)[None])


# The model


def test_a_block_adds_attention_to_what_came_in() -> None:
    attention = GroupedQueryAttention(WIDTH, WIDTH, num_heads=3, num_kv_heads=3)
    block, x = AttentionBlock(attention, WIDTH), torch.linspace(-2, 3, 10 * WIDTH).view(2, 5, WIDTH)
    of_one_size = x / x.square().mean(dim=-1, keepdim=True).add(1e-5).sqrt()
    assert_close(block(x), x + attention(of_one_size))


def test_without_positions_the_order_of_the_past_is_not_seen() -> None:
    token_ids = torch.tensor([1, 7, 2, 5, 3])
    shuffled = token_ids[torch.tensor([2, 0, 3, 1, 4])]
    blind, sighted = seeded_model(base=None, num_layers=1), seeded_model(num_layers=1)
    assert_close(blind(token_ids)[-1], blind(shuffled)[-1])
    assert not torch.allclose(sighted(token_ids)[-1], sighted(shuffled)[-1])


def test_it_reads_with_a_cache_what_it_reads_without() -> None:
    model, token_ids = seeded_model(num_heads=3), drawn()[:, :7]
    caches = empty_caches(model.requires_grad_(False), batch=5, max_tokens=17)
    chunks = [model(chunk, caches) for chunk in token_ids.split([1, 4, 2], dim=1)]
    assert_close(torch.cat(chunks, dim=1), model(token_ids))
    assert generate(model, token_ids, max_new_tokens=3).shape == (5, 10)


# Checkpoints and training


def trained(num_steps: int = 5, **options: Any) -> tuple[LanguageModel, list[Checkpoint]]:
    model = seeded_model()
    sizes = {"every": 2, "num_tokens": 14, "batch": 3}
    return model, train_to_copy(model, num_steps, **sizes | options)


def test_a_checkpoint_measures_and_keeps_the_weights_of_the_moment() -> None:
    model, token_ids = seeded_model(), drawn(num_tokens=14, shortest=7, longest=7)
    checkpoint = take_checkpoint(model, 3, token_ids)
    maps = attention_maps(model, token_ids)
    assert checkpoint.step == 3
    assert checkpoint.loss == pytest.approx(copy_loss(model, token_ids).item())
    assert checkpoint.copy_accuracy == copy_accuracy(model, token_ids)
    assert_close(checkpoint.induction, head_scores(maps, induction_targets(token_ids)).mean(dim=0))
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
    def breaks_off(steps: range) -> Iterator[int]:
        yield 1 // (torch.get_num_threads() - 1)

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ZeroDivisionError):
            trained(progress=breaks_off)
        assert torch.get_num_threads() == 2
        trained()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(10, 20))
def test_another_seed_copies_by_the_plan_or_not_at_all(seed: int) -> None:
    """The first head's weights tell which; its notes on the letter before, and no others, are enough."""
    model, checkpoints = copier(seed, num_steps=300, every=300)
    copies = checkpoints[-1].copy_accuracy >= 0.9
    assert (weight_before(model) > WEIGHT_OF_THOSE_THAT_COPY) == copies
    itself, before, two_back = (copies_with_notes(model, back) for back in range(3))
    assert not copies or before > 0.5 > max(itself, two_back)
