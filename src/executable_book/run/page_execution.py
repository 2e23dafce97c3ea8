"""Pages become notebooks with outputs, before Sphinx reads them.

myst-nb renders a notebook that has outputs; it is not asked to execute (`nb_execution_mode = "off"`). Pages
whose outputs are not in the store run side by side in warm kernels, while Sphinx reads the others. So a
change in the library runs the pages again, a change in prose runs nothing, and no change starts no process at
all. A page that failed is never stored: it runs, and is reported, at every build until it is mended.

MyST-NB's own modes run a page again when its code has changed, never when the library has, which is what this
is for: executablebooks/MyST-NB#299 and #621 ask for it.

The hook into myst-nb is its table of custom formats. For the time of a build it gets one entry for each
executed page, by full path, whose reader hands out the page with its outputs. Plain pages never come near it.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from docutils import nodes
from myst_nb.core.read import (  # type: ignore[import-untyped]
    is_myst_markdown_notebook,
    read_myst_markdown_notebook,
)
from myst_parser.config.main import MdParserConfig
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from executable_book.book_domain import page_data, set_page_data
from executable_book.check.repeated_warnings import Finding
from executable_book.files_on_disk import sha256
from executable_book.run.execution_store import NOTE, ExecutionStore, key_of
from executable_book.run.fingerprint import fingerprint
from executable_book.run.kernels import notebook_runner
from executable_book.run.kernels.kernel_settings import KernelSettings
from executable_book.run.kernels.kernel_startup import VALUES

LOGGER = logging.getLogger(__name__)
EXECUTIONS = "executions"
EXPECTED = "raises-exception"
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class ExecutedPage:
    """What the environment keeps of an executed page."""

    digest: str
    fingerprint: str
    saved: int
    """When the file was saved that was executed."""
    lines: tuple[int, ...]
    """Where each code cell starts."""
    findings: tuple[tuple[int, str], ...]
    """Line and message of what went wrong."""
    lacks: str = ""
    """A package that the page ended early without, and may."""

    @property
    def key(self) -> str:
        """Where the store keeps the page's outputs."""
        return key_of(self.digest, self.fingerprint)


@dataclass(frozen=True)
class Ready:
    """A page that is about to be read: with its outputs, and what is kept of it."""

    notebook: NotebookNode
    page: ExecutedPage


# What an execution depends on


def cells_digest(notebook: NotebookNode) -> str:
    """Return a digest of what a notebook executes: its code, and whether that may raise or is skipped."""
    matters = {EXPECTED, "skip-execution"}
    cells = [[cell.source, sorted(matters & set(tags_of(cell)))] for cell in code_cells(notebook)]
    return sha256(json.dumps(cells))


# Notebooks


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return a notebook's code cells."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags_of(cell: NotebookNode) -> list[str]:
    """Return a cell's tags."""
    return list(cell.metadata.get("tags", []))


