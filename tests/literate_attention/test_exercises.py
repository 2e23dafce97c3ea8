"""Each check knows the right answer, and what people do wrong; nothing that a reader hands in stops it."""

import re
from collections.abc import Callable

import pytest
import torch
from harness.paths import DOCS
from torch import Tensor, nn

from literate_attention import (
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    SelfAttention_v1,
    SelfAttention_v2,
    attention_weights,
    causal_mask,
    dot_product_attention,
    exercises,
    fused_attention,
    induction_targets,
    merge_heads,
    toy_embeddings,
)
from literate_attention.exercises import Verdict

INPUTS = toy_embeddings()
GENERATOR = torch.Generator().manual_seed(5)
W_QUERY, W_KEY, W_VALUE = (torch.randn(3, 2, generator=GENERATOR) for _ in range(3))
QUERIES, KEYS, VALUES = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
SCORES = QUERIES @ KEYS.T
SCALED = SCORES / 2**0.5
MASK = causal_mask(6)
ONE_TOO_FAR = torch.ones(6, 6).tril(1) > 0
TABLE = torch.randn(11, 5, generator=GENERATOR)
IDS = torch.tensor([[7, 2, 2], [3, 5, 10]])
X = torch.arange(2 * 3 * 4.0).view(2, 3, 4)
ORIGINAL = SelfAttention_v2(3, 3)

ENCODER = nn.RNN(input_size=3, hidden_size=5, batch_first=True).double()
TEXT = torch.randn(1, 4, 3, dtype=torch.float64, generator=GENERATOR)
W, U, B_INPUT, B_STATE = (weight.detach() for weight in ENCODER.all_weights[0])

CHECKS: dict[str, Callable[..., Verdict]] = {
    "windows": lambda answer, *given: exercises.check_windows(answer, *(given or (59, 4, 3))),
    "lookup": lambda answer: exercises.check_lookup(answer, TABLE, IDS),
    "cost": lambda steps, scores=None: exercises.check_cost(steps, scores or steps, longer=10),
    "last state": lambda answer: exercises.check_last_state(answer, ENCODER, TEXT),
    "simple": lambda answer: exercises.check_context_vector(answer, INPUTS, query=2),
    "projected": lambda answer: exercises.check_projected_context(
        answer, INPUTS, W_QUERY, W_KEY, W_VALUE, query=5
    ),
    "weights": lambda answer: exercises.check_weights(answer, QUERIES, KEYS, is_causal=True),
    "mask": lambda answer: exercises.check_mask(answer, num_tokens=6),
    "window": lambda answer: exercises.check_mask(answer, num_tokens=6, window=3),
    "dropout": exercises.check_dropout,
    "heads": lambda answer: exercises.check_heads(answer, num_heads=2, width=2, d_in=3),
    "copied": lambda answer: exercises.check_copied_weights(answer, ORIGINAL),
    "parameters": lambda answer, **bias: exercises.check_parameter_count(answer, 5, 6, **bias),
    "with bias": lambda answer: exercises.check_parameter_count(answer, 5, 6, qkv_bias=True),
    "attention": exercises.check_attention,
    "copies": exercises.check_copies,
    "successor": exercises.check_successor,
    "ablation": exercises.check_ablation,
    "one pass": exercises.check_one_pass,
}


class Returning(nn.Module):
    """A module that returns the same, whatever it gets."""

    def __init__(self, result) -> None:
        super().__init__()
        self.result = result

    def forward(self, *_, **__):
        return self.result


def one_pass(weigh, finish=torch.sum):
    """Attend to a stream with weights made of all scores, divided at the end by what `finish` says."""

    def attend(query, pairs):
        keys, values = map(torch.stack, zip(*pairs, strict=True))
        weights = weigh(keys @ query)
        return weights @ values / finish(weights)

    return attend


def without_head(contexts, weight, head):
    left = contexts.clone()
    left[head] = 0.0
    return merge_heads(left) @ weight.T


def attend(query, key, value, is_causal):
    return fused_attention(query, key, value, is_causal=is_causal)


def last_state(b=B_INPUT + B_STATE, squash=torch.tanh, u=U, text=TEXT[0]):
    """Read a text token by token, in one's own way."""
    state = torch.zeros(5, dtype=torch.float64)
    for x in text:
        state = squash(W @ x + u @ state + b)
    return state


def attend_by(change):
    """Return an attention whose weights are made in another way from scaled scores and the mask."""

    def attention(query, key, value, is_causal):
        mask = causal_mask(query.shape[-2]) if is_causal else torch.ones(5, 5, dtype=torch.bool)
        return change(query @ key.mT / query.shape[-1] ** 0.5, mask) @ value

    return attention


