"""What is changed in the library or in the ledger fails the build, with a message that names the place.

The changes of one round are made in one copy of the book, and the pages that have to notice them are built.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness.paths import DOCS
from harness.whole_book import Book, Build, copied

from executable_book.check import source_ledger
from executable_book.run.kernels import warm_server
from executable_book.run.live_preview import settings_in

pytestmark = pytest.mark.whole

LEDGER = source_ledger.load(DOCS / "sources.toml")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return copied(tmp_path_factory.mktemp("mutations") / "book")


@pytest.fixture
def book(copy: Book) -> Iterator[Book]:
    """Return a copy of the book. What a test changes is put back."""
    yield copy
    copy.put_back()


@pytest.fixture(scope="module")
def warm(copy: Book) -> Iterator[dict[str, str]]:
    """Return where kernels can be had at once, with the library of the copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(copy.root / "src"))
        with warm_server.server(settings_in(str(DOCS))) as address:
            yield {warm_server.ADDRESS: address}


# Mutations: of the library


@dataclass(frozen=True)
class Mutation:
    """One operation changed in the library, and what the build has to say: where, and what."""

    module: str
    old: str
    new: str
    page: str
    cell: str
    """A text in the cell that has to be named."""
    message: str


NOT_REPRODUCED, NOT_RECORDED = "does not reproduce {!r}", "is not the one recorded"
FAILED = "this cell failed: "

V2_SCORES = """        value = self.W_value(x)
        scores = (query / key.shape[-1] ** 0.5) @ key.mT
"""
SOFTMAX = "        weights = torch.softmax(scores, dim=-1)\n"
CREATE_QUERY, CREATE_KEY = (
    f"        self.W_{name} = nn.Linear(d_in, d_out, bias=qkv_bias)\n" for name in ("query", "key")
)
DRAW_QUERY, DRAW_KEY = (
    f"        self.W_{name} = nn.Parameter(torch.rand(d_in, d_out))\n" for name in ("query", "key")
)


def claims(entry: str, page: str, module: str, old: str, new: str, cell: str = "") -> Mutation:
    """Return a mutation after which a cell does not reproduce an entry that it claims."""
    return Mutation(module, old, new, page, cell or entry, NOT_REPRODUCED.format(entry))


