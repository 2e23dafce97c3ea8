"""The book as a whole: its own pages, built as `nox -s docs` builds them, in a copy that may be broken.

A book is copied and built once, cold. Tests change the copy, build it again, and put back what they
changed; a second copy is built beside it, with two readers, and later killed. What is proved on small
books already (`test_execution.py`, `test_ledger.py`, ...) is not proved again.
"""

import contextlib
import os
import random
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import pytest
from harness.places import ROOT
from myst_nb.core.read import is_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from sphinx.util.console import strip_escape_sequences

from executable_book.check import source_ledger
from executable_book.run.fingerprint import fingerprint
from executable_book.run.kernels import notebook_runner, warm_server
from executable_book.run.live_preview import settings_in
from executable_book.run.page_execution import code_only, parse

NOT_COPIED = (".git", ".nox", ".venv", ".*_cache", "__pycache__", "_build", "tests")
STARTED = "LITERATE_STARTED"
WATCH = f"""
import os, sys
with open(os.environ[{STARTED!r}], "a") as log:
    log.write(" ".join(sys.orig_argv) + "\\n")
"""
LEDGER = source_ledger.load(ROOT / "docs" / "sources.toml")[0]


def command(builder: str, *options: str) -> list[str]:
    """Return what `nox -s docs` runs, as the noxfile has it."""
    session = MagicMock()
    with patch.dict(sys.modules, nox=MagicMock()):
        runpy.run_path(str(ROOT / "noxfile.py"))["sphinx"](session, builder, *options)
    python, *arguments = session.run.call_args.args
    assert python == "python"
    return [sys.executable, *arguments]


pytestmark = pytest.mark.whole


@dataclass
class Build:
    """A build that has ended: its exit status, what it said, and the interpreters that it started."""

    status: int
    said: str
    started: list[str]

    @property
    def executed(self) -> set[str]:
        return set(re.findall(r"^executed (\S+) in", self.said, re.MULTILINE))

    @property
    def warnings(self) -> list[str]:
        """Each warning with the lines below it."""
        found = re.split(r"^(?=/\S+:\d+: WARNING: )", self.said, flags=re.MULTILINE)
        return [one for one in found if one.startswith("/")]

    def names(self, place: str, message: str) -> bool:
        """Tell whether a warning about a place, as in `page.md:7`, says something."""
        return any(f"/{place}: WARNING: " in one and message in one for one in self.warnings)

    def places(self, page: str) -> list[tuple[int, str]]:
        """Return the warnings about a page, each with its line."""
        at = re.compile(rf"/\S*/{page}\.md:(\d+): WARNING: ")
        return [(int(found[1]), one) for one in self.warnings if (found := at.match(one))]


