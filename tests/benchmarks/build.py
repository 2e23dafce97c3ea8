"""How long the book takes to build: beside stock MyST-NB, after edits, and with up to 200 pages."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.live_server import serving
from measuring.circumstances import ROOT
from measuring.timing import Times, interleaved, ratios, spread

from executable_book.check.status_table import MEASURED as PAGE_TIME

QUESTION = "How long does it take to build the book, beside stock MyST-NB and nbsphinx?"
METHOD = """
Every build is a process of its own, in a copy of the repository. The book is built with the same
settings, pages and extensions by both sides, but for what executes: ours, or MyST-NB alone in its
mode `force`, which is one page after the other. What stands on our execution (the archive) is left
out of both. MyST-NB does not merge streams here: the notebooks that it leaves would
hold some pieces twice. Cold means that nothing is there but the pages. Both ran in turns.
The generated pages each import torch and the library, print a tensor, and draw one figure.
"""
PACKAGES = ("sphinx", "myst-nb", "sphinx-book-theme", "ipykernel", "nbsphinx")
PAGES_OF_EXECUTION = ("trust/status",)
EMPTY_PAGE = "---\nmyst:\n  html_meta:\n    description: Left out.\n---\n\n# Left out\n"
ROUNDS, ROUNDS_COLD = 5, 2
ROUNDS_PAGES = 3
ROUNDS_UNCHANGED = 15
"""Two builds of two seconds differ by a tenth, by chance; a twentieth is to be seen."""
PAGES = (1, 10, 50, 100, 200)
MOST_PAGES_OF_OTHERS = 10
TARGETS = {
    "cold build, as a share of stock MyST-NB's": 0.35,
    "build after no change, as a share of Sphinx with execution off": 1.05,
    "pages executed after an edit of prose": 0,
    "pages executed after an edit of one page's code": 1,
    "outputs that are not those of stock MyST-NB": 0,
    "seconds from saving a cell to its output, served live": 2.0,
    "cost of a page beyond 100, as a share of that of one before": 1.2,
}
EDITED = "story/summary"
DRAWING = "image/svg+xml"


@dataclass(frozen=True)
class Project:
    """A folder with pages, and where they are built."""

    docs: Path

    @property
    def built(self) -> Path:
        return self.docs / "_build"

    @property
    def html(self) -> Path:
        return self.built / "html"

    def build(self) -> str:
        """Build, and return what was said."""
        command = sphinx(self.docs, self.html)
        result = subprocess.run(command, capture_output=True, text=True, env=environment())
        if result.returncode:
            raise RuntimeError(f"the build failed:\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def build_cold(self) -> str:
        """Build with nothing left of an earlier build."""
        shutil.rmtree(self.built, ignore_errors=True)
        return self.build()


def sphinx(docs: Path, html: Path) -> list[str]:
    """Return the command that builds a folder of pages."""
    options = ("-b", "html", "-d", str(html.with_name("doctrees")))
    return [sys.executable, "-m", "sphinx", *options, str(docs), str(html)]


def environment() -> dict[str, str]:
    """Return this process's environment, with pandoc within reach of nbsphinx."""
    try:
        import pypandoc
    except ModuleNotFoundError:
        return dict(os.environ)
    pandoc = Path(pypandoc.get_pandoc_path()).parent
    return {**os.environ, "PATH": f"{os.environ['PATH']}{os.pathsep}{pandoc}"}


