"""A world whose every word has a known probability, and a small model that learns to write about it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import one_hot

from literate_attention._argument_checks import (
    require_at_least,
    require_sha256,
    require_token_ids,
)
from literate_attention.models.real_model import llama_model
from literate_attention.models.rotary_embeddings import RotaryEmbedding
from literate_attention.models.transformer_block import LanguageModel
from literate_attention.story.training import one_thread, training_step
from literate_attention.tasks import Task

__all__ = [
    "Snapshot",
    "World",
    "count_words",
    "entropy",
    "kl_divergence",
    "load_checkpoints",
    "next_words",
    "restricted_nll",
    "take_snapshot",
    "tiny_llama",
    "train_in_batches",
]

OWNERS: Final = ("Tom's", "Lily's", "Ben's", "Mia's", "Sam's", "Eve's", "Max's", "Ann's")
"""Who may have something in the world of the chapter."""
COLOURS: Final = ("red", "blue", "green", "yellow", "black", "white", "pink", "brown")
"""What colour it may be."""
THINGS: Final = ("cup", "kite", "ball", "hat", "book", "drum", "boat", "bell")
"""What it may be."""
STATES: Final = ("here", "gone", "lost", "found")
"""What may be said of it."""
MOST_OWNERS: Final = 3
"""How many people a text may tell of."""
KINDS: Final = ("grammar", "whose", "new colour or thing", "echo", "its colour", "its thing")
"""What a word of the world can be, for whoever has to guess it."""


@dataclass(frozen=True)
class World:
    r"""A small language in which it is known how probable each word is.

    .. math:: P(\text{text}) = \prod_n P(w_n \mid w_1, \dots, w_{n-1})

    A sentence says whose things are where: *Tom's red cup is here .* or *Tom's red cup and Mia's blue kite
    are lost .* A text tells of three people at most. Whatever somebody's thing is when it is named for the
    first time, it stays. After a sentence, an echo may follow: the word *yes*, and the same sentence again.
    What reads texts expects them from the first full stop on.

    Example:
        >>> world = World()
        >>> generator = torch.Generator().manual_seed(123)
        >>> world.spell(world.draw(1, 14, generator)[0])
        ". Tom's green drum and Ann's brown ball are here . Ann's brown ball"
    """

    owners: tuple[str, ...] = OWNERS
    colours: tuple[str, ...] = COLOURS
    things: tuple[str, ...] = THINGS
    states: tuple[str, ...] = STATES

    @property
    def words(self) -> tuple[str, ...]:
        """All words, and the full stop with which each text begins; the id of a word is its place here."""
        parts = self.owners, self.colours, self.things, ("and", "is", "are", "yes"), self.states
        return (".", *(word for part in parts for word in part))

    def token_ids(self, text: str) -> Int[Tensor, " num_tokens"]:
        """Turn words, with blanks between them, into their ids.

        Raises:
            ValueError: a word is not of this world.

        Example:
            >>> World().token_ids(". Tom's red cup")
            tensor([ 0,  1,  9, 17])
        """
        for word in text.split():
            if word not in self.words:
                raise ValueError(f"{word!r} is none of the words: {' '.join(self.words)}")
        return torch.tensor([self.words.index(word) for word in text.split()])

    def spell(self, token_ids: Int[Tensor, " num_tokens"]) -> str:
        """Turn the ids of one text into its words, with blanks between them.

        Example:
            >>> World().spell(torch.tensor([0, 1, 9, 17]))
            ". Tom's red cup"
        """
        return " ".join(self.words[token_id] for token_id in token_ids.tolist())

    def among(self, *kinds: tuple[str, ...]) -> Bool[Tensor, " vocab_size"]:
        """Tell which words of the vocabulary are among some, such as ``world.things``.

        Example:
            >>> World().among((".", "and")).nonzero().flatten()
            tensor([ 0, 25])
        """
        wanted = {word for kind in kinds for word in kind}
        return torch.tensor([word in wanted for word in self.words])

    def next_word(
        self, texts: Int[Tensor, "batch num_tokens"]
    ) -> Float[Tensor, "batch vocab_size"]:
        r"""Say how probable each word is as the next one.

        .. math:: P(w_{n+1} \mid w_1, \dots, w_n)

        Example:
            >>> world = World()
            >>> after_is = world.next_word(world.token_ids(". Tom's red cup is")[None])
            >>> world.spell(after_is[0].nonzero().flatten()), after_is.max().item()
            ('here gone lost found', 0.25)
        """
        require_token_ids(texts, len(self.words))
        rules: dict[tuple[str, ...], Callable[[Tensor], Tensor]] = {
            (".", "and"): self._owner,
            self.owners: lambda texts: self._as_before(texts, 1, self.colours),
            self.colours: lambda texts: self._as_before(texts, 2, self.things),
            self.things: self._link,
            ("is", "are"): lambda _: self._even(self.states),
            self.states: lambda _: self._even((".",)),
        }
        probs = torch.zeros(len(texts), len(self.words), dtype=torch.float64)
        for words, rule in rules.items():
            rows = self.among(words)[texts[:, -1]]
            if rows.any():
                probs[rows] = rule(texts[rows])
        start, end, yes = self._echo(texts)
        begins = (texts[:, -1] == 0) & (yes < start)
        probs[begins] = (probs[begins] + self._even(("yes",))) / 2
        echoes = yes > end
        again = texts[echoes, (start - yes)[echoes]]
        probs[echoes] = one_hot(again, len(self.words)).double()
        return probs

    def _echo(self, texts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Find the full stops around the last whole sentence of each text, and the last *yes*."""
        places = torch.arange(texts.shape[1])
        end = torch.where(texts == 0, places, -1).amax(dim=1)
        start = torch.where((texts == 0) & (places < end[:, None]), places, -1).amax(dim=1)
        yes = torch.where(self.among(("yes",))[texts], places, -1).amax(dim=1)
        return start, end, yes

    def _even(self, words: tuple[str, ...]) -> Float[Tensor, " vocab_size"]:
        """Give each of some words the same probability."""
        return self.among(words).double() / len(words)

    def _owner(self, texts: Tensor) -> Tensor:
        """Name somebody new with probability 1/2, while there are fewer than three, or somebody known."""
        named = torch.zeros(len(texts), len(self.words), dtype=torch.bool).scatter(1, texts, True)
        known = named & self.among(self.owners)
        new = self.among(self.owners) & ~known
        may_be_new = new.any(dim=1) & (known.sum(dim=1) < MOST_OWNERS)
        after_and = self.among(("and",))[texts[:, -1]]
        beside = one_hot(texts[:, -4:][:, 0], len(self.words)).bool()
        known &= ~(beside & after_and[:, None])
        chance = (0.5 * may_be_new).masked_fill(~known.any(dim=1), 1.0)[:, None]
        return chance * _share(new) + (1 - chance) * _share(known)

    def _as_before(self, texts: Tensor, distance: int, words: tuple[str, ...]) -> Tensor:
        """Say what came so far after the owner when it was named first, or draw one of the words."""
        owner = texts[:, -distance, None]
        before = texts[:, :-distance] == owner
        place = before.int().argmax(dim=1, keepdim=True) + distance
        told = one_hot(texts.gather(1, place)[:, 0], len(self.words)).double()
        return torch.where(before.any(dim=1, keepdim=True), told, self._even(words))

    def _link(self, texts: Tensor) -> Tensor:
        """After one thing say *and* or *is*, after two say *are*."""
        many = self.among(("and",))[texts[:, -4], None]
        return torch.where(many, self._even(("are",)), self._even(("and", "is")))

    def draw(
        self, num_texts: int, num_tokens: int, generator: torch.Generator | None = None
    ) -> Int[Tensor, "num_texts num_tokens"]:
        """Write texts, each word drawn when it is said, and return the ids of their words.

        The first token is the full stop at the beginning; the last may be in the middle of a sentence.

        Example:
            >>> World().draw(5, 36).shape
            torch.Size([5, 36])
        """
        require_at_least("num_tokens", num_tokens, 1)
        texts = torch.zeros(num_texts, 1, dtype=torch.long)
        for _ in range(num_tokens - 1):
            drawn = self.next_word(texts).multinomial(1, generator=generator)
            texts = torch.cat((texts, drawn), dim=1)
        return texts

    def next_word_probs(
        self, texts: Int[Tensor, "num_texts num_tokens"]
    ) -> Float[Tensor, "num_texts num_guesses vocab_size"]:
        """Say after each word of some texts, but the last, how probable each word is as the next one.

        Example:
            >>> world = World()
            >>> world.next_word_probs(world.draw(5, 36)).shape
            torch.Size([5, 35, 33])
        """
        return torch.stack([self.next_word(texts[:, :n]) for n in range(1, texts.shape[1])], dim=1)

    def seen_words(
        self, texts: Int[Tensor, "num_texts num_tokens"]
    ) -> Bool[Tensor, "num_texts num_guesses vocab_size"]:
        """Tell after each word of some texts, but the last, which words have been said so far.

        Example:
            >>> world = World()
            >>> told = world.seen_words(world.token_ids(". Tom's red cup")[None])
            >>> world.spell(told[0, -1].nonzero().flatten())
            ". Tom's red"
        """
        return one_hot(texts, len(self.words)).cumsum(dim=1)[:, :-1] > 0

    def kinds(
        self, texts: Int[Tensor, "num_texts num_tokens"]
    ) -> dict[str, Bool[Tensor, "num_texts num_guesses"]]:
        """Say of which kind each word of some texts is, for whoever has to guess it.

        Returns:
            For each of ``KINDS`` the words of this kind: *echo* is what is said again after *yes*; *whose* is
            an owner; a colour or a thing is *new* if it may be any, and *its* if it was mentioned before; the
            rest is *grammar*. The first word of a text is left out, since nobody has to guess it.

        Example:
            >>> world = World()
            >>> texts = world.token_ids(". Tom's red cup is here . Tom's red cup")[None]
            >>> [next(kind for kind, at in world.kinds(texts).items() if at[0, n]) for n in (1, 7)]
            ['new colour or thing', 'its colour']
        """
        prefixes = [self._echo(texts[:, :n]) for n in range(1, texts.shape[1])]
        echo = torch.stack([yes > end for _, end, yes in prefixes], dim=1)
        told = self.next_word_probs(texts).amax(dim=-1) == 1
        owner, colour, thing = (
            self.among(words)[texts[:, 1:]] & ~echo
            for words in (self.owners, self.colours, self.things)
        )
        grammar = ~(owner | colour | thing | echo)
        found = grammar, owner, (colour | thing) & ~told, echo, colour & told, thing & told
        return dict(zip(KINDS, found, strict=True))


