"""Checks of single answers, in the order of the book."""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from literate_attention.story.causal_attention import causal_mask
from literate_attention.story.self_attention import SelfAttention_v1, SelfAttention_v2
from literate_attention.workshop.judge.attention_mistakes import (
    PROJECTED,
    attend,
    known_ways,
    results,
    weigh,
)
from literate_attention.workshop.judge.verdict import (
    RIGHT,
    Mistakes,
    Verdict,
    about,
    judge,
    result_of,
    wrong,
)

__all__ = [
    "check_ablation",
    "check_attention",
    "check_context_vector",
    "check_copied_weights",
    "check_copies",
    "check_cost",
    "check_dropout",
    "check_heads",
    "check_last_state",
    "check_lookup",
    "check_mask",
    "check_one_pass",
    "check_parameter_count",
    "check_projected_context",
    "check_successor",
    "check_weights",
    "check_windows",
]

# The story


def check_last_state(
    answer: object, encoder: nn.RNN, text: Float[Tensor, "1 num_tokens input_size"]
) -> Verdict:
    """Check the last state of a recurrent network that you wrote, for a text that torch's network has read.

    Example:
        >>> encoder, text = nn.RNN(input_size=3, hidden_size=2, batch_first=True), torch.ones(1, 4, 3)
        >>> check_last_state(encoder(text)[0][0], encoder, text)
        Not yet. These are the states after each token, the last one is asked for.
    """
    states, _ = encoder(text)
    W, U, b_input, b_state = encoder.all_weights[0]  # noqa: N806 - as in the equation
    b = b_input + b_state

    def read(
        bias: Tensor = b,
        squash: Callable[[Tensor], Tensor] = torch.tanh,
        turn: Callable[[Tensor], Tensor] = torch.clone,
        tokens: Tensor = text[0],
    ) -> Tensor:
        state = torch.zeros_like(b)
        for x in tokens:
            state = squash(W @ x + turn(U) @ state + bias)
        return state

    mistakes = {
        "these are the states after each token, the last one is asked for": states[0],
        "this is the state after the first token, not after the last": states[0, 0],
        "both biases are missing": read(torch.zeros_like(b)),
        "bias_hh_l0 is missing: torch keeps the bias in two parts": read(b_input),
        "bias_ih_l0 is missing: torch keeps the bias in two parts": read(b_state),
        "the tanh is missing": read(squash=torch.clone),
        "U is transposed": read(turn=torch.t),
        "the state is forgotten: each token begins anew": read(turn=torch.zeros_like),
        "the text is read from its end": read(tokens=text[0].flip(0)),
    }
    return judge(answer, states[0, -1], mistakes.items())


def check_cost(steps: object, scores: object, longer: int) -> Verdict:
    """Check how many times as many steps and scores a text takes that is so many times longer.

    Example:
        >>> check_cost(steps=10, scores=10, longer=10)
        Not yet. Attention scores every pair of tokens, so its cost grows with the square.
    """
    mistakes = {
        "a recurrent network takes one step for each token": longer**2,
        "a recurrent network has to take more steps for more tokens": 1,
    }
    for_steps = judge(steps, longer, mistakes.items())
    pairs = "attention scores every pair of tokens, so its cost grows with the square"
    for_scores = judge(scores, longer**2, [(pairs, longer), (pairs, 2 * longer)])
    return for_scores if for_steps else for_steps


def check_windows(answer: object, num_tokens: int, max_length: int, stride: int) -> Verdict:
    """Check how many windows of a length a text has, if a window moves by a stride.

    Example:
        >>> check_windows(7, num_tokens=10, max_length=4, stride=1)
        Not yet. One token has to be left over: the last window needs a target after its last token.
    """
    moves = (num_tokens - 1 - max_length) // stride
    no_target = (num_tokens - max_length) // stride + 1
    mistakes = {
        "one token has to be left over: the last window needs a target after its last token": no_target,
        "the first window counts too, before anything has moved": moves,
        "this counts windows that do not overlap": (num_tokens - 1) // max_length,
        "this counts every place where a stride ends, also where no whole window is left": (
            num_tokens // stride
        ),
    }
    return judge(answer, moves + 1, mistakes.items())


