"""Pages run again whenever the library that they teach has changed.

MyST-NB executes them and keeps their outputs in its cache, which knows of a page's code alone: a change in
the library would change nothing (executablebooks/MyST-NB#299 and #621 ask for it). So the folder of the
cache is named by a digest of all else that outputs depend on. A change of any of it gives another folder,
an empty cache, and a configuration that Sphinx takes for new, which is why it reads every page again.

Kernels are forks of a process that has imported what pages need (see `warm_python`), and with `sphinx-build
-j` pages run side by side. A page that did not run to its end is read, and so runs, at every build until it
does.
"""

import contextlib
import json
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from docutils import nodes
from jupyter_cache import get_cache  # type: ignore[import-untyped]
from jupyter_cache.cache.main import JupyterCacheBase  # type: ignore[import-untyped]
from myst_nb.core.read import read_myst_markdown_notebook  # type: ignore[import-untyped]
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError, SphinxError
from sphinx.util.parallel import make_chunks
from sqlalchemy.exc import SQLAlchemyError

from executable_book.files_on_disk import digest_of, sha256
from executable_book.remembered import page_data, replace_book_data, set_page_data
from executable_book.repeated_warnings import warn
from executable_book.run import executed_cells, kernel_start, kernels, stored_prints
from executable_book.run.executed_cells import EXECUTED_WITH, EXECUTIONS, NOT_EXECUTED, Problem

CACHES = "executions"
"""The folder of all caches, beside the output folder: builders share them."""
UNUSED_SECONDS = 14 * 24 * 3600
_context = contextlib.ExitStack()
"""What ends with this build: the warm server."""


# What outputs depend on, besides the code of their page


def execution_digest(config: Config, files: Iterable[Path]) -> str:
    """Return a digest of files, or folders with all that is in them, and of all else outside of pages."""
    tools = Path(kernels.__file__).parent
    paths = [*(tools / f"{name}.py" for name in ("kernels", "kernel_start", "warm_python")), *files]
    modules = ["ipykernel", "ipython", *config.book_versions, *config.book_kernel_preload]
    variables = (*config.book_variables, kernel_start.NOISE, "CUDA_VISIBLE_DEVICES")
    depends = {
        "files": [digest_of(path) for path in paths],
        "python": sys.version,
        "packages": versions(modules),
        "machine": [platform.platform(), platform.machine(), *_processors()],
        "environment": [os.environ.get(name) for name in variables],
    }
    return sha256(json.dumps(depends, sort_keys=True))


def versions(modules: Iterable[str]) -> dict[str, str]:
    """Return the versions of the distributions named like modules, where they are installed."""
    found = {}
    for name in sorted({module.partition(".")[0] for module in modules}):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _processors() -> list[str]:
    """Name the processor, as some random streams depend on its maker, and the GPUs, without touching them."""
    gpus = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    texts = [path.read_text() for path in (Path("/proc/cpuinfo"), *gpus) if path.exists()]
    return [platform.processor(), *sorted({*re.findall(r"(?im)^model.*$", "".join(texts))})]


# A build begins


def configure(app: Sphinx, config: Config) -> None:
    """Have MyST-NB execute pages with our kernels, and keep their outputs where they belong."""
    app.registry.source_suffix.pop(".ipynb", None)  # pages are texts, whose lines findings name
    config.suppress_warnings = [*config.suppress_warnings, "mystnb.exec"]  # see `collect`
    if config.book_not_executed:  # such a page has no language
        config.suppress_warnings = [*config.suppress_warnings, "myst-nb.lexer"]
    kernels.install_kernelspec(app.outdir.parent / "jupyter")
    config.nb_execution_excludepatterns = [
        *config.nb_execution_excludepatterns,
        *(Path(app.srcdir, f"{page}.md").as_posix() for page in config.book_not_executed if page),
    ]
    if config.nb_execution_mode != "cache":
        return
    depends = [Path(app.confdir, path) for path in config.book_depends]
    if missing := [str(path) for path in depends if not path.exists()]:
        raise ConfigError(f"book_depends names what is not there: {', '.join(missing)}")
    caches = Path(app.outdir.parent, CACHES)
    cache = caches / execution_digest(config, depends)
    config.nb_execution_cache_path = str(cache)
    for old in caches.glob("*"):
        ours = old.is_dir() and re.fullmatch("[0-9a-f]{64}", old.name)
        if ours and old != cache and time.time() - old.stat().st_mtime > UNUSED_SECONDS:
            shutil.rmtree(old)


