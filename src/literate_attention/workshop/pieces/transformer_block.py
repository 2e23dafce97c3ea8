"""The pieces of the chapter on the transformer block: norm, feed-forward, block and model."""

from typing import Any

import torch
from torch import Tensor, nn

from literate_attention.models.transformer_block import (
    LanguageModel,
    RMSNorm,
    SwiGLU,
    TransformerBlock,
)
from literate_attention.workshop.judge.parameters import loaded
from literate_attention.workshop.judge.trials import Given, Judged, drawn, inputs
from literate_attention.workshop.judge.verdict import RIGHT, Verdict, remark
from literate_attention.workshop.pieces.piece import judged

# The norm


def run_norm(implementation: Any, given: Given) -> Any:
    """Make a norm, give it weights, and normalize."""
    x, weight = given["x"], given.get("weight")
    norm = implementation(x.shape[-1], *([given["eps"]] if "eps" in given else []))
    like = RMSNorm(x.shape[-1])
    if weight is not None:
        loaded(norm, like).weight.copy_(weight)
    return norm.to(x.dtype)(x)


HALF_PRECISION = """
in half precision the squares overflow: compute in float32
    x.to(torch.promote_types(x.dtype, torch.float32)) -> x
"""
WRONG_NORMS = """
the mean is subtracted, which is LayerNorm: here nothing is subtracted
    wide = x.to -> wide = (x - x.mean(dim=-1, keepdim=True)).to
the eps is added to the root, it belongs under it
    torch.rsqrt(mean_square + self.eps) -> 1 / (mean_square.sqrt() + self.eps)
the eps is not the one that was given | + self.eps -> + 1e-5
the eps is missing: vectors of zeros are divided by zero | + self.eps ->
it divides by the root of the sum of squares, not of their mean | .mean( -> .sum(
the square root is missing | torch.rsqrt( -> 1 / (
the squares are missing: it divides by the root of the mean | .square() ->
it divides by the mean of the sizes of the numbers, not by a root of squares | .square() -> .abs()
    torch.rsqrt( -> 1 / (
the mean is over all numbers, not over those of each vector | .mean(dim=-1, keepdim=True) -> .mean()
the mean is over axis 1: in a batch these are the tokens, the numbers are axis -1 | dim=-1 -> dim=1
the mean is over axis 0, not over the numbers of each vector | dim=-1 -> dim=0
the variance is taken, in which the mean is subtracted: here nothing is
    wide.square().mean(dim=-1, keepdim=True) -> wide.var(dim=-1, keepdim=True, correction=0)
the sum of squares is divided by one less than there are numbers
    .mean(dim=-1, keepdim=True) -> .sum(dim=-1, keepdim=True) / (x.shape[-1] - 1)
the unbiased variance is taken: here nothing is subtracted, and the mean is over all numbers
    wide.square().mean(dim=-1, keepdim=True) -> wide.var(dim=-1, keepdim=True)
the mean is over the tokens, not over the numbers of each vector | .mean(dim=-1 -> .mean(dim=-2
the mean lacks keepdim: each divides a column, not its vector | .mean(dim=-1, keepdim=True) -> .mean(dim=-1)
it multiplies by the root, it should divide | torch.rsqrt( -> torch.sqrt(
the weight is not used | self.weight * ->
the weight is one too large | self.weight * -> (1 + self.weight) *
the weight is added, it should be multiplied | self.weight * -> self.weight +
"""
TWO = torch.tensor([0.5, 2.0])
NORMED = inputs(
    "x, weight, eps",
    *(([[3.0, 4.0]], [1.0, 1.0]), ([[3.0, 4.0]], TWO), ([[3.0, 4.0], [1.0, 0.0]], TWO)),
    *(([[0.0, 0.0]], TWO), ([[0.001, 0.004]], TWO), ([[3.0, 4.0]], TWO, 0.5)),
    *((drawn(2, 3, 5), drawn(5, seed=1)), (drawn(2, 3),)),
)
LARGE = inputs(
    "x, weight",
    (torch.tensor([[300.0, -300.0], [3.0, -3.0]]).half(), TWO.half()),
    (drawn(1, 2).double(), TWO.double()),
)


