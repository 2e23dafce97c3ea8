"""Each piece of the models is judged by itself: what is right is right, and what is wrong is named."""

import re
from typing import Any, ClassVar

import pytest
import torch
from harness.library.naive_pieces import PIECES as NAIVE
from harness.library.naive_pieces import Unwritten, unwritten
from torch import Tensor, nn
from torch.nn.functional import rms_norm, scaled_dot_product_attention

from literate_attention import (
    CausalAttention,
    KVCache,
    LanguageModel,
    MultiHeadAttention,
    RMSNorm,
    RollingCache,
    RotaryEmbedding,
    SwiGLU,
    TransformerBlock,
    causal_mask,
    rotary_frequencies,
    rotate_half_split,
)
from literate_attention.workshop.judge.edits import Source, mistakes_in
from literate_attention.workshop.judge.judged import Judged
from literate_attention.workshop.judge.verdict import wrong
from literate_attention.workshop.pieces import BY_NAME, PIECES, check_piece

pytestmark = pytest.mark.usefixtures("unchecked")  # as readers have it, and many calls
JUDGED = [piece for piece in PIECES if isinstance(piece.check, Judged)]
of_each_table = pytest.mark.parametrize("piece", JUDGED, ids=lambda piece: piece.name)


def tables(piece):
    judge: Any = piece.check
    while isinstance(judge, Judged):
        yield judge
        judge = judge.then


@of_each_table
def test_every_mistake_is_named_as_what_it_is(piece) -> None:
    """Each old text stands in the source exactly once, or this stops."""
    for judge in tables(piece):
        assert judge.judge(Source(*(judge.code or (judge.right,))).edited()), "without an edit"
        for says, mistake in judge.mistakes:
            if len(says) == 1:
                assert re.fullmatch(r"([a-z]|W_)[^\n]+[^.]", says[0]), says
                verdict = judge.judge(mistake())  # with the parts that it has, wrong or not
                assert verdict.says == wrong(*says).says
                assert "should be" in verdict.case


@of_each_table
def test_two_mistakes_at_once_are_never_right(piece) -> None:
    mistakes = next(tables(piece)).mistakes
    pairs = [one for one in mistakes if len(one[0]) == 2]
    sentences = {wrong(*says).says for says, _ in mistakes}
    for says, mistake in pairs[:: max(len(pairs) // 6, 1)]:
        verdict = next(tables(piece)).judge(mistake())
        if not verdict:  # of several that come to the same, the first is named
            assert verdict.says in sentences
        else:  # two that undo each other
            assert verdict.says == "", says


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("softmax", "largest scores lack keepdim", "sums lack keepdim"),
        ("causal_mask", "true and false", "the queries are the last tokens"),
        ("RMSNorm", "mean is subtracted", "weight is one too large"),
        ("RMSNorm", "root of the sum", "weight is not used"),
        ("SwiGLU", "are swapped", "activation is GELU"),
        ("SwiGLU", "activation is ReLU", "are added"),
        ("TransformerBlock", "stand on the stream", "of the attention serves both"),
        ("TransformerBlock", "nothing is added to what came in", "nothing is added to what the"),
        ("TransformerBlock", "has no norm before it", "not told the options"),
        ("LanguageModel", "last norm is missing", "gets the first cache"),
        ("LanguageModel", "run in reverse", "handed out in reverse"),
        ("RotaryEmbedding", "the other pairing", "start is ignored"),
        ("RotaryEmbedding", "turns the wrong way", "counted from 1"),
        ("RotaryEmbedding", "all tokens get", "base is not used"),
        ("window_mask", "one key too wide", "sinks are forgotten"),
        ("window_mask", "queries are the last tokens", "true and false"),
        ("GroupedQueryAttention", "neighbouring heads", "stands at the upper left"),
        ("GroupedQueryAttention", "stands at the upper left", "begin at 0 again"),
        ("GroupedQueryAttention", "mask is missing", "not scaled"),
        ("GroupedQueryAttention", "whole width", "keys are not turned"),
        ("GroupedQueryAttention", "merged in the wrong order", "out_proj is forgotten"),
        ("KVCache", "newest keys come first", "counts how often"),
        ("KVCache", "overwrite the first", "holds the new tokens alone"),
        ("keep_top_p", "too few stays", "is not put back"),
        ("keep_top_p", "scores are summed", "set to zero"),
        ("RollingCache", "sinks are lost", "positions have to go on"),
        ("RollingCache", "one key too few", "counts how often"),
        ("merge_partials", "count alike", "larger of both"),
    ],
)
def test_common_mistakes_that_come_together_are_both_named(name, first, second) -> None:
    judge = next(tables(BY_NAME[name]))
    says, mistake = next(
        (says, mistake)
        for says, mistake in judge.mistakes
        if len(says) == 2 and first in says[0] and second in says[1]
    )
    assert judge.judge(mistake()).says == wrong(*says).says