def check_lookup(
    answer: object,
    table: Float[Tensor, "vocab_size embed_dim"],
    token_ids: Int[Tensor, "*batch num_tokens"],
) -> Verdict:
    """Check embeddings that were looked up in a table, or computed as a product.

    Example:
        >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> check_lookup(table[:2], table, torch.tensor([2, 1]))
        Not yet. These are the first rows of the table, not the rows of the tokens.
    """
    ones = nn.functional.one_hot(token_ids.long(), len(table)).to(table.dtype)
    first_rows = torch.arange(token_ids.shape[-1], device=table.device) % len(table)
    first = table[first_rows].expand(*token_ids.shape, -1)
    mistakes = [
        ("these are the first rows of the table, not the rows of the tokens", first),
        ("these are the vectors of zeros and ones, not yet multiplied by the table", ones),
        ("each row is counted from one, and Python counts from zero", table[token_ids - 1]),
        ("these are the right rows, but as columns", table[token_ids].mT),
    ]
    return judge(answer, table[token_ids], mistakes)


def check_context_vector(
    answer: object, inputs: Float[Tensor, "num_tokens embed_dim"], query: int
) -> Verdict:
    """Check a context vector of attention without trainable weights, for the row of the token that asks.

    Example:
        >>> inputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> check_context_vector(inputs[0], inputs, query=0)
        Not yet. This is the embedding of the token, not its context vector.
    """
    (_, right), *mistakes = results(
        known_ways(attend, is_causal=False, is_scaled=False), inputs, inputs, inputs
    )
    first: Mistakes = [
        ("this is the embedding of the token, not its context vector", inputs[query]),
        ("this is the plain average, all weights are the same", inputs.mean(dim=0)),
    ]
    return judge(answer, right[query], [*first, *in_row(query, right, mistakes)])


def in_row(query: int, right: Tensor, mistakes: Mistakes) -> Iterator[tuple[str, Tensor]]:
    """Yield what mistakes lead to in one row, and then what is right in the others."""
    for says, result in mistakes:
        yield says, torch.as_tensor(result)[query]
    for row, context in enumerate(right):
        yield f"this is the context vector of row {row}, not of row {query}", context


def check_projected_context(
    answer: object,
    inputs: Float[Tensor, "num_tokens d_in"],
    W_query: Float[Tensor, "d_in d_k"],  # noqa: N803 - the name that readers know
    W_key: Float[Tensor, "d_in d_k"],  # noqa: N803
    W_value: Float[Tensor, "d_in d_out"],  # noqa: N803
    query: int,
) -> Verdict:
    """Check a context vector of self-attention, for the row of the token that asks.

    Example:
        >>> x, one = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.eye(2)
        >>> check_projected_context(torch.tensor([0.7311, 0.2689]), x, one, one, one, query=0)
        Not yet. The scores are not scaled.
    """
    queries, keys, values = inputs @ W_query, inputs @ W_key, inputs @ W_value
    known = known_ways(attend, is_causal=False, more=PROJECTED)
    (_, right), *mistakes = results(known, queries, keys, values, inputs)
    return judge(answer, right[query], in_row(query, right, mistakes))


def check_copied_weights(copy: object, original: SelfAttention_v2) -> Verdict:
    """Check that a module got the weights of another.

    Example:
        >>> check_copied_weights(SelfAttention_v1(3, 3), SelfAttention_v2(3, 3))
        Not yet. W_query still holds numbers of its own.
    """
    if not isinstance(copy, SelfAttention_v1):
        return wrong(f"a SelfAttention_v1 is expected, got {type(copy).__name__}")
    names = ("W_query", "W_key", "W_value")
    weights = {name: getattr(original, name).weight for name in names}
    for name in names:
        others = [other for other in names if other != name]
        mistakes = [
            (f"{name} was not transposed", weights[name]),
            *((f"{name} got the numbers of {other}", weights[other].T) for other in others),
        ]
        verdict = judge(getattr(copy, name), weights[name].T, mistakes)
        if not verdict and "differ" in verdict.says:
            return wrong(f"{name} still holds numbers of its own")
        if not verdict:
            return verdict
    return RIGHT


