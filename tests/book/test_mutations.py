"""What is changed in the library or in the ledger fails the build, with a message that names the place."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.paths import DOCS
from harness.whole_book import Book, copied

from executable_book.check import source_ledger
from executable_book.run.kernels import warm_server
from executable_book.run.live_preview import preload_of
from executable_book.run.warm_python import ADDRESS

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
        with warm_server(preload_of(str(DOCS))):
            yield {ADDRESS: os.environ[ADDRESS]}


# Mutations: of the library

RECORDED, FAILED = "is not the one recorded", "this cell failed: "
"""What the build says, if not that a cell does not reproduce an entry of the ledger."""

V2_SCORES = """        value = self.W_value(x)
        scores = (query / key.shape[-1] ** 0.5) @ key.mT
"""
CREATE_QUERY, CREATE_KEY = (
    f"        self.W_{name} = nn.Linear(d_in, d_out, bias=qkv_bias)\n" for name in ("query", "key")
)
MUTATIONS = {
    "softmax over the wrong dimension": (
        "simple_attention",
        "return torch.softmax(scores, dim=-1)",
        "return torch.softmax(scores, dim=0)",
        "simple_attention",
        "context-all",
    ),
    "query and key swapped": (
        "self_attention",
        "query = x @ self.W_query\n        key = x @ self.W_key\n",
        "query = x @ self.W_key\n        key = x @ self.W_query\n",
        "self_attention",
        "self-attention-v1",
    ),
    "parameters of CausalAttention drawn in another order": (
        "causal_attention",
        CREATE_QUERY + CREATE_KEY,
        CREATE_KEY + CREATE_QUERY,
        "causal_attention",
        FAILED,
    ),
    "out_proj dropped": (
        "multi_head_attention",
        "return self.out_proj(merge_heads(attended))",
        "return merge_heads(attended)",
        "multi_head_attention",
        FAILED,
    ),
    "target not shifted": (
        "inputs",
        "token_ids[1:].unfold",
        "token_ids[:-1].unfold",
        "inputs",
        "first-batch",
    ),
    "another multiplier of MKL's generator": (
        "reproducibility",
        "_MCG31_MULTIPLIER = 1132489760",
        "_MCG31_MULTIPLIER = 1132489761",
        "reproducibility",
        "dropout-half-ones",
    ),
    "scores divided by a sum of sizes": (
        "simple_attention",
        "return scores / scores.sum(dim=-1, keepdim=True)",
        "return scores / scores.abs().sum(dim=-1, keepdim=True)",
        "simple_attention",
        RECORDED,
    ),
    "dropout drawn with another precision": (
        "reproducibility",
        "torch.rand(shape, dtype=torch.float64",
        "torch.rand(shape, dtype=torch.float32",
        "causal_attention",
        "batch-dropout-weights",
    ),
    "heads in another order": (
        "multi_head_attention",
        "torch.cat([head(x) for head in self.heads], dim=-1)",
        "torch.cat([head(x) for head in reversed(self.heads)], dim=-1)",
        "multi_head_attention",
        FAILED,
    ),
    "position forgotten": (
        "inputs",
        "return self.token_embedding(token_ids) + self.position_embedding(positions)",
        "return self.token_embedding(token_ids)",
        "inputs",
        FAILED,
    ),
    "scaling dropped": (
        "self_attention",
        V2_SCORES,
        V2_SCORES.replace(" / key.shape[-1] ** 0.5", ""),
        "self_attention",
        FAILED,
    ),
    "heads merged without a transpose": (
        "multi_head_attention",
        "return x.transpose(-3, -2).flatten(-2)",
        "return x.reshape(*x.shape[:-3], x.shape[-2], -1)",
        "multi_head_attention",
        FAILED,
    ),
    "stride ignored": (
        "inputs",
        "token_ids[:-1].unfold(0, max_length, stride)",
        "token_ids[:-1].unfold(0, max_length, 1)",
        "inputs",
        "second-batch",
    ),
    "dropout without rescaling": (
        "reproducibility",
        "x * kept.to(x.dtype).div(1 - self.p)",
        "x * kept.to(x.dtype)",
        "reproducibility",
        "dropout-half-ones",
    ),
    "the mask's diagonal shifted": (
        "causal_attention",
        ".tril(kv_len - q_len)",
        ".tril(kv_len - q_len + 1)",
        "multi_head_attention",
        "heads-mask",
    ),
    "columns of weights for rows": (
        "self_attention",
        "    return weights @ value\n",
        "    return weights.mT @ value\n",
        "self_attention",
        FAILED,
    ),
    "the mask the wrong way round": (
        "causal_attention",
        "return scores.masked_fill(~attn_mask, -torch.inf)",
        "return scores.masked_fill(attn_mask, -torch.inf)",
        "causal_attention",
        FAILED,
    ),
    "the fused kernel without the mask": (
        "fused_attention",
        "        is_causal,\n        scale=scale,\n",
        "        False,\n        scale=scale,\n",
        "multi_head_attention",
        FAILED,
    ),
    "interleaved pairs turned the other way": (
        "rotary_embeddings",
        "[even * cos - odd * sin, even * sin + odd * cos]",
        "[even * cos + odd * sin, odd * cos - even * sin]",
        "rotary_embeddings",
        FAILED,
    ),
    "a token hidden by its own probability": (
        "kv_cache",
        "probabilities.cumsum(dim=-1) - probabilities",
        "probabilities.cumsum(dim=-1)",
        "kv_cache",
        RECORDED,
    ),
    "parts merged by the larger": (
        "ring_attention",
        "torch.logaddexp(logsumexp, other_logsumexp)",
        "torch.maximum(logsumexp, other_logsumexp)",
        "ring_attention",
        "context-of-journey",
    ),
    "a sum of squares for their mean": (
        "transformer_block",
        "wide.square().mean(dim=-1, keepdim=True)",
        "wide.square().sum(dim=-1, keepdim=True)",
        "transformer_block",
        RECORDED,
    ),
}
"""Each change: the module, what stands there and what then does, the page that notices it, and how."""


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_of_any_operation_fails_the_build(
    name: str, book: Book, warm: dict[str, str]
) -> None:
    module, old, new, page, noticed = MUTATIONS[name]
    book.change(f"src/literate_attention/{module}.py", old, new)
    build = book.draft([page], **warm)
    assert build.status == 1
    message = noticed if noticed in (RECORDED, FAILED) else f"does not reproduce {noticed!r}"
    assert any(message in said for said in build.of_page(page)), build.warnings


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
    for entry in LEDGER.outputs.values():
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
                message = f"does not reproduce {entry!r}"
                assert build.names(f"{page.name}:{cell}", message), (page.name, cell, entry)
    assert claimed == LEDGER.outputs.keys()


def claims_on(page: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line of each cell of a page that claims entries, and the entries."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if line.startswith("```{code-cell}"):
            opened = number + 1
        if claimed := re.match(":?verifies: ", line):  # one option a line, or a header of several
            yield opened, line[claimed.end() :].split()
