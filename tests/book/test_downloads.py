"""The notebooks of this book run where a reader has the wheel and Jupyter alone, and say what the book says.

Every notebook is executed here a second time: in a fresh environment, far from the repository, after what its
first cell installs; only this package comes from the wheel. Not a letter and not a line of a picture may
differ. A notebook for students that is the beginning of the one with solutions is executed as such. Those
with solutions that pick a device have another one than the CPU, even where there is none (see
`harness.second_device`), so that no cell can take all tensors to be on one device.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from subprocess import PIPE

import nbformat
import pytest
from harness.paths import DOCS, ROOT, SECOND_DEVICE
from nbformat.v4 import new_code_cell, new_notebook

from executable_book.publish.notebooks import WITH_SOLUTIONS
from executable_book.publish.plain_markdown import ANSWER
from literate_attention import pick_device

SECOND = SECOND_DEVICE.read_text(encoding="utf-8")
IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
OURS = {"literate_attention"}
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
def published(site):
    """Return the book's notebooks."""
    folder = site / "notebooks"
    paths = {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in folder.rglob("*.ipynb")
    }
    assert sorted(paths) == NOTEBOOKS
    return {name: nbformat.read(path, as_version=4) for name, path in paths.items()}


@pytest.fixture(scope="module")
def scripts(wheel, tmp_path_factory):
    """Return the programs of an environment that has the wheel and Jupyter alone, as new as the site's."""
    folder = tmp_path_factory.mktemp("environment")
    lock = (ROOT / ".ci/requirements.txt").read_text(encoding="utf-8")
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(re.findall(r"^[\w.-]+==[^\\\n]+", lock, re.MULTILINE)))
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    scripts = folder / "venv/bin"
    torch = f"torch=={metadata.version('torch').partition('+')[0]}"
    install = [scripts / "pip", "install", "--quiet", "--no-compile", "-c", constraints]
    subprocess.run([*install, wheel, torch, "nbclient", "ipykernel"], check=True)
    return scripts


@pytest.fixture(scope="module")
def executed(published, wheel, scripts, tmp_path_factory):
    """Return the executed cells of all notebooks; those that install the least come first."""
    folder = tmp_path_factory.mktemp("downloads")
    variables = {key: value for key, value in os.environ.items() if key not in ALONE}
    variables["PATH"] = f"{scripts}{os.pathsep}{variables['PATH']}"
    # threads that wait leave the processors to other notebooks
    variables["OMP_WAIT_POLICY"] = "passive"
    whole = {name: whole_of(name, published) for name in NOTEBOOKS}
    paths = {name: folder / f"{name.replace('/', '-')}.ipynb" for name in whole.values()}
    first = folder / "first.ipynb"
    for name, path in paths.items():
        nbformat.write(after_the_first_cell(name, published[name]), path)

    def execute(notebooks) -> None:
        patient = ("--startup_timeout=3600", "--timeout=3600")  # a busy machine is no fault
        command = ["jupyter-execute", "--inplace", *patient, *notebooks]
        ran = subprocess.run(command, cwd=folder, env=variables, stderr=PIPE, text=True)
        assert ran.returncode == 0, ran.stderr[-3000:]

    installs = {name: installing(published[name], wheel) for name in paths}
    at_once = os.cpu_count() or 1
    for lines in sorted(set(installs.values()), key=len):
        nbformat.write(new_notebook(cells=[new_code_cell(lines)]), first)
        execute([first])
        assert not [*folder.glob("=*")], "without quotes, a version is where a shell writes to"
        chosen = [path for name, path in paths.items() if installs[name] == lines]
        with ThreadPoolExecutor(at_once) as pool:
            shares = filter(None, (chosen[start::at_once] for start in range(at_once)))
            list(pool.map(execute, shares))
    ran = {name: to_run(nbformat.read(path, as_version=4)) for name, path in paths.items()}
    return {name: [one for one in ran[whole[name]] if one.source != SECOND] for name in NOTEBOOKS}


def whole_of(name, published):
    """Return the notebook of which one is the beginning, with what it installs, or the notebook itself."""
    longer = name + WITH_SOLUTIONS
    if longer not in published:
        return name
    beginning = [cell.source for cell in to_run(published[name])]
    sources = [cell.source for cell in code_cells(published[longer])]
    return longer if sources[: len(beginning)] == beginning else name


def to_run(notebook):
    """Return the code cells of a notebook, but those for a reader's answers."""
    return [cell for cell in code_cells(notebook) if cell.source != ANSWER]


def installing(published, wheel):
    """Return what the first cell of a notebook installs, but the wheel, not what is in the repository."""
    lines = re.findall(r"^%pip .*", published.cells[0].source, re.MULTILINE)
    changed, found = re.subn('"literate-attention[^"]*"', f'"{wheel}"', "\n".join(lines))
    assert found == 1
    return changed


def after_the_first_cell(name, published):
    """Return a notebook without outputs, and without its first cell; some have a second device instead."""
    notebook = nbformat.from_dict(published)
    del notebook.cells[0]
    for cell in code_cells(notebook):
        cell.outputs = []
    picks = any("pick_device" in cell.source for cell in code_cells(notebook))
    if name.endswith(WITH_SOLUTIONS) and picks and pick_device().type == "cpu":
        notebook.cells.insert(0, new_code_cell(SECOND))
    return notebook


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cells):
    """Return all that cells show: what they print, and what they display or raise, but text of the page."""
    return [
        [
            "".join(one.text for one in cell.outputs if one.output_type == "stream"),
            *(
                (one.get("ename"), one.get("evalue"), one.get("data"), one.get("metadata"))
                for one in cell.outputs
                if one.output_type != "stream" and "text/markdown" not in one.get("data", ())
            ),
        ]
        for cell in cells
    ]


@pytest.mark.whole
def test_notebooks_import_and_read_nothing_that_they_do_not_bring(published) -> None:
    """To run them all takes minutes, and is proof; what a reader would miss first is seen without."""
    distributions = metadata.packages_distributions()
    needed = " ".join(metadata.requires("literate-attention") or ())
    for name, notebook in published.items():
        first, *others = [cell.source for cell in code_cells(notebook)]
        installed = " ".join(re.findall(r"^%pip.*", first, re.MULTILINE))
        brought = {*re.findall(r"[a-z][\w-]+", f"ipython {needed} {installed}")}
        for code in others:
            assert "../" not in code, (name, code)
            for module in {*IMPORT.findall(code)} - sys.stdlib_module_names - OURS:
                assert brought & {one.lower() for one in distributions[module]}, (name, module)


@pytest.mark.seeds
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_downloaded_notebook_gives_what_the_site_shows(name, published, executed) -> None:
    before = to_run(published[name])[1:]
    after = executed[name][: len(before)]
    assert [cell.source for cell in before] == [cell.source for cell in after]
    for ours, theirs in zip(before, after, strict=True):
        reason = ours.metadata.get("nondeterministic", "")
        if not any(differs in reason for differs in ("other pages", "a speed")):  # it is alone
            assert shown([theirs]) == shown([ours]), ours.source
