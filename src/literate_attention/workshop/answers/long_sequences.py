"""Checks: why attention exists."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from literate_attention.workshop.judge.verdict import Verdict, judge


def check_last_state(
    answer: object, encoder: nn.RNN, text: Float[Tensor, "1 num_tokens input_size"]
) -> Verdict:
    """Check the last state of a recurrent network that you wrote.

    Args:
        answer: your last state, of shape `(hidden_size,)`.
        encoder: the network of torch whose weights you took.
        text: what both have read.

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
    """Check how the cost of reading grows with the length of a text.

    Args:
        steps: how many times as many steps a recurrent network takes.
        scores: how many times as many scores attention computes.
        longer: how many times as long the text has become.

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