def check_weights(
    answer: object,
    query: Float[Tensor, "*batch q_len d_k"],
    key: Float[Tensor, "*batch kv_len d_k"],
    *,
    is_causal: bool = False,
) -> Verdict:
    """Check attention weights; if they are causal, the future should be hidden.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
        >>> check_weights(torch.softmax(x @ x.T / 2, dim=-1), x, x)
        Not yet. The scores are scaled by d_k, not by its square root.
    """
    (_, right), *mistakes = results(known_ways(weigh, is_causal=is_causal), query, key)
    return judge(answer, right, mistakes)


def check_mask(answer: object, num_tokens: int, window: int | None = None) -> Verdict:
    """Check a causal mask, in which True means: may attend.

    A window says how many tokens a query may attend to, itself included; by default it is all of the past.

    Example:
        >>> check_mask(torch.ones(3, 3).tril() == 0, num_tokens=3)
        Not yet. True means may attend, and this mask is true for what is hidden.
    """
    past = causal_mask(num_tokens)

    def windowed(width: int | None) -> Bool[Tensor, "num_tokens num_tokens"]:
        return past if width is None else past & ~past.tril(-width)

    right = windowed(window)
    mistakes = [
        ("True means may attend, and this mask is true for what is hidden", ~right),
        ("the mask hides the past and shows the future", right.mT),
        ("nothing is hidden", torch.ones_like(past)),
        ("no token sees itself", right & ~torch.eye(num_tokens, dtype=torch.bool)),
        ("one token of the future is left visible", right | torch.ones_like(past).triu(1).tril(1)),
    ]
    if window is not None:
        mistakes += [
            ("all of the past is visible, not only the window", past),
            ("the window is one token too wide: a token counts itself", windowed(window + 1)),
            ("the window is one token too narrow: a token counts itself", windowed(window - 1)),
            ("the future is visible", ~past.tril(-window)),
        ]
    return judge(answer, right, mistakes)


def check_dropout(function: object) -> Verdict:
    """Check your own dropout.

    It takes a tensor, a boolean tensor that is True for what is kept, and the rate p.

    Example:
        >>> check_dropout(lambda x, kept, p: x * kept)
        Not yet. What is kept was not scaled up: divide it by 1 - p.
    """
    x = torch.tensor([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]])
    kept = torch.tensor([[True, False, True], [True, True, True]])
    p, rest = 0.2, x * kept
    mistakes = {
        "what is kept was not scaled up: divide it by 1 - p": rest,
        "what is kept is divided by p, not by 1 - p": rest / p,
        "what is kept is multiplied by 1 - p, not divided by it": rest * (1 - p),
        "this keeps what should be dropped": x * ~kept / (1 - p),
        "this keeps what should be dropped, and does not scale it": x * ~kept,
        "nothing is dropped": x / (1 - p),
        "nothing is dropped, and nothing is scaled": x,
        "the rows were made to sum to what they were: dropout scales all numbers alike": (
            rest * x.sum(dim=-1, keepdim=True) / rest.sum(dim=-1, keepdim=True)
        ),
    }
    return judge(result_of(function, x, kept, p), rest / (1 - p), mistakes.items())