def _share(chosen: Tensor) -> Tensor:
    """Divide a probability of one evenly; where nothing is chosen, there is nothing."""
    return chosen.double() / chosen.sum(dim=-1, keepdim=True).clamp(min=1)


def entropy(probs: Float[Tensor, "*places vocab_size"]) -> Float[Tensor, "*places"]:
    r"""Say how surprising the next word is on average, in nats, for somebody who knows the probabilities.

    .. math:: H(p) = -\sum_w p_w \ln p_w

    It is the entropy :cite:p:`shannon1948`.

    Example:
        >>> entropy(torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))
        tensor([0.6931, 0.0000])
    """
    return torch.special.entr(probs).sum(dim=-1)


def kl_divergence(
    probs: Float[Tensor, "*places vocab_size"], logits: Float[Tensor, "*places vocab_size"]
) -> Float[Tensor, "*places"]:
    r"""Say how much more the next word surprises a model, on average, than it must.

    .. math:: D(p, q) = -\sum_w p_w \ln q_w - H(p) \ge 0

    In nats, from the true probabilities :math:`p`; a softmax of the logits makes :math:`q`. It is zero only
    if the model gives each word its true probability. It is also called relative entropy, or
    Kullback-Leibler divergence :cite:p:`kullback1951`.

    Example:
        >>> kl_divergence(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 0.0]))
        tensor(0.)
    """
    surprise = -(probs * logits.log_softmax(dim=-1)).sum(dim=-1)
    return surprise - entropy(probs)


