"""Each piece of the models is judged by itself: what is right is right, and what is wrong is named."""

import re
from typing import Any, ClassVar

import pytest
import torch
from harness.library.naive_pieces import PIECES as NAIVE
from harness.library.naive_pieces import Unwritten, unwritten
from torch import Tensor, nn

from literate_attention import (
    KVCache,
    RMSNorm,
    RollingCache,
    SwiGLU,
    TransformerBlock,
    causal_mask,
    rotate_half_split,
)
from literate_attention.workshop.judge.edits import Source, mistakes_in, read_table
from literate_attention.workshop.judge.trials import Judged
from literate_attention.workshop.judge.verdict import wrong
from literate_attention.workshop.pieces import BY_NAME, PIECES, check_piece
from literate_attention.workshop.pieces import _written_out as written_out

pytestmark = pytest.mark.usefixtures("unchecked")  # as readers have it, and many calls
JUDGED = [piece for piece in PIECES if isinstance(piece.check, Judged)]
of_each_table = pytest.mark.parametrize("piece", JUDGED, ids=lambda piece: piece.name)


def changed(original, *pairs):
    """Write something anew that is right, with other texts in some places."""
    source = Source(original)
    for old, new in pairs:
        assert old in source.text
        source.text = source.text.replace(old, new)
    return source.edited()


def tables(piece):
    judge: Any = piece.check
    while isinstance(judge, Judged):
        yield judge
        judge = judge.then


@of_each_table
def test_every_mistake_is_named_as_what_it_is(piece) -> None:
    """Each old text stands in the source exactly once, or this stops."""
    for judge in tables(piece):
        assert judge(Source(*(judge.code or (judge.right,))).edited()), "without an edit"
        for says, mistake in judge.mistakes:
            if len(says) == 1:
                assert re.fullmatch(r"([a-z]|W_)[^\n]+[^.]", says[0]), says
                verdict = piece.check(mistake())  # with the parts that it has, wrong or not
                assert verdict.says == wrong(*says).says
                assert "should be" in verdict.case


@of_each_table
def test_two_mistakes_at_once_are_never_right(piece) -> None:
    mistakes = next(tables(piece)).mistakes
    pairs = [one for one in mistakes if len(one[0]) == 2]
    sentences = {wrong(*says).says for says, _ in mistakes}
    for says, mistake in pairs[:: max(len(pairs) // 6, 1)]:
        verdict = piece.check(mistake())
        if not verdict:  # of several that come to the same, the first is named
            assert verdict.says in sentences
        else:  # two that undo each other
            assert verdict.says == "", says


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("softmax", "largest scores lack keepdim", "sums lack keepdim"),
        ("RMSNorm", "mean is subtracted", "weight is one too large"),
        ("TransformerBlock", "nothing is added to what came in", "nothing is added to what the"),
        ("GroupedQueryAttention", "stands at the upper left", "begin at 0 again"),
        ("RollingCache", "sinks are lost", "positions have to go on"),
    ],
)
def test_common_mistakes_that_come_together_are_both_named(name, first, second) -> None:
    judge = next(tables(BY_NAME[name]))
    says, mistake = next(
        (says, mistake)
        for says, mistake in judge.mistakes
        if len(says) == 2 and first in says[0] and second in says[1]
    )
    assert judge(mistake()).says == wrong(*says).says


def test_a_table_that_does_not_fit_the_source_is_refused() -> None:
    for old in ("absent", "cos"):
        table = f"the table is old\n    {old} -> new\n"
        with pytest.raises(ValueError, match="expected once"):
            list(mistakes_in(Source(rotate_half_split), table, 1))


def mask_by_loops(q_len, kv_len, window, num_sinks=0):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(q_len):
        place = kv_len - q_len + i
        for j in range(place + 1):
            mask[i, j] = j > place - window or j < num_sinks
    return mask


class Listing:
    def __init__(self, *_) -> None:
        self.k: list[Tensor] = []
        self.v: list[Tensor] = []

    @property
    def num_tokens(self):
        return sum(k.shape[2] for k in self.k)

    @property
    def num_keys(self):
        return self.num_tokens

    def append(self, key, value):
        self.k.append(key)
        self.v.append(value)
        return [torch.cat(self.k, 2), torch.cat(self.v, 2)]


