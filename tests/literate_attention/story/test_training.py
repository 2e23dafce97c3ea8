"""The loop steps as Adam does, the last words answer, and an example counts when all of it is right."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import literate_attention as la


@pytest.fixture
def lookup():
    torch.manual_seed(7)
    return la.TaskModel(
        nn.Embedding(15, 5), la.dot_product_attention, nn.Linear(5, 4)
    ), la.lookup_task()[0]


def test_the_model_is_embedding_then_attention_then_answers(lookup) -> None:
    model, task = lookup
    x = model.embedding(task.examples)
    context = (x @ x.mT).softmax(-1) @ x
    expected = context @ model.output.weight.mT + model.output.bias
    torch.testing.assert_close(model(task.examples), expected)
    torch.testing.assert_close(la.answer_logits(model, task), expected[:, -1:])


def test_a_word_with_two_answers_has_two_rows_of_logits() -> None:
    model, (task, _) = nn.Embedding(12, 8), la.both_sides_task()
    logits = la.answer_logits(model, task)
    assert logits.shape == (288, 1, 2, 4)
    assert torch.equal(logits.flatten(1), model.weight[task.examples[:, -1]])


def test_all_embeddings_begin_small() -> None:
    torch.manual_seed(7)
    model = la.TaskModel(
        la.InputEmbedding(500, 20, 300), la.dot_product_attention, nn.Linear(20, 4), std=0.3
    )
    for table in model.embedding.parameters():
        assert table.std().item() == pytest.approx(0.3, rel=0.05)


def test_the_loss_is_that_of_the_right_answers_and_a_step_is_adams(lookup) -> None:
    model, task = lookup
    chances = la.answer_logits(model, task).softmax(-1)
    loss = -chances.gather(-1, task.answers.unsqueeze(-1)).log().mean()
    weight = model.output.weight
    before = weight.detach().clone()
    [slope] = torch.autograd.grad(loss, weight)
    [found] = la.train(model, task, num_steps=1, lr=0.01, weight_decay=0.5)
    assert found == pytest.approx(loss.item(), rel=1e-6)
    # Adam's first step has the length of the learning rate, whatever the slope
    torch.testing.assert_close(
        weight, before * (1 - 0.01 * 0.5) - 0.01 * slope.sign(), atol=1e-5, rtol=0
    )


def test_an_example_counts_if_all_its_answers_are_right() -> None:
    _, task = la.both_sides_task()
    table = nn.Embedding(12, 8)
    right = table(task.examples[:, -1]).unflatten(-1, (2, 4)).argmax(-1).unsqueeze(1)
    assert la.accuracy(table, replace(task, answers=right)) == 1
    half = right.clone()
    half[: len(half) // 2, 0, 0] += 1
    assert la.accuracy(table, replace(task, answers=half % 4)) == 0.5


def test_a_model_starts_on_a_grid_that_rounding_errors_of_float32_do_not_leave() -> None:
    torch.manual_seed(7)
    model = la.TaskModel(nn.Embedding(15, 5), la.dot_product_attention, nn.Linear(5, 4))
    torch.manual_seed(7)
    drawn = nn.Embedding(15, 5), nn.Linear(5, 4)
    nn.init.normal_(drawn[0].weight, std=0.1)
    for begins, one in zip(
        model.parameters(), (drawn[0].weight, drawn[1].weight, drawn[1].bias), strict=True
    ):
        assert begins.dtype == torch.float64
        assert torch.equal(1024 * begins, (1024 * one * (1 + 1e-7)).round().double())
