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

MUTATIONS = {
    "softmax over the wrong dimension": (
        "story/simple_attention",
        "return torch.softmax(scores, dim=-1)",
        "return torch.softmax(scores, dim=0)",
        "does not reproduce 'context-all'",
    ),
    "query and key swapped": (
        "story/self_attention",
        "query = x @ self.W_query\n        key = x @ self.W_key\n",
        "query = x @ self.W_key\n        key = x @ self.W_query\n",
        "this cell failed: ",
    ),
    "a token hidden by its own probability": (
        "models/kv_cache",
        "probabilities.cumsum(dim=-1) - probabilities",
        "probabilities.cumsum(dim=-1)",
        "is not the one recorded",
    ),
}
"""Each change: the module and its page, what stands there and what then does, and how the page notices."""


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_of_an_operation_fails_the_build(
    name: str, book: WholeBook, warm: dict[str, str]
) -> None:
    module, old, new, message = MUTATIONS[name]
    book.change(f"../src/literate_attention/{module}.py", old, new)
    build = book.draft([module], **warm)
    assert build.status == 1
    found = build.about(f"{module}.md")
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
