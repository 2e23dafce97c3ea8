"""What each part of the small model that writes is for, how often it learns, and how fast it is trained."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from harness.library.writers import LENGTH, learned, trained
from measuring.targets import target
from measuring.timing import interleaved, ratios, spread
from torch import Tensor, nn
from torch.nn.functional import dropout, scaled_dot_product_attention, silu

from literate_attention import (
    LanguageModel,
    World,
    next_words,
    training_step,
    writer,
)

QUESTION = (
    "What does the small model learn without one of its parts, and from other random numbers?"
)
METHOD = """
The training of the page: 1,200 steps of 32 texts of 36 words, none of them seen twice, in float64 on one
thread; the seed draws the texts and the weights. Each model is judged by 300 texts that were drawn before.
excess says how far each kind of word is above the floor. The few texts are 300, which come again and again.
Beside our model, the same one is written with torch's own functions only, with the same weights; both are
trained in turns, 10 steps a round, and times_torch is our time divided by its own in the same round.
"""
PACKAGES = ("torch",)
SEEDS = (123, *range(1, 6))
FEW = 300
ROUNDS = 7

Result = dict[str, Any]


class Nothing(nn.Module):
    """Stands in the place of attention and finds nothing."""

    def forward(self, x: Tensor, **options: Any) -> Tensor:
        """Return zeros."""
        return torch.zeros_like(x)


def without_attention(model: LanguageModel) -> None:
    """Let no word look at another."""
    for block in model.blocks:
        block.attention = Nothing()


def without_positions(model: LanguageModel) -> None:
    """Turn nothing."""
    for block in model.blocks:
        block.attention.rope = None


def without_norms(model: LanguageModel) -> None:
    """Leave each vector as large as it is."""
    model.final_norm = nn.Identity()
    for block in model.blocks:
        block.attention_norm, block.feed_forward_norm = nn.Identity(), nn.Identity()


def with_dropout(model: LanguageModel) -> None:
    """Drop a tenth of what each block returns, in training."""
    for block in model.blocks:
        block.register_forward_hook(drop)


def drop(block: nn.Module, inputs: object, output: Tensor) -> Tensor:
    """Drop a tenth, as long as the block is in training."""
    return dropout(output, 0.1, training=block.training)


def measure() -> list[Result]:
    """Train, and time the training."""
    torch.set_num_threads(1)
    return [*timed(), *trainings()]


def trainings() -> Iterator[Result]:
    """Train the model of the page, from several seeds, and what differs from it in one thing."""
    for seed in SEEDS:
        yield trained("whole", seed)
    yield trained("no attention", change=without_attention)
    yield trained("no positions", change=without_positions)
    yield trained("one layer", num_layers=1)
    yield trained("no norms", change=without_norms)
    yield trained("rate too high", learning_rate=0.1)
    yield trained("few texts", num_texts=FEW)
    yield trained("few texts, dropout", change=with_dropout, num_texts=FEW)


class TorchBlock(nn.Module):
    """A block of the same parts, written with torch's functions and nothing else."""

    def __init__(self, ours: Any) -> None:
        super().__init__()
        attention, forward = ours.attention, ours.feed_forward
        self.heads, self.cos, self.sin = attention.num_heads, attention.rope.cos, attention.rope.sin
        self.norms = nn.ModuleList(nn.RMSNorm(48, eps=1e-5).double() for _ in range(2))
        self.query, self.key, self.value, self.out, self.gate, self.up, self.down = (
            nn.Linear(layer.in_features, layer.out_features, bias=False).double()
            for layer in (
                *(attention.W_query, attention.W_key, attention.W_value, attention.out_proj),
                *(forward.W_gate, forward.W_up, forward.W_down),
            )
        )

    def turned(self, x: Tensor) -> Tensor:
        """Turn queries or keys."""
        first, second = x.unflatten(-1, (self.heads, -1)).transpose(1, 2).chunk(2, dim=-1)
        cos, sin = self.cos[: x.shape[1]], self.sin[: x.shape[1]]
        return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        """Let the words look at each other, then let each think on its own."""
        normed = self.norms[0](x)
        query, key = self.turned(self.query(normed)), self.turned(self.key(normed))
        value = self.value(normed).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        found = scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        normed = self.norms[1](x)
        return x + self.down(silu(self.gate(normed)) * self.up(normed))


class TorchModel(nn.Module):
    """The same model, written with torch's functions and nothing else."""

    def __init__(self, ours: LanguageModel) -> None:
        super().__init__()
        self.embedding = nn.Embedding(*ours.token_embedding.weight.shape).double()
        self.blocks = nn.ModuleList(TorchBlock(block) for block in ours.blocks)
        self.norm = nn.RMSNorm(48, eps=1e-5).double()
        with torch.no_grad():
            for mine, theirs in zip(weights_of(self), weights_of_ours(ours), strict=True):
                mine.copy_(theirs)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Score each word as the next one."""
        x = self.embedding(token_ids)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.embedding.weight.T


def weights_of(model: TorchModel) -> Iterator[Tensor]:
    """Yield the weights of the model in torch's functions."""
    yield model.embedding.weight
    for block in model.blocks:
        for layer in (block.query, block.key, block.value, block.out):
            yield layer.weight
        for layer in (block.gate, block.up, block.down, *block.norms):
            yield layer.weight
    yield model.norm.weight


def weights_of_ours(model: LanguageModel) -> Iterator[Tensor]:
    """Yield the same weights of ours, in the same order."""
    yield model.token_embedding.weight
    for block in model.blocks:
        attention, forward = block.attention, block.feed_forward
        for layer in (attention.W_query, attention.W_key, attention.W_value, attention.out_proj):
            yield layer.weight
        for layer in (forward.W_gate, forward.W_up, forward.W_down):
            yield layer.weight
        yield block.attention_norm.weight
        yield block.feed_forward_norm.weight
    yield model.final_norm.weight


def timed() -> Iterator[Result]:
    """Time ten steps of our model, and of the same model in torch's own functions."""
    world = World()
    task = next_words(world.draw(32, LENGTH, torch.Generator().manual_seed(123)), world.words)
    torch.manual_seed(123)
    ours = writer(len(world.words))
    models = {"ours": ours, "torch's own functions": TorchModel(ours)}
    answers = [model(task.examples) for model in models.values()]
    torch.testing.assert_close(*answers)
    times = interleaved({n: partial(ten_steps, m, task) for n, m in models.items()}, rounds=ROUNDS)
    for name, seconds in times.items():
        yield {
            "contender": name,
            "words_per_second": round(10 * task.examples.numel() / spread(seconds)["median"]),
            "times_torch": spread(ratios(seconds, times["torch's own functions"])),
        }


def ten_steps(model: nn.Module, task: Any) -> None:
    """Train for ten steps on the same texts."""
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, betas=(0.9, 0.99), fused=True)
    for _ in range(10):
        training_step(model, task, optimizer)


def targets(results: list[Result]) -> list[Result]:
    """Most trainings learn who has what, and the modules cost no more than torch's own."""
    whole = [row for row in results if row.get("model") == "whole"]
    failed = sum(not learned(row) for row in whole)
    (ours,) = (row for row in results if row.get("contender") == "ours")
    return [
        target(f"failures, of {len(whole)}", "who has what", failed, 1),
        target("times torch's own", "training", ours["times_torch"]["median"], 1.05),
    ]
