"""Checks for the exercises of the book: each takes your answer and says in words what is wrong with it.

A check computes the right answer, and then the wrong ones that people give. If yours is one of these, it
knows what you did. No check raises an error for a wrong answer, whatever it is: each returns a
:class:`Verdict`, which prints as a sentence.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from literate_attention.story.causal_attention import causal_mask
from literate_attention.story.multi_head_attention import split_heads
from literate_attention.story.self_attention import SelfAttention_v1, SelfAttention_v2

__all__ = [
    "Verdict",
    "check_attention",
    "check_context_vector",
    "check_copied_weights",
    "check_cost",
    "check_dropout",
    "check_heads",
    "check_lookup",
    "check_mask",
    "check_merge",
    "check_parameter_count",
    "check_projected_context",
    "check_self_attention",
    "check_softmax",
    "check_split",
    "check_weights",
    "check_windows",
]


@dataclass(frozen=True)
class Verdict:
    """What a check says of an answer. It is true if the answer is right, and prints as a sentence.

    Args:
        right: whether the answer is right.
        says: what is wrong, in words.

    Example:
        >>> Verdict(False, "The scores are not scaled.")
        Not yet. The scores are not scaled.
        >>> bool(Verdict(True))
        True
    """

    right: bool
    says: str = ""

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return "Right." if self.right else f"Not yet. {self.says}"


RIGHT = Verdict(True)


def _wrong(*says: str) -> Verdict:
    text = ", and ".join(says)
    return Verdict(False, f"{text[0].upper()}{text[1:]}.")


# Comparing


def _judge(answer: object, right: Tensor, slips: Iterable[tuple[str, Tensor]]) -> Verdict:
    """Compare an answer with the right one, then with wrong ones, then say where it differs."""
    given = _numbers(answer)
    if given is None:
        return _wrong(f"a tensor is expected, got {type(answer).__name__}")
    right = right.detach().cpu().double()
    if _same(given, right):
        return RIGHT
    for says, slip in slips:
        if _same(given, slip.detach().cpu().double()):
            return _wrong(says)
    if given.shape != right.shape:
        return _wrong(f"the shape is {tuple(given.shape)}, expected {tuple(right.shape)}")
    if not right.ndim:
        return _wrong(f"the number is not {given.item():g}")
    differs = ~torch.isclose(given, right, rtol=0, atol=_TOLERANCE)
    first = differs.nonzero()[0].tolist()
    nan = "; some are not a number" if given.isnan().any() else ""
    return _wrong(
        f"{int(differs.sum())} of {right.numel()} numbers differ, the first at {first}{nan}"
    )


_TOLERANCE = 1e-4
"""Loose enough for an answer that was typed from what torch prints."""


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(
        one, other, rtol=0, atol=_TOLERANCE, equal_nan=True
    )


def _numbers(answer: object) -> Tensor | None:
    """Return an answer as a tensor of float64, None if it is none."""
    try:
        return torch.as_tensor(answer).detach().cpu().double()
    except (TypeError, ValueError, RuntimeError):
        return None


def _result(function: object, *arguments: object, **options: object) -> object:
    """Call what a reader wrote; an error becomes a verdict."""
    if not callable(function):
        return _wrong(f"a function is expected, got {type(function).__name__}")
    try:
        return function(*arguments, **options)
    except Exception as error:
        return _wrong(f"it stops with {type(error).__name__}: {str(error).rstrip('.')}")


def _judge_result(result: object, right: Tensor, slips: Iterable[tuple[str, Tensor]]) -> Verdict:
    return result if isinstance(result, Verdict) else _judge(result, right, slips)


# Attention with slips: each table begins with what is right, and says nothing of it

_SCALES: Mapping[str, float] = {
    "": 0.5,
    "the scores are not scaled": 0.0,
    "the scores are scaled by d_k, not by its square root": 1.0,
    "the scores are multiplied by the square root of d_k, not divided by it": -0.5,
}
"""The power of d_k by which scores are divided."""

_MASKS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "": lambda mask: mask,
    "nothing is hidden: every token sees the future": torch.ones_like,
    "the mask hides the past and shows the future": lambda mask: mask.flip(0, 1),
    "the mask hides what it should show and shows what it should hide": lambda mask: ~mask,
    "one token of the future is left visible": lambda mask: torch.ones_like(mask).tril(1),
    "no token sees itself": lambda mask: mask.tril(-1),
}

_NORMALISE: Mapping[str, Callable[[Tensor], Tensor]] = {
    "": lambda scores: torch.softmax(scores, dim=-1),
    "the softmax runs over the queries: the columns sum to one, not the rows": (
        lambda scores: torch.softmax(scores, dim=-2)
    ),
    "the scores are divided by their sum, there is no softmax": (
        lambda scores: scores / scores.sum(dim=-1, keepdim=True)
    ),
    "these are scores, the softmax is missing": lambda scores: scores,
}

_HIDE: Mapping[str, tuple[float, bool]] = {
    "": (-torch.inf, False),
    "hidden scores are zero, not minus infinity: zero is a score like any other": (0.0, False),
    "the mask comes after the softmax, and the rows were not made to sum to one again": (0.0, True),
}
"""What takes the place of a hidden number, and whether that is a weight."""


def _weights_with_slips(
    query: Tensor, key: Tensor, *, is_causal: bool, scaled: bool = True
) -> Iterator[tuple[list[str], Tensor]]:
    """Yield what slips lead to which weights, the right ones first, then one slip, then two."""
    scales = _SCALES if scaled else {"": 0.0, "the scores are scaled, and should not be": 0.5}
    mask = causal_mask(query.shape[-2], key.shape[-2], device=query.device)
    masks = _MASKS if is_causal else {"": torch.ones_like}
    hides = _HIDE if is_causal else {"": _HIDE[""]}
    steps = product(scales.items(), masks.items(), hides.items(), _NORMALISE.items())
    for choice in sorted(steps, key=lambda choice: sum(bool(says) for says, _ in choice)):
        says = [name for name, _ in choice if name]
        if len(says) > 2:
            return
        (_, power), (_, change), (_, (fill, after)), (_, normalise) = choice
        hidden = ~change(mask)
        scores = query @ key.mT / query.shape[-1] ** power
        if after:
            yield says, normalise(scores).masked_fill(hidden, fill)
        else:
            yield says, normalise(scores.masked_fill(hidden, fill))


def _contexts_with_slips(
    query: Tensor, key: Tensor, value: Tensor, *, is_causal: bool
) -> Iterator[tuple[str, Tensor]]:
    """Yield what slips lead to which context vectors."""
    for says, weights in _weights_with_slips(query, key, is_causal=is_causal):
        yield ", and ".join(says), weights @ value
    for says, weights in _weights_with_slips(query, key, is_causal=is_causal):
        yield ", and ".join(["these are the weights, not the context vectors", *says]), weights
    if key.shape == query.shape:
        for says, weights in _weights_with_slips(key, query, is_causal=is_causal):
            yield ", and ".join(["query and key are swapped", *says]), weights @ value
    if key.shape == value.shape:
        for says, weights in _weights_with_slips(query, key, is_causal=is_causal):
            yield ", and ".join(["the keys are averaged, not the values", *says]), weights @ key


# From text to vectors


def check_windows(answer: object, num_tokens: int, max_length: int, stride: int) -> Verdict:
    """Check how many windows a text has.

    Args:
        answer: your number.
        num_tokens: how many tokens the text has.
        max_length: how many tokens a window has.
        stride: how far the window moves.

    Returns:
        The verdict.

    Example:
        >>> check_windows(7, num_tokens=10, max_length=4, stride=1)
        Not yet. One token has to be left over: the last window needs a target after its last token.
    """
    slips = {
        "one token has to be left over: the last window needs a target after its last token": (
            (num_tokens - max_length) // stride + 1
        ),
        "the first window counts too, before anything has moved": (
            (num_tokens - 1 - max_length) // stride
        ),
        "this counts windows that do not overlap": (num_tokens - 1) // max_length,
        "this counts every place where a stride ends, also where no whole window is left": (
            num_tokens // stride
        ),
    }
    right = torch.tensor((num_tokens - 1 - max_length) // stride + 1)
    return _judge(answer, right, ((says, torch.tensor(slip)) for says, slip in slips.items()))


def check_lookup(
    answer: object,
    table: Float[Tensor, "vocab_size embed_dim"],
    token_ids: Int[Tensor, "*batch num_tokens"],
) -> Verdict:
    """Check embeddings that were looked up, or computed as a product.

    Args:
        answer: your embeddings.
        table: one row for each token of the vocabulary.
        token_ids: the tokens that were looked up.

    Returns:
        The verdict.

    Example:
        >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> check_lookup(table[:2], table, torch.tensor([2, 1]))
        Not yet. These are the first rows of the table, not the rows of the tokens.
    """
    ones = nn.functional.one_hot(token_ids.long(), len(table)).to(table.dtype)
    first_rows = torch.arange(token_ids.shape[-1], device=table.device) % len(table)
    first = table[first_rows].expand(*token_ids.shape, -1)
    slips = [
        ("these are the first rows of the table, not the rows of the tokens", first),
        ("these are the vectors of zeros and ones, not yet multiplied by the table", ones),
        ("each row is counted from one, and Python counts from zero", table[token_ids - 1]),
        ("these are the right rows, but as columns", table[token_ids].mT),
    ]
    return _judge(answer, table[token_ids], slips)


# Why attention exists


def check_cost(steps: object, scores: object, longer: int) -> Verdict:
    """Check how the cost of reading grows with the length of a text.

    Args:
        steps: how many times as many steps a recurrent network takes.
        scores: how many times as many scores attention computes.
        longer: how many times as long the text has become.

    Returns:
        The verdict.

    Example:
        >>> check_cost(steps=10, scores=10, longer=10)
        Not yet. Attention scores every pair of tokens, so its cost grows with the square.
    """
    for_steps = _judge(
        steps,
        torch.tensor(longer),
        [
            ("a recurrent network takes one step for each token", torch.tensor(longer**2)),
            ("a recurrent network has to take more steps for more tokens", torch.tensor(1)),
        ],
    )
    pairs = "attention scores every pair of tokens, so its cost grows with the square"
    for_scores = _judge(
        scores,
        torch.tensor(longer**2),
        [(pairs, torch.tensor(longer)), (pairs, torch.tensor(2 * longer))],
    )
    return for_scores if for_steps else for_steps


# Attention without trainable weights


def check_softmax(function: object) -> Verdict:
    """Check your own softmax, over the last dimension.

    Args:
        function: takes a tensor of scores, returns one of weights.

    Returns:
        The verdict.

    Example:
        >>> check_softmax(lambda scores: scores.exp() / scores.exp().sum(dim=-1, keepdim=True))
        Not yet. Large scores overflow: take away the largest score of each row first.
    """
    scores = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -0.5]])
    ones = torch.tensor([[1000.0, 999.0], [-1000.0, -1001.0]])
    exponentials = scores.exp()
    slips = [
        ("the columns sum to one, not the rows", scores.softmax(dim=0)),
        ("all numbers together sum to one, not each row", exponentials / exponentials.sum()),
        ("the exponentials are not divided by their sum", exponentials),
        ("the exponential is missing", scores / scores.sum(dim=-1, keepdim=True)),
        ("this is the logarithm of the weights", scores.log_softmax(dim=-1)),
    ]
    verdict = _judge_result(_result(function, scores), scores.softmax(dim=-1), slips)
    if not verdict:
        return verdict
    result = _result(function, ones)
    found = _numbers(result)
    if found is not None and found.isnan().any():
        return _wrong("large scores overflow: take away the largest score of each row first")
    return _judge_result(result, ones.softmax(dim=-1), [])


def check_context_vector(
    answer: object, inputs: Float[Tensor, "num_tokens embed_dim"], query: int
) -> Verdict:
    """Check a context vector of attention without trainable weights.

    Args:
        answer: your context vector.
        inputs: the embeddings.
        query: the row of the token that asks.

    Returns:
        The verdict.

    Example:
        >>> inputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> check_context_vector(inputs[0], inputs, query=0)
        Not yet. This is the embedding of the token, not its context vector.
    """

    def slips() -> Iterator[tuple[str, Tensor]]:
        yield "this is the embedding of the token, not its context vector", inputs[query]
        yield "this is the plain average, all weights are the same", inputs.mean(dim=0)
        for says, weights in _weights_with_slips(inputs, inputs, is_causal=False, scaled=False):
            yield ", and ".join(says), (weights @ inputs)[query]
            yield ", and ".join(["these are the weights", *says]), weights[query]
        for row, context in enumerate((inputs @ inputs.mT).softmax(dim=-1) @ inputs):
            yield f"this is the context vector of row {row}, not of row {query}", context

    right = ((inputs @ inputs.mT).softmax(dim=-1) @ inputs)[query]
    return _judge(answer, right, slips())


# Self-attention with trainable weights


def check_projected_context(
    answer: object,
    inputs: Float[Tensor, "num_tokens d_in"],
    W_query: Float[Tensor, "d_in d_k"],  # noqa: N803 - the name that readers know
    W_key: Float[Tensor, "d_in d_k"],  # noqa: N803
    W_value: Float[Tensor, "d_in d_out"],  # noqa: N803
    query: int,
) -> Verdict:
    """Check a context vector of self-attention.

    Args:
        answer: your context vector.
        inputs: the embeddings.
        W_query: what turns embeddings into queries.
        W_key: what turns embeddings into keys.
        W_value: what turns embeddings into values.
        query: the row of the token that asks.

    Returns:
        The verdict.

    Example:
        >>> x, one = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.eye(2)
        >>> check_projected_context(torch.tensor([0.7311, 0.2689]), x, one, one, one, query=0)
        Not yet. The scores are not scaled.
    """
    queries, keys, values = inputs @ W_query, inputs @ W_key, inputs @ W_value
    scores = queries @ keys.mT

    def slips() -> Iterator[tuple[str, Tensor]]:
        for says, context in _contexts_with_slips(queries, keys, values, is_causal=False):
            yield says, context[query]
        by_inputs = (scores / inputs.shape[-1] ** 0.5).softmax(dim=-1)
        yield (
            "the scores are scaled by the width of the inputs, not of the keys",
            (by_inputs @ values)[query],
        )
        weights = (scores / keys.shape[-1] ** 0.5).softmax(dim=-1)
        yield "the embeddings are averaged, not the values", (weights @ inputs)[query]
        for row, context in enumerate(weights @ values):
            yield f"this is the context vector of row {row}, not of row {query}", context

    right = (scores / keys.shape[-1] ** 0.5).softmax(dim=-1) @ values
    return _judge(answer, right[query], slips())


def check_self_attention(module: object, inputs: Float[Tensor, "num_tokens d_in"]) -> Verdict:
    """Check a self-attention module of your own.

    Args:
        module: your module. It holds the parameters ``W_query``, ``W_key`` and ``W_value``, each of the
            shape ``(d_in, d_out)``, and returns the context vectors.
        inputs: the embeddings to try it on.

    Returns:
        The verdict.

    Example:
        >>> class Attention(nn.Module):
        ...     def __init__(self) -> None:
        ...         super().__init__()
        ...         for name in ("W_query", "W_key", "W_value"):
        ...             setattr(self, name, nn.Parameter(torch.rand(3, 2)))
        ...
        ...     def forward(self, x: Tensor) -> Tensor:
        ...         return ((x @ self.W_query) @ (x @ self.W_key).T).softmax(dim=-1) @ x @ self.W_value
        >>> check_self_attention(Attention(), torch.eye(3))
        Not yet. The scores are not scaled.
    """
    if not isinstance(module, nn.Module):
        return _wrong(f"a module is expected, got {type(module).__name__}")
    parameters = dict(module.named_parameters())
    d_in, matrices = inputs.shape[-1], []
    for name in ("W_query", "W_key", "W_value"):
        if name not in parameters:
            return _wrong(f"the module has no parameter {name}")
        matrices.append(parameters[name].detach().cpu())
        found = tuple(matrices[-1].shape)
        if len(found) != 2 or found[0] != d_in or found != tuple(matrices[0].shape):
            return _wrong(f"{name} has the shape {found}, expected ({d_in}, d_out)")
    x = inputs.detach().cpu()
    query, key, value = (x @ matrix for matrix in matrices)

    def ways() -> Iterator[tuple[str, Tensor]]:
        yield from _contexts_with_slips(query, key, value, is_causal=False)
        scores = query @ key.mT
        weights = (scores / key.shape[-1] ** 0.5).softmax(dim=-1)
        yield "the inputs are averaged, not the values", weights @ x
        by_inputs = (scores / d_in**0.5).softmax(dim=-1)
        yield "the scores are scaled by the width of the inputs, not of the keys", by_inputs @ value

    (_, right), *slips = ways()
    return _judge_result(_result(module, inputs), right, slips)


def check_copied_weights(copy: object, original: SelfAttention_v2) -> Verdict:
    """Check that a module got the weights of another.

    Args:
        copy: the module that should have got them.
        original: the module that has them.

    Returns:
        The verdict.

    Example:
        >>> check_copied_weights(SelfAttention_v1(3, 3), SelfAttention_v2(3, 3))
        Not yet. W_query still holds numbers of its own.
    """
    if not isinstance(copy, SelfAttention_v1):
        return _wrong(f"a SelfAttention_v1 is expected, got {type(copy).__name__}")
    names = ("W_query", "W_key", "W_value")
    weights = {name: getattr(original, name).weight for name in names}
    for name in names:
        others = [other for other in names if other != name]
        slips = [
            (f"{name} was not transposed", weights[name]),
            *((f"{name} got the numbers of {other}", weights[other].T) for other in others),
        ]
        verdict = _judge(getattr(copy, name), weights[name].T, slips)
        if not verdict and "differ" in verdict.says:
            return _wrong(f"{name} still holds numbers of its own")
        if not verdict:
            return verdict
    return RIGHT


# Causal attention


def check_weights(
    answer: object,
    query: Float[Tensor, "*batch q_len d_k"],
    key: Float[Tensor, "*batch kv_len d_k"],
    *,
    is_causal: bool = False,
) -> Verdict:
    """Check attention weights.

    Args:
        answer: your weights.
        query: the queries.
        key: the keys.
        is_causal: whether the future should be hidden.

    Returns:
        The verdict.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
        >>> check_weights(torch.softmax(x @ x.T / 2, dim=-1), x, x)
        Not yet. The scores are scaled by d_k, not by its square root.
    """
    ways = _weights_with_slips(query, key, is_causal=is_causal)
    _, right = next(ways)
    return _judge(answer, right, ((", and ".join(says), slip) for says, slip in ways))


def check_mask(answer: object, num_tokens: int, window: int | None = None) -> Verdict:
    """Check a causal mask, in which True means: may attend.

    Args:
        answer: your mask.
        num_tokens: how many queries and keys there are.
        window: how many tokens a query may attend to, itself included; by default all of the past.

    Returns:
        The verdict.

    Example:
        >>> check_mask(torch.ones(3, 3).tril() == 0, num_tokens=3)
        Not yet. True means may attend, and this mask is true for what is hidden.
    """
    past = causal_mask(num_tokens)

    def windowed(width: int | None) -> Bool[Tensor, "num_tokens num_tokens"]:
        return past if width is None else past & ~past.tril(-width)

    right = windowed(window)
    slips = [
        ("True means may attend, and this mask is true for what is hidden", ~right),
        ("the mask hides the past and shows the future", right.mT),
        ("nothing is hidden", torch.ones_like(past)),
        ("no token sees itself", right & ~torch.eye(num_tokens, dtype=torch.bool)),
        ("one token of the future is left visible", right | torch.ones_like(past).triu(1).tril(1)),
    ]
    if window is not None:
        slips += [
            ("all of the past is visible, not only the window", past),
            ("the window is one token too wide: a token counts itself", windowed(window + 1)),
            ("the window is one token too narrow: a token counts itself", windowed(window - 1)),
            ("the future is visible", ~past.tril(-window)),
        ]
    verdict = _judge(answer, right, ((says, slip) for says, slip in slips))
    if verdict and not (isinstance(answer, Tensor) and answer.dtype == torch.bool):
        return _wrong("the right places, but a mask has to be boolean: add .bool()")
    return verdict


def check_dropout(function: object) -> Verdict:
    """Check your own dropout.

    Args:
        function: takes a tensor, a boolean tensor that is True for what is kept, and the rate p.

    Returns:
        The verdict.

    Example:
        >>> check_dropout(lambda x, kept, p: x * kept)
        Not yet. What is kept was not scaled up: divide it by 1 - p.
    """
    x = torch.tensor([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]])
    kept = torch.tensor([[True, False, True], [True, True, True]])
    p, rest = 0.2, x * kept
    slips = [
        ("what is kept was not scaled up: divide it by 1 - p", rest),
        ("what is kept is divided by p, not by 1 - p", rest / p),
        ("what is kept is multiplied by 1 - p, not divided by it", rest * (1 - p)),
        ("this keeps what should be dropped", x * ~kept / (1 - p)),
        ("this keeps what should be dropped, and does not scale it", x * ~kept),
        ("nothing is dropped", x / (1 - p)),
        ("nothing is dropped, and nothing is scaled", x),
        (
            "the rows were made to sum to what they were: dropout scales all numbers alike",
            rest * x.sum(dim=-1, keepdim=True) / rest.sum(dim=-1, keepdim=True),
        ),
    ]
    return _judge_result(_result(function, x, kept, p), rest / (1 - p), slips)


# Multi-head attention


def check_heads(module: object, num_heads: int, width: int, d_in: int) -> Verdict:
    """Check a module of several heads: how many there are, and how wide its context vectors are.

    Args:
        module: your module.
        num_heads: how many heads it should have.
        width: how wide its context vectors should be, all heads together.
        d_in: how wide its inputs are.

    Returns:
        The verdict.

    Example:
        >>> from literate_attention import MultiHeadAttentionWrapper
        >>> wrapper = MultiHeadAttentionWrapper(3, 2, 6, dropout=0.0, num_heads=2)
        >>> check_heads(wrapper, num_heads=2, width=2, d_in=3)
        Not yet. The context vectors are 4 wide, as each of the 2 heads adds 2.
    """
    if not isinstance(module, nn.Module):
        return _wrong(f"a module is expected, got {type(module).__name__}")
    device = next((parameter.device for parameter in module.parameters()), None)
    result = _result(module, torch.zeros(1, 1, d_in, device=device), need_weights=True)
    if isinstance(result, Verdict):
        return result
    match result:
        case (Tensor() as context, Tensor() as weights) if context.ndim and weights.ndim > 2:
            pass
        case _:
            return _wrong("it does not return context vectors, and the weights of each head")
    if weights.shape[-3] != num_heads:
        return _wrong(f"the number of heads is {weights.shape[-3]}, expected {num_heads}")
    found = context.shape[-1]
    if found == num_heads * width:
        return _wrong(
            f"the context vectors are {found} wide, as each of the {num_heads} heads adds {width}"
        )
    if found != width:
        return _wrong(f"the context vectors are {found} wide, expected {width}")
    return RIGHT


def check_split(
    answer: object, x: Float[Tensor, "*batch num_tokens embed_dim"], num_heads: int
) -> Verdict:
    """Check vectors that were split into heads.

    Args:
        answer: your tensor, `(*batch, num_heads, num_tokens, head_dim)`.
        x: one vector for each token.
        num_heads: how many heads.

    Returns:
        The verdict.

    Example:
        >>> x = torch.arange(12.0).view(1, 3, 4)
        >>> check_split(x.view(1, 2, 3, 2), x, num_heads=2)
        Not yet. The view cuts the sentence, not the vectors: view by token first, then transpose.
    """
    *batch, num_tokens, width = x.shape
    pieces = x.unflatten(-1, (num_heads, width // num_heads))
    slips = [
        (
            "the view cuts the sentence, not the vectors: view by token first, then transpose",
            x.reshape(*batch, num_heads, num_tokens, width // num_heads),
        ),
        ("tokens and heads still have to be transposed", pieces),
        (
            "each head got every second number, not a piece in one: num_heads comes before head_dim",
            x.unflatten(-1, (width // num_heads, num_heads)).movedim(-1, -3),
        ),
        (
            "these are the keys on their side: transpose tokens and heads only",
            pieces.movedim(-3, -1),
        ),
    ]
    return _judge(answer, split_heads(x, num_heads), slips)


def check_parameter_count(
    answer: object, d_in: int, d_out: int, *, qkv_bias: bool = False
) -> Verdict:
    """Check how many parameters a :class:`.MultiHeadAttention` has.

    Args:
        answer: your number, or a module of yours.
        d_in: how wide an input is.
        d_out: how wide a context vector is, all heads together.
        qkv_bias: whether the projections to query, key and value add a bias.

    Returns:
        The verdict.

    Example:
        >>> check_parameter_count(4 * 768 * 768, d_in=768, d_out=768)
        Not yet. The bias of out_proj is missing.
    """
    if isinstance(answer, nn.Module):
        answer = sum(parameter.numel() for parameter in answer.parameters())
    one, bias, out, out_bias = d_in * d_out, d_out, d_out * d_out, d_out
    biases = 3 * bias * qkv_bias
    right = 3 * one + biases + out + out_bias
    slips = {
        "the bias of out_proj is missing": right - out_bias,
        "out_proj is missing": right - out - out_bias,
        "query, key and value are three matrices, this counts one": right - 2 * one,
        "the biases of query, key and value are missing": right - biases,
        "all biases are missing": right - biases - out_bias,
        "query, key and value have no bias here": right + 3 * bias,
    }
    return _judge(
        answer, torch.tensor(right), ((says, torch.tensor(slip)) for says, slip in slips.items())
    )


# All of it


def check_attention(function: object) -> Verdict:
    """Check your own scaled dot-product attention, with and without a causal mask, also for batches.

    Args:
        function: takes query, key, value and ``is_causal``, returns the context vectors.

    Returns:
        The verdict.

    Example:
        >>> check_attention(lambda q, k, v, is_causal: (q @ k.mT / q.shape[-1]).softmax(dim=-1) @ v)
        Not yet. One sequence: the scores are scaled by d_k, not by its square root.
    """
    generator = torch.Generator().manual_seed(123)
    for name, batch, is_causal in (
        ("one sequence", (), False),
        ("one sequence, causal", (), True),
        ("a batch", (2,), False),
        ("a batch, causal", (2,), True),
    ):
        query, key = (torch.randn(*batch, 5, 3, generator=generator) for _ in range(2))
        value = torch.randn(*batch, 5, 7, generator=generator)
        ways = _contexts_with_slips(query, key, value, is_causal=is_causal)
        _, right = next(ways)
        result = _result(function, query, key, value, is_causal=is_causal)
        verdict = _judge_result(result, right, ways)
        if not verdict:
            says = verdict.says[0].lower() + verdict.says[1:].removesuffix(".")
            return _wrong(f"{name}: {says}")
    return RIGHT


# A softmax in parts


def check_merge(answer: object) -> Verdict:
    """Check a function that merges the attention to two parts of the keys.

    Args:
        answer: your function; it is called with two parts, each a pair of context vectors and log-sum-exps,
            and returns the pair of both together.

    Returns:
        The verdict.

    Example:
        >>> check_merge(lambda one, other: ((one[0] + other[0]) / 2, one[1]))
        Not yet. The context vectors: both parts count alike.
    """
    one, other = (
        (torch.tensor([[1.0, 2.0], [4.0, 3.0]]), torch.tensor([[0.5], [-1.0]])),
        (torch.tensor([[5.0, -2.0], [2.0, 7.0]]), torch.tensor([[2.0], [0.25]])),
    )
    result = _result(answer, one, other)
    if isinstance(result, Verdict):
        return result
    if not isinstance(result, tuple | list) or len(result) != 2:
        return _wrong("a pair is expected: context vectors, and log-sum-exps")
    (z1, l1), (z2, l2) = one, other
    merged = torch.logaddexp(l1, l2)
    shares = (l1 - merged).exp(), (l2 - merged).exp()
    verdict = _judge(
        result[0],
        shares[0] * z1 + shares[1] * z2,
        [
            ("the context vectors: both parts count alike", (z1 + z2) / 2),
            ("the context vectors: they are added, not averaged", z1 + z2),
            (
                "the context vectors: the sum of the shares is not one; divide by it",
                l1.exp() * z1 + l2.exp() * z2,
            ),
            (
                "the context vectors: these are shares of the log-sum-exps, not of their exponentials",
                (l1 * z1 + l2 * z2) / (l1 + l2),
            ),
            (
                "the context vectors: each part has the share of the other",
                shares[1] * z1 + shares[0] * z2,
            ),
        ],
    )
    if not verdict:
        return verdict
    return _judge(
        result[1],
        merged,
        [
            ("the log-sum-exp: this is the larger of both", torch.maximum(l1, l2)),
            ("the log-sum-exp: these are added; add the exponentials", l1 + l2),
            ("the log-sum-exp: the logarithm is missing", merged.exp()),
        ],
    )