def restricted_nll(
    logits: Float[Tensor, "*places vocab_size"],
    possible: Bool[Tensor, "*places vocab_size"],
    words: Int[Tensor, "*places"],
) -> Float[Tensor, "*places"]:
    r"""Say how much a word surprises a model that is told which ones are possible.

    .. math:: -\ln \frac{q_w}{\sum_{v \in S} q_v}

    In nats; a softmax of the logits makes the probabilities :math:`q`. Nothing sensible comes out if the word
    :math:`w` is not in :math:`S` itself, the words that are possible.

    Example:
        >>> logits, possible = torch.zeros(4), torch.tensor([True, True, False, False])
        >>> restricted_nll(logits, possible, torch.tensor(0))
        tensor(0.6931)
    """
    shares = logits.masked_fill(~possible, -torch.inf).log_softmax(dim=-1)
    return -shares.gather(-1, words.unsqueeze(-1)).squeeze(-1)


def count_words(
    texts: Int[Tensor, "num_texts num_tokens"], vocab_size: int, num_words: int
) -> Float[Tensor, "*vocab_sizes"]:
    """Count how often words follow each other, in a table: of words alone, of pairs, or of ``num_words``.

    Example:
        >>> count_words(torch.tensor([[0, 1, 0, 1, 1]]), vocab_size=2, num_words=2)
        tensor([[0., 2.],
                [1., 1.]])
    """
    runs = texts.unfold(1, num_words, 1).flatten(0, 1)
    table = torch.zeros([vocab_size] * num_words)
    return table.index_put_(runs.unbind(dim=-1), torch.ones(len(runs)), accumulate=True)


