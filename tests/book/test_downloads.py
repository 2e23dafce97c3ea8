"""The notebooks of this book run where a reader has the wheel and Jupyter alone, and say what the book says.

Every notebook is executed here a second time: in a fresh environment, far from the repository, from its first
cell on, which installs what the page needs; only this package comes from the wheel. Not a letter and not a
line of a picture may differ. Those with solutions that pick a device have another one than the CPU, even
where there is none (see `harness.second_device`), so that no cell can take all tensors to be on one device.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
import pytest
from harness.paths import DOCS, ROOT, SECOND_DEVICE
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from literate_attention import pick_device

pytestmark = pytest.mark.whole

WITH_SOLUTIONS = "_with_solutions"
ALONE = ("PYTHONPATH", "PYTHONHOME", "LITERATE_DEVICE")
"""What would let a kernel see more than its environment has."""
SOURCES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for path in DOCS.rglob("*.md")
    if "_build" not in path.parts
}
NOTEBOOKS = sorted(
    name
    for page, source in SOURCES.items()
    if "kernelspec:" in source
    for name in (page, page + WITH_SOLUTIONS)
    if name == page or "solution-start" in source
)


@pytest.fixture(scope="module")
def published(site: Path) -> dict[str, NotebookNode]:
    """Return the book's notebooks."""
    folder = site / "notebooks"
    paths = {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in folder.rglob("*.ipynb")
    }
    assert sorted(paths) == NOTEBOOKS
    return {name: nbformat.read(path, as_version=4) for name, path in paths.items()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this package."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment that has the wheel and Jupyter alone, as new as the site's."""
    folder = tmp_path_factory.mktemp("environment")
    lock = (ROOT / ".ci/requirements.txt").read_text(encoding="utf-8")
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(re.findall(r"^[\w.-]+==[^\\\n]+", lock, re.MULTILINE)))
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    scripts = folder / "venv/bin"
    torch = f"torch=={metadata.version('torch').partition('+')[0]}"
    install = [scripts / "pip", "install", "--quiet", "-c", constraints]
    subprocess.run([*install, wheel, torch, "nbclient", "ipykernel"], check=True)
    return scripts


@pytest.fixture(scope="module")
def executed(
    published: dict[str, NotebookNode],
    wheel: Path,
    scripts: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, NotebookNode]:
    """Execute all notebooks; those that install something of their own come last, one after another."""
    folder = tmp_path_factory.mktemp("downloads")

    def execute(name: str) -> NotebookNode:
        notebook = as_downloaded(published[name], wheel)
        on_second_device = name.endswith(WITH_SOLUTIONS) and picks_a_device(notebook)
        if on_second_device and pick_device().type == "cpu":
            notebook.cells.insert(0, new_code_cell(SECOND_DEVICE.read_text(encoding="utf-8")))
        path = folder / f"{name.replace('/', '-')}.ipynb"
        nbformat.write(notebook, path)
        command = [scripts / "jupyter-execute", "--inplace", "--timeout=300", path]
        environment = {key: value for key, value in os.environ.items() if key not in ALONE}
        environment["PATH"] = f"{scripts}{os.pathsep}{environment['PATH']}"
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, f"{name}: {ran.stderr[-3000:]}"
        ended = nbformat.read(path, as_version=4)
        ended.cells = ended.cells[len(ended.cells) - len(published[name].cells) :]
        return ended

    last = [name for name in NOTEBOOKS if published[name].cells[0].source.count("%pip") > 1]
    first = [name for name in NOTEBOOKS if name not in last]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ended = dict(zip(first, pool.map(execute, first), strict=True))
    return ended | {name: execute(name) for name in last}


def as_downloaded(published: NotebookNode, wheel: Path) -> NotebookNode:
    """Return a notebook without outputs, whose first cell installs the wheel, and not from the repository."""
    notebook = nbformat.from_dict(published)
    for cell in code_cells(notebook):
        cell.outputs = []
    first = notebook.cells[0]
    first.source, found = re.subn('"literate-attention[^"]*"', f'"{wheel}"', first.source)
    assert found == 1
    return notebook


def picks_a_device(notebook: NotebookNode) -> bool:
    """Tell whether a notebook picks a device; the others compute on the CPU, whatever there is."""
    return any("pick_device" in cell.source for cell in code_cells(notebook))


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cells: Iterable[NotebookNode]) -> list[Any]:
    """Return all that cells show: what they print, and what they display or raise."""
    return [
        [
            "".join(one.text for one in cell.outputs if one.output_type == "stream"),
            *(
                (one.get("ename"), one.get("evalue"), one.get("data"), one.get("metadata"))
                for one in cell.outputs
                if one.output_type != "stream"
            ),
        ]
        for cell in cells
    ]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_downloaded_notebook_gives_what_the_site_shows(
    name: str, published: dict[str, NotebookNode], executed: dict[str, NotebookNode]
) -> None:
    before, after = code_cells(published[name])[1:], code_cells(executed[name])[1:]
    assert [cell.source for cell in before] == [cell.source for cell in after]
    for ours, theirs in zip(before, after, strict=True):
        assert shown([theirs]) == shown([ours]), ours.source
