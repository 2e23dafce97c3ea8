"""Each check knows the right answer, and what people do wrong; nothing that a reader hands in stops it."""

import re
from collections.abc import Callable, Iterable

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
    induction_targets,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
    toy_embeddings,
)
from literate_attention.exercises import Verdict

INPUTS = toy_embeddings()
GENERATOR = torch.Generator().manual_seed(5)
W_QUERY, W_KEY, W_VALUE = (torch.randn(3, 2, generator=GENERATOR) for _ in range(3))
QUERIES, KEYS, VALUES = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
SCORES = QUERIES @ KEYS.T
MASK = causal_mask(6)
TABLE = torch.randn(11, 5, generator=GENERATOR)
IDS = torch.tensor([[7, 2, 2], [3, 5, 10]])
X = torch.arange(2 * 3 * 4.0).view(2, 3, 4)


def windows(answer: object) -> Verdict:
    return exercises.check_windows(answer, num_tokens=59, max_length=4, stride=3)


def lookup(answer: object) -> Verdict:
    return exercises.check_lookup(answer, TABLE, IDS)


def cost(steps: object, scores: object) -> Verdict:
    return exercises.check_cost(steps, scores, longer=10)


def simple(answer: object) -> Verdict:
    return exercises.check_context_vector(answer, INPUTS, query=2)


def projected(answer: object) -> Verdict:
    return exercises.check_projected_context(answer, INPUTS, W_QUERY, W_KEY, W_VALUE, query=5)


class Attending(nn.Module):
    """Self-attention in one's own way: a function of x, query, key and value."""

    def __init__(self, attend: Callable[..., object], **shapes: tuple[int, ...]) -> None:
        super().__init__()
        self.attend = attend
        for name in ("W_query", "W_key", "W_value"):
            matrix = torch.randn(shapes.get(name, (3, 2)), generator=GENERATOR)
            self.register_parameter(name, nn.Parameter(matrix))

    def forward(self, x: Tensor) -> object:
        return self.attend(x, x @ self.W_query, x @ self.W_key, x @ self.W_value)


def self_attention(attend: Callable[..., object], **shapes: tuple[int, ...]) -> Verdict:
    return exercises.check_self_attention(Attending(attend, **shapes), INPUTS)


def weights(answer: object) -> Verdict:
    return exercises.check_weights(answer, QUERIES, KEYS, is_causal=True)


def window_mask(answer: object) -> Verdict:
    return exercises.check_mask(answer, num_tokens=6, window=3)


def parameters(answer: object) -> Verdict:
    return exercises.check_parameter_count(answer, d_in=5, d_out=6)


def split(answer: object) -> Verdict:
    return exercises.check_split(answer, X, num_heads=2)


def merging(
    context: Callable[..., Tensor], logsumexp: Callable[..., Tensor] = torch.logaddexp
) -> Verdict:
    """Check a merge by what it makes of context vectors and of log-sum-exps."""
    return exercises.check_merge(
        lambda one, other: (context(*one, *other), logsumexp(one[1], other[1]))
    )


