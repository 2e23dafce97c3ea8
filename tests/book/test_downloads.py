"""The notebooks of this book, executed elsewhere, give exactly what the site shows.

Every page is executed a second time here: far from the repository, with the package from its wheel, and, if
it picks a device, on another one than the CPU, even where there is none (see `harness.second_device`). Not a
letter and not a line of a picture may differ. So it is here that two executions are proved to give the same,
that no notebook needs the repository, and that no cell takes all tensors to be on one device. What a page
shows of the repository's files, and what it glues into sentences, `test_whole_book.py` executes twice.
"""

import asyncio
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from executable_book.publish.notebook_cells import ANSWER
from harness.paths import DOCS, ROOT, SECOND_DEVICE
from harness.whole_book import BESIDE_THE_PAGES
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from executable_book.run.kernels import notebook_runner, warm_server
from executable_book.run.kernels.kernel_settings import KernelSettings
from executable_book.run.kernels.kernel_startup import VALUES
from executable_book.run.page_execution import code_cells
from literate_attention import pick_device

pytestmark = pytest.mark.whole

WITH_SOLUTIONS = "_with_solutions"
PLAIN = "story/causal_attention_with_solutions"
SOURCES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for path in DOCS.rglob("*.md")
    if "_build" not in path.parts
}
PAGES = sorted(page for page, source in SOURCES.items() if "kernelspec:" in source)


@pytest.fixture(scope="module")
def published(site: Path) -> dict[str, NotebookNode]:
    """Return the book's notebooks."""
    paths = {
        name: site / "notebooks" / f"{name}.ipynb"
        for page in PAGES
        for name in (page, page + WITH_SOLUTIONS)
    }
    return {
        name: nbformat.read(path, as_version=4) for name, path in paths.items() if path.exists()
    }


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder that holds what the wheel holds, and nothing else."""
    folder = tmp_path_factory.mktemp("packages")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    for wheel in folder.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder)
    return str(folder)


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder far from the repository."""
    return str(tmp_path_factory.mktemp("away"))


@pytest.fixture(scope="module")
def executed(
    published: dict[str, NotebookNode], package: str, away: str
) -> dict[str, NotebookNode]:
    """Execute notebooks, in forks of a kernel that has imported what takes long, and nothing else.

    One that leaves nothing out but the last cells of another is not executed: no cell sees what comes below.
    Those that pick a device have two; but where the site was computed on a GPU, they have that one.
    """
    notebooks = {
        name: to_execute(notebook)
        for name, notebook in published.items()
        if name + WITH_SOLUTIONS not in published or not ends_in_answers(notebook)
    }
    picking = [one for one in notebooks.values() if picks_a_device(one)]
    assert len(picking) > 10
    two_devices = picking if pick_device().type == "cpu" else []
    for one in two_devices:
        one.cells.insert(0, new_code_cell(SECOND_DEVICE.read_text(encoding="utf-8")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([package, str(ROOT / "src")]))
        settings = KernelSettings(preload=("torch", "matplotlib.pyplot"))
        folders = dict.fromkeys(notebooks, away)
        with notebook_runner.executing(notebooks, folders, settings, timeout=300) as finished:
            executions = dict(finished)
    assert {name: one.failure for name, one in executions.items() if one.failure} == {}
    for one in two_devices:
        one.cells.pop(0)
    for notebook in notebooks.values():
        assert package in notebook.cells.pop().outputs[0].data["text/plain"]
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


def picks_a_device(notebook: NotebookNode) -> bool:
    """Tell whether a notebook picks a device; the others compute on the CPU, whatever there is."""
    return any("pick_device" in cell.source for cell in code_cells(notebook))


def ends_in_answers(notebook: NotebookNode) -> bool:
    """Tell whether there is nothing to execute below the first room for an answer."""
    sources = [cell.source for cell in code_cells(notebook)]
    first = sources.index(ANSWER)
    return sources[first:] == [ANSWER] * (len(sources) - first)


def shown(cell: NotebookNode) -> list[Any]:
    """Return all that a cell shows, without what it leaves behind for the build."""
    return [
        (output.ename, output.evalue)
        if output.output_type == "error"
        else (output.get("text"), output.get("data"), output.get("metadata"))
        for output in cell.outputs
        if not {"scrapbook", VALUES} & {*output.get("metadata", {}), *output.get("data", {})}
    ]


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
    ran = executed[name] if name in executed else executed[page + WITH_SOLUTIONS]
    compared = 0
    for before, after in zip(code_cells(published[name]), code_cells(ran), strict=True):
        if before.source == ANSWER and name not in executed:
            break
        assert before.source == after.source
        compared += 1
        if "nondeterministic" not in before.metadata or BESIDE_THE_PAGES not in SOURCES[page]:
            assert shown(after) == shown(before), before.source
    assert compared


def test_a_notebook_runs_as_jupyter_runs_it(
    published: dict[str, NotebookNode], package: str, away: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a kernel that has imported nothing, with the one device that there is."""
    monkeypatch.setenv("PYTHONPATH", package)
    notebook = to_execute(published[PLAIN])
    resources = {"metadata": {"path": away}}
    client = NotebookClient(notebook, timeout=300, resources=resources, coalesce_streams=True)
    asyncio.run(client.async_execute(env=warm_server.environment()))
    assert package in notebook.cells.pop().outputs[0].data["text/plain"]
    found, wanted = (map(shown, code_cells(one)) for one in (notebook, published[PLAIN]))
    assert list(found) == list(wanted)
