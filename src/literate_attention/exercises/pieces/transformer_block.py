"""The pieces of the chapter on the transformer block: norm, feed-forward, block and model."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, relu, silu

from literate_attention.exercises.pieces._judged import (
    Judged,
    UnusableError,
    alone_and_in_pairs,
    loaded,
    rewritten,
)
from literate_attention.exercises.pieces._piece import Piece
from literate_attention.exercises.pieces._trials import Given, drawn
from literate_attention.models.transformer_block import (
    LanguageModel,
    RMSNorm,
    SwiGLU,
    TransformerBlock,
)

Step = Callable[..., Tensor]

# The norm


def root_mean_square(x: Tensor, eps: float) -> Tensor:
    """Return the size of each vector."""
    return (x.square().mean(dim=-1, keepdim=True) + eps).sqrt()


def normalize(
    norm: Any,
    x: Tensor,
    *,
    type_inside: torch.dtype | None = torch.float32,
    prepared: Step = lambda x: x,
    size: Step = root_mean_square,
    sized: Step = torch.div,
    weighted: Step = torch.mul,
) -> Tensor:
    """Do what the norm does, or something else in one of its steps."""
    wide = prepared(x.to(type_inside or x.dtype))
    return weighted(sized(wide, size(wide, norm.eps)).to(x.dtype), norm.weight)


def run_norm(implementation: Any, given: Given) -> Tensor:
    """Make a norm, give it weights, and normalize."""
    x, weight = given["x"], given.get("weight")
    norm = implementation(x.shape[-1], *([given["eps"]] if "eps" in given else []))
    like = RMSNorm(x.shape[-1])
    if weight is not None:
        loaded(norm, like).weight.copy_(weight)
    result: Tensor = norm.to(x.dtype)(x)
    if isinstance(result, Tensor) and result.dtype != x.dtype:
        raise UnusableError(f"the result is of type {result.dtype}, expected that of x, {x.dtype}")
    return result


HALF_PRECISION = Judged(
    RMSNorm,
    {
        "in half precision the squares overflow: compute in float32": rewritten(
            RMSNorm, forward=normalize
        )(type_inside=None)
    },
    [
        {
            "weight": torch.tensor([0.5, 2.0]).half(),
            "x": torch.tensor([[300.0, -300.0], [3.0, -3.0]]).half(),
        }
    ],
    run_norm,
)

RMS_NORM = Judged(
    RMSNorm,
    alone_and_in_pairs(
        rewritten(RMSNorm, forward=normalize),
        {
            "the mean is subtracted, which is LayerNorm: here nothing is subtracted": {
                "prepared": lambda x: x - x.mean(dim=-1, keepdim=True)
            },
            "the eps is added to the root, it belongs under it": {
                "size": lambda x, eps: x.square().mean(dim=-1, keepdim=True).sqrt() + eps
            },
            "the eps is not the one that was given": {
                "size": lambda x, eps: root_mean_square(x, 1e-5)
            },
            "the eps is missing: vectors of zeros are divided by zero": {
                "size": lambda x, eps: root_mean_square(x, 0.0)
            },
            "it divides by the root of the sum of squares, not of their mean": {
                "size": lambda x, eps: (x.square().sum(dim=-1, keepdim=True) + eps).sqrt()
            },
            "the square root is missing": {
                "size": lambda x, eps: x.square().mean(dim=-1, keepdim=True) + eps
            },
            "the squares are missing: it divides by the root of the mean": {
                "size": lambda x, eps: (x.mean(dim=-1, keepdim=True) + eps).sqrt()
            },
            "it divides by the mean of the sizes of the numbers, not by a root of squares": {
                "size": lambda x, eps: x.abs().mean(dim=-1, keepdim=True) + eps
            },
            "the mean is over all numbers, not over those of each vector": {
                "size": lambda x, eps: (x.square().mean() + eps).sqrt()
            },
            "the mean is over the tokens, not over the numbers of each vector": {
                "size": lambda x, eps: (x.square().mean(dim=-2, keepdim=True) + eps).sqrt()
            },
            "the mean lacks keepdim: each divides a column, not its vector": {
                "size": lambda x, eps: (x.square().mean(dim=-1) + eps).sqrt()
            },
            "it multiplies by the root, it should divide": {"sized": torch.mul},
            "the weight is not used": {"weighted": lambda x, weight: x},
            "the weight is one too large": {"weighted": lambda x, w: x * (1 + w)},
            "the weight is added, it should be multiplied": {"weighted": torch.add},
        },
    ),
    [
        {"weight": torch.tensor([1.0, 1.0]), "x": torch.tensor([[3.0, 4.0]])},
        {"weight": torch.tensor([0.5, 2.0]), "x": torch.tensor([[3.0, 4.0]])},
        {"weight": torch.tensor([0.5, 2.0]), "x": torch.tensor([[3.0, 4.0], [1.0, 0.0]])},
        {"weight": torch.tensor([0.5, 2.0]), "x": torch.tensor([[0.0, 0.0]])},
        {"weight": torch.tensor([0.5, 2.0]), "x": torch.tensor([[0.001, 0.004]])},
        {"weight": torch.tensor([0.5, 2.0]), "x": torch.tensor([[3.0, 4.0]]), "eps": 0.5},
        {"weight": drawn(5, seed=1), "x": drawn(2, 3, 5)},
        {"x": drawn(2, 3)},
    ],
    run_norm,
    then=HALF_PRECISION,
)

# The feed-forward part


def feed_forward(
    module: Any,
    x: Tensor,
    *,
    gate: str = "W_gate",
    up: str = "W_up",
    activation: Step = silu,
    combined: Step = torch.mul,
    narrowed: bool = True,
) -> Tensor:
    """Do what SwiGLU does, or something else in one of its steps."""
    inside = combined(activation(getattr(module, gate)(x)), getattr(module, up)(x))
    return module.W_down(inside) if narrowed else inside


def run_feed_forward(implementation: Any, given: Given) -> Tensor:
    """Make a feed-forward part, load weights, and run it."""
    sizes = given["x"].shape[-1], given["hidden_dim"]
    result: Tensor = loaded(implementation(*sizes), SwiGLU(*sizes))(given["x"])
    return result


SWI_GLU = Judged(
    SwiGLU,
    alone_and_in_pairs(
        rewritten(SwiGLU, forward=feed_forward),
        {
            "W_gate and W_up are swapped: the SiLU belongs to the gate": {
                "gate": "W_up",
                "up": "W_gate",
            },
            "the activation is GELU, expected SiLU": {"activation": gelu},
            "the activation is ReLU, expected SiLU": {"activation": relu},
            "the activation is the sigmoid alone; SiLU is x times its sigmoid": {
                "activation": torch.sigmoid
            },
            "the activation is tanh, expected SiLU": {"activation": torch.tanh},
            "the activation is missing": {"activation": lambda x: x},
            "the product is missing: W_up is not used": {"combined": lambda gate, up: gate},
            "gate and up are added, they should be multiplied": {"combined": torch.add},
            "both branches have an activation, only the gate should": {
                "combined": lambda gate, up: gate * silu(up)
            },
            "the activation is applied to the product, it belongs to the gate alone": {
                "activation": lambda x: x,
                "combined": lambda gate, up: silu(gate * up),
            },
            "W_down is not used": {"narrowed": False},
        },
    ),
    [
        {"x": torch.tensor([[1.0]]), "hidden_dim": 1},
        {"x": torch.tensor([[1.0, -2.0]]), "hidden_dim": 3},
        {"x": drawn(2, 3, 4), "hidden_dim": 7},
    ],
    run_feed_forward,
)

# The block


class Looking(nn.Module):
    """A probe for an attention: each token adds up itself and those before it."""

    def forward(self, x: Tensor, *, cache: float | None = None, **_: Any) -> Tensor:
        """Look at the past."""
        return x.cumsum(dim=-2) + (cache or 0.0)

    def __repr__(self) -> str:
        return "a module that adds to each token those before it, and the cache"


def add_normed(x: Tensor, norm: Step, part: Step) -> Tensor:
    """Add to the stream what a part makes of it."""
    return x + part(norm(x))


def run_through(
    block: Any,
    x: Tensor,
    *,
    norms: tuple[str, str] = ("attention_norm", "feed_forward_norm"),
    attended: Step = add_normed,
    fed: Step = add_normed,
    joined: Step = lambda x, attend, feed: feed(attend(x)),
    passed_on: bool = True,
    **options: Any,
) -> Tensor:
    """Do what a block does, or something else in one of its steps."""
    first, second = (getattr(block, name) for name in norms)
    attention = partial(block.attention, **(options if passed_on else {}))
    return joined(
        x,
        lambda x: attended(x, first, attention),
        lambda x: fed(x, second, block.feed_forward),
    )


def run_block(implementation: Any, given: Given) -> Tensor:
    """Make a block around a probe, load weights, and run it."""
    x = given["x"]
    made_with = given["attention"], x.shape[-1], given["hidden_dim"], given.get("eps", 1e-5)
    block = loaded(implementation(*made_with), TransformerBlock(*made_with))
    result: Tensor = block(x, cache=given["cache"]) if "cache" in given else block(x)
    return result


def vectors(x: Tensor, **others: float) -> Given:
    """Write an input for a block."""
    return {"attention": Looking(), "x": x, "hidden_dim": 3, **others}


class WithoutEps(TransformerBlock):
    """A block whose norms have an eps of their own."""

    def __init__(self, attention: nn.Module, embed_dim: int, hidden_dim: int, eps: float) -> None:
        super().__init__(attention, embed_dim, hidden_dim)


BLOCK = Judged(
    TransformerBlock,
    {("eps is not passed on to the norms",): WithoutEps}
    | alone_and_in_pairs(
        rewritten(TransformerBlock, forward=run_through),
        {
            "the norms stand behind the parts, they belong before them": {
                "attended": lambda x, norm, part: x + norm(part(x)),
                "fed": lambda x, norm, part: x + norm(part(x)),
            },
            "the norms stand on the stream, behind the sums; they belong before the parts": {
                "attended": lambda x, norm, part: norm(x + part(x)),
                "fed": lambda x, norm, part: norm(x + part(x)),
            },
            "nothing is added to what came in: the attention replaces it": {
                "attended": lambda x, norm, part: part(norm(x))
            },
            "nothing is added to what the attention left: the feed-forward part replaces it": {
                "fed": lambda x, norm, part: part(norm(x))
            },
            "the attention is added to the normed vectors, not to those that came in": {
                "attended": lambda x, norm, part: norm(x) + part(norm(x))
            },
            "the feed-forward part is added to the normed vectors, not to the stream": {
                "fed": lambda x, norm, part: norm(x) + part(norm(x))
            },
            "the attention has no norm before it": {"attended": lambda x, norm, part: x + part(x)},
            "the feed-forward part has no norm before it": {
                "fed": lambda x, norm, part: x + part(x)
            },
            "the norm of the attention serves both parts": {"norms": ("attention_norm",) * 2},
            "the norm of the feed-forward part serves both parts": {
                "norms": ("feed_forward_norm",) * 2
            },
            "the two norms are swapped": {"norms": ("feed_forward_norm", "attention_norm")},
            "the feed-forward part gets what came in, not what the attention made of it": {
                "joined": lambda x, attend, feed: attend(x) + feed(x) - x
            },
            "what came in is added at the end, not what the attention made of it": {
                "joined": lambda x, attend, feed: feed(attend(x)) - attend(x) + x
            },
            "the feed-forward part comes first, the attention should": {
                "joined": lambda x, attend, feed: attend(feed(x))
            },
            "the attention is missing": {"joined": lambda x, attend, feed: feed(x)},
            "the feed-forward part is missing": {"joined": lambda x, attend, feed: attend(x)},
            "the attention is not told the options, such as the cache": {"passed_on": False},
        },
    ),
    [
        vectors(torch.tensor([[[1.0, -2.0]]])),
        vectors(drawn(1, 2, 2)),
        vectors(drawn(1, 1, 2), cache=2.0),
        vectors(drawn(1, 1, 2), eps=0.5),
        vectors(drawn(3, 2)),
        vectors(drawn(2, 3, 4), cache=3.0),
    ],
    run_block,
    parts=(RMSNorm, SwiGLU),
)

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


def hidden_states(
    model: Any,
    token_ids: Tensor,
    caches: Any = None,
    *,
    embedded: Step = lambda x: x,
    order: slice = slice(None),
    cache_of: Callable[..., Any] = lambda caches, layer: caches[layer],
    handed_on: Step = lambda x, came_in, norm: x,
    finished: Step = lambda x, norm: norm(x),
    **_: Any,
) -> Tensor:
    """Do what a model does up to its last vectors, or something else in one of its steps."""
    came_in = x = embedded(model.token_embedding(token_ids))
    for layer, block in enumerate(list(model.blocks)[order]):
        cache = None if caches is None else cache_of(caches, layer)
        x = handed_on(block(x, cache=cache), came_in, model.final_norm)
    return finished(x, model.final_norm)


def logits(
    model: Any,
    hidden: Tensor,
    *,
    compared: Step = lambda hidden, table, norm: hidden @ table.T,
    **_: Any,
) -> Tensor:
    """Compare vectors with the table of embeddings, or do something else."""
    return compared(hidden, model.token_embedding.weight, model.final_norm)


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


class ModelWithoutEps(LanguageModel):
    """A model whose last norm has an eps of its own."""

    def __init__(
        self, vocab_size: int, embed_dim: int, blocks: Sequence[nn.Module], eps: float
    ) -> None:
        super().__init__(vocab_size, embed_dim, blocks)


MODEL = Judged(
    LanguageModel,
    {("eps is not passed on to the last norm",): ModelWithoutEps}
    | alone_and_in_pairs(
        rewritten(LanguageModel, hidden_states=hidden_states, logits=logits),
        {
            "the last norm is missing": {"finished": lambda x, norm: x},
            "the last norm is in logits, it belongs to hidden_states": {
                "finished": lambda x, norm: x,
                "compared": lambda hidden, table, norm: norm(hidden) @ table.T,
            },
            "the last norm comes twice": {
                "finished": lambda x, norm: norm(norm(x)),
            },
            "hidden_states and logits both have the last norm": {
                "compared": lambda hidden, table, norm: norm(hidden) @ table.T,
            },
            "there is a norm after each block, only the last should have one": {
                "handed_on": lambda x, came_in, norm: norm(x),
                "finished": lambda x, norm: x,
            },
            "the norm comes before the blocks, it belongs behind them": {
                "embedded": lambda x: x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt(),
                "finished": lambda x, norm: x,
            },
            "the blocks run in reverse": {"order": slice(None, None, -1)},
            "the last block is left out": {"order": slice(None, -1)},
            "only the last block counts: each gets the embeddings, not what the one before left": {
                "order": slice(-1, None)
            },
            "what went into the blocks is added once more: they do that themselves": {
                "handed_on": lambda x, came_in, norm: x + came_in
            },
            "every block gets the first cache, each has one of its own": {
                "cache_of": lambda caches, layer: caches[0]
            },
            "every block gets the last cache, each has one of its own": {
                "cache_of": lambda caches, layer: caches[-1]
            },
            "the caches are handed out in reverse": {
                "cache_of": lambda caches, layer: caches[-1 - layer]
            },
            "the caches are not handed to the blocks": {"cache_of": lambda caches, layer: None},
            "the embeddings are multiplied by the root of their width": {
                "embedded": lambda x: x * x.shape[-1] ** 0.5
            },
            "these are probabilities, expected scores: leave out the softmax": {
                "compared": lambda h, table, norm: (h @ table.T).softmax(dim=-1)
            },
            "these are logarithms of probabilities, expected scores: leave out the softmax": {
                "compared": lambda h, table, norm: (h @ table.T).log_softmax(dim=-1)
            },
            "the scores are divided by the root of the width": {
                "compared": lambda hidden, table, norm: hidden @ table.T / table.shape[-1] ** 0.5
            },
        },
    ),
    [
        tokens(1, num_blocks=0),
        tokens(1, num_blocks=1),
        tokens(1, num_blocks=2),
        tokens(1, 4, num_blocks=2),
        {"token_ids": torch.tensor([1, 4]), "num_blocks": 2},
        tokens(1, num_blocks=1, caches=[2.0]),
        tokens(1, num_blocks=2, caches=[2.0, -3.0]),
        tokens(1, num_blocks=0, eps=0.5),
        tokens(0, 3, 1, 3, num_blocks=3, caches=[2.0, -3.0, 5.0]),
    ],
    run_model,
    parts=(RMSNorm,),
)

PIECES = (
    Piece(
        library=RMSNorm,
        chapter="models/transformer_block",
        section="Vectors of one size",
        hint="Square, average, add eps, take the root: that is what each vector is divided by.",
        check=RMS_NORM,
        attributes=("weight",),
        in_model=True,
    ),
    Piece(
        library=SwiGLU,
        chapter="models/transformer_block",
        section="Thinking within a token",
        hint="The SiLU of one projection decides how much of the other passes; a third one narrows it.",
        check=SWI_GLU,
        attributes=("W_gate", "W_up", "W_down"),
        in_model=True,
    ),
    Piece(
        library=TransformerBlock,
        chapter="models/transformer_block",
        section="The block",
        hint="Twice the same: norm, then the part, then add what came in.",
        check=BLOCK,
        attributes=("attention_norm", "attention", "feed_forward_norm", "feed_forward"),
        in_model=True,
    ),
    Piece(
        library=LanguageModel,
        chapter="models/transformer_block",
        section="The model",
        hint="Look up, go through the blocks, normalize; then compare with each row of the same table.",
        check=MODEL,
        leave_out=("options",),
        attributes=("token_embedding", "blocks", "final_norm"),
        in_model=True,
    ),
)
