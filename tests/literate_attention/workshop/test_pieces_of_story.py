"""What readers write in the story is judged by what it does, and each mistake is called by its name."""

from typing import Any

import pytest
import torch
from torch import nn

from literate_attention.workshop.judge.edits import read_table
from literate_attention.workshop.pieces import BY_NAME, check_piece

pytestmark = pytest.mark.usefixtures("unchecked")  # as readers have it, and many calls
SOFTMAX = """
def softmax(scores):
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)
"""
ATTEND = """
def dot_product_attention(x):
    return torch.softmax(x @ x.mT, dim=-1) @ x
"""
MASK = """
def causal_mask(q_len, kv_len=None):
    kv_len = q_len if kv_len is None else kv_len
    return torch.arange(kv_len) <= torch.arange(kv_len - q_len, kv_len)[:, None]
"""
TRIANGLE = """
def causal_mask(q_len, kv_len=None):
    kv_len = q_len if kv_len is None else kv_len
    return torch.ones(q_len, kv_len).tril(kv_len - q_len).bool()
"""
SELF_ATTENTION = """
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1)
        return weights @ v
"""
SELF_ATTENTION_V2 = """
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v
"""
CAUSAL_ATTENTION = """
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.q = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.k = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.v = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length).triu(1)
        self.register_buffer("mask", hidden)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(1, 2)
        scores = scores.masked_fill(self.mask.bool()[:n, :n], -torch.inf)
        weights = torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        return weights @ v
"""
MULTI_HEAD_ATTENTION = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.h, self.d, self.width = num_heads, d_out // num_heads, d_out
        self.qkv = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)
        self.proj = nn.Linear(d_out, d_out)
        self.p = dropout

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, n, self.h, self.d).transpose(1, 2)
        k = k.view(b, n, self.h, self.d).transpose(1, 2)
        v = v.view(b, n, self.h, self.d).transpose(1, 2)
        scores = q @ k.transpose(2, 3) / self.d**0.5
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
        weights = nn.functional.dropout(weights, self.p, self.training)
        z = (weights @ v).transpose(1, 2).reshape(b, n, self.width)
        return self.proj(z)
"""
WITHOUT_DROPOUT = MULTI_HEAD_ATTENTION
for old, new in {
    "d_in, d_out, context_length, dropout, num_heads, qkv_bias=False": "d_in, d_out, num_heads",
    "bias=qkv_bias": "bias=False",
    "        self.p = dropout\n": "",
    "        weights = nn.functional.dropout(weights, self.p, self.training)\n": "",
}.items():
    WITHOUT_DROPOUT = WITHOUT_DROPOUT.replace(old, new)
EACH_HEAD = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        self.d, d = d_out // num_heads, d_out // num_heads
        one = lambda: nn.ModuleList(nn.Linear(d_in, d, bias=False) for _ in range(3))
        self.heads = nn.ModuleList(one() for _ in range(num_heads))
        self.out, self.dropout = nn.Linear(d_out, d_out), nn.Dropout(dropout)

    def forward(self, x):
        found, n = [], x.shape[-2]
        for key, query, value in self.heads:
            scores = query(x) @ key(x).mT / self.d**0.5
            seen = torch.ones(n, n).tril() > 0
            weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
            found.append(self.dropout(weights) @ value(x))
        return self.out(torch.cat(found, -1))
"""
EINSUM = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        d = d_out // num_heads
        draw = lambda *shape: nn.Parameter(torch.randn(*shape))
        self.a, self.b, self.c = (draw(num_heads, d_in, d) for _ in range(3))
        self.last, self.dropout = nn.Linear(d_out, d_out), nn.Dropout(dropout)

    def forward(self, x):
        v, q, k = (torch.einsum("bnd,hde->bhne", x, w) for w in (self.a, self.b, self.c))
        scores = torch.einsum("bhqe,bhke->bhqk", q, k) / q.shape[-1] ** 0.5
        scores = scores + torch.full(scores.shape[-2:], -torch.inf).triu(1)
        weights = self.dropout(scores.softmax(-1))
        return self.last(torch.einsum("bhqk,bhke->bqhe", weights, v).flatten(2))