class Lazy:
    """Room for keys and values in one tensor, of the type of what comes first."""

    def __init__(self, _, __, max_tokens, ___) -> None:
        self.max_tokens, self.num_tokens = max_tokens, 0
        self.stored = torch.empty(0)

    @property
    def num_keys(self):
        return self.num_tokens

    def append(self, key, value):
        new = torch.stack([key, value])
        if not self.num_tokens:
            self.stored = new.new_empty(*new.shape[:3], self.max_tokens, new.shape[4])
        self.stored[:, :, :, self.num_tokens : self.num_tokens + key.shape[2]] = new
        self.num_tokens += key.shape[2]
        keys, values = self.stored[:, :, :, : self.num_tokens]
        return keys, values  # type: ignore[return-value]


class ByPosition:
    """A rolling cache that keeps positions, and drops by them."""

    def __init__(self, window, sinks=0) -> None:
        self.window, self.sinks, self.num_tokens = window, sinks, 0
        self.held: list[tuple[int, Tensor, Tensor]] = []

    @property
    def num_keys(self):
        return len(self.held)

    def append(self, key, value):
        for k, v in zip(key.split(1, dim=2), value.split(1, dim=2), strict=True):
            self.held.append((self.num_tokens, k, v))
            self.num_tokens += 1
        all_keys = torch.cat([k for _, k, _ in self.held], 2)
        all_values = torch.cat([v for _, _, v in self.held], 2)
        first = self.num_tokens - self.window + 1
        self.held = [one for one in self.held if one[0] < self.sinks or one[0] >= first]
        return all_keys, all_values


def top_p_by_shifting(logits, p):
    ordered, indices = torch.sort(logits, descending=True)
    remove = ordered.softmax(-1).cumsum(-1) >= p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    ordered = ordered.masked_fill(remove, -float("inf"))
    return torch.empty_like(logits).scatter_(-1, indices, ordered)


def merge_by_softmax(one, other):
    weights = torch.stack([one[1], other[1]]).softmax(dim=0).nan_to_num()
    both = torch.stack([one[1], other[1]]).logsumexp(dim=0)
    return (weights * torch.stack([one[0], other[0]])).sum(dim=0), both


STYLES = {name: piece.library for name, piece in BY_NAME.items()} | NAIVE
STYLES |= {"merge_partials": written_out.merge_partials, "keep_top_p": written_out.keep_top_p}
IN_OTHER_STYLES = """
RMSNorm: torch's | return (wide / size).to(x.dtype) * self.weight
        -> return nn.functional.rms_norm(x, self.weight.shape, self.weight, self.eps)
RMSNorm: by the norm | torch.sqrt(wide.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        -> (torch.linalg.vector_norm(wide, dim=-1, keepdim=True) ** 2 / x.shape[-1] + self.eps) ** 0.5
SwiGLU: lazy | nn.Linear(embed_dim, -> nn.LazyLinear( | nn.Linear(hidden_dim, -> nn.LazyLinear(
TransformerBlock: added the other way round, and a cache by name
    self, x, **options -> self, x, cache=None | (x), **options -> (x), cache=cache
    return x + self.feed_forward(self.feed_forward_norm(x))
        -> return self.feed_forward(self.feed_forward_norm(x)) + x
LanguageModel: with a head | self.final_norm = -> self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        ; self.head.weight = self.token_embedding.weight; self.final_norm =
    return hidden @ self.token_embedding.weight.T -> return self.head(hidden)
rotary_frequencies: by loops | 1.0 / base ** (torch.arange(0, head_dim, 2) / head_dim)
        -> torch.tensor([1 / base ** (2 * i / head_dim) for i in range(head_dim // 2)])
rotate_half_split: by complex numbers | first * cos - second * sin, first * sin + second * cos
        -> *torch.view_as_real(torch.complex(first, second) * torch.complex(cos, sin)).unbind(-1)
RotaryEmbedding: on the fly, with a buffer
    self.frequencies = rotary_frequencies(head_dim, base)
        -> self.register_buffer("frequencies", base ** -torch.linspace(0, 1 - 2 / head_dim, head_dim // 2))
    return rotate_half_split(x, torch.cos(angles), torch.sin(angles))
        -> turned = torch.complex(*x.float().chunk(2, -1)) * torch.polar(torch.ones_like(angles), angles)
        ; return torch.cat([turned.real, turned.imag], -1)
GroupedQueryAttention: fused | return softmax(scores) @ value -> return (
        nn.functional.scaled_dot_product_attention(query, key, value, causal_mask(*scores.shape[-2:])))
GroupedQueryAttention: grouping queries, with a large number that hides
    return self.out_proj(merge_heads(self.attend(query, key, value)))
        -> query = query.unflatten(1, (self.num_kv_heads, -1))
        ; return self.out_proj(self.attend(query, key, value).flatten(2))
    key = key.repeat_interleave(self.num_heads // self.num_kv_heads, dim=-3) -> pass
    value = value.repeat_interleave(self.num_heads // self.num_kv_heads, dim=-3) -> pass
    query @ key.transpose(-2, -1) / self.head_dim**0.5
        -> torch.einsum("bkgnd,bkmd->bkgnm", query, key) * self.head_dim**-0.5
    mask_scores(scores, causal_mask(scores.shape[-2], scores.shape[-1]))
        -> scores.masked_fill(~causal_mask(*scores.shape[-2:]), -1e30)
    softmax(scores) @ value -> torch.einsum("bkgnm,bkmd->bnkgd", softmax(scores), value)
GroupedQueryAttention: it keeps keys as they are, and turns all of them whenever they are needed
    query, key = self.rope(query, start), self.rope(key, start) -> query = self.rope(query, start)
    self.attend(query, key, value) -> self.attend(query, self.rope(key, 0) if self.rope else key, value)
keep_top_k: by sorting | logits.topk(min(k, logits.shape[-1])).values[..., -1:]
        -> logits.sort(dim=-1, descending=True).values[..., min(k, logits.shape[-1]) - 1].unsqueeze(-1)
"""