def copied(**others):
    """Return a module with the weights of the original, but for those that are given."""
    copy = SelfAttention_v1(3, 3)
    for name in ("W_query", "W_key", "W_value"):
        weight = others.get(name, getattr(ORIGINAL, name).weight.T)
        setattr(copy, name, nn.Parameter(weight.detach().clone()))
    return copy


def wrapper(d_out, num_heads):
    return MultiHeadAttentionWrapper(3, d_out, 6, dropout=0.0, num_heads=num_heads)


def hidden(mask=MASK, scores=SCALED):
    return scores.masked_fill(~mask, -torch.inf)


def successor(tokens):
    """Return what came after the latest earlier copy of the last token."""
    *past, last = tokens
    places = [place for place, token in enumerate(past) if token == last]
    return tokens[places[-1] + 1] if places else None


RIGHT: dict[str, list[object]] = {
    "last state": [last_state()],
    "copies": [lambda ids: (ids[:, None] == ids).tril(-1)],
    "successor": [successor],
    "ablation": [
        without_head,
        lambda contexts, weight, head: sum(
            contexts[i] @ weight[:, 2 * i : 2 * i + 2].T for i in range(3) if i != head
        ),
    ],
    "one pass": [one_pass(lambda s: torch.exp((s - s.max()) / 3**0.5))],
    "windows": [19, torch.tensor(19)],
    "lookup": [TABLE[IDS], nn.functional.one_hot(IDS, 11).float() @ TABLE],
    "simple": [dot_product_attention(INPUTS)[2], [0.4431, 0.6496, 0.5671]],
    "projected": [attention_weights(QUERIES, KEYS)[5] @ VALUES],
    "copied": [copied()],
    "weights": [
        answer(attention_weights(QUERIES, KEYS, attn_mask=MASK))
        for answer in (Tensor.double, Tensor.requires_grad_, Tensor.tolist)
    ],
    "mask": [MASK],
    "window": [MASK & ~MASK.tril(-3)],
    "dropout": [lambda x, kept, p: x * kept / (1 - p)],
    "heads": [wrapper(1, 2)],
    "parameters": [3 * 30 + 36 + 6, MultiHeadAttention(5, 6, 4, 0.0, 2)],
    "with bias": [MultiHeadAttention(5, 6, 4, 0.0, 2, qkv_bias=True)],
    "attention": [
        attend,
        attend_by(lambda s, m: nn.functional.normalize(s.softmax(-1) * m, p=1, dim=-1)),
    ],
}


@pytest.mark.parametrize(
    ("name", "answer"), [(name, answer) for name, right in RIGHT.items() for answer in right]
)
def test_a_right_answer_is_right(name, answer) -> None:
    verdict = CHECKS[name](answer)
    assert verdict, verdict
    assert repr(verdict) == "Right."


def test_right_answers_to_other_questions() -> None:
    assert CHECKS["cost"](10, 100)
    assert CHECKS["windows"](14, 60, 4, 4)
    rows = torch.tensor([1, 0, 1], dtype=torch.int32)
    assert exercises.check_lookup(torch.eye(2)[[1, 0, 1]], torch.eye(2), rows)