"""
TORCH = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        if d_in != d_out:
            raise ValueError("d_in and d_out have to be the same")
        self.inner = nn.MultiheadAttention(d_out, num_heads, dropout, batch_first=True)

    def forward(self, x):
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return self.inner(x, x, x, attn_mask=hidden, need_weights=False)[0]
"""
NEOX = MULTI_HEAD_ATTENTION.replace(
    "self.qkv(x).chunk(3, dim=-1)",
    "self.qkv(x).view(b, n, self.h, 3, self.d).movedim(3, 0).flatten(3)",
)
CONVOLUTIONS = (
    MULTI_HEAD_ATTENTION.replace("nn.Linear(d_in, 3 * d_out,", "nn.Conv1d(d_in, 3 * d_out, 1,")
    .replace("self.qkv(x)", "self.qkv(x.mT).mT")
    .replace("nn.Linear(d_out, d_out)", "nn.Conv1d(d_out, d_out, 1)")
    .replace("self.proj(z)", "self.proj(z.mT).mT")
)
LAZY = MULTI_HEAD_ATTENTION.replace("nn.Linear(d_in, 3", "nn.LazyLinear(3")
OUT_OF_HEADS = (
    """(torch.einsum("bhqk,bhke->bqhe", weights, v).flatten(2) @ self.W_O.flatten(0, 1))"""
)
TRANSFORMER_LENS = (
    EINSUM.replace("self.a, self.b, self.c", "self.W_Q, self.W_K, self.W_V")
    .replace("self.last,", "self.W_O,")
    .replace("nn.Linear(d_out, d_out)", "draw(num_heads, d, d_out)")
    .replace('self.last(torch.einsum("bhqk,bhke->bqhe", weights, v).flatten(2))', OUT_OF_HEADS)
    .replace("self.W_O.flatten(0, 1)", "self.W_O.flatten(0, 1) + self.b_O")
    .replace("        d = ", "        self.b_O = nn.Parameter(torch.zeros(d_out))\n        d = ")
)
EMBEDDING = """
class InputEmbedding(nn.Module):
    def __init__(self, vocab_size, embed_dim, context_length):
        super().__init__()
        self.tokens = nn.Parameter(torch.randn(embed_dim, vocab_size))
        self.places = nn.Parameter(torch.randn(embed_dim, context_length))

    def forward(self, ids):
        return self.tokens.T[ids] + self.places.T[: ids.shape[-1]]
"""
ONE_TABLE = EMBEDDING.replace("vocab_size))", "vocab_size + context_length))").replace(
    "self.places.T[:", "self.tokens.T[11 : 11 +"
)
ONE_TABLE = ONE_TABLE.replace(
    "self.places = nn.Parameter(torch.randn(embed_dim, context_length))", ""
)
COMPILED = SOFTMAX.replace("def", "@torch.compile(backend='eager')\ndef")
POSITIONS_FIRST = ONE_TABLE.replace("T[ids]", "T[6 + ids]").replace("T[11 : 11 +", "T[:")
OF_ONE_BATCH = EMBEDDING.replace(
    "torch.randn(embed_dim, context_length)", "torch.randn(1, context_length, embed_dim)"
).replace("self.places.T[:", "self.places[:, :")
RIGHT = (
    *(NEOX, LAZY, TRANSFORMER_LENS, EMBEDDING, ONE_TABLE, POSITIONS_FIRST, OF_ONE_BATCH),
    CONVOLUTIONS,
    SOFTMAX,
    COMPILED,
    ATTEND,
    MASK,
    TRIANGLE,
    SELF_ATTENTION,
    SELF_ATTENTION_V2,
    CAUSAL_ATTENTION,
    MULTI_HEAD_ATTENTION,
    WITHOUT_DROPOUT,
    EACH_HEAD,
    EINSUM,
    TORCH,
)

