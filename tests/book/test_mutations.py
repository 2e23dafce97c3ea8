"""What is changed in the library or in the ledger fails the build, with a message that names the place."""

import os
import re
from collections.abc import Iterator

import pytest
from harness.paths import DOCS
from harness.whole_book import WholeBook, copied

from executable_book.check import source_ledger
from executable_book.run.kernels import warm_server
from executable_book.run.live_preview import preload_of
from executable_book.run.warm_python import ADDRESS

pytestmark = pytest.mark.whole

LEDGER = source_ledger.load(DOCS / "sources.toml")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> WholeBook:
    return copied(tmp_path_factory.mktemp("mutations") / "book")


@pytest.fixture
def book(copy: WholeBook) -> Iterator[WholeBook]:
    """Return a copy of the book. What a test changes is put back."""
    yield copy
    copy.put_back()


@pytest.fixture(scope="module")
def warm(copy: WholeBook) -> Iterator[dict[str, str]]:
    """Return where kernels can be had at once, with the library of the copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(copy.root / "src"))
        with warm_server(preload_of(str(DOCS))):
            yield {ADDRESS: os.environ[ADDRESS]}


# Mutations: of the library

RECORDED, FAILED = "is not the one recorded", "this cell failed: "
"""What the build says, if not that a cell does not reproduce an entry of the ledger."""

CREATE_QUERY, CREATE_KEY = (
    f"        self.W_{name} = nn.Linear(d_in, d_out, bias=qkv_bias)\n" for name in ("query", "key")
)
MUTATIONS = {
    "softmax over the wrong dimension": (
        "story/simple_attention",
        "return torch.softmax(scores, dim=-1)",
        "return torch.softmax(scores, dim=0)",
        "story/simple_attention",
        "context-all",
    ),
    "query and key swapped": (
        "story/self_attention",
        "query = x @ self.W_query\n        key = x @ self.W_key\n",
        "query = x @ self.W_key\n        key = x @ self.W_query\n",
        "story/self_attention",
        FAILED,
    ),
    "parameters of CausalAttention drawn in another order": (
        "story/causal_attention",
        CREATE_QUERY + CREATE_KEY,
        CREATE_KEY + CREATE_QUERY,
        "story/causal_attention",
        FAILED,
    ),
    "out_proj dropped": (
        "story/multi_head_attention",
        "return self.out_proj(merge_heads(attended))",
        "return merge_heads(attended)",
        "story/multi_head_attention",
        FAILED,
    ),
    "target not shifted": (
        "story/inputs",
        "token_ids[1:].unfold",
        "token_ids[:-1].unfold",
        "story/inputs",
        "first-batch",
    ),
    "another multiplier of MKL's generator": (
        "trust/reproducibility",
        "_MCG31_MULTIPLIER = 1132489760",
        "_MCG31_MULTIPLIER = 1132489761",
        "trust/reproducibility",
        FAILED,
    ),
    "the fused kernel without the mask": (
        "story/fused_attention",
        "        is_causal,\n        scale=scale,\n",
        "        False,\n        scale=scale,\n",
        "story/multi_head_attention",
        FAILED,
    ),
    "interleaved pairs turned the other way": (
        "models/rotary_embeddings",
        "[even * cos - odd * sin, even * sin + odd * cos]",
        "[even * cos + odd * sin, odd * cos - even * sin]",
        "models/rotary_embeddings",
        FAILED,
    ),
    "a token hidden by its own probability": (
        "models/kv_cache",
        "probabilities.cumsum(dim=-1) - probabilities",
        "probabilities.cumsum(dim=-1)",
        "models/kv_cache",
        RECORDED,
    ),
    "parts merged by the larger": (
        "models/ring_attention",
        "torch.logaddexp(logsumexp, other_logsumexp)",
        "torch.maximum(logsumexp, other_logsumexp)",
        "models/ring_attention",
        FAILED,
    ),
    "a sum of squares for their mean": (
        "models/transformer_block",
        "wide.square().mean(dim=-1, keepdim=True)",
        "wide.square().sum(dim=-1, keepdim=True)",
        "models/transformer_block",
        RECORDED,
    ),
}
"""Each change: the module, what stands there and what then does, the page that notices it, and how."""


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_of_any_operation_fails_the_build(
    name: str, book: WholeBook, warm: dict[str, str]
) -> None:
    module, old, new, page, noticed = MUTATIONS[name]
    book.change(f"../src/literate_attention/{module}.py", old, new)
    build = book.draft([page], **warm)
    assert build.status == 1
    message = noticed if noticed in (RECORDED, FAILED) else f"does not reproduce {noticed!r}"
    found = build.about(f"{page}.md")
    assert any(message in one for one in found), found


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
def claiming(copy: WholeBook, warm: dict[str, str]) -> list[str]:
    """Return the names of the pages that claim entries of the ledger, after a build of them that is sound."""
    pages = [name for name, text in copy.pages.items() if any(claims_on(text))]
    build = copy.draft(pages, **warm)
    assert "does not reproduce" not in build.err
    return pages


@pytest.mark.parametrize("which", [0, -1], ids=["first digit", "last digit"])
def test_a_digit_changed_in_any_entry_differs_from_what_was_computed(
    book: WholeBook, claiming: list[str], which: int
) -> None:
    ledger = book.text("sources.toml")
    book.change("sources.toml", ledger, ledger_with(ledger, which))
    build = book.draft(claiming)
    assert (build.status, build.executed) == (1, [])
    claimed = set()
    for page in claiming:
        for cell, ids in claims_on(book.text(f"{page}.md")):
            claimed.update(ids)
            said = "".join(build.about(f"{page}.md:{cell}"))
            assert [entry for entry in ids if f"does not reproduce {entry!r}" not in said] == []
    assert claimed == LEDGER.outputs.keys()


def claims_on(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line of each cell of a page that claims entries, and the entries."""
    for number, line in enumerate(text.splitlines()):
        if line.startswith("```{code-cell}"):
            opened = number + 1
        if claimed := re.match(":?verifies: ", line):  # one option a line, or a header of several
            yield opened, line[claimed.end() :].split()