def code_only(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook of the code cells alone, as a kernel needs them."""
    cells = [
        nbformat.v4.new_code_cell(
            cell.source, id=f"cell-{number}", metadata={"tags": tags_of(cell)}
        )
        for number, cell in enumerate(code_cells(notebook))
    ]
    return nbformat.v4.new_notebook(cells=cells)


def with_outputs(notebook: NotebookNode, executed: NotebookNode) -> NotebookNode:
    """Put the outputs of an execution beside the cells of a page.

    The values that printed tensors left behind move to the cell's metadata (`printed_values`), and so
    does a figure's alternative text. Of an error that was meant to happen, only its last line is
    shown: the way there is files of this machine.
    """
    for name in ("language_info", notebook_runner.EXECUTED_WITH):
        notebook.metadata[name] = executed.metadata.get(name, {})
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    for cell, ran in zip(code_cells(notebook), code_cells(executed), strict=True):
        cell.execution_count = ran.execution_count
        cell.outputs = []
        for output in map(nbformat.from_dict, ran.outputs):
            if VALUES in output.get("data", {}):
                cell.metadata["printed_values"] = output.data[VALUES]
                continue
            if output.output_type == "error" and EXPECTED in tags_of(cell):
                output.traceback = output.traceback[-1:]
            cell.outputs.append(output)
        alt = " ".join(dict.fromkeys(_alts(cell.outputs)))
        image = cell.metadata.setdefault("mystnb", {}).setdefault("image", {}) if alt else {}
        image.setdefault("alt", alt)
    return notebook


def _alts(outputs: Iterable[NotebookNode]) -> Iterator[str]:
    return (alt for output in outputs if (alt := output.get("metadata", {}).get("alt")))


def lacked_package(
    executed: NotebookNode, failure: tuple[int, str] | None, may_lack: Iterable[str]
) -> str:
    """Return the package that ended a page, if it may lack it; of the error only the last line is kept."""
    outputs = code_cells(executed)[failure[0]].outputs if failure else []
    for output in outputs:
        is_error = output.output_type == "error" and output.ename == ModuleNotFoundError.__name__
        if is_error and (package := package_in(output.evalue, may_lack)):
            output.traceback = output.traceback[-1:]
            return package
    return ""


def package_in(message: str, may_lack: Iterable[str]) -> str:
    """Return the package that an error names, if the book may lack it."""
    named = (one for one in may_lack if re.search(rf"\b{re.escape(one)}\b", message))
    return next(named, "")


def problems(notebook: NotebookNode, failure: tuple[int, str] | None) -> Iterator[tuple[int, str]]:
    """Find what is wrong with a page's outputs: the number of the code cell, and what to say."""
    if failure:
        yield failure[0], f"this cell failed: {failure[1]}"
    for number, cell in enumerate(code_cells(notebook)):
        if failure and number >= failure[0]:
            break
        tags = tags_of(cell)
        settings = cell.metadata.get("mystnb", {})
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if EXPECTED in tags and not errors:
            yield number, f"this cell is tagged `{EXPECTED}`, but nothing was raised"
        if "remove-stderr" not in tags and "output_stderr" not in settings:
            for output in cell.outputs:
                if output.output_type == "stream" and output.name == "stderr":
                    first = output.text.strip().partition("\n")[0]
                    yield number, f"this cell wrote to stderr: {first}"
        if any(ADDRESS.search(text) for text in _texts(cell.outputs)):
            yield number, "this cell prints a memory address, another one at every build"
        hidden = {"remove-cell", "remove-output", "remove_cell", "remove_output"} & set(tags)
        has_alt = settings.get("image", {}).get("alt")
        if any(map(_is_figure, cell.outputs)) and not (hidden or has_alt):
            yield number, "this cell's figure has no alternative text"


def _texts(outputs: Iterable[NotebookNode]) -> Iterator[str]:
    for output in outputs:
        yield output.get("text") or output.get("data", {}).get("text/plain", "")


def _is_figure(output: NotebookNode) -> bool:
    shown = "scrapbook" not in output.get("metadata", {})
    return shown and any(mime.startswith("image/") for mime in output.get("data", {}))


# The build

_ready: dict[str, Ready] = {}
"""What the reader hands out in this build, by page. Parallel readers are forks and see it too."""
_finished: Iterator[str] = iter(())
"""Waits for the next page of this build that is finished, makes it ready and gives its name."""
_at_work = contextlib.ExitStack()
"""Ends the executions of this build."""


def parse(text: str, config: MdParserConfig, path: str) -> NotebookNode:
    """Read a page as the notebook that is written there.

    The start of each prose cell is set right: myst-nb forgets the blank lines that it takes away, and
    counts one line too many. This can go when warnings about prose name their lines without it.
    """
    notebook = read_myst_markdown_notebook(text, config, add_source_map=True, path=path)
    lines = text.splitlines()
    starts = notebook.metadata["source_map"]
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            blank = itertools.takewhile(lambda line: not line, lines[starts[number] :])
            starts[number] += len(list(blank)) - 1
    return notebook


def read_page(_: str, docname: str) -> NotebookNode:
    """Return an executed page, with its outputs: myst-nb calls this for each entry of `custom_formats`.

    Should the author have saved the page since it was executed, it is shown as it was: the next build sees
    that the file is newer.
    """
    while docname not in _ready:
        next(_finished)
    return copy.deepcopy(_ready[docname].notebook)


def written_notebook(env: BuildEnvironment, docname: str) -> NotebookNode | None:
    """Return the notebook of a page as it is written, or None if the page executes nothing."""
    if not env.config.book_execute:
        return None
    path = Path(env.doc2path(docname))
    text = path.read_text(encoding="utf-8") if path.suffix == ".md" else ""
    if not is_myst_markdown_notebook(text):
        return None
    notebook = parse(text, env.myst_config, str(path))  # type: ignore[attr-defined]
    return notebook if "kernelspec" in notebook.metadata and code_cells(notebook) else None


def time_saved(env: BuildEnvironment, docname: str) -> int:
    """Return when a page was saved."""
    return Path(env.doc2path(docname)).stat().st_mtime_ns


def store_of(app: Sphinx) -> ExecutionStore:
    """Return the store of a build: beside the output folder, so that all builders share it."""
    return ExecutionStore(Path(app.outdir.parent, "executions"))


def fingerprint_of(app: Sphinx) -> str:
    """Return the fingerprint of a build."""
    depends = [Path(app.confdir, path) for path in app.config.book_depends]
    return fingerprint(depends, kernel_settings(app.config), app.config.book_variables)


def kernel_settings(config: Config) -> KernelSettings:
    """Return what a book wants of its kernels."""
    return KernelSettings(
        preload=tuple(config.book_kernel_preload),
        startup=tuple(config.book_kernel_startup),
        versions=tuple(config.book_versions),
        device=config.book_device,
    )


def outdated(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Tell Sphinx which unchanged pages to read again, as their outputs may be others now."""
    now = fingerprint_of(app)
    store = store_of(app)

    def is_current(docname: str, page: ExecutedPage) -> bool:
        return (
            page.fingerprint == now
            and page.saved == time_saved(env, docname)
            and store.holds(page.key)
        )

    pages = page_data(env, EXECUTIONS)
    return [name for name in pages.keys() - removed if not is_current(name, pages[name])]


def prepare(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Begin to execute what is about to be read and is not in the store, and install the reader.

    What runs is read last.
    """
    global _finished
    _at_work.close()  # of a build that failed
    _ready.clear()
    _finished = iter(())
    now = fingerprint_of(app)
    store = store_of(app)
    saved = {docname: time_saved(env, docname) for docname in docnames}
    written = {
        docname: notebook
        for docname in docnames
        if (notebook := written_notebook(env, docname)) is not None
    }
    digests = {docname: cells_digest(notebook) for docname, notebook in written.items()}

    def make_ready(
        docname: str, executed: NotebookNode, failure: tuple[int, str] | None = None
    ) -> None:
        lacks = lacked_package(executed, failure, app.config.book_may_lack)
        notebook = with_outputs(written[docname], executed)
        starts = zip(notebook.metadata["source_map"], notebook.cells, strict=True)
        lines = tuple(line for line, cell in starts if cell.cell_type == "code")
        found = tuple((lines[cell], say) for cell, say in problems(notebook, failure))
        findings = found[1:] if lacks else found  # the first is that of the cell that failed
        page = ExecutedPage(digests[docname], now, saved[docname], lines, findings, lacks)
        if lacks:
            LOGGER.info("%s ends early, without %s", docname, lacks, color=NOTE)
        _ready[docname] = Ready(notebook, page)

    missing = {}
    for docname, notebook in written.items():
        if stored := store.load(key_of(digests[docname], now)):
            make_ready(docname, stored)
        else:
            missing[docname] = code_only(notebook)

    def save(docname: str, execution: notebook_runner.Execution) -> None:
        execution.notebook.metadata["seconds"] = [round(one, 3) for one in execution.seconds]
        if execution.failure is None:
            store.save(key_of(digests[docname], now), execution.notebook)

    def made_ready(executions: Iterable[tuple[str, notebook_runner.Execution]]) -> Iterator[str]:
        longest = max(map(len, missing))  # shorter ones would leave half the name that stood there
        for number, (docname, execution) in enumerate(executions, 1):
            name, spent = docname.ljust(longest), sum(execution.seconds)
            LOGGER.info("executed %s in %.1f s (%d of %d)", name, spent, number, len(missing))
            make_ready(docname, execution.notebook, execution.failure)
            yield docname

    if missing:
        executions = notebook_runner.executing(
            {name: missing[name] for name in slow_first(missing, app.config.book_slow_pages)},
            {docname: str(Path(env.doc2path(docname)).parent) for docname in missing},
            kernel_settings(app.config),
            timeout=app.config.nb_execution_timeout,
            done=save,
            fell_back=lambda why: LOGGER.info("plain kernels take over: %s", why, color=NOTE),
        )
        _finished = made_ready(_at_work.enter_context(executions))
        docnames.sort(key=lambda name: (name in missing, name in app.config.book_slow_pages))
    if app.parallel > 1:  # readers that are forks cannot wait for what this process began
        wait_for_all()
    _install_reader(env, written)


def wait_for_all() -> None:
    """Wait until all pages of this build have been executed."""
    with _at_work:
        for _ in _finished:
            pass


def slow_first(docnames: Iterable[str], slow: list[str]) -> list[str]:
    """Return pages in the order in which they run: a slow one that began last would run alone."""
    return sorted(docnames, key=lambda name: slow.index(name) if name in slow else len(slow))


def _install_reader(env: BuildEnvironment, docnames: Iterable[str]) -> None:
    config = env.mystnb_config  # type: ignore[attr-defined]
    reader = f"{__name__}.{read_page.__name__}"
    ours = {str(env.doc2path(name)): (reader, {"docname": name}, False) for name in docnames}
    formats = dict(config.custom_formats) | ours
    env.mystnb_config = config.copy(custom_formats=formats)  # type: ignore[attr-defined]


def remember(app: Sphinx, doctree: nodes.document) -> None:
    """Keep of an executed page what later builds need to know."""
    docname = app.env.docname
    if docname in _ready:
        set_page_data(app.env, EXECUTIONS, docname, _ready[docname].page)


def excuse(
    app: Sphinx, env: BuildEnvironment, node: nodes.Element, label: nodes.TextElement
) -> nodes.Element | None:
    """Excuse a reference to what a page that ended early did not come to show."""
    lacks = {page.lacks for page in page_data(env, EXECUTIONS).values()} - {""}
    if not lacks or node["reftype"] not in {"ref", "numref"}:
        return None
    return nodes.inline("", f"[not shown without {', '.join(sorted(lacks))}]")


def judge_executions(app: Sphinx) -> Iterator[Finding]:
    """Report what went wrong on any page, read in this build or not."""
    for docname, page in page_data(app.env, EXECUTIONS).items():
        for line, message in page.findings:
            yield Finding(docname, line, message)


def executed_notebook(app: Sphinx, docname: str) -> NotebookNode | None:
    """Return a page with its outputs, read in this build or not; None if it executes nothing."""
    if docname in _ready:
        return _ready[docname].notebook
    page: ExecutedPage | None = page_data(app.env, EXECUTIONS).get(docname)
    if page is None or page.saved != time_saved(app.env, docname):
        return None
    written, executed = written_notebook(app.env, docname), store_of(app).load(page.key)
    return with_outputs(written, executed) if written and executed else None


def run_times(app: Sphinx) -> dict[str, list[float]]:
    """Return how many seconds each code cell took when it last ran, by page."""
    store = store_of(app)
    stored = {
        docname: store.load(page.key) for docname, page in page_data(app.env, EXECUTIONS).items()
    }
    return {docname: one.metadata["seconds"] for docname, one in stored.items() if one}


def profile(app: Sphinx) -> Iterator[str]:
    """List the ten slowest cells of the book."""
    pages = page_data(app.env, EXECUTIONS)
    cells = [
        (seconds, f"{docname}:{pages[docname].lines[number]}")
        for docname, times in run_times(app).items()
        for number, seconds in enumerate(times)
    ]
    for seconds, place in sorted(cells, reverse=True)[:10]:
        yield f"{seconds:8.2f} s  {place}"


def end(app: Sphinx, exception: Exception | None) -> None:
    """End the executions; tidy the store, and list the slowest cells on request."""
    if exception is not None:
        _at_work.close()
    else:
        wait_for_all()
        store_of(app).prune(page.key for page in page_data(app.env, EXECUTIONS).values())
        if app.config.book_profile:
            LOGGER.info("the slowest cells:\n%s", "\n".join(profile(app)))