def one_pass(
    weigh: Callable[[Tensor], Tensor], finish: Callable[[Tensor], Tensor] = torch.sum
) -> Verdict:
    """Check an attention to a stream by what it makes of all scores, and what it divides by at the end."""

    def attend(query: Tensor, pairs: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
        keys, values = map(torch.stack, zip(*pairs, strict=True))
        weights = weigh(keys @ query)
        return weights @ values / finish(weights)

    return exercises.check_one_pass(attend)


def by_shares(z1: Tensor, l1: Tensor, z2: Tensor, l2: Tensor) -> Tensor:
    first, second = torch.stack([l1, l2]).softmax(dim=0)
    return first * z1 + second * z2


def without_head(contexts: Tensor, weight: Tensor, head: int) -> Tensor:
    left = contexts.clone()
    left[head] = 0.0
    return merge_heads(left) @ weight.T


def attend(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
    return scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def attend_by(change: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an attention whose weights are made in another way from scaled scores and the mask."""

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
        mask = causal_mask(query.shape[-2]) if is_causal else torch.ones(5, 5, dtype=torch.bool)
        return change(query @ key.mT / query.shape[-1] ** 0.5, mask) @ value

    return attention


def copied(
    change: Callable[[SelfAttention_v1, SelfAttention_v2], object], d_out: int = 3
) -> Verdict:
    torch.manual_seed(3)
    copy, original = SelfAttention_v1(3, d_out), SelfAttention_v2(3, d_out)
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            getattr(copy, name).copy_(getattr(original, name).weight.T)
        change(copy, original)
    return exercises.check_copied_weights(copy, original)


def heads(module: nn.Module) -> Verdict:
    return exercises.check_heads(module, num_heads=2, width=2, d_in=3)


def wrapper(d_out: int, num_heads: int) -> nn.Module:
    return MultiHeadAttentionWrapper(3, d_out, 6, dropout=0.0, num_heads=num_heads)


class Returning(nn.Module):
    """A module that returns the same, whatever it gets."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.result = result

    def forward(self, *_: object, **__: object) -> object:
        return self.result


def hidden(mask: Tensor = MASK, scores: Tensor = SCORES / 2**0.5) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf)


def successor(tokens: list[int]) -> int | None:
    """Return what came after the latest earlier copy of the last token."""
    *past, last = tokens
    places = [place for place, token in enumerate(past) if token == last]
    return tokens[places[-1] + 1] if places else None


# What is right

RIGHT: dict[str, Verdict] = {
    "merge": merging(by_shares),
    "copies": exercises.check_copies(lambda ids: (ids[:, None] == ids).tril(-1)),
    "successor": exercises.check_successor(successor),
    "ablation": exercises.check_ablation(without_head),
    "ablation, by the other heads": exercises.check_ablation(
        lambda contexts, weight, head: sum(
            contexts[i] @ weight[:, 2 * i : 2 * i + 2].T for i in range(3) if i != head
        )
    ),
    "one pass": one_pass(lambda s: torch.exp((s - s.max()) / 3**0.5)),
    "windows": windows(19),
    "windows, as a tensor": windows(torch.tensor(19)),
    "lookup": lookup(TABLE[IDS]),
    "lookup, as a product": lookup(nn.functional.one_hot(IDS, 11).float() @ TABLE),
    "lookup, of more tokens than rows": exercises.check_lookup(
        torch.eye(2)[[1, 0, 1]], torch.eye(2), torch.tensor([1, 0, 1], dtype=torch.int32)
    ),
    "cost": cost(10, 100),
    "softmax": exercises.check_softmax(lambda scores: scores.softmax(dim=-1)),
    "context vector": simple(dot_product_attention(INPUTS)[2]),
    "context vector, as printed": simple([0.4431, 0.6496, 0.5671]),
    "projected": projected(attention_weights(QUERIES, KEYS)[5] @ VALUES),
    "self-attention": self_attention(lambda x, q, k, v: attention_weights(q, k) @ v),
    "self-attention of the library": exercises.check_self_attention(SelfAttention_v1(3, 2), INPUTS),
    "copied": copied(lambda copy, original: None),
    "copied, not square": copied(lambda copy, original: None, d_out=2),
    "weights": weights(attention_weights(QUERIES, KEYS, attn_mask=MASK)),
    "mask": exercises.check_mask(MASK, num_tokens=6),
    "window": window_mask(MASK & ~MASK.tril(-3)),
    "dropout": exercises.check_dropout(lambda x, kept, p: x * kept / (1 - p)),
    "heads": heads(wrapper(1, 2)),
    "split": split(X.view(2, 3, 2, 2).transpose(1, 2)),
    "parameters": parameters(3 * 30 + 36 + 6),
    "parameters of a module": parameters(MultiHeadAttention(5, 6, 4, 0.0, 2)),
    "parameters with bias": exercises.check_parameter_count(
        MultiHeadAttention(5, 6, 4, 0.0, 2, qkv_bias=True), d_in=5, d_out=6, qkv_bias=True
    ),
    "attention": exercises.check_attention(attend),
    "attention, masked after the softmax": exercises.check_attention(
        attend_by(lambda s, m: nn.functional.normalize(s.softmax(-1) * m, p=1, dim=-1))
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_is_right(name: str) -> None:
    assert RIGHT[name], RIGHT[name]
    assert repr(RIGHT[name]) == "Right."


# What is wrong, and said

WRONG: list[tuple[Verdict, str]] = [
    (merging(lambda z1, l1, z2, l2: (z1 + z2) / 2), "both parts count alike"),
    (merging(lambda z1, l1, z2, l2: z1 + z2), "added, not averaged"),
    (merging(lambda z1, l1, z2, l2: l1.exp() * z1 + l2.exp() * z2), "sum of the shares is not one"),
    (merging(lambda z1, l1, z2, l2: (l1 * z1 + l2 * z2) / (l1 + l2)), "not of their exponentials"),
    (merging(lambda z1, l1, z2, l2: by_shares(z2, l1, z1, l2)), "the share of the other"),
    (merging(by_shares, torch.maximum), "the larger of both"),
    (merging(by_shares, torch.add), "add the exponentials"),
    (merging(by_shares, lambda l1, l2: l1.exp() + l2.exp()), "the logarithm is missing"),
    (exercises.check_merge(lambda one, other: one[0]), "a pair is expected"),
    (exercises.check_copies(lambda ids: ids[:, None] == ids), "and the future is hidden"),
    (exercises.check_successor(lambda ids: ids[ids.index(ids[-1]) + 1]), "after the first copy"),
    (exercises.check_successor(lambda ids: ids[-1]), "the token itself"),
    (exercises.check_successor(lambda ids: None), "it finds nothing in"),
    (exercises.check_successor(lambda ids: successor(ids) or 0), "it says more than None"),
    (exercises.check_copies(lambda ids: (ids[:, None] == ids).tril()), "copy of itself"),
    (exercises.check_copies(lambda ids: (ids[:, None] == ids).triu(1)), "later copies"),
    (
        exercises.check_copies(lambda ids: (ids[:, None] == ids).tril(-1).float()),
        "targets have to be boolean",
    ),
    (exercises.check_copies(lambda ids: torch.ones(6, 6).tril(-1) > 0), "all earlier tokens"),
    (exercises.check_copies(lambda ids: (ids[:, None] != ids).tril(-1)), "numbers differ"),
    (
        exercises.check_copies(lambda ids: ~(ids[:, None] == ids).tril(-1)),
        "true everywhere else",
    ),
    (exercises.check_copies(induction_targets), "behind the copy, not at it"),
    (
        exercises.check_ablation(lambda contexts, weight, head: merge_heads(contexts) @ weight.T),
        "all heads are there",
    ),
    (
        exercises.check_ablation(lambda contexts, weight, head: contexts[head] @ weight[:, 2:4].T),
        "this is what the head adds",
    ),
    (
        exercises.check_ablation(lambda *given: without_head(*given[:2], given[2] - 1)),
        "heads are counted from 0",
    ),
    (
        exercises.check_ablation(lambda *given: without_head(*given[:2], given[2] + 1)),
        "heads are counted from 0",
    ),
    (
        exercises.check_ablation(lambda *given: without_head(*given) * 1.5),
        "the heads that are left are scaled up",
    ),
    (
        exercises.check_ablation(
            lambda contexts, weight, head: without_head(contexts, torch.eye(6), head)
        ),
        "they still go through the projection",
    ),
    (one_pass(lambda s: (s - s.max()).exp()), "ordinary scores: the scores are not scaled"),
    (one_pass(lambda s: (s / 3 - s.max() / 3).exp()), "scaled by the width"),
    (one_pass(lambda s: ((s - s.max()) / 3**0.5).exp(), lambda _: torch.ones(())), "divide by it"),
    (one_pass(lambda s: ((s - s.cummax(0).values) / 3**0.5).exp()), "is not rescaled"),
    (one_pass(lambda s: (s / 3**0.5).exp()), "large scores: .* subtract the maximum"),
    (
        self_attention(lambda x, q, k, v: (q @ k.T).softmax(dim=-1) @ v),
        "the scores are not scaled",
    ),
    (
        self_attention(lambda x, q, k, v: attention_weights(k, q) @ v),
        "query and key are swapped",
    ),
    (
        self_attention(lambda x, q, k, v: attention_weights(q, k)),
        "these are the weights, not the context vectors",
    ),
    (
        self_attention(lambda x, q, k, v: attention_weights(q, k) @ x),
        "the inputs are averaged, not the values",
    ),
    (
        self_attention(lambda x, q, k, v: (q @ k.T / 3**0.5).softmax(dim=-1) @ v),
        "the scores are scaled by the width of the inputs, not of the keys",
    ),
    (
        self_attention(lambda x, q, k, v: attention_weights(q, k) @ v, W_key=(2, 3)),
        r"W_key has the shape \(2, 3\), expected \(3, d_out\)",
    ),
    (
        self_attention(lambda x, q, k, v: v, W_value=(3,)),
        r"W_value has the shape \(3,\), expected",
    ),
    (
        self_attention(lambda x, q, k, v: q @ v),
        "it stops with RuntimeError: .+",
    ),
    (
        exercises.check_self_attention(nn.Linear(3, 2), INPUTS),
        "the module has no parameter W_query",
    ),
    (exercises.check_self_attention("v1", INPUTS), "a module is expected, got str"),
    (windows(18), "the first window counts too"),
    (exercises.check_windows(14, 60, 4, 4), "Right"),
    (exercises.check_windows(15, 60, 4, 4), "the last window needs a target"),
    (windows(14), "windows that do not overlap"),
    (windows(7), "the number is not 7"),
    (lookup(TABLE[:3].expand(2, 3, 5)), "the first rows of the table"),
    (lookup(nn.functional.one_hot(IDS, 11)), "vectors of zeros and ones"),
    (lookup(TABLE[IDS - 1]), "Python counts from zero"),
    (lookup(TABLE[IDS].mT), "as columns"),
    (cost(10, 10), "every pair of tokens"),
    (cost(100, 100), "one step for each token"),
    (cost(1, 100), "more steps for more tokens"),
    (exercises.check_softmax(lambda s: s.softmax(dim=0)), "the columns sum to one, not the rows"),
    (exercises.check_softmax(lambda s: s.exp() / s.exp().sum()), "all numbers together"),
    (exercises.check_softmax(lambda s: s.exp()), "not divided by their sum"),
    (exercises.check_softmax(lambda s: s / s.sum(-1, keepdim=True)), "the exponential is missing"),
    (exercises.check_softmax(lambda s: s.log_softmax(-1)), "the logarithm of the weights"),
    (
        exercises.check_softmax(lambda s: s.exp() / s.exp().sum(-1, keepdim=True)),
        "large scores overflow",
    ),
    (simple(INPUTS[2]), "the embedding of the token"),
    (simple(INPUTS.mean(dim=0)), "the plain average"),
    (simple((INPUTS @ INPUTS.T).softmax(-1)[2]), "these are the weights"),
    (simple(((INPUTS @ INPUTS.T / 3**0.5).softmax(-1) @ INPUTS)[2]), "scaled, and should not be"),
    (simple(((INPUTS @ INPUTS.T) @ INPUTS)[2]), "the softmax is missing"),
    (simple((INPUTS @ INPUTS[2] / (INPUTS @ INPUTS[2]).sum()) @ INPUTS), "divided by their sum"),
    (simple(dot_product_attention(INPUTS)[3]), "of row 3, not of row 2"),
    (simple(dot_product_attention(INPUTS)), r"the shape is \(6, 3\), expected \(3,\)"),
    (projected(SCORES.softmax(-1)[5] @ VALUES), "the scores are not scaled"),
    (projected((SCORES / 2).softmax(-1)[5] @ VALUES), "by d_k, not by its square root"),
    (projected((SCORES / 3**0.5).softmax(-1)[5] @ VALUES), "the width of the inputs"),
    (projected((SCORES * 2**0.5).softmax(-1)[5] @ VALUES), "multiplied by the square root"),
    (projected((SCORES.T / 2**0.5).softmax(-1)[5] @ VALUES), "query and key are swapped"),
    (projected((SCORES / 2**0.5).softmax(-1)[5] @ KEYS), "the keys are averaged, not the values"),
    (projected((SCORES / 2**0.5).softmax(-1)[5] @ INPUTS), "the embeddings are averaged"),
    (projected((SCORES / 2**0.5).softmax(-1)[5]), "the weights, not the context vectors"),
    (projected((SCORES / 2**0.5).softmax(-2)[5] @ VALUES), "the columns sum to one"),
    (projected((SCORES / 2**0.5).softmax(-1)[4] @ VALUES), "of row 4, not of row 5"),
    (
        copied(lambda copy, original: copy.W_key.copy_(original.W_key.weight)),
        "W_key was not transposed",
    ),
    (
        copied(lambda copy, original: copy.W_key.copy_(original.W_query.weight.T)),
        "W_key got the numbers of W_query",
    ),
    (copied(lambda copy, original: copy.W_value.zero_()), "W_value still holds numbers of its own"),
    (weights(hidden(MASK.T).softmax(-1)), "hides the past and shows the future"),
    (weights(hidden(~MASK).softmax(-1)), "hides what it should show"),
    (weights((SCORES / 2**0.5).softmax(-1)), "nothing is hidden"),
    (weights(hidden(MASK.tril(-1)).softmax(-1)), "no token sees itself"),
    (weights(hidden(torch.ones(6, 6).tril(1) > 0).softmax(-1)), "one token of the future"),
    (weights(hidden(scores=SCORES).softmax(-1)), "the scores are not scaled"),
    (weights(hidden(scores=SCORES / 2).softmax(-1)), "by d_k, not by its square root"),
    (weights(hidden().softmax(-2)), "the columns sum to one, not the rows"),
    (weights((SCORES / 2**0.5 * MASK).softmax(-1)), "zero is a score like any other"),
    (weights((SCORES / 2**0.5).softmax(-1) * MASK), "not made to sum to one again"),
    (weights(hidden()), "the softmax is missing"),
    (
        exercises.check_weights(torch.zeros(2, 6), QUERIES[:2], KEYS, is_causal=True),
        "11 of 12 numbers differ",
    ),
    (
        weights(hidden(MASK.T, SCORES).softmax(-1)),
        "the scores are not scaled, and the mask hides the past",
    ),
    (exercises.check_mask(~MASK, 6), "true for what is hidden"),
    (exercises.check_mask(MASK.tril(-1), 6), "no token sees itself"),
    (exercises.check_mask(torch.ones(6, 6).tril(1) > 0, 6), "one token of the future is left"),
    (exercises.check_mask(MASK.T, 6), "hides the past and shows the future"),
    (exercises.check_mask(torch.ones(6, 6), 6), "nothing is hidden"),
    (exercises.check_mask(torch.ones(6, 6).tril(), 6), r"boolean: add \.bool\(\)"),
    (exercises.check_mask(MASK[:4], 6), r"the shape is \(4, 6\), expected \(6, 6\)"),
    (window_mask(MASK), "all of the past is visible"),
    (window_mask(MASK & ~MASK.tril(-4)), "one token too wide"),
    (window_mask(MASK & ~MASK.tril(-2)), "one token too narrow"),
    (window_mask(~MASK.tril(-3)), "the future is visible"),
    (exercises.check_dropout(lambda x, kept, p: x * kept), "not scaled up"),
    (exercises.check_dropout(lambda x, kept, p: x * kept / p), "divided by p, not by 1 - p"),
    (exercises.check_dropout(lambda x, kept, p: x * kept * (1 - p)), "multiplied by 1 - p"),
    (exercises.check_dropout(lambda x, kept, p: x * ~kept / (1 - p)), "what should be dropped"),
    (exercises.check_dropout(lambda x, kept, p: x / (1 - p)), "nothing is dropped"),
    (
        exercises.check_dropout(
            lambda x, kept, p: x * kept * x.sum(-1, keepdim=True) / (x * kept).sum(-1, keepdim=True)
        ),
        "dropout scales all numbers alike",
    ),
    (heads(wrapper(2, 2)), "4 wide, as each of the 2 heads adds 2"),
    (heads(wrapper(2, 1)), "the number of heads is 1, expected 2"),
    (heads(wrapper(3, 2)), "6 wide, expected 2"),
    (heads(nn.Linear(3, 2)), "it stops with TypeError"),
    *(
        (heads(Returning(result)), "does not return context vectors, and the weights of each head")
        for result in (X, (X, None), (X, X, X), (X, torch.ones(6, 6)), (None, X))
    ),
    (split(X.view(2, 2, 3, 2)), "cuts the sentence, not the vectors"),
    (split(X.view(2, 3, 2, 2)), "still have to be transposed"),
    (split(X.view(2, 3, 2, 2).permute(0, 3, 1, 2)), "every second number"),
    (split(split_heads(X, 2).mT), "transpose tokens and heads only"),
    (parameters(3 * 30 + 36), "the bias of out_proj is missing"),
    (parameters(3 * 30), "out_proj is missing"),
    (parameters(30 + 36 + 6), "this counts one"),
    (parameters(MultiHeadAttention(5, 6, 4, 0.0, 2, qkv_bias=True)), "have no bias here"),
    (
        exercises.check_parameter_count(3 * 30 + 36 + 6, 5, 6, qkv_bias=True),
        "the biases of query, key and value are missing",
    ),
    (exercises.check_parameter_count(3 * 30 + 36, 5, 6, qkv_bias=True), "all biases are missing"),
    (
        exercises.check_attention(attend_by(lambda s, m: s.softmax(-1))),
        "one sequence, causal: nothing is hidden",
    ),
    (
        exercises.check_attention(attend_by(lambda s, m: hidden(m, s).softmax(dim=1))),
        "a batch: the softmax runs over the queries",
    ),
    (
        exercises.check_attention(attend_by(lambda s, m: hidden(m.T, s).softmax(-1))),
        "hides the past and shows the future",
    ),
    (
        exercises.check_attention(attend_by(lambda s, m: hidden(m, s * 3**0.5).softmax(-1))),
        "one sequence: the scores are not scaled",
    ),
    (
        exercises.check_attention(lambda query, key, value, is_causal: query @ key.T @ value),
        "one sequence: the scores are not scaled, and these are scores",
    ),
]


@pytest.mark.parametrize(("verdict", "says"), WRONG, ids=lambda case: str(case)[:60])
def test_a_wrong_answer_is_told_what_is_wrong(verdict: Verdict, says: str) -> None:
    assert re.search(says, repr(verdict), re.IGNORECASE), verdict
    assert verdict.right == (says == "Right")


# Whatever is handed in

CHECKS: dict[str, Callable[[object], Verdict]] = {
    "windows": windows,
    "lookup": lookup,
    "cost": lambda answer: cost(answer, answer),
    "softmax": exercises.check_softmax,
    "simple": simple,
    "projected": projected,
    "self-attention": lambda answer: exercises.check_self_attention(answer, INPUTS),
    "weights": weights,
    "mask": window_mask,
    "dropout": exercises.check_dropout,
    "heads": lambda answer: exercises.check_heads(answer, num_heads=2, width=2, d_in=3),
    "copied": lambda answer: exercises.check_copied_weights(answer, SelfAttention_v2(3, 2)),
    "split": split,
    "parameters": parameters,
    "attention": exercises.check_attention,
    "merge": exercises.check_merge,
    "copies": exercises.check_copies,
    "successor": exercises.check_successor,
    "ablation": exercises.check_ablation,
    "one pass": exercises.check_one_pass,
}
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
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_no_answer_stops_a_check(check: Callable[[object], Verdict], answer: object) -> None:
    verdict = check(answer)
    assert isinstance(verdict, Verdict)
    assert not verdict
    assert re.fullmatch(r"Not yet\. [A-Z\d].+[^.]\.", repr(verdict)), verdict


def test_an_answer_may_be_on_a_graph_or_of_another_type() -> None:
    right = attention_weights(QUERIES, KEYS, attn_mask=MASK)
    assert weights(right.double())
    assert weights(right.clone().requires_grad_())
    assert weights(right.tolist())


def test_a_check_changes_nothing() -> None:
    state = torch.get_rng_state()
    exercises.check_attention(attend)
    projected(None)
    assert torch.equal(torch.get_rng_state(), state)


# The chapters


INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
CHAPTERS = re.findall(r"^(?:story|models|learned)/\w+$", INDEX, re.MULTILINE)


def test_every_check_serves_an_exercise_and_is_executed_in_its_solution() -> None:
    asked, executed = set(), set()
    for chapter in CHAPTERS:
        text = (DOCS / f"{chapter}.md").read_text(encoding="utf-8")
        for exercise in re.findall(r"\{exercise-start\}(.*?)\{exercise-end\}", text, re.DOTALL):
            asked |= set(re.findall(r"exercises\.(check_\w+)", exercise))
        for solution in re.findall(r"\{solution-start\}(.*?)\{solution-end\}", text, re.DOTALL):
            executed |= set(re.findall(r"exercises\.(check_\w+)", solution))
    assert asked == executed == {*exercises.__all__} - {"Verdict"}