def test_a_table_that_does_not_fit_the_source_is_refused() -> None:
    for old in ("absent", "cos"):
        table = f"the table is old\n    {old} -> new\n"
        with pytest.raises(ValueError, match="expected once"):
            list(mistakes_in(Source(rotate_half_split), table, 1))


# The transformer block


class TorchsNorm(nn.Module):
    def __init__(self, width, epsilon=1e-5) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return rms_norm(x, self.weight.shape, self.weight, self.epsilon)


class ByNorm(TorchsNorm):
    def forward(self, x):
        wide = x.float()
        length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        size = (length**2 / x.shape[-1] + self.epsilon) ** 0.5
        return (wide / size * self.weight.float()).type_as(x)


def test_names_of_parameters_are_those_of_a_checkpoint() -> None:
    class Scaling(nn.Module):
        def __init__(self, width, eps=1e-5) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width))

    assert (
        "names of its parameters: expected weight (2,), found scale (2,)"
        in check_piece(Scaling, "RMSNorm").says
    )


# Rotary embeddings


def turn_complex(x, cos, sin):
    turned = torch.complex(*x.chunk(2, dim=-1)) * torch.complex(cos, sin)
    return torch.cat((turned.real, turned.imag), dim=-1)


class OnTheFly(nn.Module):
    inv_freq: Tensor

    def __init__(self, dim, max_positions, theta=10_000.0) -> None:
        super().__init__()
        exponents = torch.linspace(0, 1 - 2 / dim, dim // 2)
        self.register_buffer("inv_freq", theta**-exponents)

    def forward(self, x, offset=0):
        positions = torch.arange(offset, offset + x.size(-2), dtype=torch.float32)
        rotations = torch.polar(
            torch.ones(x.size(-2), x.size(-1) // 2), torch.outer(positions, self.inv_freq)
        )
        first, second = x.float().chunk(2, -1)
        turned = torch.complex(first.contiguous(), second.contiguous()) * rotations
        return torch.cat([turned.real, turned.imag], -1)


def frequencies_by_loops(head_dim, base=10_000.0):
    return torch.tensor([1 / base ** (2 * i / head_dim) for i in range(head_dim // 2)])


# Masks, attention and caches


def mask_by_loops(q_len, kv_len, window, num_sinks=0):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(q_len):
        place = kv_len - q_len + i
        for j in range(place + 1):
            mask[i, j] = j > place - window or j < num_sinks
    return mask


class Projecting(nn.Module):
    def __init__(self, width, out, heads, kv, *, rope=None) -> None:
        super().__init__()
        self.h, self.kv, self.d, self.rope = heads, kv, out // heads, rope
        self.W_query = nn.Linear(width, out, bias=False)
        self.W_key = nn.Linear(width, kv * self.d, bias=False)
        self.W_value = nn.Linear(width, kv * self.d, bias=False)
        self.out_proj = nn.Linear(out, out, bias=False)

    def heads(self, x, cache):
        b, n, _ = x.shape
        q = self.W_query(x).view(b, n, self.h, self.d).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.kv, self.d).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.kv, self.d).transpose(1, 2)
        start = cache.num_tokens if cache is not None else 0
        if self.rope is not None:
            q, k = self.rope(q, start), self.rope(k, start)
        return (q, *cache.append(k, v)) if cache is not None else (q, k, v)

    def attended(self, q, k, v):
        mask = causal_mask(q.shape[-2], k.shape[-2])
        z = scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        return self.out_proj(z.transpose(1, 2).flatten(2))


class Fused(Projecting):
    def forward(self, x, cache=None):
        return self.attended(*self.heads(x, cache))


class Grouping(Projecting):
    def forward(self, x, *, cache=None):
        q, k, v = self.heads(x, cache)
        q = q.unflatten(1, (self.kv, -1))
        scores = torch.einsum("bkgnd,bkmd->bkgnm", q, k) * self.d**-0.5
        places = torch.arange(k.shape[-2])
        future = places[None, :] > places[-q.shape[-2] :, None]
        weights = scores.masked_fill(future, -1e30).softmax(-1)
        z = torch.einsum("bkgnm,bkmd->bnkgd", weights, v)
        return self.out_proj(z.flatten(2))


class UnturnedKeys(Projecting):
    """It keeps keys as they are, and turns all of them whenever they are needed."""

    def forward(self, x, *, cache=None):
        rope, self.rope = self.rope, None
        start = 0 if cache is None else cache.num_tokens
        q, k, v = self.heads(x, cache)
        self.rope = rope
        if rope is not None:
            q, k = rope(q, start), rope(k, 0)
        return self.attended(q, k, v)


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


# Sampling and merging


def top_k_by_sorting(logits, k):
    ordered = logits.sort(dim=-1, descending=True).values
    threshold = ordered[..., min(k, logits.shape[-1]) - 1].unsqueeze(-1)
    return torch.where(logits >= threshold, logits, torch.tensor(float("-inf")))


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


class OneLine(nn.Module):
    def __init__(self, attention, width, inside, eps=1e-5) -> None:
        super().__init__()
        self.feed_forward, self.attention = SwiGLU(width, inside), attention
        self.attention_norm, self.feed_forward_norm = TorchsNorm(width, eps), ByNorm(width, eps)

    def forward(self, x, cache=None):
        h = self.attention(self.attention_norm(x), cache=cache) + x
        return self.feed_forward(self.feed_forward_norm(h)) + h


class WithHead(nn.Module):
    def __init__(self, vocab, width, blocks, eps=1e-5) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = TorchsNorm(width, eps)
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.token_embedding.weight

    def hidden_states(self, ids, caches=None):
        x = self.token_embedding(ids)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x = block(x, cache=cache)
        return self.final_norm(x)

    def logits(self, hidden):
        return self.head(hidden)

    def forward(self, ids, caches=None):
        return self.logits(self.hidden_states(ids, caches))


@pytest.mark.parametrize(
    ("name", "mine"),
    [
        ("RMSNorm", TorchsNorm),
        ("RMSNorm", ByNorm),
        ("TransformerBlock", OneLine),
        ("LanguageModel", WithHead),
        ("rotary_frequencies", frequencies_by_loops),
        ("rotate_half_split", turn_complex),
        ("RotaryEmbedding", OnTheFly),
        ("window_mask", mask_by_loops),
        ("GroupedQueryAttention", Fused),
        ("GroupedQueryAttention", Grouping),
        ("GroupedQueryAttention", UnturnedKeys),
        ("KVCache", Listing),
        ("KVCache", Lazy),
        ("RollingCache", ByPosition),
        ("keep_top_k", top_k_by_sorting),
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

    for wrong_part in (Unready, ByNorm, nn.Identity):
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


def test_what_a_checkpoint_or_a_cache_needs_is_asked_for() -> None:
    class Biased(Fused):
        def __init__(self, *sizes, rope=None) -> None:
            super().__init__(*sizes, rope=rope)
            self.out_proj = nn.Linear(sizes[1], sizes[1])

    assert check_piece(Biased, "GroupedQueryAttention").says == (
        "No biases are expected, found out_proj.bias: give nn.Linear bias=False."
    )

    class Listed(LanguageModel):
        def __init__(self, vocab_size, embed_dim, blocks, eps=1e-5) -> None:
            super().__init__(vocab_size, embed_dim, [], eps)
            del self.blocks
            self.blocks = list(blocks)

    assert "plain list" in check_piece(Listed, "LanguageModel").says
    assert "use nn.ModuleList" in check_piece(Listed, "LanguageModel").says

    class Learned(RotaryEmbedding):
        def __init__(self, head_dim, context_length, base) -> None:
            super().__init__(head_dim, context_length, base)
            cos = self.cos
            del self.cos
            self.cos = nn.Parameter(cos)

    says = check_piece(Learned, "RotaryEmbedding").says
    assert says.startswith("No checkpoint has the parameter cos: ")
    assert "is a buffer" in says

    class Forgetful:
        def __init__(self, *_) -> None:
            pass

    assert "num_tokens" in check_piece(Forgetful, "KVCache").says
    assert "boolean" in check_piece(lambda *n: mask_by_loops(*n).float(), "window_mask").says


def test_a_type_that_is_not_that_of_x_is_named() -> None:
    class Wide(TorchsNorm):
        def forward(self, x):
            return super().forward(x).float()

    assert "expected that of x" in check_piece(Wide, "RMSNorm").says


class Copying(KVCache):
    def append(self, key, value):
        keys, values = super().append(key, value)
        return keys.clone(), values.clone()


@pytest.mark.parametrize("mine", [Listing, NAIVE["KVCache"], Copying])
def test_a_cache_that_copies_what_it_keeps_is_right_and_told_so(mine) -> None:
    verdict = check_piece(mine, "KVCache")
    assert verdict
    assert "it copies all that it keeps with every append" in str(verdict).lower()
    assert str(check_piece(Lazy, "KVCache")) == "Right."


def test_a_property_that_is_a_method_is_named() -> None:
    class Called(KVCache):
        num_keys = vars(KVCache)["num_keys"].fget

    class CalledRolling(RollingCache):
        num_keys = vars(RollingCache)["num_keys"].fget

    for mine, name in ((Called, "KVCache"), (CalledRolling, "RollingCache")):
        assert check_piece(mine, name).says == (
            "num_keys is a method, expected a number: write @property above it."
        )


def merge_by_formula(one, other):
    merged = (one[1].exp() + other[1].exp()).log()
    return (one[1] - merged).exp() * one[0] + (other[1] - merged).exp() * other[0], merged


def merge_without_a_guard(one, other):
    merged = torch.logaddexp(one[1], other[1])
    return (one[1] - merged).exp() * one[0] + (other[1] - merged).exp() * other[0], merged


def top_p_beyond(logits, p):
    own, places = logits.softmax(-1).sort(descending=True)
    hidden = torch.zeros_like(own).scatter(-1, places, (own.cumsum(-1) > p).float())
    return logits.masked_fill(hidden > 0, -torch.inf)


class Restarting(ByPosition):
    def append(self, key, value):
        self.num_tokens = self.seen = getattr(self, "seen", 0)
        together = super().append(key, value)
        self.seen, self.num_tokens = self.num_tokens, key.shape[2]
        return together


class BlockWithOwnEps(TransformerBlock):
    def __init__(self, attention, width, inside, eps=1e-5) -> None:
        super().__init__(attention, width, inside)


class ModelWithOwnEps(LanguageModel):
    def __init__(self, vocab, width, blocks, eps=1e-5) -> None:
        super().__init__(vocab, width, blocks)


def top_p_with_ties(logits, p):
    places = logits.argsort(dim=-1, descending=True)
    own = logits.softmax(dim=-1).gather(-1, places)
    stays = own.cumsum(dim=-1) - own <= p
    return logits.masked_fill(~torch.zeros_like(stays).scatter(-1, places, stays), -torch.inf)


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


class RepeatedKeys(Projecting):
    def forward(self, x, *, cache=None):
        q, k, v = self.heads(x, cache)
        k, v = k.repeat(1, self.h // self.kv, 1, 1), v.repeat_interleave(self.h // self.kv, 1)
        return self.attended(q, k, v)


class NormWithoutKeepdim(TorchsNorm):
    def forward(self, x):
        return x / (x.square().mean(dim=-1) + self.epsilon).sqrt() * self.weight


class NormByTheFormula(TorchsNorm):
    def forward(self, x):
        size = (x.square().mean(dim=-1, keepdim=True) + self.epsilon).sqrt()
        return x / size * self.weight


class LayerNormByTheFormula(NormByTheFormula):
    def forward(self, x):
        return super().forward(x - x.mean(dim=-1, keepdim=True))


class Sharing(KVCache):
    """All caches of one size have one store."""

    stores: ClassVar[dict[tuple[int, ...], KVCache]] = {}

    def __init__(self, *sizes) -> None:
        super().__init__(*sizes)
        store = self.stores.setdefault(sizes, self)
        self.keys, self.values = store.keys, store.values


class Turned(RotaryEmbedding):
    """The positions are counted in bfloat16."""

    def __init__(self, *sizes) -> None:
        super().__init__(*sizes)
        far = torch.arange(len(self.cos), dtype=torch.bfloat16).long()
        self.cos, self.sin = self.cos[far], self.sin[far]


class Dropping(TransformerBlock):
    def forward(self, x, **options):
        return nn.functional.dropout(super().forward(x, **options), 0.1, self.training)


class Seeding(CausalAttention):
    def forward(self, x):
        torch.manual_seed(0)
        return super().forward(x)


class Residual(MultiHeadAttention):
    def forward(self, x):
        context = super().forward(x)
        return context + x if context.shape == x.shape else context


def coarse_frequencies(*given):
    return rotary_frequencies(*given).half().float()


@pytest.mark.parametrize(
    ("name", "mine", "says"),
    [
        ("CausalAttention", Seeding, "It sets a seed, or draws, even after .eval()"),
        ("KVCache", Sharing, "The numbers are not the right ones"),
        ("MultiHeadAttention", Residual, "The numbers are not the right ones"),
        ("RotaryEmbedding", Turned, "The numbers are not the right ones"),
        ("TransformerBlock", Dropping, "The numbers are not the right ones"),
        ("rotary_frequencies", coarse_frequencies, "The numbers are not the right ones"),
        ("merge_partials", merge_by_formula, "The log-sum-exp: the exponentials overflow"),
        ("merge_partials", merge_without_a_guard, "finds no key in either part"),
        ("keep_top_p", top_p_beyond, "The token that goes beyond p is dropped"),
        ("RollingCache", Restarting, "num_tokens holds the new tokens alone"),
        ("TransformerBlock", BlockWithOwnEps, "Eps is not passed on to the norms"),
        ("LanguageModel", ModelWithOwnEps, "Eps is not passed on to the last norm"),
        ("keep_top_p", top_p_with_ties, "One token too many stays where those more probable have"),
        ("RollingCache", WithoutSinks, "-0, and the sinks are lost"),
        (
            "RollingCache",
            Simple,
            "key too many: the next token brings the last key of its window, and",
        ),
        ("RollingCache", Simple, ", and the sinks are lost, and num_tokens is not counted up."),
        ("GroupedQueryAttention", RepeatedKeys, "the keys are not repeated as the values are"),
        ("RMSNorm", NormWithoutKeepdim, "The mean lacks keepdim"),
        ("RMSNorm", NormByTheFormula, "In half precision the squares overflow"),
        ("RMSNorm", LayerNormByTheFormula, "which is LayerNorm: here nothing is subtracted."),
    ],
)
def test_mistakes_as_they_are_written(name, mine, says) -> None:
    assert says.lower() in check_piece(mine, name).says.lower()


def test_numbers_are_shown_where_they_differ_and_with_their_type() -> None:
    class Late(Projecting):
        def forward(self, x, *, cache=None):
            result = Fused.forward(self, x, cache)  # type: ignore[arg-type]
            result[..., 9:] *= 1.5
            return result

    came, should = check_piece(Late, "GroupedQueryAttention").case.split("\n")[-2:]
    assert re.fullmatch(r"came:      a tensor of shape .+ that has at \[.*, 9\] .+", came)
    assert came.split(" ")[-4:] != should.split(" ")[-4:]
    assert "(float16)" in check_piece(NormByTheFormula, "RMSNorm").case