def next_words(texts: Int[Tensor, "num_texts num_tokens"], words: tuple[str, ...]) -> Task:
    """Make a task of texts: each word is to be answered with the next.

    Example:
        >>> task = next_words(torch.tensor([[0, 2, 1]]), (".", "ends", "it"))
        >>> task.examples, task.answers
        (tensor([[0, 2]]), tensor([[2, 1]]))
    """
    return Task(words, words, texts[:, :-1], texts[:, 1:])


def tiny_llama(vocab_size: int, **changes: int) -> LanguageModel:
    """Build the small model of the chapter: Llama's blocks, two of them, in float64.

    Args:
        vocab_size: how many words there are.
        **changes: sizes that differ: ``embed_dim``, ``hidden_dim``, ``num_layers``, ``num_heads``,
            ``context_length``.

    Returns:
        The model, with random weights: whole multiples of :math:`2^{-16}`, drawn in float64, so that the same
        seed gives the same model on every machine.

    Example:
        >>> sum(parameter.numel() for parameter in tiny_llama(33).parameters())
        47904
    """
    sizes: dict[str, int] = {
        "embed_dim": 48,
        "hidden_dim": 96,
        "num_layers": 2,
        "num_heads": 4,
        "context_length": 36,
    } | changes
    context_length, num_heads = sizes.pop("context_length"), sizes["num_heads"]
    rope = RotaryEmbedding(sizes["embed_dim"] // num_heads, context_length, base=100.0)
    model = llama_model(vocab_size, **sizes, num_kv_heads=num_heads, rope=rope).double()
    for weight in model.parameters():
        if weight.dim() == 2:
            most = weight.shape[1] ** -0.5
            drawn = torch.empty_like(weight).uniform_(-most, most)
            weight.data = (drawn * 2**16).round() / 2**16
    return model


def rate_at(step: int, num_steps: int) -> float:
    r"""Say which part of the full learning rate a step has.

    .. math:: \min\left(\frac{n + 1}{50},\; 1,\; 3 \, \frac{N - n}{N}\right)

    for step :math:`n`, from 0, of :math:`N`: it grows from nearly 0 to 1 and falls in the last third.

    Example:
        >>> [rate_at(step, 1500) for step in (0, 49, 1000, 1250)]
        [0.02, 1.0, 1.0, 0.5]
    """
    return min((step + 1) / 50, 1.0, 3 * (num_steps - step) / num_steps)


def train_in_batches(
    model: nn.Module,
    task: Task,
    num_steps: int,
    *,
    batch: int = 32,
    learning_rate: float = 3e-3,
    stop: int | None = None,
    watch: Callable[[int], object] | None = None,
    progress: Callable[[range], Iterable[int]] = iter,
) -> list[float]:
    r"""Train a model on one batch of examples after another, with a rate that rises and falls.

    .. math:: \theta \leftarrow \text{AdamW}\bigl(\theta, \nabla_\theta \, \text{loss}(\theta)\bigr)

    Args:
        model: what is trained, in place, on the CPU.
        task: its examples and answers; after the last of them, the first come again.
        num_steps: how many steps, by which the rate goes.
        batch: how many examples a step has.
        learning_rate: of AdamW :cite:p:`loshchilov2019`, at its full height.
        stop: after how many steps to stop early; by default it goes on to the end.
        watch: is called before each step, and after the last, with the number of steps so far.
        progress: wraps the steps, as ``tqdm`` does, to show how far it is.

    Returns:
        The loss of each step, before the step.

    Raises:
        ValueError: there are fewer examples than a batch has.

    Example:
        >>> world = World()
        >>> task = next_words(world.draw(64, 12), world.words)
        >>> losses = train_in_batches(tiny_llama(33), task, num_steps=20)
        >>> losses[-1] < losses[0]
        True
    """
    require_at_least("the number of examples", len(task.examples), batch)
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate, betas=(0.9, 0.99), fused=True)
    losses = []
    with one_thread():
        for step in progress(range(num_steps if stop is None else stop)):
            if watch:
                watch(step)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * rate_at(step, num_steps)
            rows = torch.arange(step * batch, (step + 1) * batch) % len(task.examples)
            part = replace(task, examples=task.examples[rows], answers=task.answers[rows])
            losses.append(training_step(model, part, optimizer))
        if watch:
            watch(len(losses))
    return losses