WRONG: dict[str, list[tuple[object, str]]] = {
    "last state": [
        (last_state(0 * B_INPUT), "both biases are missing"),
        (last_state(B_INPUT), "bias_hh_l0 is missing"),
        (last_state(B_STATE), "bias_ih_l0 is missing"),
        (last_state(squash=torch.clone), "the tanh is missing"),
        (last_state(u=U.T), "U is transposed"),
        (last_state(u=0 * U), "the state is forgotten"),
        (last_state(text=TEXT[0].flip(0)), "from its end"),
        (last_state(text=TEXT[0, :1]), "after the first token"),
        (ENCODER(TEXT)[0][0], "the states after each token"),
    ],
    "copies": [
        (lambda ids: ids[:, None] == ids, "and the future is hidden"),
        (lambda ids: (ids[:, None] == ids).tril(), "copy of itself"),
        (lambda ids: (ids[:, None] == ids).triu(1), "later copies"),
        (lambda ids: (ids[:, None] == ids).tril(-1).float(), "true and false are expected"),
        (lambda ids: torch.ones(6, 6).tril(-1) > 0, "all earlier tokens"),
        (lambda ids: (ids[:, None] != ids).tril(-1), "numbers differ"),
        (lambda ids: ~(ids[:, None] == ids).tril(-1), "true everywhere else"),
        (induction_targets, "after the copy, not at it"),
    ],
    "successor": [
        (lambda ids: ids[ids.index(ids[-1]) + 1], "after the first copy"),
        (lambda ids: ids[-1], "the token itself"),
        (lambda ids: None, "it finds nothing in"),
        (lambda ids: successor(ids) or 0, "it says more than None"),
    ],
    "ablation": [
        (lambda contexts, weight, head: merge_heads(contexts) @ weight.T, "all heads are there"),
        (lambda contexts, weight, head: contexts[head] @ weight[:, 2:4].T, "what the head adds"),
        (lambda *given: without_head(*given[:2], given[2] - 1), "heads are counted from 0"),
        (lambda *given: without_head(*given[:2], given[2] + 1), "heads are counted from 0"),
        (lambda *given: without_head(*given) * 1.5, "the heads that are left are scaled up"),
        (lambda z, weight, head: without_head(z, torch.eye(6), head), "through the projection"),
    ],
    "one pass": [
        (one_pass(lambda s: (s - s.max()).exp()), "ordinary scores: the scores are not scaled"),
        (one_pass(lambda s: (s / 3 - s.max() / 3).exp()), "scaled by the width"),
        (one_pass(lambda s: ((s - s.max()) / 3**0.5).exp(), lambda _: 1.0), "divide by it"),
        (one_pass(lambda s: ((s - s.cummax(0).values) / 3**0.5).exp()), "is not rescaled"),
        (one_pass(lambda s: (s / 3**0.5).exp()), "large scores: .* subtract the maximum"),
    ],
    "windows": [
        (18, "the first window counts too"),
        (14, "windows that do not overlap"),
        (7, "the number is not 7"),
    ],
    "lookup": [
        (TABLE[:3].expand(2, 3, 5), "the first rows of the table"),
        (nn.functional.one_hot(IDS, 11), "vectors of zeros and ones"),
        (TABLE[IDS - 1], "Python counts from zero"),
        (TABLE[IDS].mT, "as columns"),
    ],
    "simple": [
        (INPUTS[2], "the embedding of the token"),
        (INPUTS.mean(dim=0), "the plain average"),
        ((INPUTS @ INPUTS.T).softmax(-1)[2], "these are the weights"),
        ((INPUTS @ INPUTS[2] / (INPUTS @ INPUTS[2]).sum()) @ INPUTS, "divided by their sum"),
        (dot_product_attention(INPUTS)[3], "of row 3, not of row 2"),
        (dot_product_attention(INPUTS), r"the shape is \(6, 3\), expected \(3,\)"),
    ],
    "projected": [
        ((SCORES / 3**0.5).softmax(-1)[5] @ VALUES, "the width of the inputs"),
        ((SCORES * 2**0.5).softmax(-1)[5] @ VALUES, "multiplied by the square root"),
        ((SCALED.T).softmax(-1)[5] @ VALUES, "query and key are swapped"),
        (SCALED.softmax(-1)[5] @ KEYS, "the keys are averaged, not the values"),
        (SCALED.softmax(-1)[5] @ INPUTS, "the inputs are averaged"),
        (SCALED.softmax(-1)[4] @ VALUES, "of row 4, not of row 5"),
    ],
    "copied": [
        (copied(W_key=ORIGINAL.W_key.weight), "W_key was not transposed"),
        (copied(W_key=ORIGINAL.W_query.weight.T), "W_key got the numbers of W_query"),
        (copied(W_value=torch.zeros(3, 3)), "W_value still holds numbers of its own"),
    ],
    "weights": [
        (hidden(MASK.T).softmax(-1), "hides the past and shows the future"),
        (SCALED.softmax(-1), "nothing is hidden"),
        (SCALED.softmax(-1) * MASK, "not made to sum to one again"),
        (hidden(), "the softmax is missing"),
        (torch.zeros(6, 6), "numbers differ"),
        (hidden(MASK.T, SCORES).softmax(-1), "are not scaled, and the mask hides the past"),
    ],
    "mask": [
        (~MASK, "true for what is hidden"),
        (MASK.tril(-1), "no token sees itself"),
        (ONE_TOO_FAR, "one token of the future is left"),
        (MASK.T, "hides the past and shows the future"),
        (torch.ones(6, 6), "nothing is hidden"),
        (torch.ones(6, 6).tril(), r"expected: add \.bool\(\)"),
        (MASK[:4], r"the shape is \(4, 6\), expected \(6, 6\)"),
    ],
    "window": [
        (MASK, "all of the past is visible"),
        (MASK & ~MASK.tril(-4), "one token too wide"),
        (MASK & ~MASK.tril(-2), "one token too narrow"),
        (~MASK.tril(-3), "the future is visible"),
    ],
    "dropout": [
        (lambda x, kept, p: x * kept, "not scaled up"),
        (lambda x, kept, p: x * kept / p, "divided by p, not by 1 - p"),
        (lambda x, kept, p: x * kept * (1 - p), "multiplied by 1 - p"),
        (lambda x, kept, p: x * ~kept / (1 - p), "what should be dropped"),
        (lambda x, kept, p: x / (1 - p), "nothing is dropped"),
        (
            lambda x, kept, p: x * kept * x.sum(-1, True) / (x * kept).sum(-1, True),
            "all numbers al",
        ),
    ],
    "heads": [
        (wrapper(2, 2), "4 wide, as each of the 2 heads adds 2"),
        (wrapper(2, 1), "the number of heads is 1, expected 2"),
        (wrapper(3, 2), "6 wide, expected 2"),
        (nn.Linear(3, 2), "it stops with TypeError"),
        (Returning((X, torch.ones(6, 6))), "does not return context vectors, and the weights"),
        (Returning((X, X, X)), "does not return context vectors, and the weights of each head"),
    ],
    "parameters": [
        (3 * 30 + 36, "the bias of out_proj is missing"),
        (3 * 30, "out_proj is missing"),
        (30 + 36 + 6, "this counts one"),
        (MultiHeadAttention(5, 6, 4, 0.0, 2, qkv_bias=True), "have no bias here"),
    ],
    "with bias": [
        (3 * 30 + 36 + 6, "the biases of query, key and value are missing"),
        (3 * 30 + 36, "all biases are missing"),
    ],
    "attention": [
        (attend_by(lambda s, m: s.softmax(-1)), "one sequence, causal: nothing is hidden"),
        (attend_by(lambda s, m: hidden(m, s).softmax(dim=1)), "a batch: the softmax runs over"),
        (attend_by(lambda s, m: hidden(m.T, s).softmax(-1)), "hides the past and shows the fut"),
        (attend_by(lambda s, m: hidden(m, s * 3**0.5).softmax(-1)), "sequence: the scores are not"),
        (lambda q, k, v, is_causal: q @ k.T @ v, "the scores are not scaled, and these are scores"),
    ],
}