@torch.no_grad()
def judge_digits(mine: Any) -> Verdict:
    """See whether float64 keeps its digits: a norm that always computes in float32 is right, as Llama's."""
    came, should = (run_norm(norm, LARGE[-1]) for norm in (mine, RMSNorm))
    if torch.allclose(came, should, rtol=1e-9):
        return RIGHT
    return remark("float64 loses half of its digits: it computes in float32, whatever comes in")


# The feed-forward part


def run_feed_forward(implementation: Any, given: Given) -> Any:
    """Make a feed-forward part, load weights, and run it."""
    sizes = given["x"].shape[-1], given["hidden_dim"]
    return loaded(implementation(*sizes), SwiGLU(*sizes))(given["x"])


WRONG_FEED_FORWARD_PARTS = """
W_gate and W_up are swapped: the SiLU belongs to the gate | self.W_gate(x) -> self.W_up(x)
    self.W_up(x) -> self.W_gate(x)
the activation is GELU, expected SiLU | silu( -> nn.functional.gelu(
the activation is GELU, by its formula with tanh, expected SiLU
    silu(self.W_gate(x)) -> nn.functional.gelu(self.W_gate(x), approximate="tanh")
the activation is ReLU, expected SiLU | silu( -> torch.relu(
the activation is the sigmoid alone; SiLU is x times its sigmoid | silu( -> torch.sigmoid(
the activation is tanh, expected SiLU | silu( -> torch.tanh(
the activation is missing | silu( -> (
the product is missing: W_up is not used | * self.W_up(x) ->
gate and up are added, they should be multiplied | ) * -> ) +
both branches have an activation, only the gate should | self.W_up(x) -> silu(self.W_up(x))
the activation is applied to the product, it belongs to the gate alone
    silu(self.W_gate(x)) * self.W_up(x) -> silu(self.W_gate(x) * self.W_up(x))
W_down is not used | self.W_down( -> (
"""


# The block


class Looking(nn.Module):
    """A probe for an attention: each token adds up itself and those before it."""

    def forward(self, x: Tensor, *, cache: float | None = None, **_: Any) -> Tensor:
        """Look at the past."""
        return x.cumsum(dim=-2) + (cache or 0.0)

    def __repr__(self) -> str:
        return "a module that adds to each token those before it, and the cache"


def run_block(implementation: Any, given: Given) -> Any:
    """Make a block around a probe, load weights, and run it."""
    x = given["x"]
    made_with = given["attention"], x.shape[-1], given["hidden_dim"], given.get("eps", 1e-5)
    block = loaded(implementation(*made_with), TransformerBlock(*made_with))
    return block(x, cache=given["cache"]) if "cache" in given else block(x)


def vectors(x: Tensor, **others: float) -> Given:
    """Write an input for a block."""
    return {"attention": Looking(), "x": x, "hidden_dim": 3, **others}