# Those of one round are built together, and none of them touches what the others have to break.
ROUNDS: list[dict[str, Mutation]] = [
    {
        "softmax over the wrong dimension": claims(
            "context-all",
            "simple_attention",
            "simple_attention",
            "return torch.softmax(scores, dim=-1)",
            "return torch.softmax(scores, dim=0)",
        ),
        "query and key swapped": claims(
            "self-attention-v1",
            "self_attention",
            "self_attention",
            "query = x @ self.W_query\n        key = x @ self.W_key\n",
            "query = x @ self.W_key\n        key = x @ self.W_query\n",
        ),
        "parameters of CausalAttention drawn in another order": claims(
            "batch-keys",
            "causal_attention",
            "causal_attention",
            CREATE_QUERY + CREATE_KEY,
            CREATE_KEY + CREATE_QUERY,
            "batch-keys batch-queries",
        ),
        "out_proj dropped": claims(
            "mha-weight-splits",
            "multi_head_attention",
            "multi_head_attention",
            "return self.out_proj(merge_heads(attended))",
            "return merge_heads(attended)",
        ),
        "target not shifted": claims(
            "first-batch",
            "inputs",
            "inputs",
            "token_ids[1:].unfold",
            "token_ids[:-1].unfold",
        ),
        "another multiplier of MKL's generator": claims(
            "dropout-half-ones",
            "reproducibility",
            "reproducibility",
            "_MCG31_MULTIPLIER = 1132489760",
            "_MCG31_MULTIPLIER = 1132489761",
        ),
    },
    {
        "scores divided by a sum of sizes": Mutation(
            "simple_attention",
            "return scores / scores.sum(dim=-1, keepdim=True)",
            "return scores / scores.abs().sum(dim=-1, keepdim=True)",
            "simple_attention",
            "import normalize_by_sum",
            NOT_RECORDED,
        ),
        "parameters of SelfAttention_v2 drawn in another order": claims(
            "self-attention-v2-weights",
            "self_attention",
            "self_attention",
            CREATE_QUERY + CREATE_KEY,
            CREATE_KEY + CREATE_QUERY,
        ),
        "dropout drawn with another precision": claims(
            "batch-dropout-weights",
            "causal_attention",
            "reproducibility",
            "torch.rand(shape, dtype=torch.float64",
            "torch.rand(shape, dtype=torch.float32",
        ),
        "heads in another order": Mutation(
            "multi_head_attention",
            "torch.cat([head(x) for head in self.heads], dim=-1)",
            "torch.cat([head(x) for head in reversed(self.heads)], dim=-1)",
            "multi_head_attention",
            "assert_close(wrapper(batch), side_by_side)",
            FAILED,
        ),
        "position forgotten": Mutation(
            "inputs",
            "return self.token_embedding(token_ids) + self.position_embedding(positions)",
            "return self.token_embedding(token_ids)",
            "inputs",
            "assert_close(embed(inputs.to(device)), input_embeddings)",
            FAILED,
        ),
    },
    {
        "scaling dropped": claims(
            "self-attention-v2-weights",
            "self_attention",
            "self_attention",
            V2_SCORES,
            V2_SCORES.replace(" / key.shape[-1] ** 0.5", ""),
        ),
        "heads merged without a transpose": Mutation(
            "multi_head_attention",
            "return x.transpose(-3, -2).flatten(-2)",
            "return x.reshape(*x.shape[:-3], x.shape[-2], -1)",
            "multi_head_attention",
            "from literate_attention import merge_heads",
            NOT_RECORDED,
        ),
        "stride ignored": claims(
            "second-batch",
            "inputs",
            "inputs",
            "token_ids[:-1].unfold(0, max_length, stride)",
            "token_ids[:-1].unfold(0, max_length, 1)",
        ),
        "dropout without rescaling": claims(
            "dropout-half-ones",
            "reproducibility",
            "reproducibility",
            "x * kept.to(x.dtype).div(1 - p)",
            "x * kept.to(x.dtype)",
        ),
    },
    {
        "heads split without a transpose": claims(
            "mha-weight-splits",
            "multi_head_attention",
            "multi_head_attention",
            "return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)",
            "return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)",
        ),
        "parameters of SelfAttention_v1 drawn in another order": claims(
            "self-attention-v1",
            "self_attention",
            "self_attention",
            DRAW_QUERY + DRAW_KEY,
            DRAW_KEY + DRAW_QUERY,
        ),
        "query and key of CausalAttention swapped": claims(
            "batch-causal-context",
            "causal_attention",
            "causal_attention",
            "query = self.W_query(x)\n        key = self.W_key(x)\n",
            "query = self.W_key(x)\n        key = self.W_query(x)\n",
        ),
        "another first state of MKL's generator": claims(
            "dropout-half-ones",
            "reproducibility",
            "reproducibility",
            "int(two_words) >> 32 & 0xFFFFFFFF",
            "int(two_words) & 0xFFFFFFFF",
        ),
    },
    {
        "the mask's diagonal shifted": claims(
            "heads-mask",
            "multi_head_attention",
            "causal_attention",
            ".tril(kv_len - q_len)",
            ".tril(kv_len - q_len + 1)",
        ),
        "columns of weights for rows": Mutation(
            "self_attention",
            "    return weights @ value\n",
            "    return weights.mT @ value\n",
            "self_attention",
            "import attention_output, attention_weights",
            FAILED,
        ),
        "columns of simple weights for rows": claims(
            "context-all",
            "simple_attention",
            "simple_attention",
            "    context = weights @ inputs\n",
            "    context = weights.mT @ inputs\n",
        ),
    },
    {
        "the mask the wrong way round": claims(
            "batch-masked-scores",
            "causal_attention",
            "causal_attention",
            "return scores.masked_fill(~attn_mask, -torch.inf)",
            "return scores.masked_fill(attn_mask, -torch.inf)",
        ),
        "the fused kernel without the mask": claims(
            "mha-weight-splits",
            "multi_head_attention",
            "fused_attention",
            "        is_causal,\n        scale=scale,\n",
            "        False,\n        scale=scale,\n",
        ),
        "softmax over the queries": claims(
            "self-attention-v2-weights",
            "self_attention",
            "self_attention",
            V2_SCORES + SOFTMAX,
            V2_SCORES + SOFTMAX.replace("dim=-1", "dim=-2"),
        ),
    },
    {
        "interleaved pairs turned the other way": Mutation(
            "rotary_embeddings",
            "[even * cos - odd * sin, even * sin + odd * cos]",
            "[even * cos + odd * sin, odd * cos - even * sin]",
            "rotary_embeddings",
            "turned[0] @ turned[1].T",
            FAILED,
        ),
        "a token hidden by its own probability": Mutation(
            "kv_cache",
            "probabilities.cumsum(dim=-1) - probabilities",
            "probabilities.cumsum(dim=-1)",
            "kv_cache",
            "import keep_top_k, keep_top_p",
            NOT_RECORDED,
        ),
        "parts merged by the larger": Mutation(
            "ring_attention",
            "torch.logaddexp(logsumexp, other_logsumexp)",
            "torch.maximum(logsumexp, other_logsumexp)",
            "ring_attention",
            "context, logsumexp = merge_partials(found, also_found)",
            NOT_REPRODUCED.format("context-of-journey"),
        ),
    },
    {
        "a sum of squares for their mean": Mutation(
            "transformer_block",
            "wide.square().mean(dim=-1, keepdim=True)",
            "wide.square().sum(dim=-1, keepdim=True)",
            "transformer_block",
            "from literate_attention import RMSNorm, pick_device",
            NOT_RECORDED,
        ),
    },
]