@pytest.mark.parametrize(
    ("case", "edits"), [pytest.param(*row, id=row[0]) for row in read_table(IN_OTHER_STYLES)]
)
def test_what_is_right_with_other_lines_is_right(case, edits) -> None:
    verdict = check_piece(changed(STYLES[case.partition(":")[0]], *edits))
    assert verdict, verdict


@pytest.mark.parametrize(
    ("name", "mine"),
    [
        ("window_mask", mask_by_loops),
        ("KVCache", Listing),
        ("KVCache", Lazy),
        ("RollingCache", ByPosition),
        ("keep_top_p", top_p_by_shifting),
        ("merge_partials", merge_by_softmax),
        *NAIVE.items(),
    ],
)
def test_what_is_right_in_another_style_is_right(name, mine) -> None:
    verdict = check_piece(mine, name)
    assert verdict, verdict


def test_a_class_is_judged_apart_from_the_parts_it_is_made_of(monkeypatch) -> None:
    class Unready(Unwritten):
        pass

    for wrong_part in (Unready, NAIVE["RMSNorm"], nn.Identity):
        monkeypatch.setitem(globals(), "RMSNorm", wrong_part)
        assert check_piece(OfParts, "TransformerBlock"), wrong_part
    assert globals()["RMSNorm"] is nn.Identity  # it was put back
    monkeypatch.setitem(globals(), "SwiGLU", Unready)
    assert check_piece(OfParts, "TransformerBlock")
    monkeypatch.setitem(globals(), "causal_mask", unwritten)
    assert check_piece(window_of_parts, "window_mask")


def window_of_parts(q_len, kv_len, window, num_sinks=0):
    past = causal_mask(q_len, kv_len)
    return past & (past.triu(kv_len - q_len - window + 1) | (torch.arange(kv_len) < num_sinks))


class OfParts(nn.Module):
    forward = TransformerBlock.forward

    def __init__(self, attention, width, inside, eps=1e-5) -> None:
        super().__init__()
        self.attention_norm, self.feed_forward_norm = RMSNorm(width, eps), RMSNorm(width, eps)
        self.feed_forward, self.attention = SwiGLU(width, inside), attention


def test_what_differs_before_it_stops_is_shown_first() -> None:
    class Beside(Listing):
        def append(self, key, value):
            super().append(key, value)
            return [torch.cat(self.k, 1), torch.cat(self.v, 1)]

    verdict = check_piece(Beside, "KVCache")
    assert "as if they were more heads" in verdict.says
    assert "tokens at a time = (1, 1)" in verdict.case


def test_a_norm_that_cuts_float64_off_is_right_and_told_so() -> None:
    assert "float64 loses half of its digits" in str(check_piece(NAIVE["RMSNorm"]))
    assert str(check_piece(RMSNorm)) == "Right."


@pytest.mark.parametrize("mine", [Listing, NAIVE["KVCache"]])
def test_a_cache_that_copies_what_it_keeps_is_right_and_told_so(mine) -> None:
    verdict = check_piece(mine, "KVCache")
    assert verdict
    assert "it copies all that it keeps with every append" in str(verdict).lower()
    assert str(check_piece(Lazy, "KVCache")) == "Right."