WRONG = {
    ATTEND: """
axis 1 | dim=-1 -> dim=1
the columns sum to one | dim=-1 -> dim=-2
the weights, not the context | dim=-1) @ x -> dim=-1)
returns 2 tensors, expected 1 | dim=-1) @ x -> dim=-1) @ x, x
scaled, and should not be | x @ x.mT -> x @ x.mT / x.shape[-1] ** 0.5
the softmax is missing | torch.softmax(x @ x.mT, dim=-1) -> (x @ x.mT)
.T turns all axes | .mT -> .T
""",
    EMBEDDING: """
tokens, places cannot be learned: make nn.Parameter of a plain tensor | nn.Parameter( -> (
not the gradient of the parameters
    self.tokens.T[ids] -> (self.tokens / 2 + self.tokens.detach() / 2).T[ids]
""",
    TRIANGLE: """
of type torch.float32, not torch.bool | .bool() ->
of type torch.float32, expected torch.bool
    torch.ones(q_len, kv_len).tril(kv_len - q_len).bool()
        -> torch.full((q_len, kv_len), -torch.inf).triu(kv_len - q_len + 1)
""",
    SELF_ATTENTION_V2: """
qkv_bias=False has to leave out the biases | , bias=qkv_bias ->
stops with RuntimeError | q @ k.T -> q @ k
this layout of parameters cannot be judged | self.W_key( -> self.B(self.A(x)) + self.W_key(
    super().__init__() -> super().__init__(); self.A, self.B = nn.Linear(d_in, 2), nn.Linear(2, d_out)
this layout of parameters cannot be judged | self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        -> self.W_query = nn.utils.parametrizations.weight_norm(nn.Linear(d_in, d_out, bias=qkv_bias))
""",
    SELF_ATTENTION: """
are not scaled | / k.shape[-1] ** 0.5 ->
not by its square root | k.shape[-1] ** 0.5 -> k.shape[-1]
by the width of the inputs | k.shape[-1] ** 0.5 -> x.shape[-1] ** 0.5
by the number of keys | k.shape[-1] ** 0.5 -> len(k) ** 0.5
keys come from the wrong projection | x @ self.W_key -> x @ self.W_query
queries come from the wrong projection | x @ self.W_query -> x @ self.W_key
make nn.Parameter of a plain tensor | nn.Parameter(torch.rand(d_in, d_out)) -> torch.rand(d_in, d_out)
softmax runs over the queries | dim=-1 -> dim=0
query and key are swapped | q @ k.T -> k @ q.T
the keys are averaged | weights @ v -> weights @ k
the inputs are averaged | weights @ v -> weights @ x
the weights are transposed | weights @ v -> weights.T @ v
the weights are scaled, not the scores
    q @ k.T / k.shape[-1] ** 0.5, dim=-1) -> q @ k.T, dim=-1) / k.shape[-1] ** 0.5
the weights, not the context | return weights @ v -> return weights
stops with RuntimeError | q @ k.T -> q @ k
""",
    CAUSAL_ATTENTION: """
hides the past and shows the future | triu(1) -> tril(-1)
no token sees itself | triu(1) -> triu(0)
one token of the future is left visible | triu(1) -> triu(2)
hides what it should show | .bool()[ -> .bool().logical_not()[
hidden scores are zero | -torch.inf -> 0.0
a large negative number | -torch.inf -> -1e4
nothing is hidden | .masked_fill(self.mask.bool()[:n, :n], -torch.inf) ->
stops with RuntimeError | [:n, :n] ->
qkv_bias=False has to leave out the biases | , bias=qkv_bias ->
qkv_bias=True adds no bias | bias=qkv_bias -> bias=False
.T turns all axes | k.transpose(1, 2) -> k.T
hide scores before the softmax, not weights after it
    weights = self.dropout(weights)
        -> weights = torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1) * ~self.mask.bool()[:n, :n]
        ; weights = self.dropout(weights / weights.sum(-1, keepdim=True))
nothing is dropped in training | weights = self.dropout(weights) ->
even after .eval() | self.dropout(weights) -> nn.functional.dropout(weights, 0.5)
dropped before the softmax
    weights = self.dropout(weights)
        -> weights = torch.softmax(self.dropout(scores) / k.shape[-1] ** 0.5, dim=-1)
training: it stops with IndexError | self.dropout(weights) -> (weights,)[self.training]
nothing else may change | return weights @ v -> return (weights @ v)[self.training :]
nothing else may change | weights @ v -> self.dropout(weights @ v)
nothing else may change | nn.Dropout(dropout) -> nn.Dropout(1 - dropout)
not scaled, and the softmax runs over the queries
    torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1) -> torch.softmax(scores, dim=1)
""",
    MULTI_HEAD_ATTENTION: """
by the width of all heads together | self.d**0.5 -> self.width**0.5
by the number of keys | self.d**0.5 -> n**0.5
by the number of heads | self.d**0.5 -> self.h**0.5
merged without transposing | (weights @ v).transpose(1, 2) -> (weights @ v)
out_proj is never used | return self.proj(z) -> return z
requires_grad is off | self.p = dropout -> self.p = dropout; self.qkv.requires_grad_(False)
not the gradient of the parameters | self.qkv(x)
        -> nn.functional.linear(x, self.qkv.weight.detach(), self.qkv.bias)
of type torch.float64, not torch.float32 | return self.proj(z) -> return self.proj(z).double()
. | num_heads, d_out // num_heads, d_out -> 2, d_out // 2, d_out
no output projection | nn.Linear(d_out, d_out) -> nn.Identity()
has no bias | nn.Linear(d_out, d_out) -> nn.Linear(d_out, d_out, bias=False)
qkv_bias=False has to leave out the biases | , bias=qkv_bias ->
. | k.view(b, n, self.h, self.d).transpose(1, 2) -> k.view(b, self.h, n, self.d)
cuts the sentence into heads | .view(b, n, self.h, self.d).transpose(1, 2) -> .reshape(b, self.h, n, self.d)
every second number
    view(b, n, self.h, self.d).transpose(1, 2) -> view(b, n, self.d, self.h).permute(0, 3, 1, 2)
runs over the heads | softmax(dim=-1) -> softmax(dim=1)
runs over the queries | softmax(dim=-1) -> softmax(dim=2)
one token of the future | triu(1) -> triu(2)
merged in the wrong order | (weights @ v) -> (weights @ v).flip(1)
the queries are averaged | weights @ v -> weights @ q
this layout of parameters cannot be judged | self.qkv(x).chunk(3, dim=-1)
        -> self.qkv(x).view(b, n, self.d, 3, self.h).movedim(3, 0).mT.flatten(3)
. | return self.proj(z) -> return self.proj(z), weights
""",
}