def measure() -> dict[str, Any]:
    """Measure all."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        results = [*the_book(Path(folder)), *generated_pages(Path(folder))]
    return {
        "name": "build",
        "question": QUESTION,
        "method": METHOD,
        "packages": PACKAGES,
        "results": results,
        "targets": [
            {
                "target": row["measured"],
                "where": row["where"],
                "measured": row["value"],
                "most": TARGETS[row["measured"]],
                "met": row["value"] <= TARGETS[row["measured"]],
            }
            for row in results
            if row["measured"] in TARGETS
        ],
    }


# The book


def the_book(folder: Path) -> Iterator[dict[str, Any]]:
    """Build the book cold, after no change, and after edits."""
    whole = Project(copy_of_the_book(folder / "whole"))
    ours = like_for_like(folder / "ours", "")
    stock = like_for_like(
        folder / "stock",
        "book_execute = nb_merge_streams = False\n"
        "nb_execution_mode = 'force'\nnb_execution_timeout = 600",
    )
    # Cells that draw nothing make no figures to refer to; and who is warned of that reads every page again.
    off = like_for_like(
        folder / "off", "book_execute = False\nsuppress_warnings = ['ref.numref', 'ref.ref']"
    )

    said: list[str] = []
    cold = {
        "ours": ours.build_cold,
        "stock MyST-NB": stock.build_cold,
        "whole": lambda: said.append(whole.build_cold()),
    }
    times = interleaved(cold, rounds=ROUNDS_COLD, warm_up=0, named="the book, cold")
    yield from seconds("the book, cold", times)
    yield from run_times(said)
    yield value(
        "cold build, as a share of stock MyST-NB's",
        ratios(times["ours"], times["stock MyST-NB"]),
    )
    compared, differing = compare_outputs(ours, stock)
    yield counted("cells whose outputs were compared", compared)
    yield counted("outputs that are not those of stock MyST-NB", differing)

    unchanged = {"ours": ours.build, "execution off": off.build, "whole": whole.build}
    times = interleaved(unchanged, rounds=ROUNDS_UNCHANGED, named="the book, nothing changed")
    yield from seconds("the book, nothing changed", times)
    yield value(
        "build after no change, as a share of Sphinx with execution off",
        ratios(times["ours"], times["execution off"]),
    )

    page = whole.docs / f"{EDITED}.md"
    for what, edit in {
        "an edit of prose": partial(append, page, "One more sentence.\n"),
        "an edit of one page's code": partial(replace, page, "import torch\n", "import torch\n\n"),
    }.items():
        said = []

        def build_edited(edit: Callable[[], None] = edit, said: list[str] = said) -> None:
            edit()
            said.append(whole.build())

        edited = {"whole": build_edited}
        times = interleaved(edited, rounds=ROUNDS_COLD, warm_up=0, named=what)
        yield from seconds(f"the book, {what}", times)
        executed = [len(re.findall(r"^executed ", one, re.MULTILINE)) for one in said]
        yield value(f"pages executed after {what}", executed)

    yield value("seconds from saving a cell to its output, served live", live(whole))


def run_times(said: list[str]) -> Iterator[dict[str, Any]]:
    """Report how long each page's cells took, by what several builds said."""
    times: dict[str, list[float]] = {}
    for page, took in re.findall(r"^executed (\S+) +in (\S+) s", "\n".join(said), re.MULTILINE):
        times.setdefault(page, []).append(float(took))
    for page, values in sorted(times.items()):
        yield {"measured": PAGE_TIME, "where": page, "seconds": spread(values)}