class Restarting(ByPosition):
    def append(self, key, value):
        self.num_tokens = self.seen = getattr(self, "seen", 0)
        together = super().append(key, value)
        self.seen, self.num_tokens = self.num_tokens, key.shape[2]
        return together


class Simple:
    """It keeps a whole window, and counts nothing."""

    kept: tuple[Tensor, Tensor] | None = None
    num_tokens = num_keys = 0

    def __init__(self, window, sinks=0) -> None:
        self.last = -window

    def append(self, key, value):
        if self.kept is not None:
            key, value = torch.cat([self.kept[0], key], 2), torch.cat([self.kept[1], value], 2)
        self.kept = key[:, :, self.last :], value[:, :, self.last :]
        return key, value


class WithoutSinks(Simple):
    def __init__(self, window, sinks=0) -> None:
        self.last = 1 - window

    def append(self, key, value):
        self.num_tokens += key.shape[2]
        return super().append(key, value)


class SinksOfTheFirstPart(RollingCache):
    def append(self, key, value):
        if self.num_tokens == 0:
            self.num_sinks = min(self.num_sinks, key.shape[-2])
        return super().append(key, value)


class Sharing(KVCache):
    """All caches of one size have one store."""

    stores: ClassVar[dict[tuple[int, ...], KVCache]] = {}

    def __init__(self, *sizes) -> None:
        super().__init__(*sizes)
        store = self.stores.setdefault(sizes, self)
        self.keys, self.values = store.keys, store.values


AS_WRITTEN = """
CausalAttention: but it sets a seed
    query = self.W_query(x) -> torch.manual_seed(0); query = self.W_query(x)
MultiHeadAttention: The numbers are not the right ones | return self.out_proj(merge_heads(attended)) ->
        z = self.out_proj(merge_heads(attended)); return z + x if z.shape == x.shape else z
CausalAttention: in training the same weights are dropped each time: is a seed set?
    query = self.W_query(x) -> torch.manual_seed(1) if self.training else 0; query = self.W_query(x)
TransformerBlock: but it sets a seed | x = x + -> torch.manual_seed(1); x = x +
SelfAttention_v2: nothing should be dropped here
    query = self.W_query(x) -> query = self.W_query(nn.functional.dropout(x, 0.1, self.training))
RotaryEmbedding: The numbers are not the right ones | positions.float() -> positions.bfloat16().float()
RotaryEmbedding: The numbers are not the right ones | positions.float() -> positions.half().float()
rotary_frequencies: The numbers are not the right ones | / head_dim) -> / head_dim).half().float()
attention_weights: The numbers are not the right ones
    query.shape[-1] ** -0.5 -> 1 / max(query.shape[-1] // 2, 1)
TransformerBlock: The numbers are not the right ones
    return x + -> return nn.functional.dropout(x, 0.1, self.training) +
rotary_frequencies: The numbers are not the right ones
    return 1.0 / base ** (torch.arange(0, head_dim, 2) / head_dim)
        -> return (1.0 / base ** (torch.arange(0, head_dim, 2) / head_dim)).half().float()
merge_partials: The log-sum-exp: the exponentials overflow
    exponentials(l1, merged), exponentials(l2, merged) -> (l1 - merged).exp(), (l2 - merged).exp()
    torch.logaddexp(l1, l2) -> (l1.exp() + l2.exp()).log()
GroupedQueryAttention: not the gradient of x | softmax(scores) @ value -> softmax(scores) @ value.data
GroupedQueryAttention: not the gradient of x | query @ key. -> query.detach() @ key.
GroupedQueryAttention: not the gradient of x | query @ key. -> query @ key.detach().
softmax: backward stops with one of the variables
    return exponentials / exponentials.sum(dim=-1, keepdim=True)
        -> exponentials /= exponentials.sum(dim=-1, keepdim=True); return exponentials
mask_scores: no gradient flows back | return scores -> return torch.from_numpy(scores.detach().numpy())
TransformerBlock: not the gradient of x | x = x + -> x = x.data +
softmax: It changes scores | exponentials = -> scores.exp_(); exponentials =
KVCache: The numbers are not the right ones | [self.keys, key] -> [self.keys, key.half().to(key.dtype)]
LanguageModel: not the gradient of the parameters | embedding.weight.T -> embedding.weight.detach().T
mask_scores: The numbers are not the right ones | ~attn_mask -> ~causal_mask(*scores.shape[-2:])
softmax: It stops with NotImplementedError
    exponentials = -> return scores.long().softmax(dim=-1); exponentials =
rotate_half_split: but of type torch.float64 | return -> return 1.0 *
    dim=-1) -> dim=-1).double()
KVCache: The numbers are not the right ones | [self.values, value] -> [self.values, -key]
RMSNorm: but of type torch.float32, not torch.float16 | .to(x.dtype) * self.weight -> * self.weight.float()
RMSNorm: but of type torch.float32, not torch.float64 | return (wide / size).to(x.dtype) * self.weight
        -> y = wide / size * self.weight.float(); return y.half() if x.dtype == torch.half else y
RollingCache: The numbers are not the right ones
    self.keys, self.values = -> type(self).keys, type(self).values =
RMSNorm: names of its parameters: expected weight (2,), found scale (2,) | self.weight -> self.scale
GroupedQueryAttention: No biases are expected, found out_proj.bias: give nn.Linear bias=False.
    self.head_dim, d_out, bias=False) -> self.head_dim, d_out)
LanguageModel: blocks is a plain list, in which PyTorch finds no parameters: use nn.ModuleList
    nn.ModuleList(blocks) -> list(blocks)
RotaryEmbedding: No checkpoint has the parameter frequencies: what is computed, and not learned, is a buffer
    rotary_frequencies(head_dim, base) -> nn.Parameter(rotary_frequencies(head_dim, base))
LanguageModel: head.weight is one matrix with token_embedding.weight, as a checkpoint has it
    self.final_norm = -> self.head = nn.Linear(embed_dim, vocab_size, bias=False); self.final_norm =
LanguageModel: W_out is one matrix with token_embedding.weight, as a checkpoint has it
    self.final_norm = -> self.W_out = nn.Parameter(torch.ones(embed_dim, vocab_size)); self.final_norm =
RMSNorm: make nn.Parameter of a plain tensor | nn.Parameter(torch.ones(embed_dim)) -> torch.ones(embed_dim)
KVCache: it has no num_tokens | def num_tokens -> def so_far
KVCache: num_keys is a method, expected a number: write @property above it.
    return self.num_tokens -> return lambda: self.num_tokens
RollingCache: num_keys is a method, expected a number: write @property above it.
    return min( -> return lambda: min(
window_mask: expected torch.bool | return mask -> return mask.float() / 2
index_loss: not the gradient of weights: it should be detached | weights.detach() -> weights
index_loss: no gradient flows back | = scores.masked -> = scores.detach().masked
index_loss: not the gradient of scores: it is not a number
    log_softmax(dim=-1) -> softmax(dim=-1).log()
top_k_mask: of type torch.float32, not torch.bool
    (-1, best, True) & attn_mask -> (-1, best, True).float() * attn_mask
"""