def check_heads(module: object, num_heads: int, width: int, d_in: int) -> Verdict:
    """Check a module for inputs of a width: how many heads it has, and how wide its context vectors are.

    Example:
        >>> from literate_attention import MultiHeadAttentionWrapper
        >>> wrapper = MultiHeadAttentionWrapper(3, 2, 6, dropout=0.0, num_heads=2)
        >>> check_heads(wrapper, num_heads=2, width=2, d_in=3)
        Not yet. The context vectors are 4 wide, as each of the 2 heads adds 2.
    """
    if not isinstance(module, nn.Module):
        return wrong(f"a module is expected, got {type(module).__name__}")
    device = next((parameter.device for parameter in module.parameters()), None)
    result = result_of(module, torch.zeros(1, 1, d_in, device=device), need_weights=True)
    match result:
        case Verdict():
            return result
        case (Tensor() as context, Tensor() as weights) if context.ndim and weights.ndim > 2:
            heads, found = weights.shape[-3], context.shape[-1]
        case _:
            return wrong("it does not return context vectors, and the weights of each head")
    if heads != num_heads:
        return wrong(f"the number of heads is {heads}, expected {num_heads}")
    if found == num_heads * width:
        return wrong(
            f"the context vectors are {found} wide, as each of the {num_heads} heads adds {width}"
        )
    if found != width:
        return wrong(f"the context vectors are {found} wide, expected {width}")
    return RIGHT


def check_parameter_count(
    answer: object, d_in: int, d_out: int, *, qkv_bias: bool = False
) -> Verdict:
    """Check how many parameters a :class:`.MultiHeadAttention` has; the answer is a number, or your module.

    Example:
        >>> check_parameter_count(4 * 768 * 768, d_in=768, d_out=768)
        Not yet. The bias of out_proj is missing.
    """
    if isinstance(answer, nn.Module):
        answer = sum(parameter.numel() for parameter in answer.parameters())
    one, bias, out = d_in * d_out, d_out, d_out * d_out
    biases = 3 * bias * qkv_bias
    right = 3 * one + biases + out + bias
    mistakes = {
        "the bias of out_proj is missing": right - bias,
        "out_proj is missing": right - out - bias,
        "query, key and value are three matrices, this counts one": right - 2 * one,
        "the biases of query, key and value are missing": right - biases,
        "all biases are missing": right - biases - bias,
        "query, key and value have no bias here": right + 3 * bias,
    }
    return judge(answer, right, mistakes.items())


