"""Pages are executed in warm kernels, side by side, once; and nothing stale, broken or half-done is shown."""

import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from docutils.nodes import container
from sphinx.errors import SphinxError
from sphinx.testing.util import SphinxTestApp
from sphinx.util.console import strip_escape_sequences

from executable_book.run import interrupted_builds, notebook_runner, warm_server
from executable_book.run.output_store import Store

CONF = """
import sys
extensions = ["myst_nb", "executable_book.run.page_execution"]
html_theme = "basic"
nb_execution_mode = "off"
nb_execution_timeout = 60
nb_merge_streams = True
execution_depends = ["../src"]
"""
HEAD = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n"
FIGURE = """
import matplotlib.pyplot as plt
from IPython.display import display
figure, axes = plt.subplots(figsize=(1, 1))
axes.plot([1, 2])
figure.savefig("{name}.svg")
display(figure, metadata={{"alt": "a rising line"}})
plt.close()
"""


def cell(code: str, *options: str) -> str:
    return "\n".join(["```{code-cell}", *options, code.strip("\n"), "```", ""]) + "\n"


@dataclass
class Project:
    """A throwaway book, built by a Sphinx process of its own."""

    root: Path

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    @property
    def html(self) -> Path:
        return self.root / "build" / "html"

    @property
    def stored(self) -> list[Path]:
        return sorted((self.root / "build" / "executions").glob("*.ipynb"))

    def page(self, name: str, *parts: str, head: str = HEAD) -> None:
        path = self.docs / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}# {path.stem.title()}\n\n" + "\n".join(parts))

    def configure(self, text: str) -> None:
        conf = self.docs / "conf.py"
        conf.write_text(conf.read_text() + text)

    def cell_lines(self, page: str) -> list[int]:
        """Return the numbers of the lines that open the cells of a page."""
        lines = (self.docs / f"{page}.md").read_text().splitlines()
        return [number for number, line in enumerate(lines, 1) if line == "```{code-cell}"]

    def build(self, jobs: int = 1, **settings: Any) -> "Build":
        """Build in this process, which is quick."""
        app = SphinxTestApp(
            "html",
            srcdir=self.docs,
            builddir=self.root / "build",
            status=(out := io.StringIO()),
            warning=(err := io.StringIO()),
            parallel=jobs,
            warningiserror=True,
            confoverrides=settings,
        )
        try:
            app.build()
        finally:
            app.cleanup()
        return Build(app.statuscode, out.getvalue(), strip_escape_sequences(err.getvalue()))

    @property
    def command(self) -> list[str]:
        """The command that builds in a process of its own."""
        sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-b", "html"]
        return [*sphinx, "-d", "build/doctrees", "docs", "build/html"]

    def run(self, *before: str) -> "Build":
        ran = subprocess.run(
            [*before, *self.command], cwd=self.root, capture_output=True, text=True, timeout=60
        )
        return Build(ran.returncode, ran.stdout, ran.stderr)

    def start(self) -> "subprocess.Popen[bytes]":
        quiet = subprocess.DEVNULL
        return subprocess.Popen(self.command, cwd=self.root, stdout=quiet, stderr=quiet)

    def text(self, page: str) -> str:
        return re.sub("<[^>]*>", "", (self.html / f"{page}.html").read_text())

    def published(self) -> dict[str, bytes]:
        """Return every file of the site, but for Sphinx's note of when its doctrees were made."""
        files = (path for path in self.html.rglob("*") if path.is_file())
        return {str(path.relative_to(self.html)): path.read_bytes() for path in files}


@dataclass
class Build:
    status: int
    out: str
    err: str

    @property
    def executed(self) -> list[str]:
        return sorted(re.findall(r"^executed (\S+) in", self.out, re.MULTILINE))


def make_project(root: Path) -> Project:
    project = Project(root)
    project.page("index", "```{toctree}\n:glob:\n\n**\n```\n", head="")
    (project.docs / "conf.py").write_text(CONF.format())
    (root / "src").mkdir()
    (root / "src" / "library.py").write_text("ANSWER = 42\n")
    return project


def copied(project: Project, root: Path) -> Project:
    shutil.copytree(project.docs, root / "docs")
    shutil.copytree(project.root / "src", root / "src")
    return Project(root)


