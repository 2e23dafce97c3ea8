"""Pages run on another device than the CPU, even where there is none: see `harness.second_device`."""

from collections.abc import Callable, Iterator

import pytest
from harness.places import DOCS, ROOT
from harness.whole_book import Book
from myst_parser.config.main import MdParserConfig
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from executable_book.run.kernels import notebook_runner, warm_server
from executable_book.run.live_preview import settings_in
from executable_book.run.page_execution import code_only, parse

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def warm() -> Iterator[None]:
    """Have one server of warm kernels for all tests."""
    with (
        warm_server.server(settings_in(str(DOCS))) as address,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv(warm_server.ADDRESS, address)
        yield


@pytest.fixture
def with_second_device(
    warm: None, monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, NotebookNode]], dict[str, str]]:
    """Return a function that runs pages where there are two devices, and says what failed, by page."""
    simulated = (ROOT / "tests/harness/second_device.py").read_text(encoding="utf-8")
    monkeypatch.setenv("LITERATE_DEVICE", "cpu:1")

    def run(pages: dict[str, NotebookNode]) -> dict[str, str]:
        for page in pages.values():
            page.cells.insert(0, new_code_cell(simulated))
        done = notebook_runner.execute(
            pages,
            dict.fromkeys(pages, str(DOCS)),
            settings_in(str(DOCS)),
            timeout=120,
        )
        failures = {name: execution.failure for name, execution in done.items()}
        return {name: failure[1] for name, failure in failures.items() if failure}

    return run


def test_pages_run_on_another_device(
    with_second_device: Callable[[dict[str, NotebookNode]], dict[str, str]],
) -> None:
    """A CPU-only assumption is caught without a GPU: no cell takes all tensors to be on one device."""
    pages = {
        page.stem: code_only(parse(page.read_text("utf-8"), MdParserConfig(), str(page)))
        for page in Book(ROOT).pages
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
        "moved to another that is there": "inputs + torch.eye(6, 3).to(toy_embeddings())",
        "in place": "toy_embeddings().add_(inputs)",
    }
    pages = {
        name: new_notebook(cells=[new_code_cell(start + code)]) for name, code in codes.items()
    }
    assert with_second_device(pages).keys() == codes.keys()
    moved = """
module = CausalAttention(3, 2, 6, 0.5).to(inputs.device)
module(inputs) + torch.ones(6, 2, device=inputs.device)
torch.eye(6).to(inputs) @ inputs + torch.eye(6, 3, dtype=torch.float64).to(inputs)
inputs.to(inputs.device, torch.float64) + inputs
inputs.cpu().numpy(), inputs.cpu() + toy_embeddings(), inputs.sum() * torch.tensor(2.0)
"""
    assert with_second_device({"moved": new_notebook(cells=[new_code_cell(start + moved)])}) == {}
