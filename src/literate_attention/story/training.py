"""One small model and one training loop, for all tasks of the story."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from literate_attention.tasks import Task

__all__ = [
    "TaskModel",
    "accuracy",
    "answer_logits",
    "one_thread",
    "same_start",
    "train",
    "training_step",
]


def same_start(model: nn.Module) -> None:
    r"""Let a training come out the same on every machine: round the weights, and go on in float64.

    .. math:: \theta \mapsto \frac{\operatorname{round}(2^{10} \, \theta)}{2^{10}}

    Processors differ in the last digits of the float32 numbers that they draw, and training magnifies this.
    Rounded so coarsely, a few hundred weights come out the same in all but one of some two hundred draws. The
    errors of float64 are too small to be seen after a thousand steps.

    Example:
        >>> model = nn.Linear(3, 2)
        >>> same_start(model)
        >>> weights = 1024 * model.weight
        >>> weights.dtype, torch.equal(weights, weights.round())
        (torch.float64, True)
    """
    for parameter in model.double().parameters():
        parameter.data.mul_(1024).round_().div_(1024)


class TaskModel(nn.Module):
    r"""Words become vectors, attention lets them look at each other, a linear layer reads the answers off.

    .. math:: \text{logits} = \text{Attention}(E_t) \, W + b

    Only attention carries anything from one word to another, so what the model can do is what its attention
    can do. It begins with the :func:`same_start` on every machine, and computes in float64. Embeddings are
    drawn no further than about ``std`` from zero: from small vectors come small scores, so each word begins
    by looking at all others.

    Example:
        >>> from literate_attention import dot_product_attention
        >>> model = TaskModel(nn.Embedding(15, 16), dot_product_attention, nn.Linear(16, 4))
        >>> model(torch.tensor([[0, 6, 11, 12]])).shape
        torch.Size([1, 4, 4])
    """

    def __init__(
        self,
        embedding: nn.Module,
        attention: Callable[..., Any],
        output: nn.Module,
        std: float = 0.1,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.attention = attention
        self.output = output
        for module in embedding.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=std)
        same_start(self)

    def forward(
        self, token_ids: Int[Tensor, "*batch num_tokens"]
    ) -> Float[Tensor, "*batch num_tokens num_outputs"]:
        """Give each word the logits of its answers: the larger a number, the likelier the choice."""
        return self.output(self.attention(self.embedding(token_ids)))


def answer_logits(model: nn.Module, task: Task) -> Float[Tensor, "*answers num_choices"]:
    """Give the logits of a task's answers, which belong to the last words of each example.

    Example:
        >>> from literate_attention import dot_product_attention, lookup_task
        >>> model = TaskModel(nn.Embedding(15, 16), dot_product_attention, nn.Linear(16, 4))
        >>> answer_logits(model, lookup_task()[0]).shape
        torch.Size([144, 1, 4])
    """
    logits = model(task.examples)[:, -task.answers.shape[1] :]
    return logits.reshape(*task.answers.shape, len(task.choices))


def training_step(model: nn.Module, task: Task, optimizer: torch.optim.Optimizer) -> float:
    r"""Change a model by one step downhill, and return the loss before it.

    .. math:: \theta \leftarrow \text{optimizer}\bigl(\theta, \nabla_\theta \, \text{loss}(\theta)\bigr)

    Example:
        >>> from literate_attention import dot_product_attention, lookup_task
        >>> model = TaskModel(nn.Embedding(15, 16), dot_product_attention, nn.Linear(16, 4))
        >>> optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        >>> losses = [training_step(model, lookup_task()[0], optimizer) for _ in range(2)]
        >>> losses[1] < losses[0]
        True
    """
    logits = answer_logits(model, task)
    loss = cross_entropy(logits.flatten(0, -2), task.answers.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on a single thread, as long as a ``with`` lasts.

    A single thread always adds in the same order, so that the same seed gives the same weights, to the last
    digit, on the same machine. So tiny a model gains little from several threads, and loses much if others
    want the processor too.

    Example:
        >>> with one_thread():
        ...     threads = torch.get_num_threads()
        >>> threads
        1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train(
    model: nn.Module, task: Task, num_steps: int = 300, lr: float = 0.01, weight_decay: float = 0.0
) -> list[float]:
    r"""Train a model, in place and on the CPU, on all examples of a task at once, step by step.

    .. math:: \theta \leftarrow \text{AdamW}\bigl(\theta, \nabla_\theta \, \text{loss}(\theta)\bigr), \qquad
              \text{loss} = -\frac{1}{n} \sum_{i=1}^n \log p_\theta(\text{answer}_i)

    ``lr`` is the learning rate of AdamW :cite:p:`loshchilov2019`, and ``weight_decay`` says how strongly all
    parameters are pulled towards zero. What is returned is the loss before each step.

    Example:
        >>> from literate_attention import dot_product_attention, lookup_task
        >>> _ = torch.manual_seed(123)
        >>> model = TaskModel(nn.Embedding(15, 16), dot_product_attention, nn.Linear(16, 4))
        >>> seen, unseen = lookup_task()
        >>> losses = train(model, seen)
        >>> accuracy(model, unseen)
        1.0
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
    return [training_step(model, task, optimizer) for _ in range(num_steps)]


@torch.no_grad()
def accuracy(model: nn.Module, task: Task) -> float:
    """Measure in which share of a task's examples, from 0 to 1, all answers are right."""
    right = answer_logits(model, task).argmax(dim=-1) == task.answers
    return right.flatten(1).all(dim=1).float().mean().item()