def copy_of_the_book(folder: Path) -> Path:
    """Copy what a build reads, and return the folder with the pages."""
    for name in ("docs", "src", ".ci", "tests"):
        ignored = shutil.ignore_patterns("_build", "__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "noxfile.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder / "docs"


def like_for_like(folder: Path, settings: str) -> Project:
    """Copy the book with other settings, and without what stands on our execution."""
    docs = copy_of_the_book(folder)
    (docs / "conf.py").rename(docs / "conf_of_the_book.py")
    (docs / "conf.py").write_text(
        "from pathlib import Path\n"
        "exec(Path(__file__).with_name('conf_of_the_book.py').read_text())\n"
        "book_archive = False\n"
        f"{settings}\n"
    )
    for name in PAGES_OF_EXECUTION:
        (docs / f"{name}.md").write_text(EMPTY_PAGE)
    return Project(docs)


def compare_outputs(ours: Project, stock: Project) -> tuple[int, int]:
    """Count the cells that print or draw, and those that differ, but for what cannot be the same twice."""
    compared = differing = 0
    by_code = {
        tuple(map(source, notebook["cells"])): notebook
        for notebook in notebooks(ours.built / "executions")
    }
    for notebook in notebooks(stock.built / "jupyter_execute"):
        cells = [one for one in notebook["cells"] if one["cell_type"] == "code"]
        twins = by_code[tuple(map(source, cells))]["cells"]
        for cell, twin in zip(cells, twins, strict=True):
            if "nondeterministic" not in cell["metadata"]:
                compared += bool(shown(cell) or shown(twin))
                differing += shown(cell) != shown(twin)
    return compared, differing


def notebooks(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the notebooks below a folder."""
    for path in folder.rglob("*.ipynb"):
        yield json.loads(path.read_text())


def source(cell: dict[str, Any]) -> str:
    """Return a cell's code."""
    return "".join(cell["source"])


def shown(cell: dict[str, Any]) -> str:
    """Return what a cell printed, drew and raised: in how many pieces it came is chance."""
    return "".join("".join(content(output)) for output in cell["outputs"])


def content(output: dict[str, Any]) -> str | list[str]:
    """Return an output as text."""
    match output["output_type"]:
        case "stream":
            text: str | list[str] = output["text"]
        case "error":
            text = f"{output['ename']}: {output['evalue']}"
        case _:
            text = output["data"].get(DRAWING, "")
    return text


def append(page: Path, text: str) -> None:
    """Add a paragraph to a page."""
    page.write_text(page.read_text() + f"\n{text}")


def replace(page: Path, old: str, new: str) -> None:
    """Change a page at one place."""
    page.write_text(page.read_text().replace(old, new, 1))


def live(project: Project) -> list[float]:
    """Return how many seconds after saving a cell a browser was told to load it, several times."""
    page, html = project.docs / f"{EDITED}.md", project.html / f"{EDITED}.html"
    waits = []
    with serving(project.docs) as (browser, _):
        for number in range(ROUNDS):
            time.sleep(3)  # an author reads, then saves
            start = time.perf_counter()
            replace(page, "import torch\n", f"import torch\n\nprint('seen', {number})\n")
            browser.recv(timeout=60)
            waits.append(time.perf_counter() - start)
            if f"seen {number}" not in html.read_text():
                raise RuntimeError("a browser was told to load a page that was not new")
    return waits


# Generated pages

PAGE = """---
file_format: mystnb
kernelspec:
  name: python3
---

# Page {number}

```{{code-cell}} python
import torch

from literate_attention import dot_product_attention, toy_embeddings

context, weights = dot_product_attention(toy_embeddings(), need_weights=True)
print(context * {number})
```

```{{code-cell}} python
import matplotlib.pyplot as plt

plt.plot(weights[{number} % 6])
plt.show()
```
"""
WRITERS = {
    "ours": "extensions = ['executable_book']\nnb_execution_mode = 'off'\n"
    "book_archive = book_cut_assets = False\n"
    "book_kernel_preload = ['matplotlib.pyplot', 'torch']\n",
    "stock MyST-NB": "extensions = ['myst_nb']\nnb_execution_mode = 'force'\n",
    "nbsphinx": "extensions = ['nbsphinx']\nnbsphinx_execute = 'always'\n",
}


def generated_pages(folder: Path) -> Iterator[dict[str, Any]]:
    """Build more and more pages, cold."""
    projects = {
        (count, name): pages(folder / f"{count}-{number}", name, count)
        for count in PAGES
        for number, name in enumerate(WRITERS)
        if name == "ours" or count <= MOST_PAGES_OF_OTHERS
    }
    builds = {f"{count} {name}": project.build_cold for (count, name), project in projects.items()}
    times = interleaved(builds, rounds=ROUNDS_PAGES, warm_up=0, named="generated pages")
    for count, name in projects:
        where = f"{count} generated pages, cold"
        for row in seconds(where, {name: times[f"{count} {name}"]}):
            yield {**row, "pages": count}
    ours = {count: times[f"{count} ours"] for count in PAGES}
    beyond, before = per_page(ours, 100, 200), per_page(ours, 1, 100)
    yield value(
        "cost of a page beyond 100, as a share of that of one before",
        ratios(beyond, before),
        where="generated pages",
    )


def pages(folder: Path, name: str, count: int) -> Project:
    """Write pages, and the settings to build them with."""
    docs = folder / "docs"
    docs.mkdir(parents=True)
    conf = "html_theme = 'basic'\n"
    (docs / "conf.py").write_text(conf + WRITERS[name])
    (docs / "index.rst").write_text("Index\n=====\n\n.. toctree::\n   :glob:\n\n   page*\n")
    for number in range(1, count + 1):
        text = PAGE.format(number=number)
        if name == "nbsphinx":
            (docs / f"page{number}.ipynb").write_text(json.dumps(as_notebook(text)))
        else:
            (docs / f"page{number}.md").write_text(text)
    return Project(docs)


def as_notebook(page: str) -> dict[str, Any]:
    """Write a generated page as a notebook."""
    title = {"cell_type": "markdown", "metadata": {}, "source": page.split("\n\n")[1]}
    codes = re.findall(r"```{code-cell} python\n(.*?)\n```", page, re.DOTALL)
    cells = [
        {
            "cell_type": "code",
            "metadata": {},
            "source": code,
            "outputs": [],
            "execution_count": None,
        }
        for code in codes
    ]
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"cells": [title, *cells], "metadata": about, "nbformat": 4, "nbformat_minor": 4}


def per_page(times: dict[int, list[float]], few: int, many: int) -> list[float]:
    """Return how many seconds each page took between two numbers of pages, round by round."""
    return [
        (longer - shorter) / (many - few)
        for shorter, longer in zip(times[few], times[many], strict=True)
    ]


# Results


def seconds(where: str, times: Times) -> Iterator[dict[str, Any]]:
    """Report how long builds took."""
    for name, values in times.items():
        yield {"measured": "seconds", "where": where, "contender": name, "seconds": spread(values)}


def counted(measured: str, number: int) -> dict[str, Any]:
    """Report what was counted."""
    return {"measured": measured, "where": "the book", "value": number}


def value(measured: str, values: list[float], *, where: str = "the book") -> dict[str, Any]:
    """Report a median and what it stands for."""
    summary = spread(values)
    return {"measured": measured, "where": where, "value": summary["median"], **summary}