@pytest.fixture(scope="session", autouse=True)
def warm() -> Iterator[None]:
    """One server for all builds of this module, as `warm_server.py run` gives it to an author's builds."""
    with warm_server.server() as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv(warm_server.ADDRESS, address)
        yield


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Build]:
    """Return a book that was built once, and its build. Tests leave it as it is."""
    project = make_project(tmp_path_factory.mktemp("book"))
    project.page(
        "values",
        cell("import torch\nprint(torch.tensor([0.123456789, float('inf')]))\nprint('label', 7)"),
        cell("torch.arange(3)"),
    )
    project.page("figure", cell(FIGURE.format(name="line")))
    project.page("sub/error", cell("[].pop()", ":tags: [raises-exception]"))
    project.page(
        "glue",
        "Glued: {glue:}`share`.\n",
        cell("from myst_nb import glue\nglue('share', 0.625, display=False)"),
    )
    project.page(
        "where",
        cell("import os\nprint(os.path.basename(os.getcwd()), os.environ['PYTHONHASHSEED'])"),
        cell("import sys\nprint([name for name in sys.path if name.endswith('run')])"),
    )
    project.page("plain", "Nothing is executed {ref}`here <plain>`.\n", head="(plain)=\n")
    return project, project.build()


# What a build shows


def test_each_page_runs_once_with_progress(book: tuple[Project, Build]) -> None:
    _, build = book
    assert build.status == 0, build.err
    assert build.executed == ["figure", "glue", "sub/error", "values", "where"]
    assert re.findall(r"in \d+\.\d s \((\d) of 5\)", build.out) == list("12345")


def test_outputs_appear_beside_their_cells_and_ours_stay_out(book: tuple[Project, Build]) -> None:
    project, _ = book
    assert "tensor([0.1235,    inf])\nlabel 7" in project.text("values")
    assert "tensor([0, 1, 2])" in project.text("values")
    assert not any(b"vnd.literate-attention" in content for content in project.published().values())


def test_exact_values_reach_the_doctree(project: Project) -> None:
    project.page("page", cell("import torch\nprint(torch.tensor([1 / 3, float('nan')]))"))
    project.build()
    doctree = pickle.loads((project.root / "build/doctrees/page.doctree").read_bytes())
    (node,) = (node for node in doctree.findall(container) if "cell_metadata" in node)
    third = 0.3333333432674408  # as a float32 is, in double precision
    notes = [{"text": "tensor([0.3333,    nan])", "values": [third, "nan"]}]
    assert node["cell_metadata"]["printed_values"] == notes


def test_a_figure_says_in_words_what_it_shows(book: tuple[Project, Build]) -> None:
    project, _ = book
    assert 'alt="a rising line"' in (project.html / "figure.html").read_text()


def test_an_expected_error_is_shown_without_the_way_there(book: tuple[Project, Build]) -> None:
    project, _ = book
    assert "IndexError: pop from empty list" in project.text("sub/error")
    assert "Traceback" not in project.text("sub/error")


def test_a_value_is_glued_into_a_sentence(book: tuple[Project, Build]) -> None:
    project, _ = book
    assert "Glued: 0.625." in project.text("glue")


def test_a_kernel_knows_its_folder_and_nothing_of_the_build(book: tuple[Project, Build]) -> None:
    project, _ = book
    assert "docs 0\n" in project.text("where")
    assert "\n[]\n" in project.text("where")


def test_a_plain_page_is_an_ordinary_page(book: tuple[Project, Build]) -> None:
    project, _ = book
    assert "Nothing is executed here." in project.text("plain")
    assert len(project.stored) == 5  # as many as there are executed pages


def test_warnings_name_the_line_of_the_source(project: Project) -> None:
    project.page("page", cell("x = 1\ny = 2"), "Text.\n\nSee {ref}`nowhere`.")
    lines = (project.docs / "page.md").read_text().splitlines()
    build = project.build()
    assert build.status == 1
    assert (
        f"page.md:{lines.index('See {ref}`nowhere`.') + 1}: WARNING: undefined label" in build.err
    )


def test_outputs_are_those_of_stock_myst_nb(project: Project) -> None:
    code = (
        "import torch, sys\nprint(torch.ones(2))\nprint('x', file=sys.stdout)\n{'a': torch.eye(2)}"
    )
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    alt = ("---", "mystnb:", "  image:", "    alt: a line", "---")
    project.page("page", cell(code), cell("from IPython.display import HTML\nHTML('<b>bold</b>')"))
    project.page(
        "plot", cell(plot, *alt), cell("1 / 0", ":tags: [raises-exception, remove-output]")
    )
    assert project.build().status == 0
    ours = {page: (project.html / f"{page}.html").read_text() for page in ("page", "plot")}
    shutil.rmtree(project.root / "build")
    project.build(extensions=["myst_nb"], nb_execution_mode="force")
    theirs = {page: (project.html / f"{page}.html").read_text() for page in ("page", "plot")}
    assert "plt" in ours["plot"]
    assert ours == theirs


