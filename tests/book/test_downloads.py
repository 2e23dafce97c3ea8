"""The notebooks of this book, executed elsewhere, give what the site shows."""

import asyncio
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from harness.places import DOCS, ROOT
from harness.whole_book import copied
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from executable_book.check.printed_values import eps_for
from executable_book.check.recorded_outputs import Record, compare
from executable_book.run.kernels import notebook_runner, warm_server
from executable_book.run.kernels.kernel_settings import KernelSettings
from literate_attention import pick_device

pytestmark = pytest.mark.whole

WITH_SOLUTIONS = "_with_solutions"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NotebookNode]:
    """Build this book, and return its notebooks."""
    book = copied(tmp_path_factory.mktemp("downloads") / "book", with_executions=True)
    build = book.build()
    assert build.status == 0, build.said
    folder = book.root / "docs/_build/html/notebooks"
    return {
        path.relative_to(folder).with_suffix("").as_posix(): nbformat.read(path, as_version=4)
        for path in sorted(folder.rglob("*.ipynb"))
    }


@pytest.fixture(scope="module")
def executed(
    published: dict[str, NotebookNode], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, NotebookNode]:
    """Execute all notebooks far from the repository, with the package from its wheel.

    Each page runs in a kernel that has imported nothing. Its notebook without solutions, which only leaves
    cells out, runs in a fork of one that has, which is quicker.
    """
    packages, away = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("away")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(packages)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    for wheel in packages.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(packages)
    notebooks = {name: to_execute(notebook) for name, notebook in published.items()}
    fewer_cells = {name for name in notebooks if name + WITH_SOLUTIONS in notebooks}
    plain = [notebook for name, notebook in notebooks.items() if name not in fewer_cells]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(packages))
        asyncio.run(execute_all(plain, away))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(packages), str(ROOT / "src")]))
        forks = notebook_runner.execute(
            {name: notebooks[name] for name in fewer_cells},
            dict.fromkeys(fewer_cells, str(away)),
            KernelSettings(preload=("torch", "matplotlib.pyplot")),
            timeout=300,
        )
    failures = {name: one.failure for name, one in forks.items() if one.failure}
    assert failures == {}
    for notebook in notebooks.values():
        assert str(packages) in notebook.cells.pop().outputs[0].data["text/plain"]
    return notebooks


def to_execute(published: NotebookNode) -> NotebookNode:
    """Return a notebook without outputs, and with a last cell that tells whose package it used."""
    notebook = nbformat.from_dict(published)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    # The first cell would need a network. `test_notebooks.py` has seen it at work.
    notebook.cells[0].metadata["tags"] = ["skip-execution"]
    where = new_code_cell("import literate_attention\nliterate_attention.__file__")
    notebook.cells.append(where)
    return notebook


async def execute_all(notebooks: list[NotebookNode], folder: Path) -> None:
    """Execute notebooks as Jupyter does, as many at a time as there are cores."""
    places = asyncio.Semaphore(warm_server.worker_count())

    async def execute(notebook: NotebookNode) -> None:
        settings = {"timeout": 300, "resources": {"metadata": {"path": str(folder)}}}
        async with places:
            client = NotebookClient(notebook, **settings)
            await client.async_execute(env=warm_server.environment())

    await asyncio.gather(*map(execute, notebooks))


def text_outputs(cell: NotebookNode) -> str:
    texts = (
        output.get("text") or output.get("evalue") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    )
    return "".join(texts)


def pictures(cell: NotebookNode) -> list[str]:
    return [
        picture
        for output in cell.outputs
        if (picture := output.get("data", {}).get("image/svg+xml"))
    ]


SOURCES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for path in DOCS.rglob("*.md")
    if "_build" not in path.parts
}
PAGES = sorted(page for page, source in SOURCES.items() if "kernelspec:" in source)


@pytest.mark.parametrize("solutions", ["", WITH_SOLUTIONS], ids=["students", "instructors"])
@pytest.mark.parametrize("page", PAGES)
def test_a_downloaded_notebook_gives_what_the_site_shows(
    page: str, solutions: str, published: dict[str, NotebookNode], executed: dict[str, NotebookNode]
) -> None:
    name = page + solutions
    if name not in published:
        assert solutions
        assert "solution-start" not in SOURCES[page]
        return
    eps = eps_for(pick_device().type)
    for before, after in zip(published[name].cells, executed[name].cells, strict=True):
        if before.cell_type == "code" and "nondeterministic" not in before.metadata:
            got = Record("", 0, text_outputs(after), [])
            assert not compare(text_outputs(before), got, eps), before.source
            assert pictures(after) == pictures(before), before.source