@pytest.mark.parametrize(
    ("case", "edits"), [pytest.param(*row, id=row[0]) for row in read_table(AS_WRITTEN)]
)
def test_mistakes_as_they_are_written(case, edits) -> None:
    name, says = case.split(": ", 1)
    assert says.lower() in check_piece(changed(STYLES[name], *edits)).says.lower()


@pytest.mark.parametrize(
    ("name", "mine", "says"),
    [
        ("KVCache", Sharing, "The numbers are not the right ones"),
        ("RollingCache", Restarting, "num_tokens holds the new tokens alone"),
        ("RollingCache", SinksOfTheFirstPart, "the shape is (2, 3, 3, 2), expected (2, 3, 4, 2)"),
        ("RollingCache", WithoutSinks, "-0, and the sinks are lost"),
        (
            "RollingCache",
            Simple,
            "key too many: the next token brings the last key of its window, and",
        ),
        ("RollingCache", Simple, ", and the sinks are lost, and num_tokens is not counted up."),
    ],
)
def test_mistakes_of_caches(name, mine, says) -> None:
    assert says.lower() in check_piece(mine, name).says.lower()


def test_numbers_are_shown_where_they_differ_and_with_their_type() -> None:
    returns = "return self.out_proj("
    growing = "return (1 + 0.5 * (torch.arange(len(self.out_proj.weight)) > 8)) * self.out_proj("
    late = changed(NAIVE["GroupedQueryAttention"], (returns, growing))
    came, should = check_piece(late).case.split("\n")[-2:]
    assert re.fullmatch(r"came:      a tensor of shape .+ that has at \[.*, 9\] .+", came)
    assert came.split(" ")[-4:] != should.split(" ")[-4:]
    assert "(float16)" in check_piece(changed(NAIVE["RMSNorm"], ("x.float()", "x"))).case