def check_attention(function: object) -> Verdict:
    """Check your own scaled dot-product attention, with and without a causal mask, also for batches.

    It takes query, key, value and ``is_causal``, and returns the context vectors.

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
        ways = results(known_ways(attend, is_causal=is_causal), query, key, value)
        _, right = next(ways)
        result = result_of(function, query, key, value, is_causal=is_causal)
        if not (verdict := judge(result, right, ways)):
            return about(name, verdict)
    return RIGHT


# Models


def check_one_pass(answer: object) -> Verdict:
    """Check a function that attends to a stream of keys and values, of which it sees each pair once.

    It is called with a query and an iterator of pairs of a key and its value, and returns the context vector.

    Example:
        >>> def attend(query, pairs):
        ...     keys, values = map(torch.stack, zip(*pairs))
        ...     return torch.softmax(keys @ query, dim=0) @ values
        >>> check_one_pass(attend)
        Not yet. Ordinary scores: the scores are not scaled.
    """
    generator = torch.Generator().manual_seed(123)
    query = torch.randn(3, generator=generator)
    keys = torch.randn(7, 3, generator=generator).flip(0)  # the largest score comes last
    values = torch.randn(7, 2, generator=generator)
    for name, asks in (("ordinary scores", query), ("large scores", 1000.0 * query)):
        scores = keys @ asks
        scaled = scores / 3**0.5
        growing = torch.exp(scaled - scaled.cummax(dim=0).values)
        wrong_weights = {
            "the scores are not scaled": scores.softmax(dim=0),
            "the scores are scaled by the width, not by its root": (scores / 3).softmax(dim=0),
            "the sum of the weights is not one: divide by it at the end": (
                torch.exp(scaled - scaled.max())
            ),
            "what was summed is not rescaled when the maximum grows": growing / growing.sum(),
            "the exponential of a large score is infinite: subtract the maximum": scaled
            * torch.nan,
        }
        mistakes = ((says, weights @ values) for says, weights in wrong_weights.items())
        result = result_of(answer, asks, zip(keys, values, strict=True))
        if not (verdict := judge(result, scaled.softmax(dim=0) @ values, mistakes)):
            return about(name, verdict)
    return RIGHT


# What attention learns

TEXT = [7, 1, 4, 8, 1, 6, 9, 2, 1]
"""The last token came twice before; what it followed, what followed it and where all differ."""


def check_successor(answer: object) -> Verdict:
    """Check a function that names the next token as an induction head does.

    It is called with a list of tokens, and returns what came after the last token when it was there before,
    or None if it never was.

    Example:
        >>> check_successor(lambda tokens: tokens[tokens.index(tokens[-1]) + 1])
        Not yet. This came after the first copy of the token; the latest is asked for.
    """
    result = result_of(answer, list(TEXT))
    if result is None:
        return wrong(f"it finds nothing in {TEXT}, although {TEXT[-1]} was there before")
    mistakes = {
        "this came after the first copy of the token; the latest is asked for": 4,
        "this came before the copy, not after it": 8,
        "this is the token itself, not what came after it": 1,
        "this is the place of the answer; the token that stands there is asked for": 5,
    }
    verdict = judge(result, 6, mistakes.items())
    never = result_of(answer, [2, 7, 1]) if verdict else None
    if isinstance(never, Verdict):
        return never
    says = "of a token that was never there before, it says more than None"
    return verdict if never is None else wrong(says)


def check_copies(function: object) -> Verdict:
    """Check a function that says where a head looks that looks for copies of its own token.

    It takes the token ids of a sequence, and returns a boolean table: True in row i, column j, if token j is
    an earlier copy of token i.

    Example:
        >>> check_copies(lambda token_ids: token_ids[:, None] == token_ids)
        Not yet. A token is not an earlier copy of itself, and the future is hidden.
    """
    token_ids = torch.tensor([7, 3, 5, 3, 7, 3])
    same = token_ids[:, None] == token_ids
    behind = (token_ids[:, None] == token_ids.roll(1)).tril(-1)
    behind[:, 0] = False
    right = same.tril(-1)
    mistakes = {
        "a token is not an earlier copy of itself, and the future is hidden": same,
        "a token is not an earlier copy of itself": same.tril(),
        "these are later copies: a row is the token that looks": same.triu(1),
        "this is where an induction head looks: after the copy, not at it": behind,
        "all earlier tokens are marked, not only copies": torch.ones_like(same).tril(-1),
        "true means that the head looks there, and this is true everywhere else": ~right,
    }
    return judge(result_of(function, token_ids), right, mistakes.items())


def check_ablation(function: object) -> Verdict:
    """Check a function that computes what multi-head attention returns without one of its heads.

    It takes the context vectors of all heads, of shape ``(num_heads, num_tokens, head_dim)``, the weight of
    the output projection as ``nn.Linear`` stores it, ``(d_out, num_heads * head_dim)``, and a head's number.

    Example:
        >>> check_ablation(lambda contexts, weight, head: contexts.mT.flatten(0, 1).T @ weight.T)
        Not yet. All heads are there.
    """
    generator = torch.Generator().manual_seed(3)
    contexts = torch.randn(3, 5, 2, generator=generator)
    weight = torch.randn(7, 6, generator=generator)
    parts = torch.stack(
        [found @ weight[:, 2 * head : 2 * head + 2].T for head, found in enumerate(contexts)]
    )
    head, together = 1, parts.sum(dim=0)
    right = together - parts[head]
    mistakes = [
        ("all heads are there", together),
        ("this is what the head adds; take it away from the rest", parts[head]),
        ("heads are counted from 0: another one is missing", together - parts[head - 1]),
        ("heads are counted from 0: another one is missing", together - parts[head + 1]),
        ("the heads that are left are scaled up, and need not be", right * 3 / 2),
        (
            "these are context vectors without the head; they still go through the projection",
            torch.cat([contexts[0], contexts[1] * 0, contexts[2]], dim=-1),
        ),
    ]
    return judge(result_of(function, contexts, weight, head), right, mistakes)