@dataclass
class Book:
    """A copy of this book."""

    root: Path
    before: dict[Path, str] = field(default_factory=dict)

    @property
    def pages(self) -> list[Path]:
        """The pages that execute something."""
        pages = sorted((self.root / "docs").rglob("*.md"))
        return [
            page
            for page in pages
            if "_build" not in page.parts and is_myst_markdown_notebook(page.read_text("utf-8"))
        ]

    def docname(self, page: Path) -> str:
        return page.relative_to(self.root / "docs").with_suffix("").as_posix()

    def find(self, name: str) -> Path:
        """Return the path of a file, also of one that lies in a part, such as the story."""
        path = self.root / name
        if path.exists():
            return path
        (found,) = path.parent.glob(f"*/{path.name}")
        return found

    @property
    def stored(self) -> list[Path]:
        return sorted((self.root / "docs/_build/executions").glob("*.ipynb"))

    def text(self, name: str) -> str:
        return self.find(name).read_text(encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        """Replace a text that stands in a file once."""
        text = self.text(name)
        assert text.count(old) == 1, f"{name} holds {text.count(old)} times {old!r}"
        self.write(name, text.replace(old, new))

    def write(self, name: str, text: str) -> None:
        path = self.find(name)
        self.before.setdefault(path, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")

    def put_back(self) -> None:
        for path, text in self.before.items():
            path.write_text(text, encoding="utf-8")
        self.before.clear()

    def line(self, page: str, text: str) -> int:
        """Return the line that opens the cell in which a text stands, the last one of the page."""
        lines = self.text(f"docs/{page}.md").splitlines()
        found = max(number for number, line in enumerate(lines) if text in line)
        return max(n for n in range(found + 1) if lines[n].startswith("```{code-cell}")) + 1

    def start(
        self, *options: str, builder: str = "html", **environment: str
    ) -> "subprocess.Popen[str]":
        watch = self.root.with_name(f"{self.root.name}-watch")
        watch.mkdir(exist_ok=True)
        (watch / "sitecustomize.py").write_text(WATCH)
        (watch / "started").write_text("")
        own = {
            "PYTHONPATH": os.pathsep.join([str(watch), str(self.root / "src")]),
            "SOURCE_COMMIT": "0" * 40,
            STARTED: str(watch / "started"),
        }
        return subprocess.Popen(
            command(builder, *options),
            cwd=self.root,
            env=os.environ | own | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def end(self, process: "subprocess.Popen[str]") -> Build:
        said, _ = process.communicate()
        started = self.root.with_name(f"{self.root.name}-watch") / "started"
        lines = started.read_text().splitlines()
        return Build(process.returncode, strip_escape_sequences(said), lines)

    def build(self, *options: str, builder: str = "html", **environment: str) -> Build:
        return self.end(self.start(*options, builder=builder, **environment))

    def draft(self, **environment: str) -> Build:
        """Read and check all pages, and write none: a build that is quick, and judges as every build."""
        return self.build(builder="dummy", **environment)

    def published(self) -> dict[str, bytes]:
        """Return all that readers can get: the site, with figures and notebooks, and the archive of it."""
        built = self.root / "docs/_build"
        files = [path for path in (built / "html").rglob("*") if path.is_file()]
        site = {path.relative_to(built).as_posix(): path.read_bytes() for path in files}
        archives = {path.name: path.read_bytes() for path in built.glob("*.zip")}
        return archives | {
            name: content for name, content in site.items() if not Path(name).name.startswith(".")
        }


def differences(ours: dict[str, bytes], theirs: dict[str, bytes]) -> list[str]:
    """Name the files that are not the same, byte for byte."""
    return sorted(name for name in ours | theirs if ours.get(name) != theirs.get(name))


def copied(folder: Path) -> Book:
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
    return Book(folder)


@dataclass
class Whole:
    """A book that was built once, cold; what it published, and its twin."""

    book: Book
    built: Build
    site: dict[str, bytes]
    twin: Book
    twin_built: Build
    seconds: float


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    book, twin = copied(folder / "book"), copied(folder / "twin")
    start = time.monotonic()
    processes = book.start(), twin.start("-j", "2")
    built, twin_built = book.end(processes[0]), twin.end(processes[1])
    return Whole(book, built, book.published(), twin, twin_built, time.monotonic() - start)


@pytest.fixture
def book(whole: Whole) -> Iterator[Book]:
    """Return the book that was built. What a test changes is put back."""
    yield whole.book
    whole.book.put_back()


@pytest.fixture(scope="session")
def warm(whole: Whole) -> Iterator[dict[str, str]]:
    """Return where kernels can be had at once, with the library of the copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(whole.book.root / "src"))
        with warm_server.server(settings_in(str(ROOT / "docs"))) as address:
            yield {warm_server.ADDRESS: address}


# Every build


def test_every_page_executes_and_every_source_output_is_verified(whole: Whole) -> None:
    """The build report says N of N source outputs verified, with N counted from the ledger."""
    assert whole.built.status == 0, whole.built.said
    assert whole.built.warnings == []
    assert whole.built.executed == {*map(whole.book.docname, whole.book.pages)}
    count = whole.book.text("docs/sources.toml").count("\n[[output]]\n")
    assert count > 0
    assert f"{count} of {count} source outputs verified" in whole.built.said


def test_two_cold_builds_give_the_same_bytes(whole: Whole) -> None:
    """HTML, figures, notebooks and the archive; from two folders, and with one reader or two."""
    assert whole.twin_built.status == 0, whole.twin_built.said
    assert whole.twin_built.executed == whole.built.executed
    kinds = {Path(name).suffix for name in whole.site}
    assert kinds >= {".html", ".svg", ".ipynb", ".zip", ".css", ".js", ".woff2", ".xml"}
    assert differences(whole.twin.published(), whole.site) == []


def test_a_second_build_starts_no_kernel_and_leaves_the_site_as_it_was(
    book: Book, whole: Whole
) -> None:
    again = book.build()
    assert (again.status, again.warnings) == (0, [])
    assert again.executed == set()
    assert len(again.started) == 1  # the interpreter of Sphinx, and none for a kernel or a server
    assert len(whole.built.started) > 1
    assert differences(book.published(), whole.site) == []


# Fresh, whatever changed


def test_a_change_of_the_library_changes_what_is_published(book: Book, whole: Whole) -> None:
    """After a change to `src/` the next plain build executes; the page shows the new number."""
    old, new = "naive: tensor([nan, nan])", "naive: tensor([1., 0.])"
    page = "html/story/simple_attention.html"
    assert old in plain(whole.site[page])
    book.change(
        "src/literate_attention/simple_attention.py",
        "    exponentials = scores.exp()\n",
        "    exponentials = (scores >= scores.amax()).float()\n",
    )
    changed = book.build()
    assert changed.executed == whole.built.executed
    assert new in plain(book.published()[page])
    line = book.line("simple_attention", "import naive_softmax")
    assert changed.status == 1
    assert changed.names(f"simple_attention.md:{line}", "is not the one recorded")

    book.put_back()
    undone = book.build()
    assert (undone.status, undone.executed) == (0, set())
    assert differences(book.published(), whole.site) == []


def plain(page: bytes) -> str:
    return re.sub("<[^>]*>", "", page.decode())


def test_a_change_of_prose_starts_no_kernel(book: Book) -> None:
    page = "docs/simple_attention.md"
    book.write(page, f"{book.text(page)}\nNothing is learnt yet.\n")
    build = book.build()
    assert (build.status, build.executed, len(build.started)) == (0, set(), 1)
    assert "Nothing is learnt yet." in plain(book.published()["html/story/simple_attention.html"])


def test_the_lock_and_the_device_are_part_of_every_key(whole: Whole) -> None:
    twin, lock = whole.twin, ".ci/requirements.txt"
    docs = twin.root / "docs"
    others = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - {"index.md"}
    only_index = ("-D", f"exclude_patterns={','.join(['_build', *sorted(others)])}")

    def executed(**environment: str) -> set[str]:
        return twin.build(*only_index, builder="dummy", **environment).executed

    executed()
    assert executed() == set()
    twin.write(lock, twin.text(lock) + "# renewed\n")
    assert executed() == {"index"}
    twin.put_back()
    assert executed() == set()
    assert executed(LITERATE_DEVICE="cpu") == {"index"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sys.version", "3.99"),
        ("executable_book.run.kernels.kernel_settings.metadata.version", lambda name: "99"),
        ("executable_book.run.fingerprint._processor", lambda: "another"),
        ("executable_book.run.fingerprint._accelerators", lambda: ["a GPU"]),
        ("platform.platform", lambda: "another"),
    ],
)
def test_python_torch_and_the_machine_are_part_of_every_key(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprint([])
    assert fingerprint([]) == before
    monkeypatch.setattr(name, value)
    assert fingerprint([]) != before


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
]


# A page ends at the first cell that raises. These make one raise above the cell that they are about, so
# each has a build of its own, in which nothing else is changed.
ALONE = (
    "parameters of CausalAttention drawn in another order",
    "out_proj dropped",
    "scaling dropped",
    "heads merged without a transpose",
    "heads split without a transpose",
    "the mask the wrong way round",
    "softmax over the queries",
)
ROUNDS += [{name: together.pop(name)} for name in ALONE for together in ROUNDS if name in together]


@pytest.fixture(scope="session")
def broken(whole: Whole, warm: dict[str, str]) -> Callable[[int], Build]:
    """Return a function that builds the book with all mutations of a round."""
    builds: dict[int, Build] = {}

    def build(number: int) -> Build:
        if number not in builds:
            for one in ROUNDS[number].values():
                whole.book.change(f"src/literate_attention/{one.module}.py", one.old, one.new)
            builds[number] = whole.book.draft(**warm)
            whole.book.put_back()
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


def ledger_with(text: str, which: int, *, sealed: bool) -> str:
    """Change a digit in each entry of a ledger, and its seal."""
    for entry in LEDGER.outputs:
        start = text.index(f'id = "{entry.id}"')
        head, rest = text[:start], text[start:]
        changed = printed_otherwise(entry.printed, which)
        rest = rest.replace(entry.printed, changed, 1)
        if sealed:
            rest = rest.replace(entry.sha256, source_ledger.seal(changed), 1)
        text = head + rest
    return text


def test_a_digit_changed_in_any_entry_breaks_its_seal(book: Book) -> None:
    """Changing a digit of any ledger entry fails, with a message that names the entry's line."""
    text = ledger_with(book.text("docs/sources.toml"), -1, sealed=False)
    book.write("docs/sources.toml", text)
    build = book.draft()
    assert (build.status, build.executed) == (1, set())
    for entry in LEDGER.outputs:
        line = text[: text.index(f'id = "{entry.id}"')].count("\n") + 1
        assert build.names(f"sources.toml:{line}", f"output {entry.id!r}: `printed` has the seal")


@pytest.mark.parametrize("which", [0, -1], ids=["first digit", "last digit"])
def test_a_digit_changed_with_its_seal_differs_from_what_was_computed(
    book: Book, which: int
) -> None:
    """The seal is no lock: who forges it still meets the value that the library computes."""
    book.write("docs/sources.toml", ledger_with(book.text("docs/sources.toml"), which, sealed=True))
    build = book.draft()
    assert (build.status, build.executed) == (1, set())
    assert "has the seal" not in build.said
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
        if line.startswith(":verifies:"):
            yield opened, line.removeprefix(":verifies:").split()


# Mutations: of pages


@pytest.fixture
def spoilt(book: Book) -> list[tuple[str, str]]:
    """Spoil pages, one each in its own way; return each place, and what has to be said of it."""
    book.change("docs/simple_attention.md", "s: context-of-journey\n", "s: context-of-nobody\n")
    book.change("docs/inputs.md", ":verifies: first-batch second-batch\n", "")
    book.change("docs/causal_attention.md", "So each token may attend", "So 0.25 of it may attend")
    book.change(
        "docs/multi_head_attention.md",
        'print("context_vecs.shape:", side_by_side.shape)',
        'print({}["no such key"])',
    )
    book.change("docs/recorded/self_attention.txt", "    #FFD700\n", "    #FFD701\n")
    typed = line_of(book.text("docs/causal_attention.md"), "0.25 of it")
    entry = line_of(book.text("docs/sources.toml"), 'id = "second-batch"')
    return [
        (
            f"simple_attention.md:{book.line('simple_attention', 'context-of-nobody')}",
            "claims 'context-of-nobody', which the ledger does not know",
        ),
        (f"sources.toml:{entry}", "output 'second-batch' is claimed by no cell"),
        (f"causal_attention.md:{typed}", "the number 0.25 is typed by hand"),
        (
            f"multi_head_attention.md:{book.line('multi_head_attention', 'no such key')}",
            "this cell failed: KeyError: 'no such key'",
        ),
        (
            f"self_attention.md:{book.line('self_attention', 'colours = {')}",
            "is not the one recorded",
        ),
    ]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_spoilt_pages_fail_three_builds_in_a_row(book: Book, spoilt: list[tuple[str, str]]) -> None:
    """`docs` run three times in a row over a page with a failing cell exits non-zero three times."""
    for _ in range(3):
        build = book.build()
        assert build.status == 1
        assert (
            "story/multi_head_attention" in build.executed
        )  # what failed is never taken from the store
        for place, message in spoilt:
            assert build.names(place, message), (place, build.warnings)


# Builds that are cut short


def cut_short(book: Book, seconds: float) -> bool:
    """Start a build, and kill it and all of its group after some seconds; tell whether it still ran."""
    process = book.start()
    time.sleep(seconds)
    running = process.poll() is None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return running


def test_builds_killed_at_any_moment_end_as_one_that_was_not(whole: Whole) -> None:
    """Killing the build at random moments, then building: the result is byte-identical.

    What was executed is stored, so each build begins where the last one stood, and in the end pages are
    read and written. That any moment will do is proved on a small book, by `test_interrupted_builds.py`.
    """
    twin, moments = whole.twin, random.Random(2017)
    shutil.rmtree(twin.root / "docs/_build")
    killed = [cut_short(twin, moments.uniform(0, whole.seconds / 4)) for _ in range(4)]
    assert any(killed)
    end = twin.build()
    assert (end.status, end.warnings) == (0, [])
    assert differences(twin.published(), whole.site) == []


def test_a_truncated_execution_is_noticed_and_replaced(whole: Whole) -> None:
    stored = whole.twin.stored[0]
    content = stored.read_bytes()
    stored.write_bytes(content[: len(content) // 2])
    build = whole.twin.build()
    assert (build.status, len(build.executed)) == (0, 1)
    assert f"{stored.name} is damaged" in build.said
    assert len(stored.read_bytes()) > len(content) // 2
    assert differences(whole.twin.published(), whole.site) == []


# Another device than the CPU


@pytest.fixture
def with_second_device(
    warm: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, NotebookNode]], dict[str, str]]:
    """Return a function that runs pages where there are two devices, and says what failed, by page."""
    simulated = (ROOT / "tests/harness/second_device.py").read_text(encoding="utf-8")
    monkeypatch.setenv(warm_server.ADDRESS, warm[warm_server.ADDRESS])
    monkeypatch.setenv("LITERATE_DEVICE", "cpu:1")

    def run(pages: dict[str, NotebookNode]) -> dict[str, str]:
        for page in pages.values():
            page.cells.insert(0, new_code_cell(simulated))
        done = notebook_runner.execute(
            pages,
            dict.fromkeys(pages, str(ROOT / "docs")),
            settings_in(str(ROOT / "docs")),
            timeout=120,
        )
        failures = {name: execution.failure for name, execution in done.items()}
        return {name: failure[1] for name, failure in failures.items() if failure}

    return run


def test_pages_run_on_another_device(
    book: Book, with_second_device: Callable[[dict[str, NotebookNode]], dict[str, str]]
) -> None:
    """A CPU-only assumption is caught without a GPU: no cell takes all tensors to be on one device."""
    pages = {
        page.stem: code_only(parse(page.read_text("utf-8"), MdParserConfig(), str(page)))
        for page in book.pages
    }
    assert with_second_device(pages) == {}


def test_a_cell_for_the_cpu_alone_fails_on_another_device(
    with_second_device: Callable[[dict[str, NotebookNode]], dict[str, str]],
) -> None:
    start = """
import torch
from literate_attention import CausalAttention, pick_device, toy_embeddings
inputs = toy_embeddings(pick_device())
"""
    codes = {
        "made elsewhere": "inputs @ torch.eye(3)",
        "read by NumPy": "inputs.numpy()",
        "module not moved": "CausalAttention(3, 2, 6, 0.0)(inputs)",
        "compared": "torch.testing.assert_close(inputs, toy_embeddings())",
        "in place": "toy_embeddings().add_(inputs)",
    }
    pages = {
        name: new_notebook(cells=[new_code_cell(start + code)]) for name, code in codes.items()
    }
    assert with_second_device(pages).keys() == codes.keys()
    moved = """
module = CausalAttention(3, 2, 6, 0.5).to(inputs.device)
module(inputs) + torch.ones(6, 2, device=inputs.device)
inputs.cpu().numpy(), inputs.cpu() + toy_embeddings(), inputs.sum() * torch.tensor(2.0)
"""
    assert with_second_device({"moved": new_notebook(cells=[new_code_cell(start + moved)])}) == {}