# Fresh, whatever changed; and nothing runs twice

USES_LIBRARY = cell(
    "import sys\nsys.path.insert(0, '../src')\nfrom library import ANSWER\nprint('answer', ANSWER)"
)


def test_what_changed_runs_again_and_nothing_else(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After any change to `src/` the next build re-executes; after none, it starts no kernel."""
    project.page("one", USES_LIBRARY)
    project.page("two", cell("print('two')"))
    assert project.build().executed == ["one", "two"]

    with monkeypatch.context() as patch:
        patch.setattr(notebook_runner, "execute", None)
        assert project.build().status == 0
        project.page("two", "More prose.\n", cell("print('two')", ":tags: [hide-input]"))
        assert project.build().status == 0
    assert "More prose." in project.text("two")

    project.page("two", cell("print('zwei')"))
    assert project.build().executed == ["two"]
    assert "\nzwei\n" in project.text("two")

    (project.root / "src" / "library.py").write_text("ANSWER = 43\n")
    assert project.build().executed == ["one", "two"]
    assert "answer 43" in project.text("one")

    (project.root / "src" / "library.py").write_text("ANSWER = 42\n")
    assert project.build().executed == []
    assert "answer 42" in project.text("one")


def test_a_page_saved_while_it_is_built_is_shown_whole_and_then_anew(project: Project) -> None:
    project.page("page", cell("print('old')"))
    project.configure(
        "def setup(app):\n"
        "    def save(app, env, docnames):\n"
        "        page = app.srcdir / 'page.md'\n"
        "        page.write_text(page.read_text().replace('old', 'new'))\n"
        "    app.connect('env-before-read-docs', save, priority=900)\n"
    )
    assert project.build().status == 0
    assert "\nold\n" in project.text("page")
    assert "new" not in project.text("page")
    assert project.build().executed == ["page"]
    assert "\nnew\n" in project.text("page")
    assert "old" not in project.text("page")


def test_the_device_is_part_of_the_key(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.page("page", cell("import os\nprint('on', os.environ.get('LITERATE_DEVICE'))"))
    project.build()
    monkeypatch.setenv("LITERATE_DEVICE", "meta")
    assert project.build().executed == ["page"]
    assert "on meta" in project.text("page")


def test_two_cold_builds_give_the_same_bytes(book: tuple[Project, Build], tmp_path: Path) -> None:
    project, _ = book
    again = copied(project, tmp_path)
    assert again.build(jobs=2).status == 0
    assert again.published() == project.published()
    svg = (project.docs / "line.svg").read_bytes()
    assert svg == (again.docs / "line.svg").read_bytes()


def test_an_edit_and_its_undoing_leave_the_same_bytes(project: Project) -> None:
    project.page("one", USES_LIBRARY)
    project.page("two", cell("print('two')"))
    project.build()
    before = project.published()
    project.page("two", cell("print('zwei')"))
    project.build()
    project.page("two", cell("print('two')"))
    project.build()
    after = project.published()
    for index in (before, after):
        del index["searchindex.js"]  # Sphinx keeps an empty entry for the word that was there
    assert after == before


# What goes wrong is said at every build


def test_a_failing_cell_fails_three_builds_and_no_other_page(project: Project) -> None:
    project.page(
        "bad", "Text.\n", cell("print('before')"), cell("{}['key']"), cell("print('after')")
    )
    project.page("good", cell("print('good')"))
    line = project.cell_lines("bad")[1]
    for jobs in (1, 1, 2):
        build = project.build(jobs)
        assert build.status == 1
        assert f"bad.md:{line}: WARNING: this cell failed: KeyError: 'key'" in build.err
        assert "\nbefore\n" in project.text("bad")
        assert "\nafter\n" not in project.text("bad")
        assert "\ngood\n" in project.text("good")
    project.page("bad", cell("print('mended')"))
    assert project.build().status == 0


@pytest.mark.parametrize(
    ("code", "options", "message"),
    [
        ("import warnings\nwarnings.warn('mind')", (), "this cell wrote to stderr"),
        ("print('fine')", (":tags: [raises-exception]",), "but nothing was raised"),
        ("object()", (), "this cell prints a memory address"),
        (FIGURE.format(name="x").replace("alt", "other"), (), "figure has no alternative text"),
    ],
)
def test_what_a_reader_should_not_see_is_said_at_every_build(
    project: Project, code: str, options: tuple[str, ...], message: str
) -> None:
    project.page("page", "Text.\n", cell("x = 1"), cell(code, *options))
    line = project.cell_lines("page")[1]
    for _ in range(2):
        build = project.build()
        assert build.status == 1
        assert re.search(rf"page.md:{line}: WARNING: .*{message}", build.err), build.err
    assert build.executed == []


def test_an_author_can_mean_to_write_to_stderr(project: Project) -> None:
    meant = ("---", "mystnb:", "  output_stderr: show", "---")
    project.page("page", cell("import sys\nprint('aside', file=sys.stderr)", *meant))
    assert project.build().status == 0
    assert "\naside\n" in project.text("page")


def test_a_dead_or_endless_kernel_ends_its_page_only(project: Project) -> None:
    project.page("dead", cell("import os\nos._exit(7)"))
    project.page("endless", cell("while True:\n    pass"))
    project.page("good", cell("print('good')"))
    build = project.build(nb_execution_timeout=2)
    assert build.status == 1
    assert re.search(
        r"dead.md:\d+: WARNING: this cell failed: the kernel died \(exit 7\)", build.err
    )
    assert re.search(
        r"endless.md:\d+: WARNING: this cell failed: it ran longer than 2 s", build.err
    )
    assert "\ngood\n" in project.text("good")
    assert "Traceback" not in build.err


# Kernels


def run(*codes: str) -> list[notebook_runner.Execution]:
    cells = [[nbformat.v4.new_code_cell(one) for one in code.split("%%\n")] for code in codes]
    notebooks = {str(n): nbformat.v4.new_notebook(cells=one) for n, one in enumerate(cells)}
    folders = dict.fromkeys(notebooks, "/")
    return list(notebook_runner.execute(notebooks, folders, timeout=60).values())


def printed(execution: notebook_runner.Execution) -> str:
    assert execution.failure is None, execution.failure
    outputs = [output for one in execution.notebook.cells for output in one.outputs]
    return "".join(output.get("text", "") for output in outputs)


def test_no_page_sees_what_another_did() -> None:
    code = """
import builtins, os, sys, torch
seen = [hasattr(builtins, "mark"), "MARK" in os.environ, hasattr(torch, "mark"), os.getcwd() != "/"]
builtins.mark = torch.mark = sys.modules["mark"] = True
os.environ["MARK"] = "1"
os.chdir("/tmp")
torch.set_default_dtype(torch.float64)
print(seen, torch.initial_seed(), "mark" in sys.modules)
%%
torch.manual_seed(1)
"""
    texts = [printed(execution) for execution in run(*[code] * 5)]
    assert texts == [texts[0]] * 5
    assert texts[0].startswith("[False, False, False, False]")


def test_nothing_touches_cuda_or_starts_a_thread_before_the_fork() -> None:
    code = """
import os, sys, torch
print(len(os.listdir(f"/proc/{os.getppid()}/task")), torch.cuda.is_initialized())
print("sphinx" in sys.modules, "literate_attention" in sys.modules)
"""
    assert [printed(execution) for execution in run(code)] == ["1 False\nFalse False\n"]


def test_a_kernel_keeps_what_is_behind_each_printed_tensor_and_formatted_number() -> None:
    code = """
import torch
print([torch.tensor(2), torch.tensor([True])])
print(torch.nn.Parameter(torch.tensor([[-float("inf"), 0.5]])))
print(torch.zeros(1001), f"{torch.tensor(1.5):.1f}", torch.zeros(2, device="meta"))
torch.Size([2])
"""
    (execution,) = run(code)
    assert printed(execution).startswith("[tensor(2), tensor([True])]\nParameter containing:\n")
    *_, last = execution.notebook.cells[0].outputs
    (notes,) = last.data.values()
    assert [note["values"] for note in notes] == [2, [True], [["-inf", 0.5]], 1.5, None, None]
    assert notes[2]["text"] == "tensor([[  -inf, 0.5000]], requires_grad=True)"


def test_what_is_printed_in_pieces_is_one_text() -> None:
    """When a kernel sends what was printed so far is chance, and must not be seen on a page."""
    pieces = 'print("rows sum to:", end="", flush=True)\nprint(" 1")'
    (execution,) = run(pieces)
    assert [output.text for output in execution.notebook.cells[0].outputs] == ["rows sum to: 1\n"]


def test_without_a_server_plain_kernels_take_over_with_one_note(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.page("one", cell("print('one')"))
    project.page("two", cell("import os\nprint('two', os.environ['PYTHONHASHSEED'])"))
    monkeypatch.setenv(warm_server.ADDRESS, str(project.root / warm_server.identity()))
    build = project.build()
    assert build.status == 0
    assert build.out.count("plain kernels take over") == 1
    assert build.executed == ["one", "two"]
    assert "two 0" in project.text("two")


def test_a_server_of_other_code_or_packages_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"import os; print({warm_server.ADDRESS!r} in os.environ, os.getppid())"
    (theirs,) = [printed(execution) for execution in run(code)]
    real = os.environ[warm_server.ADDRESS]
    monkeypatch.setenv(warm_server.ADDRESS, f"{real}-of-yesterday")
    (ours,) = [printed(execution) for execution in run(code)]
    assert theirs != ours
    monkeypatch.setattr(warm_server, "PACKAGES", ("torch",))
    monkeypatch.setenv(warm_server.ADDRESS, real)
    assert warm_server.running() is None


def test_where_no_socket_can_be_made_plain_kernels_do_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / ("far" * 40)
    far.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(far))
    monkeypatch.delenv(warm_server.ADDRESS)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('done')")])
    reasons: list[str] = []
    done = notebook_runner.execute(
        {"page": notebook}, {"page": "/"}, timeout=60, fell_back=reasons.append
    )
    assert printed(done["page"]) == "done\n"
    assert reasons == ["AF_UNIX path too long"]


def test_a_page_that_forgets_what_it_runs_on_fails_alone() -> None:
    forgetful, good = run("del _literate_about", "print('good')")
    assert forgetful.failure == (0, "NameError: name '_literate_about' is not defined")
    assert printed(good) == "good\n"


def test_a_server_that_dies_at_work_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(warm_server.ADDRESS)
    code = f"""
import os, signal
if not os.path.exists({str(tmp_path / "shot")!r}):
    open({str(tmp_path / "shot")!r}, "w").close()
    os.kill(os.getppid(), signal.SIGKILL)
%%
print("done")
"""
    assert [printed(execution) for execution in run(code)] == ["done\n"]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "waited 30 s in vain"
        time.sleep(0.002)


def test_a_killed_build_leaves_no_process_behind(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(warm_server.ADDRESS)
    pids = project.root / "pids"
    code = (
        f"import os, time\nopen({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}\\n')"
    )
    project.page("page", cell(f"{code}\ntime.sleep(100)"))
    build = project.start()
    wait_until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    kernel, server = map(int, pids.read_text().split())
    assert alive(kernel)
    assert alive(server)
    build.kill()
    build.wait()
    wait_until(lambda: not alive(kernel) and not alive(server))


def test_a_command_runs_beside_a_server_that_ends_with_it() -> None:
    ask = f"import os; print(os.environ[{warm_server.ADDRESS!r}])"
    command = [sys.executable, str(warm_server.HERE), "run", sys.executable, "-c", ask]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0
    assert Path(ran.stdout.strip()).name == warm_server.identity()
    assert not Path(ran.stdout.strip()).exists()


# The store, and the disk


def sample() -> nbformat.NotebookNode:
    output = nbformat.v4.new_output("stream", text="42\n")
    cells = [nbformat.v4.new_code_cell("6 * 7", id="cell-0", outputs=[output])]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"42", b"43"),
        lambda content: b"",
        lambda content: b"[]",
        lambda content: content.replace(b"checksum", b"chksum"),
    ],
    ids=["cut", "changed", "empty", "other", "unsealed"],
)
def test_a_damaged_execution_is_noticed_and_removed(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    store = Store(tmp_path / "executions")
    store.save("key", sample())
    assert store.load("key").cells == sample().cells  # type: ignore[union-attr]
    path = store.path("key")
    path.write_bytes(damage(path.read_bytes()))
    assert store.load("key") is None
    assert not path.exists()


def test_a_damaged_execution_is_replaced(project: Project) -> None:
    project.page("page", cell("print(6 * 7)"))
    project.build()
    before = project.published()
    (stored,) = project.stored
    stored.write_bytes(stored.read_bytes()[:-50])
    build = project.build()
    assert build.status == 0
    assert build.out.count("is damaged: its page runs again") == 1
    assert build.executed == ["page"]
    assert project.stored == [stored]
    assert project.published() == before


def test_what_nobody_used_for_weeks_is_forgotten(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for key in ("used", "unused", "recent"):
        store.save(key, sample())
    for key in ("used", "unused"):
        os.utime(store.path(key), (0, 0))
    store.prune(["used"])
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["recent", "used"]


def test_a_store_that_cannot_be_written_is_one_sentence(project: Project) -> None:
    project.page("page", cell("print(6 * 7)"))
    (project.root / "build").mkdir()
    (project.root / "build" / "executions").write_text("in the way")
    with pytest.raises(SphinxError, match=r"^The build cannot write \S+\.ipynb: [A-Z][a-z ]+\.$"):
        project.build()


def test_an_unwritable_build_folder_is_one_sentence(project: Project) -> None:
    (project.root / "build").write_text("in the way")
    build = project.run()
    assert build.status == 2
    assert re.search(
        r"The build cannot write \S+build/html: [A-Z][a-z ]+\.$", build.err, re.MULTILINE
    )


@pytest.mark.parametrize(("size", "blocks"), [(100_000, 64), (10, 8)], ids=["ours", "of Sphinx"])
def test_a_full_disk_is_one_sentence(project: Project, size: int, blocks: int) -> None:
    project.page("page", cell(f"print('x' * {size})"))
    build = project.run("bash", "-c", f'ulimit -f {blocks}; exec "$@"', "bash")
    assert build.status == 2
    assert re.search(r"The build cannot write .*File too large\.$", build.err, re.MULTILINE)


def test_builds_killed_at_any_moment_end_as_one_that_was_not(
    book: tuple[Project, Build], tmp_path: Path
) -> None:
    """ "Killing the build at random moments, then building: the result is byte-identical."""
    whole, _ = book
    project = copied(whole, tmp_path)
    cut_short = []
    for begun in (
        "executions/*.ipynb",
        "doctrees/figure.doctree",
        "html/_static/pygments.css",
        "html/glue.html",
        "html/searchindex.js",
    ):
        build = project.start()
        wait_until(lambda: any((project.root / "build").glob(begun)))  # noqa: B023
        build.kill()
        build.wait()
        cut_short.append((project.html / interrupted_builds.MARK).exists())
    assert any(cut_short)  # all of them, where the machine is quick to kill
    end = project.build()
    assert end.status == 0, end.err
    assert ("cut short" in end.out) == cut_short[-1]
    assert project.published() == whole.published()


def test_two_builds_never_write_one_folder_at_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interrupted_builds, "PATIENCE_SECONDS", 0)
    project.page("page", "Text.\n", head="")
    (project.root / "build").mkdir()
    hold = (
        "import fcntl, sys\n"
        "lock = open('build/.html.lock', 'w')\n"
        "fcntl.lockf(lock, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", hold], cwd=project.root, **pipes) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(
            SphinxError, match=r"^Another build is writing \S+/build/html just now\.$"
        ):
            project.build()
        other.stdin.close()
    assert project.build().status == 0


def test_a_folder_that_is_not_a_site_is_never_cleared(project: Project) -> None:
    project.page("page", "Text.\n")
    project.html.mkdir(parents=True)
    (project.html / "precious").write_text("mine")
    build = project.start()
    wait_until(lambda: (project.html / ".buildinfo").exists() or build.poll() is not None)
    build.kill()
    build.wait()
    assert project.build().status == 0
    assert (project.html / "precious").read_text() == "mine"


# Run times


def test_the_slowest_cells_are_listed_on_request(project: Project) -> None:
    project.page("page", cell("x = 1"), cell("import time\ntime.sleep(0.1)"))
    project.page("other", *[cell(f"x = {n}") for n in range(10)])
    build = project.build(literate_profile=True)
    line = project.cell_lines("page")[1]
    listed = re.findall(r"^ +([\d.]+) s  (\S+:\d+)$", build.out, re.MULTILINE)
    assert len(listed) == 10
    assert listed[0][1] == f"page:{line}"
    assert float(listed[0][0]) >= 0.1
    seconds = [json.loads(path.read_bytes())["metadata"]["seconds"] for path in project.stored]
    assert sorted(map(len, seconds)) == [2, 10]