def prepare_cache(folder: Path) -> None:
    """Create the cache, and anew if it was damaged, as when a build was killed while it wrote.

    Its database must be there before processes that read pages are forked, and may not be open then. No
    cache is too full: one whose limit is looked after while two pages are stored may lose one of them.
    """
    JupyterCacheBase.truncate_caches = lambda self: None
    cache = get_cache(str(folder))
    try:
        for record in cache.list_cache_records():
            cache.get_cache_bundle(record.pk)
    except (KeyError, ValueError, RuntimeError, SQLAlchemyError):
        shutil.rmtree(folder)
        cache = get_cache(str(folder))
        cache.list_cache_records()
    cache.db.dispose()


def deal_out(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Have pages with code read first, and neighbours side by side: often they take long together.

    Sphinx reads the list in parts, of which a process has one, and the first processes that end have more.
    """

    def has_no_code(docname: str) -> bool:
        return "code-cell" not in Path(env.doc2path(docname)).read_text(encoding="utf-8")

    docnames.sort(key=has_no_code)
    at_once = make_chunks(docnames, app.parallel)[: app.parallel]
    first = docnames[: sum(map(len, at_once))]
    hands = range(len(at_once))
    docnames[: len(first)] = [name for hand in hands for name in first[hand :: len(at_once)]]


def start(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """If there are pages to read, start the warm server, and ask it with what they will be executed."""
    _context.close()  # of a build that failed
    if not docnames or app.config.nb_execution_mode == "off":
        return
    if app.config.nb_execution_mode == "cache":
        prepare_cache(Path(app.config.nb_execution_cache_path))
    _context.enter_context(kernels.warm_server(app.config.book_kernel_preload))
    replace_book_data(env, EXECUTED_WITH, executed_with(app))


def executed_with(app: Sphinx) -> dict[str, str]:
    """Return the device that pages run on, and the versions of what they run with.

    Noise that cannot be made is an error here; as a kernel starts, IPython would pass over it in silence.
    """
    config = app.config
    about = versions(config.book_versions) | {"python": platform.python_version()}
    module, _, function = config.book_device.partition(":")
    asks = (
        "import json",
        f"import {kernel_start.__name__} as start",
        "start.make_noise()",
        *([f"import {module} as told"] if module else ()),
        f"print(json.dumps({{'device': str(told.{function}())}}))" if module else "print({})",
    )
    digest = execution_digest(config, [Path(app.confdir, path) for path in config.book_depends])
    stored_prints.begin(app.outdir, CACHES, f"{config.book_device} {digest}", "-c", "\n".join(asks))
    made = stored_prints.finish(app.outdir, CACHES)
    if "problem" in made:
        name = kernel_start.NOISE
        given = f"book_device = {config.book_device!r}, {name} = {os.environ.get(name)!r}"
        raise SphinxError(f"pages cannot be executed ({given}): {made['problem']}")
    return about | made["printed"]


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Say what went wrong as a page was executed, and store what ended it, None if it ran to its end."""
    docname = app.env.docname
    executed = app.env.nb_metadata[docname].get("exec_data")  # type: ignore[attr-defined]
    if executed is None and docname in app.config.book_not_executed:
        set_page_data(app.env, EXECUTIONS, docname, NOT_EXECUTED)
    elif executed is not None:
        found = executed_cells.cells(app.env, doctree)
        problems = [*executed_cells.problems_of_page(found, executed)]
        failure = None if executed["succeeded"] else problems[-1]
        set_page_data(app.env, EXECUTIONS, docname, failure)
        for problem in problems:
            warn(app, "execution", docname, *problem)


def executed_notebook(app: Sphinx, docname: str) -> NotebookNode | None:
    """Return a page with its outputs, read in this build or not; None if it did not run to its end.

    The notebook that MyST-NB writes has no outputs if they come from its cache. A page that was saved since
    it was read has none either: the next build reads it.
    """
    failure: Problem | None = page_data(app.env, EXECUTIONS).get(docname, NOT_EXECUTED)
    if failure or app.config.nb_execution_mode != "cache":
        return None
    text = Path(app.env.doc2path(docname)).read_text(encoding="utf-8")
    config = app.env.myst_config  # type: ignore[attr-defined]
    notebook = read_myst_markdown_notebook(text, config, add_source_map=True)
    try:
        return get_cache(app.config.nb_execution_cache_path).merge_match_into_notebook(notebook)[1]
    except KeyError:
        return None


def finish(app: Sphinx, exception: Exception | None) -> None:
    """End the warm server, and remove from the site what MyST-NB wrote there of pages that failed."""
    _context.close()
    for docname in page_data(app.env, EXECUTIONS):
        Path(app.outdir, "reports", f"{docname}.err.log").unlink(missing_ok=True)
