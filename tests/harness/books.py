"""Throwaway books: write their pages and files, build them, look at the result."""

import gc
import io
import re
import shutil
import sys
import time
from contextlib import chdir, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import FileSystemBytecodeCache
from jupyter_cache.executors.utils import ExecutionResult
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_output
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.testing.util import SphinxTestApp
from sphinx.util.console import strip_escape_sequences

FRONT_MATTER = """---
file_format: mystnb
kernelspec:
  name: python3
---
"""
LEDGER = """
[[source]]
id = "000"
kind = "x"
what = "x"
lines = 9
sha256 = "0"
[[output]]
id = "three"
printed = "3"
places = [{ source = "000", line = 1, section = "x" }]
"""
"""A ledger with a single output."""
CHECKS = ("descriptions", "execution", "ledger", "prose-numbers", "recorded", "taught-code")
"""What a build checks, by the names that warnings carry."""
INDEX = "# Index\n\n```{toctree}\n:glob:\n\n**\n```\n"
SETTINGS: dict[str, Any] = {
    "html_theme": "basic",
    "exclude_patterns": ["_build"],
    "myst_enable_extensions": ["colon_fence", "deflist", "dollarmath"],
    "nb_execution_mode": "force",
    "nb_execution_timeout": 300,
    "nb_merge_streams": True,
    "book_cut_assets": False,
    "book_tools": "the same at each build",
}


def cell(code, *options):
    """Return a code cell as an author writes it."""
    return "\n".join(["```{code-cell}", *options, code.strip("\n"), "```", ""]) + "\n"


def settings_for(*checks):
    """Return settings under which the named checks speak, and the others are silent."""
    silent = [f"book.{name}" for name in CHECKS if name not in checks]
    return SETTINGS | {"suppress_warnings": silent}


COMPILED = FileSystemBytecodeCache()
"""Templates that were compiled before, by whichever book: to compile them is a quarter of a small build."""


@dataclass
class Build:
    """A build that has ended, and what it left behind."""

    status: int
    said: str
    err: str
    out: Path
    contexts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the templates of the written pages got."""

    def __post_init__(self) -> None:
        self.said, self.err = map(strip_escape_sequences, (self.said, self.err))

    @property
    def written(self):
        return [*self.contexts]

    @property
    def warnings(self):
        """The lines of all warnings."""
        return [line for line in self.err.splitlines() if line]

    def about(self, place):
        """Return the warnings about a page or a line, as in `page.md:7`, each with the lines below it."""
        found = re.split(r"^(?=/\S+:\d+: WARNING: )", self.err, flags=re.MULTILINE)
        return [one for one in found if f"/{place}:" in one.partition(" ")[0]]

    @property
    def executed(self):
        """The pages that were executed."""
        return sorted(re.findall(r"/docs/(\S+)\.md: Executing notebook", self.said))

    def html(self, page):
        return (self.out / f"{page}.html").read_text(encoding="utf-8")

    def text(self, page):
        """Return the text of a page, without its tags."""
        return re.sub("<[^>]*>", "", self.html(page))


@dataclass
class Book:
    """A book in a folder of its own: pages in `docs`, the library in `src`."""

    root: Path
    before: dict[Path, str] = field(default_factory=dict)

    @property
    def folder(self):
        return self.root / "docs"

    @property
    def built(self):
        return self.folder / "_build"

    @property
    def html(self):
        return self.built / "html"

    @property
    def stored(self):
        return sorted((self.built / "executions").rglob("base.ipynb"))

    # Files

    def configure(self, extensions, settings) -> None:
        lines = [f"{name} = {value!r}" for name, value in settings.items()]
        self.write("conf.py", "\n".join([f"extensions = {[*extensions]!r}", *lines, ""]))

    def write(self, name, text) -> None:
        """Write a file; names start from the folder of pages."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def add(self, name, text) -> None:
        self.write(name, self.text(name) + text)

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def page(self, name, *parts, head=FRONT_MATTER) -> None:
        """Write a page that may execute something; the first part has its title."""
        self.write(f"{name}.md", head + "\n".join(parts))

    def change(self, name, old, new) -> None:
        """Replace a text that stands in a file once, until all is put back."""
        text = self.text(name)
        assert text.count(old) == 1, f"{name} holds {text.count(old)} times {old!r}"
        self.before.setdefault(self.folder / name, text)
        self.write(name, text.replace(old, new))

    def put_back(self) -> None:
        for path, text in self.before.items():
            path.write_text(text, encoding="utf-8")
        self.before.clear()

    def cell_lines(self, page):
        """Return the numbers of the lines that open the cells of a page."""
        lines = self.text(f"{page}.md").splitlines()
        return [number for number, line in enumerate(lines, 1) if line.startswith("```{code-cell}")]

    def published(self):
        """Return every file that readers can get."""
        return published(self.html)

    def copied(self, root):
        """Return a copy, of which nothing is built."""
        shutil.copytree(self.root, root, ignore=shutil.ignore_patterns("_build"))
        return Book(root)

    # Builds

    def build(self, jobs=1, builder="html", **settings):
        """Build in this process, which is quick."""
        contexts: dict[str, dict[str, Any]] = {}
        app = SphinxTestApp(
            builder,
            srcdir=self.folder,
            status=(status := io.StringIO(newline=None)),
            warning=(warning := io.StringIO()),
            parallel=jobs,
            warningiserror=True,
            confoverrides=settings,
        )
        app.connect(
            "html-page-context",
            lambda app, page, template, context, doctree: (
                contexts.update({page: context}) if page in app.env.found_docs else None
            ),
        )
        if isinstance(app.builder, StandaloneHTMLBuilder):
            app.builder.templates.environment.bytecode_cache = COMPILED
        try:
            app.build()
        finally:
            app.cleanup()
            gc.enable()  # what a build leaves is garbage here, where others follow
        said, err = status.getvalue(), warning.getvalue()
        return Build(app.statuscode, said, err, Path(app.outdir), contexts)

    def command(self, *options):
        """Return the command that builds in a process of its own."""
        sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-b", "html"]
        return [*sphinx, *options, "-d", "docs/_build/doctrees", "docs", "docs/_build/html"]