# A page ends at the first cell that raises. These make one raise above the cell that they are about, so
# each has a build of its own, in which nothing else is changed.
ALONE = (
    "parameters of CausalAttention drawn in another order",
    "query and key of CausalAttention swapped",
    "out_proj dropped",
    "scaling dropped",
    "heads merged without a transpose",
    "heads split without a transpose",
    "the mask the wrong way round",
    "softmax over the queries",
)
ROUNDS += [{name: together.pop(name)} for name in ALONE for together in ROUNDS if name in together]


@pytest.fixture(scope="module")
def broken(copy: Book, warm: dict[str, str]) -> Callable[[int], Build]:
    """Return a function that builds the pages that have to notice the mutations of a round."""
    builds: dict[int, Build] = {}

    def build(number: int) -> Build:
        if number not in builds:
            mutations = ROUNDS[number].values()
            for one in mutations:
                copy.change(f"src/literate_attention/{one.module}.py", one.old, one.new)
            pages = {one.page for one in mutations}
            builds[number] = copy.draft(pages, **warm)
            copy.put_back()
            assert {Path(name).name for name in builds[number].executed} == pages
        return builds[number]

    return build


@pytest.mark.parametrize(
    ("number", "mutation"),
    [
        pytest.param(number, mutation, id=name)
        for number, mutations in enumerate(ROUNDS)
        for name, mutation in mutations.items()
    ],
)
def test_a_change_of_any_operation_fails_the_build(
    number: int, mutation: Mutation, broken: Callable[[int], Build], book: Book
) -> None:
    """Changing any one operation in `src/` fails with a message that names the place."""
    build = broken(number)
    assert build.status == 1
    line = book.line(mutation.page, mutation.cell)
    place = f"{mutation.page}.md:{line}"
    ended_above = len(ROUNDS[number]) == 1 and any(
        at < line and FAILED in said for at, said in build.places(mutation.page)
    )
    assert ended_above or build.names(place, mutation.message), (place, build.warnings)


# Mutations: of the ledger


def printed_otherwise(text: str, which: int) -> str:
    """Change the first (0) or last (-1) digit of a printed value, or the first boolean."""
    values = text.partition("grad_fn")[0]  # a digit in the name of a function is no value
    digits = [place for place, character in enumerate(values) if character.isdigit()]
    if not digits:
        return text.replace("False", "True", 1)
    place = digits[which]
    return text[:place] + str((int(text[place]) + 5) % 10) + text[place + 1 :]


def ledger_with(text: str, which: int) -> str:
    """Change a digit in each entry of a ledger."""
    for entry in LEDGER.outputs:
        head, name, rest = text.partition(f'id = "{entry.id}"')
        text = head + name + rest.replace(entry.printed, printed_otherwise(entry.printed, which), 1)
    return text


@pytest.fixture(scope="module")
def claiming(copy: Book, warm: dict[str, str]) -> list[str]:
    """Return the names of the pages that claim entries of the ledger, after a build of them that is sound."""
    pages = [page.stem for page in copy.pages if any(claims_on(page))]
    build = copy.draft(pages, **warm)
    assert "does not reproduce" not in build.said
    return pages


@pytest.mark.parametrize("which", [0, -1], ids=["first digit", "last digit"])
def test_a_digit_changed_in_any_entry_differs_from_what_was_computed(
    book: Book, claiming: list[str], which: int
) -> None:
    book.write("docs/sources.toml", ledger_with(book.text("docs/sources.toml"), which))
    build = book.draft(claiming)
    assert (build.status, build.executed) == (1, set())
    claimed = set()
    for page in book.pages:
        for cell, ids in claims_on(page):
            for entry in ids:
                claimed.add(entry)
                message = NOT_REPRODUCED.format(entry)
                assert build.names(f"{page.name}:{cell}", message), (page.name, cell, entry)
    assert claimed == {entry.id for entry in LEDGER.outputs}


def claims_on(page: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line of each cell of a page that claims entries, and the entries."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if line.startswith("```{code-cell}"):
            opened = number + 1
        if claimed := re.match(":?verifies: ", line):  # one option a line, or a header of several
            yield opened, line[claimed.end() :].split()