def written(source):
    """Run what a reader wrote."""
    names: dict[str, Any] = {"torch": torch, "nn": nn}
    exec(source, names)
    return next(one for n, one in names.items() if n in BY_NAME)


def cases():
    for source, table in WRONG.items():
        for says, edits in read_table(table):
            changed = source
            for old, new in edits:
                changed = changed.replace(old, new)
            yield pytest.param(changed, says, id=f"{says}: {edits}"[:60])


@pytest.mark.parametrize("source", RIGHT)
def test_what_is_right_is_called_right_however_it_is_written(source) -> None:
    assert check_piece(written(source))


@pytest.mark.parametrize(("source", "says"), list(cases()))
def test_each_mistake_is_called_by_its_name(source, says) -> None:
    assert source not in RIGHT
    verdict = check_piece(written(source))
    assert not verdict
    assert says.lower() in verdict.says.lower()


def test_names_of_code_keep_their_letters() -> None:
    without = MULTI_HEAD_ATTENTION.replace("return self.proj(z)", "return z")
    assert check_piece(written(without)).says.startswith("out_proj is never used")
    ignoring = TRIANGLE.replace("return", "kv_len = q_len\n    return")
    assert check_piece(written(ignoring)).says.startswith("kv_len is ignored")


def test_a_piece_is_not_blamed_for_another() -> None:
    names: dict[str, Any] = {"torch": torch, "nn": nn}
    future = "torch.ones(n, n, dtype=torch.bool).triu(1)"
    exec(TRIANGLE.replace("tril(kv_len - q_len)", "tril()"), names)
    exec(MULTI_HEAD_ATTENTION.replace(future, "~causal_mask(n)"), names)
    mine = names["MultiHeadAttention"]
    assert "judged with" not in check_piece(mine).says
    for wrong in ("triu(1)", "tril(-1)"):
        exec(TRIANGLE.replace("tril(kv_len - q_len)", wrong), names)
        its_mask = names["causal_mask"]
        verdict = check_piece(mine)
        assert verdict
        assert verdict.says == "It is judged with the book's causal_mask: yours is not right."
        assert names["causal_mask"] is its_mask  # it was put back
    exec(MULTI_HEAD_ATTENTION.replace(future, "causal_mask(n)"), names)
    verdict = check_piece(names["MultiHeadAttention"])
    assert verdict.says == "The mask hides what it should show and shows what it should hide."