@pytest.mark.parametrize(
    ("name", "answer", "says"), [(name, *each) for name, wrong in WRONG.items() for each in wrong]
)
def test_a_wrong_answer_is_told_what_is_wrong(name, answer, says) -> None:
    verdict = CHECKS[name](answer)
    assert re.search(says, repr(verdict), re.IGNORECASE), verdict
    assert not verdict


def test_wrong_answers_to_other_questions() -> None:
    assert "the last window needs a target" in CHECKS["windows"](15, 60, 4, 4).says
    for (steps, scores), says in {
        (10, 10): "every pair of tokens",
        (100, 100): "one step for each token",
        (1, 100): "more steps for more tokens",
    }.items():
        assert says in CHECKS["cost"](steps, scores).says


JUNK: dict[str, object] = {
    "nothing": None,
    "words": "softmax(QK)V",
    "no numbers": torch.tensor([]),
    "nan": torch.full((6, 6), torch.nan),
    "ragged": [[1.0], [2.0, 3.0]],
    "module": nn.Linear(2, 2),
    "raises": lambda *_, **__: 1 / 0,
    "returns nothing": lambda *_, **__: None,
}


@pytest.mark.parametrize("answer", JUNK.values(), ids=JUNK)
@pytest.mark.parametrize("check", [check for name, check in CHECKS.items()], ids=CHECKS)
def test_no_answer_stops_a_check(check, answer) -> None:
    verdict = check(answer)
    assert isinstance(verdict, Verdict)
    assert not verdict
    assert re.fullmatch(r"[A-Z\d].+[^.]\.", verdict.says), verdict


def test_a_check_changes_nothing() -> None:
    state = torch.get_rng_state()
    exercises.check_attention(attend)
    exercises.check_piece(MultiHeadAttention)
    CHECKS["projected"](None)
    assert torch.equal(torch.get_rng_state(), state)


def test_every_check_serves_an_exercise_and_is_executed_in_its_solution() -> None:
    asked, executed = set(), set()
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for chapter in re.findall(r"^(?:story|models|learned)/\w+$", index, re.MULTILINE):
        text = (DOCS / f"{chapter}.md").read_text(encoding="utf-8")
        for exercise in re.findall(r"\{exercise-start\}(.*?)\{exercise-end\}", text, re.DOTALL):
            asked |= set(re.findall(r"exercises\.(check_\w+)", exercise))
        for solution in re.findall(r"\{solution-start\}(.*?)\{solution-end\}", text, re.DOTALL):
            executed |= set(re.findall(r"exercises\.(check_\w+)", solution))
    assert asked == executed == {*exercises.__all__} - {"Verdict"}
