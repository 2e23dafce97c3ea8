"""What several tests share: throwaway books, attention by loops, and what must be switched off."""

import io
import itertools
import math
import socket
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import jaxtyping
import pytest
import torch
from harness.places import DOCS
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from nbformat import NotebookNode
from nbformat.v4 import new_output
from sphinx.testing.util import SphinxTestApp
from sphinx.util.console import strip_escape_sequences
from torch import Tensor

FRONT_MATTER = """---
file_format: mystnb
kernelspec:
  name: python3
---
"""


def executed(text: str) -> NotebookNode:
    """Read a page and run its cells here: quick, and all that these tests need of a kernel."""
    notebook = read_myst_markdown_notebook(
        text, config=MdParserConfig(), add_source_map=True, path="page.md"
    )
    names: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            out = io.StringIO()
            with redirect_stdout(out):
                exec(cell.source, names)
            cell.outputs = list(names.pop("outputs", ()))
            cell.metadata.update(names.pop("metadata", {}))
            if out.getvalue():
                cell.outputs.insert(0, new_output("stream", name="stdout", text=out.getvalue()))
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    notebook.metadata.update(names.get("notebook_metadata", {}))
    return notebook


@dataclass
class Build:
    """What a build left behind."""

    status: int
    warnings: list[str]
    said: str
    out: Path
    written: list[str]

    def html(self, page: str) -> str:
        return (self.out / f"{page}.html").read_text(encoding="utf-8")


@dataclass
class Book:
    """A throwaway book: write its pages and files, build it, look at the result."""

    folder: Path
    extensions: tuple[str, ...]

    def page(self, name: str, text: str) -> None:
        self.write(f"{name}.md", FRONT_MATTER + text)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def build(self, *, jobs: int = 1, **settings: Any) -> Build:
        written: list[str] = []
        app = SphinxTestApp(
            "html",
            srcdir=self.folder,
            status=(status := io.StringIO()),
            warning=(warning := io.StringIO()),
            parallel=jobs,
            warningiserror=True,
            confoverrides=settings,
        )
        app.connect(
            "html-page-context",
            lambda app, page, *rest: page in app.env.found_docs and written.append(page),
        )
        try:
            app.build()
        finally:
            app.cleanup()
        return Build(
            status=app.statuscode,
            warnings=[
                line for line in strip_escape_sequences(warning.getvalue()).splitlines() if line
            ],
            said=status.getvalue(),
            out=Path(app.outdir),
            written=written,
        )


@pytest.fixture
def new_book(tmp_path: Path) -> Iterator[Callable[..., Book]]:
    """Return a function that makes an empty book with the named extensions."""

    def make(*extensions: str) -> Book:
        book = Book(tmp_path / "docs", extensions)
        book.write("index.md", "# Index\n\n```{toctree}\n:glob:\n\n*\n```\n")
        book.write(
            "conf.py",
            f"extensions = ['myst_nb', *{extensions!r}]\n"
            "html_theme = 'basic'\n"
            "exclude_patterns = ['_build']\n"
            "myst_enable_extensions = ['dollarmath']\n"
            "nb_execution_mode = 'off'\n"
            "literate_checks = 'the same at each build'\n"
            "nb_custom_formats = {'.md': ['book_reader.executed', {}, False]}\n",
        )
        return book

    sys.modules["book_reader"] = sys.modules[__name__]
    yield make
    del sys.modules["book_reader"]


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Compute on one thread: for tensors this small, waiting for others costs more than it saves."""
    torch.set_num_threads(1)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Switch the type checker off that test runs install: readers meet the package's own errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every use of the network fail, with an error that no code expects."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("something asked for the network")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


@pytest.fixture(scope="session")
def assert_published() -> Callable[[Any, str], None]:
    """Return a check that tensors equal, to the last printed digit, what a source prints."""
    from executable_book.check.printed_values import (
        differences,
        eps_for,
        parse,
        table,
    )

    ledger = tomllib.loads((DOCS / "sources.toml").read_text(encoding="utf-8"))
    printed = {output["id"]: output["printed"] for output in ledger["output"]}

    def check(value: Any, entry: str) -> None:
        tensors = [value] if isinstance(value, Tensor) else value
        exact = [{"text": repr(each), "values": each.tolist()} for each in tensors]
        (got,) = parse(repr(value), exact)
        (expected,) = parse(printed[entry])
        found = differences(got, expected, eps_for("cpu"))
        assert not found, f"{entry}:\n{table(found)}"

    return check


@pytest.fixture(scope="session")
def attend_by_loops() -> Callable[..., tuple[Tensor, Tensor]]:
    """Return scaled dot-product attention as its formula reads, one float64 at a time."""

    def attend(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        allowed: Tensor | None = None,
        scale: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        *batch, q_len, head_dim = query.shape
        kv_len = key.shape[-2]
        scale = 1 / math.sqrt(head_dim) if scale is None else scale
        if allowed is None:
            allowed = torch.ones(q_len, kv_len, dtype=torch.bool)
        allowed = allowed.expand(*batch, q_len, kv_len)
        context = torch.zeros(*batch, q_len, value.shape[-1], dtype=torch.float64)
        weights = torch.zeros(*batch, q_len, kv_len, dtype=torch.float64)
        for index in itertools.product(*map(range, batch)):
            q, k, v = query[index].tolist(), key[index].tolist(), value[index].tolist()
            for i in range(q_len):
                scores = {
                    j: scale * sum(a * b for a, b in zip(q[i], k[j], strict=True))
                    for j in range(kv_len)
                    if allowed[(*index, i, j)]
                }
                total = sum(math.exp(score) for score in scores.values())
                for j, score in scores.items():
                    weights[(*index, i, j)] = weight = math.exp(score) / total
                    for column, number in enumerate(v[j]):
                        context[(*index, i, column)] += weight * number
        return context, weights

    return attend