WRONG_BLOCKS = """
eps is not passed on to the norms
    self.attention_norm = RMSNorm(embed_dim, eps) -> self.attention_norm = RMSNorm(embed_dim)
    self.feed_forward_norm = RMSNorm(embed_dim, eps) -> self.feed_forward_norm = RMSNorm(embed_dim)
the norms stand behind the parts, they belong before them
    self.attention(self.attention_norm(x), **options) -> self.attention_norm(self.attention(x, **options))
    self.feed_forward(self.feed_forward_norm(x)) -> self.feed_forward_norm(self.feed_forward(x))
the norms stand on the stream, behind the sums; they belong before the parts
    x = x + self.attention(self.attention_norm(x), **options)
        -> x = self.attention_norm(x + self.attention(x, **options))
    x + self.feed_forward(self.feed_forward_norm(x)) -> self.feed_forward_norm(x + self.feed_forward(x))
the norms stand on the stream, behind the sums, and that of the attention serves both parts
    x = x + self.attention(self.attention_norm(x), **options)
        -> x = self.attention_norm(x + self.attention(x, **options))
    x + self.feed_forward(self.feed_forward_norm(x)) -> self.attention_norm(x + self.feed_forward(x))
nothing is added to what came in: the attention replaces it | x = x + self -> x = self
nothing is added to what the attention left: the feed-forward part replaces it | return x + -> return
the attention is added to the normed vectors, not to those that came in
    x = x + self -> x = self.attention_norm(x) + self
the feed-forward part is added to the normed vectors, not to the stream
    return x + -> return self.feed_forward_norm(x) +
the attention has no norm before it | self.attention_norm(x) -> x
the feed-forward part has no norm before it | self.feed_forward_norm(x) -> x
the norm of the attention serves both parts | self.feed_forward_norm(x) -> self.attention_norm(x)
the norm of the feed-forward part serves both parts | self.attention_norm(x) -> self.feed_forward_norm(x)
the two norms are swapped | self.attention_norm(x) -> self.feed_forward_norm(x)
    self.feed_forward_norm(x) -> self.attention_norm(x)
the feed-forward part gets what came in, not what the attention made of it
    x = x + self -> came, x = x, x + self | self.feed_forward_norm(x) -> self.feed_forward_norm(came)
what came in is added at the end, not what the attention made of it | x = x + self -> came, x = x, x + self
    return x -> return came
the feed-forward part comes first, the attention should
    self.attention(self.attention_norm(x), **options) -> self.feed_forward(self.feed_forward_norm(x))
    self.feed_forward(self.feed_forward_norm(x)) -> self.attention(self.attention_norm(x), **options)
the attention is missing | x = x + self.attention(self.attention_norm(x), **options) -> pass
the feed-forward part is missing | x + self.feed_forward(self.feed_forward_norm(x)) -> x
the attention is not told the options, such as the cache | , **options) -> )
"""


# The model


class Layer(nn.Module):
    """A probe for a block: tokens add up, and it makes a difference which layer it is."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor, *, cache: float | None = None, **_: Any) -> Tensor:
        """Carry tokens through the layer."""
        return (2 + self.weight) * x.cumsum(dim=-2) + self.number + (cache or 0.0)


VOCAB_SIZE, EMBED_DIM = 5, 3


def run_model(implementation: Any, given: Given) -> tuple[Tensor, ...]:
    """Make a model of probes, load weights, and call all that writing a text needs."""
    token_ids = given["token_ids"]

    def made(model: Any) -> Any:
        layers = [Layer(number) for number in range(given["num_blocks"])]
        return model(VOCAB_SIZE, EMBED_DIM, layers, given.get("eps", 1e-5))

    model = loaded(made(implementation), made(LanguageModel))
    options = [given["caches"]] if "caches" in given else []
    hidden = model.hidden_states(token_ids, *options)
    return hidden, model.logits(hidden), model(token_ids, *options)


def tokens(*ids: int, num_blocks: int, **others: Any) -> Given:
    """Write an input for a model."""
    return {"token_ids": torch.tensor([ids]), "num_blocks": num_blocks, **others}


WRONG_MODELS = """
eps is not passed on to the last norm | RMSNorm(embed_dim, eps) -> RMSNorm(embed_dim)
the last norm is missing | self.final_norm(x) -> x
the last norm is in logits, it belongs to hidden_states | self.final_norm(x) -> x
    hidden @ -> self.final_norm(hidden) @
the last norm comes twice | self.final_norm(x) -> self.final_norm(self.final_norm(x))
hidden_states and logits both have the last norm | hidden @ -> self.final_norm(hidden) @
there is a norm after each block, only the last should have one
    block(x, **options) -> self.final_norm(block(x, **options)) | return self.final_norm(x) -> return x