def published(site):
    """Return every file of a site that readers can get."""
    files = (path for path in site.rglob("*") if path.is_file())
    names = {path.relative_to(site).as_posix(): path for path in files}
    return {name: path.read_bytes() for name, path in names.items() if path.name[0] != "."}


def unversioned(page):
    """Return a page without the checksums in its links to stylesheets.

    Sphinx adds one once the file is there (sphinx-doc/sphinx#11415), and some extensions copy theirs late.
    """
    return re.sub(rb"\?v=[0-9a-f]{8}", b"", page)


def make_book(root, *extensions, **settings):
    """Make a book whose contents are all its pages."""
    book = Book(root)
    book.write("index.md", INDEX)
    book.configure(("executable_book", *extensions), settings_for() | settings)
    return book


def wait_until(condition, seconds=300) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(0.002)


# Execution without kernels


PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg"><Work xmlns="http://creativecommons.org/ns#">'
    '<title xmlns="http://purl.org/dc/elements/1.1/">a picture</title></Work></svg>'
)
"""A picture whose metadata say what it shows, as those that matplotlib writes."""
RAN_WITH = {"device": "cpu", "torch": "2.13.0", "python": "3.11"}
"""What such pages say that they ran with."""


def execute_without_kernels(replace) -> None:
    """Have builds in this process execute in it, with `pytest.MonkeyPatch.setattr` or the like."""
    for mode in ("cache", "direct"):
        replace(f"myst_nb.core.execute.{mode}.single_nb_execution", execute_here)
    execution = "executable_book.run.page_execution"
    replace(f"{execution}.kernels.warm_server", lambda modules: nullcontext())
    replace(f"{execution}.executed_with", lambda app: RAN_WITH)


def execute_here(notebook, cwd, **_):
    """Run the cells of a notebook in this process: quick, and all that most tests need of kernels.

    What a cell assigns to `outputs` it shows. It stands for the function with which MyST-NB executes.
    """
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    names: dict[str, Any] = {}
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, one in enumerate(cells, 1):
        out = io.StringIO()
        one.execution_count = count
        try:
            with chdir(cwd), redirect_stdout(out):
                exec(one.source, names)
        except Exception as error:
            name = type(error).__name__
            one.outputs = [
                *_outputs(out.getvalue(), names),
                new_output("error", ename=name, evalue=str(error), traceback=[f"{name}: {error}"]),
            ]
            if "raises-exception" not in one.metadata.get("tags", ()):
                failure = CellExecutionError(one.source, name, str(error))
                return ExecutionResult(notebook, "", 0.0, failure, one.source)
        else:
            one.outputs = [*_outputs(out.getvalue(), names)]
    return ExecutionResult(notebook, "", 0.0)


def _outputs(printed, names):
    if printed:
        yield new_output("stream", name="stdout", text=printed)
    yield from names.pop("outputs", ())
