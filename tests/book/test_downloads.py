"""The notebooks of this book, executed elsewhere, give what the site shows."""

import asyncio
import os
import subprocess
import sys
import zipfile

import nbformat
import pytest
from harness.places import DOCS, ROOT
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from executable_book.check.printed_values import eps_for
from executable_book.check.recorded_outputs import Record, compare
from executable_book.run.kernels import warm_server
from literate_attention import pick_device

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NotebookNode]:
    """Build this book, and return its notebooks."""
    out = tmp_path_factory.mktemp("book")
    sphinx = [sys.executable, "-m", "sphinx", "-b", "html", "--quiet", "-d", out / "doctrees"]
    subprocess.run([*sphinx, ROOT / "docs", out / "html"], check=True)
    folder = out / "html" / "notebooks"
    return {
        path.relative_to(folder).with_suffix("").as_posix(): nbformat.read(path, as_version=4)
        for path in sorted(folder.rglob("*.ipynb"))
    }


@pytest.fixture(scope="module")
def executed(
    published: dict[str, NotebookNode], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, NotebookNode]:
    """Execute all notebooks far from the repository, in plain kernels, with the package from its wheel."""
    packages, away = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("away")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(packages)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    for wheel in packages.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(packages)
    environment = {**os.environ, **warm_server.environment(), "PYTHONPATH": str(packages)}
    places = asyncio.Semaphore(os.cpu_count() or 1)
    where = new_code_cell("import literate_attention\nliterate_attention.__file__")

    async def execute(notebook: NotebookNode) -> NotebookNode:
        notebook = nbformat.from_dict(notebook)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = []
        # The first cell would need a network. A test above has seen it at work.
        notebook.cells[0].metadata["tags"] = ["skip-execution"]
        notebook.cells.append(nbformat.from_dict(where))
        settings = {"timeout": 300, "resources": {"metadata": {"path": str(away)}}}
        async with places:
            await NotebookClient(notebook, **settings).async_execute(env=environment)
        assert str(packages) in notebook.cells.pop().outputs[0].data["text/plain"]
        return notebook

    async def execute_all() -> list[NotebookNode]:
        return await asyncio.gather(*map(execute, published.values()))

    return dict(zip(published, asyncio.run(execute_all()), strict=True))


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


@pytest.mark.parametrize("solutions", ["", "_with_solutions"], ids=["students", "instructors"])
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