the norm comes before the blocks, it belongs behind them
    x = self.token_embedding(token_ids) -> x = self.final_norm(self.token_embedding(token_ids))
    return self.final_norm(x) -> return x
the blocks run in reverse | enumerate(self.blocks) -> enumerate(reversed(self.blocks))
the last block is left out | enumerate(self.blocks) -> enumerate(self.blocks[:-1])
only the last block counts: each gets the embeddings, not what the one before left
    enumerate(self.blocks) -> enumerate(self.blocks[-1:])
what went into the blocks is added once more: they do that themselves
    x = self.token_embedding(token_ids) -> came = x = self.token_embedding(token_ids)
    block(x, **options) -> block(x, **options) + came
every block gets the first cache, each has one of its own | caches[layer] -> caches[0]
every block gets the last cache, each has one of its own | caches[layer] -> caches[-1]
the caches are handed out in reverse | caches[layer] -> caches[-1 - layer]
the caches are not handed to the blocks | caches[layer] -> None
the embeddings are multiplied by the root of their width
    x = self.token_embedding(token_ids) -> x = (v := self.token_embedding(token_ids)) * v.shape[-1] ** 0.5
these are probabilities, expected scores: leave out the softmax
    hidden @ self.token_embedding.weight.T -> (hidden @ self.token_embedding.weight.T).softmax(dim=-1)
these are logarithms of probabilities, expected scores: leave out the softmax
    hidden @ self.token_embedding.weight.T -> (hidden @ self.token_embedding.weight.T).log_softmax(dim=-1)
the scores are divided by the root of the width | weight.T -> weight.T / hidden.shape[-1] ** 0.5
"""


PIECES = (
    judged(
        RMSNorm,
        "Vectors of one size",
        "Square, average, add eps, take the root: that is what each vector is divided by.",
        WRONG_NORMS,
        NORMED,
        run_norm,
        then=Judged(RMSNorm, HALF_PRECISION, LARGE, run_norm, then=judge_digits),
        attributes=("weight",),
        in_model=True,
    ),
    judged(
        SwiGLU,
        "Thinking within a token",
        "The SiLU of one projection decides how much of the other passes; a third one narrows it.",
        WRONG_FEED_FORWARD_PARTS,
        inputs("x, hidden_dim", ([[1.0]], 1), ([[1.0, -2.0]], 3), (drawn(2, 3, 4), 7)),
        run_feed_forward,
        attributes=("W_gate", "W_up", "W_down"),
        in_model=True,
    ),
    judged(
        TransformerBlock,
        "The block",
        "Twice the same: norm, then the part, then add what came in.",
        WRONG_BLOCKS,
        [
            *(vectors(torch.tensor([[[1.0, -2.0]]])), vectors(drawn(1, 2, 2))),
            *(vectors(drawn(1, 1, 2), cache=2.0), vectors(drawn(1, 1, 2), eps=0.5)),
            *(vectors(drawn(3, 2)), vectors(drawn(2, 3, 4), cache=3.0)),
        ],
        run_block,
        attributes=("attention_norm", "attention", "feed_forward_norm", "feed_forward"),
        in_model=True,
    ),
    judged(
        LanguageModel,
        "The model",
        "Look up, go through the blocks, normalize; then compare with each row of the same table.",
        WRONG_MODELS,
        [
            *(tokens(1, num_blocks=0), tokens(1, num_blocks=1), tokens(1, num_blocks=2)),
            tokens(1, 4, num_blocks=2),
            {"token_ids": torch.tensor([1, 4]), "num_blocks": 2},
            tokens(1, num_blocks=1, caches=[2.0]),
            tokens(1, num_blocks=2, caches=[2.0, -3.0]),
            tokens(1, num_blocks=0, eps=0.5),
            tokens(0, 3, 1, 3, num_blocks=3, caches=[2.0, -3.0, 5.0]),
        ],
        run_model,
        leave_out=("options",),
        attributes=("token_embedding", "blocks", "final_norm"),
        in_model=True,
    ),
)
