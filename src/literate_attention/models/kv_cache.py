"""One token at a time: what is kept of the tokens before, and how a text is continued.

A cache of any kind counts in ``num_tokens`` what its attention has seen. Keys and values, and latents, are
appended (:class:`KVCache`, ``RollingCache``, ``LatentCache``), and ``num_keys`` says how many there are; a
``StateCache`` holds one state instead, and a ``SparseCache`` the keys of an index, beside another cache.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from literate_attention._argument_checks import (
    require_at_least,
    require_context,
    require_room,
    require_token_ids,
)
from literate_attention.models.transformer_block import LanguageModel

__all__ = [
    "KVCache",
    "empty_caches",
    "generate",
    "greedy",
    "keep_top_k",
    "keep_top_p",
    "lenders",
    "round_to_bits",
    "sample",
]


class KVCache:
    r"""The keys and values of the tokens that one attention has seen.

    .. math:: \text{bytes} = 2 \cdot \text{batch} \cdot h_{kv} \cdot n \cdot d \cdot \text{bytes per number}

    Room for all tokens is taken at once, and nothing is moved while the text grows. Because it is written in
    place, no gradient passes through it: use it under :class:`torch.no_grad`.

    Args:
        batch: how many sequences.
        num_kv_heads: how many key-value heads, :math:`h_{kv}`.
        max_tokens: how many tokens there is room for, :math:`n`.
        head_dim: how wide a key or value is, :math:`d`.
        device: where to keep them.
        dtype: the type of their numbers.

    Example:
        >>> cache = KVCache(batch=1, num_kv_heads=2, max_tokens=8, head_dim=4)
        >>> _ = cache.append(torch.ones(1, 2, 5, 4), torch.ones(1, 2, 5, 4))
        >>> keys, values = cache.append(torch.zeros(1, 2, 1, 4), torch.zeros(1, 2, 1, 4))
        >>> keys[0, 0, :, 0]
        tensor([1., 1., 1., 1., 1., 0.])
    """

    def __init__(
        self,
        batch: int,
        num_kv_heads: int,
        max_tokens: int,
        head_dim: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        shape = (batch, num_kv_heads, max_tokens, head_dim)
        self.keys = torch.empty(shape, device=device, dtype=dtype)
        self.values = torch.empty(shape, device=device, dtype=dtype)
        self.max_tokens = max_tokens
        self.num_tokens = 0

    def __repr__(self) -> str:
        sizes = f"num_tokens={self.num_tokens}, max_tokens={self.max_tokens}, nbytes={self.nbytes}"
        return f"KVCache({sizes})"

    def append(
        self,
        key: Float[Tensor, "batch num_kv_heads new_tokens head_dim"],
        value: Float[Tensor, "batch num_kv_heads new_tokens head_dim"],
    ) -> tuple[
        Float[Tensor, "batch num_kv_heads num_tokens head_dim"],
        Float[Tensor, "batch num_kv_heads num_tokens head_dim"],
    ]:
        """Keep keys and values, count their tokens in ``num_tokens``, and return those of all tokens so far.

        Args:
            key: the keys of the tokens that follow those in the cache.
            value: their values.
        """
        new_tokens = key.shape[-2]
        require_room(self.num_tokens, new_tokens, key=(key, self.keys), value=(value, self.values))
        start, self.num_tokens = self.num_tokens, self.num_tokens + new_tokens
        self.keys[:, :, start : self.num_tokens] = key
        self.values[:, :, start : self.num_tokens] = value
        return self.keys[:, :, : self.num_tokens], self.values[:, :, : self.num_tokens]

    @property
    def num_keys(self) -> int:
        """How many keys the next tokens find in it, one for each token so far."""
        return self.num_tokens

    @property
    def nbytes(self) -> int:
        """How many bytes the cache takes, full or empty."""
        return self.keys.nbytes + self.values.nbytes


def empty_caches(model: LanguageModel, batch: int, max_tokens: int) -> list[KVCache]:
    r"""Make an empty cache for every block of a model, on its device and of its type.

    .. math:: \text{bytes per token} = 2 \cdot L \cdot h_{kv} \cdot d \cdot \text{bytes per number}

    Raises:
        TypeError: the model's attention takes no cache.

    Example:
        >>> from literate_attention import GroupedQueryAttention, TransformerBlock
        >>> attention = GroupedQueryAttention(12, 12, num_heads=6, num_kv_heads=2)
        >>> model = LanguageModel(11, 12, [TransformerBlock(attention, 12, hidden_dim=16)])
        >>> [cache.nbytes for cache in empty_caches(model, batch=1, max_tokens=10)]
        [320]
    """
    weight = model.token_embedding.weight
    attentions: list[Any] = [block.attention for block in model.blocks]
    for attention in attentions:
        if not hasattr(attention, "num_kv_heads"):
            raise TypeError(
                f"{type(attention).__name__} takes no cache of keys and values; "
                f"build the model with GroupedQueryAttention, or pass caches that it does take"
            )
    return [
        KVCache(
            batch,
            attention.num_kv_heads,
            max_tokens,
            attention.head_dim,
            device=weight.device,
            dtype=weight.dtype,
        )
        for attention in attentions
    ]


def lenders(kinds: Sequence[str], num_own: int) -> list[int]:
    r"""Say for each layer whose keys and values it attends to, if only the first layers make their own.

    .. math:: \ell_i = \begin{cases} i & i < n \\
              \max \{ j < n : \text{kind}_j = \text{kind}_i \} & \text{else} \end{cases}

    A layer that borrows has a query projection alone, and takes the rest from the last layer of its own kind
    that makes keys and values, as in Gemma 3n; others share in other ways :cite:p:`brandon2024`. :math:`n` is
    ``num_own``, and ``kinds`` says what kind of attention each layer has.

    Raises:
        ValueError: no layer that makes keys and values is of a kind that others need.

    Example:
        >>> lenders(["window", "window", "full", "window", "window", "full"], num_own=4)
        [0, 1, 2, 3, 3, 2]
    """
    if missing := sorted({*kinds[num_own:]} - {*kinds[:num_own]}):
        raise ValueError(
            f"none of the first {num_own} layers is of the kind {missing[0]!r}, "
            f"so there is nothing to borrow; raise num_own"
        )
    last = {kind: layer for layer, kind in enumerate(kinds[:num_own])}
    return [layer if layer < num_own else last[kind] for layer, kind in enumerate(kinds)]


def round_to_bits(
    x: Float[Tensor, "*shape"], bits: int, dim: int, group_size: int | None = None
) -> Float[Tensor, "*shape"]:
    r"""Round numbers to a few evenly spaced ones, from the lowest to the highest of their group.

    .. math:: x \to a + \Delta \operatorname{round}\!\left(\frac{x - a}{\Delta}\right), \qquad
              a = \min x, \qquad \Delta = \frac{\max x - \min x}{2^b - 1}

    A cache would keep :math:`b` bits for each number, and :math:`a` and :math:`\Delta` for each group. Keys
    are best grouped along tokens, values along channels :cite:p:`liu2024`.

    Args:
        x: keys or values.
        bits: how many bits a number may take, :math:`b`.
        dim: along which dimension numbers form a group: -2 for tokens, so that each channel has a scale of
            its own, or -1 for channels, so that each token has.
        group_size: how many neighbours form a group; by default all.

    Example:
        >>> round_to_bits(torch.tensor([0.0, 0.9, 2.0, 3.0]), bits=2, dim=-1)
        tensor([0., 1., 2., 3.])
    """
    require_at_least("bits", bits, 1)
    pieces = []
    for group in x.split(group_size or max(1, x.shape[dim]), dim=dim):
        lowest = group.amin(dim=dim, keepdim=True)
        step = (group.amax(dim=dim, keepdim=True) - lowest) / (2**bits - 1)
        step = step.clamp(min=torch.finfo(x.dtype).tiny)  # a group of equal numbers
        pieces.append(lowest + step * ((group - lowest) / step).round())
    return torch.cat(pieces, dim=dim)


def greedy(logits: Float[Tensor, "*batch vocab_size"]) -> Int[Tensor, "*batch"]:
    r"""Choose the most probable token.

    .. math:: t = \operatorname{argmax}_i \, \text{logits}_i

    Example:
        >>> greedy(torch.tensor([[0.1, 2.0, 0.3], [4.0, 0.2, 3.0]]))
        tensor([1, 0])
    """
    return logits.argmax(dim=-1)


def keep_top_k(
    logits: Float[Tensor, "*batch vocab_size"], k: int
) -> Float[Tensor, "*batch vocab_size"]:
    r"""Leave only the k most probable tokens in the running.

    .. math:: \text{logits}'_i = \begin{cases}
        \text{logits}_i & \text{if it is among the } k \text{ highest} \\ -\infty & \text{else} \end{cases}

    Also known as top-k sampling :cite:p:`fan2018`.

    Args:
        logits: one score for each token of the vocabulary.
        k: how many tokens stay; more of them where scores are equal, and all if there are not so many.

    Example:
        >>> keep_top_k(torch.tensor([[0.1, 2.0, 0.3], [4.0, 0.2, 3.0]]), k=2)
        tensor([[ -inf, 2.0000, 0.3000],
                [4.0000, -inf, 3.0000]])
    """
    require_at_least("k", k, 1)
    lowest = logits.topk(min(k, logits.shape[-1])).values[..., -1:]
    return logits.masked_fill(logits < lowest, -torch.inf)


def keep_top_p(
    logits: Float[Tensor, "*batch vocab_size"], p: float
) -> Float[Tensor, "*batch vocab_size"]:
    r"""Leave only the most probable tokens in the running, as many as it takes to reach a probability of p.

    .. math:: \text{logits}'_i = \begin{cases}
        \text{logits}_i & \text{if those more probable have less than } p \text{ together} \\
        -\infty & \text{else} \end{cases}

    Also known as nucleus sampling :cite:p:`holtzman2020`.

    Args:
        logits: one score for each token of the vocabulary.
        p: the probability that those that stay have at least together, above 0 and at most 1.

    Example:
        >>> keep_top_p(torch.tensor([[0.5, 0.1, 0.4], [0.2, 0.7, 0.1]]).log(), p=0.6).exp()
        tensor([[0.5000, 0.0000, 0.4000],
                [0.0000, 0.7000, 0.0000]])
    """
    if not 0.0 < p <= 1.0:
        raise ValueError(f"p must be a probability above 0, got {p}")
    if p == 1.0:  # a sum of many chances may be rounded to one too soon
        return logits
    wide = torch.promote_types(logits.dtype, torch.float32)
    chances = logits.softmax(dim=-1, dtype=wide)
    probabilities, order = chances.sort(dim=-1, descending=True)
    before = probabilities.cumsum(dim=-1) - probabilities
    hidden = (before >= p).scatter(-1, order, before >= p)
    return logits.masked_fill(hidden, -torch.inf)


def sample(
    logits: Float[Tensor, "batch vocab_size"],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, " batch"]:
    r"""Draw a token by its probability.

    .. math:: P(t = i) = \operatorname{softmax}(\text{logits} / T)_i

    Below a temperature of 1 probable tokens become more probable still, above it less so; at 0 the most
    probable one is certain, as with :func:`greedy`. It is drawn on the CPU, so that a seed means the same
    everywhere.

    Args:
        logits: one score for each token of the vocabulary.
        temperature: what the scores are divided by, :math:`T`.
        top_k: the k of :func:`keep_top_k`; by default all tokens stay.
        top_p: the p of :func:`keep_top_p`; by default all tokens stay.
        generator: where random numbers come from; by default torch's own.

    Raises:
        ValueError: ``temperature`` is below 0 or not finite, or a score is infinite or no number.

    Example:
        >>> sample(torch.tensor([[0.1, 2.0, 0.3], [4.0, 0.2, 3.0]]), top_k=1)
        tensor([1, 0])
    """
    if not 0.0 <= temperature < torch.inf:
        raise ValueError(f"temperature must be at least 0 and finite, got {temperature}")
    if temperature == 0.0:
        return greedy(logits)
    scores = logits.cpu().double()
    scores = (scores - scores.amax(dim=-1, keepdim=True)) / temperature
    if scores.isnan().any():
        raise ValueError("the logits hold nan or infinity, or allow no token: none can be drawn")
    if top_k is not None:
        scores = keep_top_k(scores, top_k)
    if top_p is not None:
        scores = keep_top_p(scores, top_p)
    probabilities = scores.softmax(dim=-1).float()
    drawn = torch.multinomial(probabilities, num_samples=1, generator=generator)
    return drawn.squeeze(-1).to(logits.device)


@torch.no_grad()
def generate(
    model: LanguageModel,
    token_ids: Int[Tensor, "batch num_tokens"],
    max_new_tokens: int,
    *,
    choose: Callable[[Float[Tensor, "batch vocab_size"]], Int[Tensor, " batch"]] = greedy,
    stop_token: int | Sequence[int] = (),
    is_token: Bool[Tensor, "batch num_tokens"] | None = None,
    caches: Sequence[Any] | None = None,
    progress: Callable[[range], Iterable[int]] = iter,
) -> Int[Tensor, "batch longer"]:
    r"""Continue texts, one token at a time.

    .. math:: t_{n+1} = \text{choose}\bigl(\text{logits}(t_1, \dots, t_n)\bigr)

    The prompt runs through the model at once; after that, each step takes only the token that was just
    chosen, because keys and values of all the others are in the caches. If these hold the beginning of the
    texts already, because an earlier call has left it there, only the rest of the prompt runs.

    Args:
        model: what says how probable each token is.
        token_ids: the beginnings, all equally long, or made so by padding in front of the shorter ones.
        max_new_tokens: the most tokens to add.
        choose: takes the logits of the next token, a row for each text, and returns its ids: :func:`greedy`,
            or :func:`sample` with your settings.
        stop_token: the token that ends a text, or several that do; what follows it in a batch repeats it.
        is_token: False for padding, to which no token attends; the result begins with the padding, too.
        caches: for each block one, empty or with what these texts begin with; by default new ones of keys and
            values, if its attention has groups. Without any, all tokens run at every step.
        progress: wraps the steps, as ``tqdm`` does, to show how far it is.

    Raises:
        ValueError: the token ids are no batch of texts, the caches hold all of them already or have sinks
            beside padding, the padding is not in front, or ``choose`` returns no id for each text.

    Example:
        Two beginnings, of which the second has two tokens less:

        >>> from literate_attention import GroupedQueryAttention, TransformerBlock
        >>> attention = GroupedQueryAttention(12, 12, num_heads=6, num_kv_heads=2)
        >>> model = LanguageModel(11, 12, [TransformerBlock(attention, 12, hidden_dim=16)])
        >>> token_ids = torch.tensor([[1, 7, 2, 5], [0, 0, 8, 4]])
        >>> is_token = torch.tensor([[True, True, True, True], [False, False, True, True]])
        >>> generate(model, token_ids, max_new_tokens=3, is_token=is_token).shape
        torch.Size([2, 7])
    """
    require_token_ids(token_ids, model.token_embedding.num_embeddings)
    if token_ids.ndim != 2:
        raise ValueError(
            f"token_ids must be (batch, num_tokens), got shape {tuple(token_ids.shape)}; "
            f"of a single text, pass token_ids[None]"
        )
    require_at_least("max_new_tokens", max_new_tokens, 0)
    batch, num_tokens = token_ids.shape
    if caches is None and all(hasattr(block.attention, "num_kv_heads") for block in model.blocks):
        caches = empty_caches(model, batch, num_tokens + max_new_tokens)
    require_room_for_all(model, caches, num_tokens + max_new_tokens - 1)
    require_padding(is_token, token_ids, caches)
    num_cached = caches[0].num_tokens if caches else 0
    if num_tokens <= num_cached:
        raise ValueError(
            f"the caches hold {num_cached} tokens, so a text must have more, got {num_tokens}"
        )
    new = token_ids[:, num_cached:]
    stop_tokens = torch.as_tensor(stop_token, dtype=torch.int64, device=new.device)
    finished = torch.zeros(batch, 1, dtype=torch.bool, device=new.device)
    options = {}
    for _ in progress(range(max_new_tokens)):
        if is_token is not None:
            num_keys = (caches[0].num_keys if caches else 0) + new.shape[-1]
            options["attn_mask"] = is_token[:, None, None, -num_keys:]
            is_token = pad(is_token, (0, 1), value=True)  # for the next one
        logits = model(new, caches, last_only=True, **options)[:, -1]
        chosen = choose(logits)
        if chosen.is_floating_point() or chosen.dtype == torch.bool or chosen.numel() != batch:
            raise ValueError(
                f"choose must return one token id for each of {batch} texts, "
                f"got {chosen.dtype} of shape {tuple(chosen.shape)}"
            )
        new = torch.where(finished, token_ids[:, -1:], chosen.view(batch, 1))
        finished = torch.isin(new, stop_tokens)
        token_ids = torch.cat([token_ids, new], dim=-1)
        if not caches:
            new = token_ids
        if finished.all():
            break
    return token_ids


def require_room_for_all(
    model: LanguageModel, caches: Sequence[Any] | None, num_positions: int
) -> None:
    """Refuse more tokens than there are positions or places, before the first of them is chosen."""
    blocks: Iterable[Any] = model.blocks
    for attention in (block.attention for block in blocks):
        rope = getattr(attention, "rope", None)
        require_context(num_positions, getattr(attention, "context_length", num_positions))
        require_context(num_positions, num_positions if rope is None else len(rope.cos))
    for cache in caches or ():
        room = getattr(cache, "max_tokens", num_positions)
        if num_positions > room:
            raise ValueError(
                f"a cache has room for {room} tokens, and they may need {num_positions}; "
                f"make it with max_tokens={num_positions}, or choose fewer new tokens"
            )


def require_padding(
    is_token: Tensor | None, token_ids: Tensor, caches: Sequence[Any] | None
) -> None:
    """Refuse padding that does not stand in front, or that a cache would keep as its sinks."""
    if is_token is None:
        return
    if is_token.dtype != torch.bool or is_token.shape != token_ids.shape:
        raise ValueError(
            f"is_token must be boolean, one for each of the token ids of shape {tuple(token_ids.shape)}, "
            f"got {is_token.dtype} of shape {tuple(is_token.shape)}"
        )
    if not is_token[:, -1].all() or (is_token[:, :-1] & ~is_token[:, 1:]).any():
        raise ValueError("a text goes on after its last token; put the padding in front")
    if any(getattr(cache, "num_sinks", 0) for cache in caches or ()):
        raise ValueError("the sinks of a cache would be padding; continue such texts one by one")
