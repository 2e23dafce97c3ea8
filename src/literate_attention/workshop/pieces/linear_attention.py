"""The piece of the chapter on linear attention: a state that decays and is corrected."""

from typing import Any

from literate_attention.models.linear_attention import attend_by_token, linear_attention
from literate_attention.workshop.judge.trials import Given, drawn
from literate_attention.workshop.pieces.piece import judged


def run_rule(implementation: Any, given: Given) -> Any:
    """Attend; what there is not is left out."""
    query, key, value, *_ = given.values()
    options = {n: v for n, v in list(given.items())[3:] if v is not None}
    return implementation(query, key, value, **options)


THREE = drawn(2, 3), drawn(2, 3, seed=1), drawn(2, 4, seed=2)
BATCH = drawn(2, 3, 5, 4), drawn(2, 3, 5, 4, seed=1) / 2, drawn(2, 3, 5, 2, seed=2)
GATES = -drawn(2, 3, 5, seed=3).abs(), drawn(2, 3, 5, seed=4).sigmoid()
WRONG_RULES = """
what is missing is computed before the state decays, it should be after that
    state = log_decay.exp() * state -> pass
    state = state + key.mT @ value -> state = log_decay.exp() * state + key.mT @ value
the state decays after it is written, it should before | state = log_decay.exp() * state -> pass
    state = state + key.mT @ value -> state = log_decay.exp() * (state + key.mT @ value)
decay and beta are exchanged | log_decay.exp() * state -> (log_decay.exp() if beta is None else beta) * state
    beta * (value -> log_decay.exp() * (value
the decay is a logarithm: take its exponential | log_decay.exp() * state -> log_decay * state
nothing decays | state = log_decay.exp() * state -> pass
beta is not used | beta * (value - key @ state) -> value - key @ state
nothing is corrected: the values are added, scaled by beta | beta * (value - key @ state) -> beta * value
nothing is corrected: the values are added | beta * (value - key @ state) -> value
beta scales the value alone, not what is missing | beta * (value - key @ state) -> beta * value - key @ state
what the query finds is corrected, expected what the key finds | key @ state) -> query @ state)
each token reads before it has written | return query @ state -> return query @ before
    state = state + key.mT @ value -> before, state = state, state + key.mT @ value
the queries are scaled, for nothing | return query @ state -> return query @ state / key.shape[-1] ** 0.5
keys and queries are exchanged | return query @ state -> return key @ state
    state = state + key.mT @ value -> state = state + query.mT @ value
the state that is given is ignored | if state is None -> if True
"""
PIECES = (
    judged(
        linear_attention,
        "Forget, or correct",
        "For each token: let the state decay, take what the key finds from the value, write, then read.",
        WRONG_RULES,
        [
            ([[1.0]], [[1.0]], [[3.0]]),
            THREE,
            (*THREE, [-0.5, -1.0]),
            (*THREE, None, [0.5, 0.25]),
            (*THREE, None, None, drawn(3, 4, seed=5)),
            (*THREE, [-0.5, -1.0], [0.5, 0.25]),
            (*BATCH, *GATES),
            (*BATCH, *GATES, drawn(2, 3, 4, 2, seed=5)),
        ],
        run_rule,
        code=(linear_attention, attend_by_token),
        leave_out=("chunk_size",),
    ),
)
