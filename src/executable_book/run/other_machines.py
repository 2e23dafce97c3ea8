"""The pages as other machines would run them: what moves there, the machine computed and not the program.

    sphinx-build -b machines docs docs/_build/machines

reads the book, and then runs its pages once more on each machine that this one can pretend to be. The
environments of `book_machines` make it another processor; `book_noise` rounds in the last place as a seed
decides, which is Monte Carlo arithmetic. What a cell prints, raises or draws there is compared with what it
does here, and whatever differs is a warning. `-D book_only_pages=story/a,models/b` and
`-D book_only_machines="noise 1"` try some of them.
"""

import asyncio
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import nbclient
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.builders.dummy import DummyBuilder
from sphinx.errors import SphinxError
from sphinx.util import logging

from executable_book.book_domain import page_data
from executable_book.check.printed_values import difference
from executable_book.check.repeated_warnings import KIND
from executable_book.run import kernel_start, kernels, warm_python
from executable_book.run.executed_cells import EXECUTIONS, figure_in_words
from executable_book.run.kernel_start import NOISE
from executable_book.run.page_execution import executed_notebook

LOGGER = logging.getLogger(__name__)
SVG = "image/svg+xml"


class MachinesBuilder(DummyBuilder):
    """Reads pages, so that they can be run on other machines, and writes nothing."""

    name = "machines"
    epilog = "Every page was run on every machine."

    def write_documents(self, docnames: Set[str]) -> None:
        """Write nothing."""


class Cell(NamedTuple):
    """A code cell of a page: the line on which it begins, whether it may vary, and what it says."""

    line: int
    varies: bool
    says: str


def machines(app: Sphinx) -> dict[str, dict[str, str]]:
    """Return what the environment of each machine says, by the name of the machine."""
    noises = range(1, int(app.config.book_noises) + 1) if app.config.book_noise else ()
    return app.config.book_machines | {
        f"noise {seed}": {NOISE: f"{seed} {app.config.book_noise}"} for seed in noises
    }


def compare(app: Sphinx, exception: Exception | None) -> None:
    """Run all pages on all machines, and warn of what moves."""
    if exception is not None or app.builder.name != MachinesBuilder.name:
        return
    others = machines(app)
    executed = {name: executed_notebook(app, name) for name in page_data(app.env, EXECUTIONS)}
    for kind, known in (("pages", executed), ("machines", others)):
        asked = {*filter(None, getattr(app.config, f"book_only_{kind}").split(","))}
        for unknown in sorted(asked - known.keys()):
            LOGGER.warning(
                "none of the %s is called %r", kind, unknown, type=KIND, subtype="machines"
            )
        for name in asked and known.keys() - asked:
            del known[name]
    pages = {docname: here for docname, here in executed.items() if here}
    LOGGER.info("%d pages on %d machines", len(pages), len(others))
    began = time.monotonic()
    for number, (name, environment) in enumerate(others.items(), start=1):
        moved = 0
        spared = app.config.book_noise_spares if NOISE in environment else ()
        tried = {docname: here for docname, here in pages.items() if docname not in spared}
        for docname, there in run_with(app, tried, environment):
            for here_cell, there_cell in zip(cells(pages[docname]), cells(there), strict=True):
                if changes := not here_cell.varies and difference(here_cell.says, there_cell.says):
                    moved += 1
                    message = f"with {name}, this cell says something else:\n{changes}"
                    place = docname, here_cell.line
                    LOGGER.warning(message, location=place, type=KIND, subtype="machines")
        taken = time.monotonic() - began
        left = taken / number * (len(others) - number)
        LOGGER.info("%s: %d cells moved; %.0f s so far, %.0f s to go", name, moved, taken, left)


def run_with(
    app: Sphinx, pages: Mapping[str, NotebookNode], environment: Mapping[str, str]
) -> list[tuple[str, NotebookNode]]:
    """Run pages in an environment, side by side, and return them with their outputs."""

    async def run(docname: str, may_begin: asyncio.Semaphore) -> NotebookNode:
        client = nbclient.NotebookClient(
            deepcopy(pages[docname]),
            timeout=app.config.nb_execution_timeout,
            allow_errors=True,
            resources={"metadata": {"path": str(Path(app.env.doc2path(docname)).parent)}},
            kernel_manager_class=kernels.MANAGER,
        )
        async with may_begin:
            return await client.async_execute()

    async def run_all() -> list[NotebookNode]:
        may_begin = asyncio.Semaphore(os.cpu_count() or 1)
        return await asyncio.gather(*(run(docname, may_begin) for docname in pages))

    with variables(environment), kernels.warm_server(app.config.book_kernel_preload):
        tried = kernels.start_python("-c", f"import {kernel_start.__name__} as k; k.make_noise()")
        _, errors = tried.communicate()
        if tried.returncode:  # what IPython would pass over in silence
            raise SphinxError(f"{dict(environment)} cannot be had: {errors.strip()}")
        return [*zip(pages, asyncio.run(run_all()), strict=True)]


@contextmanager
def variables(environment: Mapping[str, str]) -> Iterator[None]:
    """Have some environment variables for as long as the context lasts, and no warm server without them."""
    before = dict(os.environ)
    os.environ.pop(warm_python.ADDRESS, None)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def cells(notebook: NotebookNode) -> list[Cell]:
    """Return the code cells of a notebook that was run."""
    lines = notebook.metadata["source_map"]
    return [
        Cell(
            line,
            bool(cell.metadata.get("nondeterministic")),
            "\n".join(said(cell.outputs)).rstrip(),
        )
        for cell, line in zip(notebook.cells, lines, strict=True)
        if cell.cell_type == "code"
    ]


def said(outputs: Iterable[NotebookNode]) -> Iterator[str]:
    """Yield what the outputs of a cell say."""
    for output in outputs:
        if output.output_type == "stream":
            yield output.text
        elif output.output_type == "error":
            yield f"{output.ename}: {output.evalue}"
        elif SVG in output.data:
            yield figure_in_words("".join(output.data[SVG]))
        else:
            yield next(
                (
                    output.data[kind]
                    for kind in ("text/markdown", "text/html", "text/plain")
                    if kind in output.data
                ),
                "",
            )