class Snapshot(NamedTuple):
    """What a model knew at one moment of its training, from :func:`take_snapshot`."""

    step: int
    """How many steps of training it had behind it."""
    loss: float
    """Its loss on texts that it is not trained on."""
    excess: dict[str, float]
    """For each kind of word how far it is above the floor, and for two of them a part of it."""
    weights: dict[str, Shaped[Tensor, "*shape"]]
    """Its parameters, for ``load_state_dict``."""


@torch.no_grad()
def take_snapshot(
    model: nn.Module, step: int, world: World, texts: Int[Tensor, "num_texts num_tokens"]
) -> Snapshot:
    """Measure what a model knows, and keep its weights as they are now.

    Example:
        >>> world = World()
        >>> snapshot = take_snapshot(tiny_llama(33), 0, world, world.draw(20, 36))
        >>> list(snapshot.excess)[-4:]
        ['its colour', 'its thing', 'which colour', 'which thing']
    """
    logits, kinds, told = model(texts[:, :-1]), world.kinds(texts), world.seen_words(texts)
    above = kl_divergence(world.next_word_probs(texts), logits)
    questions = [(kind, above[at]) for kind, at in kinds.items()]
    for name, words in (("colour", world.colours), ("thing", world.things)):
        which = restricted_nll(logits, told & world.among(words), texts[:, 1:])
        questions.append((f"which {name}", which[kinds[f"its {name}"]]))
    return Snapshot(
        step=step,
        loss=nn.functional.cross_entropy(logits.flatten(0, 1), texts[:, 1:].flatten()).item(),
        excess={name: surprises.mean().item() for name, surprises in questions},
        weights={name: weight.clone() for name, weight in model.state_dict().items()},
    )


def load_checkpoints(path: Path, sha256: str) -> dict[int, dict[str, Shaped[Tensor, "*shape"]]]:
    """Read what ``nox -s bench -- tiny_llama`` has kept: the weights after some numbers of steps.

    Raises:
        ValueError: the file is missing, or another one.

    Example:
        >>> load_checkpoints(Path("tiny_llama.pt"), sha256="0" * 64)
        Traceback (most recent call last):
        ValueError: tiny_llama.pt is missing; get it anew, or make it with nox -s bench -- tiny_llama
    """
    require_sha256(path, sha256, "get it anew, or make it with nox -s bench -- tiny_llama")
    return torch.load(path, weights_only=True)
