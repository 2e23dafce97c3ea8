"""Pages are executed in warm kernels, side by side, once; and nothing stale, broken or half-done is shown."""

import json
import pickle
import re
import shutil
from pathlib import Path

import pytest
from docutils.nodes import container, document
from harness.books import Book, Build, cell, settings_for, wait_until
from harness.kernels import LEAN, alive, book_with_kernels, titled
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from executable_book.check import source_names
from executable_book.run import page_execution
from executable_book.run.kernels import notebook_runner, warm_server

FIGURE = """
import matplotlib.pyplot as plt
from IPython.display import display
figure, axes = plt.subplots(figsize=(1, 1))
axes.plot([1, 2])
figure.savefig("{name}.svg")
display(figure, metadata={{"alt": "a rising line"}})
plt.close()
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory, warm: None) -> tuple[Book, Build]:
    """Return a book that was built once, and its build. Tests leave it as it is."""
    project = book_with_kernels(tmp_path_factory.mktemp("book"))
    titled(
        project,
        "values",
        cell("import torch\nprint(torch.tensor([0.123456789, float('inf')]))\nprint('label', 7)"),
        cell("torch.arange(3)"),
    )
    titled(project, "figure", cell(FIGURE.format(name="line")))
    titled(project, "sub/error", cell("[].pop()", ":tags: [raises-exception]"))
    titled(
        project,
        "glue",
        "Glued: {glue:}`share`.\n",
        cell("from myst_nb import glue\nglue('share', 0.625, display=False)"),
    )
    titled(
        project,
        "where",
        cell("import os\nprint(os.path.basename(os.getcwd()), os.environ['PYTHONHASHSEED'])"),
        cell("import sys\nprint([name for name in sys.path if name.endswith('run')])"),
    )
    titled(project, "plain", "Nothing is executed {ref}`here <plain>`.\n", head="(plain)=\n")
    return project, project.build()


OUTPUT = r'<div class="cell_output.*?</div>\n</div>'
"""What a cell shows, in the HTML of a page."""


def text_of(project: Book, page: str) -> str:
    """Return the text of a page that was built."""
    return re.sub("<[^>]*>", "", (project.html / f"{page}.html").read_text())


USES_LIBRARY = cell(
    "import sys\nsys.path.insert(0, '../src')\nfrom library import ANSWER\nprint('answer', ANSWER)"
)


def test_each_page_runs_once_with_progress(book: tuple[Book, Build]) -> None:
    _, build = book
    assert build.status == 0, build.err
    assert build.executed == ["figure", "glue", "sub/error", "values", "where"]
    assert re.findall(r"in \d+\.\d s \((\d) of 5\)", build.said) == list("12345")
    # On a terminal, each line stands where the name of a page did.
    longest = len("executed sub/error")
    assert re.findall(r"^(executed .*) in ", build.said, re.MULTILINE) == [
        f"executed {name}".ljust(longest) for name in re.findall(r"executed (\S+)", build.said)
    ]


def test_slow_pages_run_first_and_the_others_in_their_order() -> None:
    pages = ["a", "b", "c", "d"]
    assert page_execution.slow_first(pages, ["d", "gone", "b"]) == ["d", "b", "a", "c"]


UNTIL_IT_IS_READ = """
import os, time
while not os.path.exists("{doctree}"):
    time.sleep(0.01)
"""


def test_pages_are_read_while_others_run(project: Book) -> None:
    doctree = project.folder / "_build" / "doctrees" / "other.doctree"
    titled(project, "page", cell(UNTIL_IT_IS_READ.format(doctree=doctree)))
    titled(project, "other", "Nothing is executed here.\n")
    build = project.build(nb_execution_timeout=20)
    assert (build.status, build.executed) == (0, ["page"]), build.err


def test_what_has_run_is_not_lost_with_a_build_that_fails(
    project: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    titled(project, "page", cell("print('one')"))
    titled(project, "other", "Nothing is executed here.\n")

    def fail(app: Sphinx, doctree: document) -> None:
        if app.env.docname == "other":
            stored = project.html.with_name("executions")
            wait_until(lambda: any(stored.glob("*.ipynb")), seconds=50)
            raise ValueError("no such page")

    with monkeypatch.context() as patch:
        patch.setattr(source_names, "collect", fail)
        with pytest.raises(ExtensionError, match="no such page"):
            project.build()
    again = project.build()
    assert (again.status, again.executed) == (0, [])


def test_a_build_that_fails_while_pages_run_waits_for_none(
    project: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = project.root / "pid"
    code = f"import os, time\nopen({str(pid)!r}, 'w').write(f'{{os.getpid()}}\\n')\ntime.sleep(100)"
    titled(project, "page", cell(code))

    def fail(app: Sphinx, doctree: document) -> None:
        wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"))
        raise ValueError("no such page")

    monkeypatch.setattr(source_names, "collect", fail)
    with pytest.raises(ExtensionError, match="no such page"):
        project.build()
    assert not alive(int(pid.read_text()))


def test_outputs_appear_beside_their_cells_and_ours_stay_out(book: tuple[Book, Build]) -> None:
    project, _ = book
    assert "tensor([0.1235,    inf])\nlabel 7" in text_of(project, "values")
    assert "tensor([0, 1, 2])" in text_of(project, "values")
    assert not any(b"vnd.executable-book" in content for content in project.published().values())


def test_exact_values_reach_the_doctree(project: Book) -> None:
    titled(project, "page", cell("import torch\nprint(torch.tensor([1 / 3, float('nan')]))"))
    project.build()
    doctree = pickle.loads((project.built / "doctrees/page.doctree").read_bytes())
    (node,) = (node for node in doctree.findall(container) if "cell_metadata" in node)
    third = 0.3333333432674408  # as a float32 is, in double precision
    notes = [{"text": "tensor([0.3333,    nan])", "values": [third, "nan"]}]
    assert node["cell_metadata"]["printed_values"] == notes


def test_a_figure_says_in_words_what_it_shows(book: tuple[Book, Build]) -> None:
    project, _ = book
    assert 'alt="a rising line"' in (project.html / "figure.html").read_text()


def test_an_expected_error_is_shown_without_the_way_there(book: tuple[Book, Build]) -> None:
    project, _ = book
    assert "IndexError: pop from empty list" in text_of(project, "sub/error")
    assert "Traceback" not in text_of(project, "sub/error")


def test_a_value_is_glued_into_a_sentence(book: tuple[Book, Build]) -> None:
    project, _ = book
    assert "Glued: 0.625." in text_of(project, "glue")


def test_a_kernel_knows_its_folder_and_nothing_of_the_build(book: tuple[Book, Build]) -> None:
    project, _ = book
    assert "docs 0\n" in text_of(project, "where")
    assert "\n[]\n" in text_of(project, "where")


def test_a_plain_page_is_an_ordinary_page(book: tuple[Book, Build]) -> None:
    project, _ = book
    assert "Nothing is executed here." in text_of(project, "plain")
    assert len(project.stored) == 5  # as many as there are executed pages


def test_warnings_name_the_line_of_the_source(project: Book) -> None:
    titled(project, "page", cell("x = 1\ny = 2"), "Text.\n\nSee {ref}`nowhere`.")
    lines = project.text("page.md").splitlines()
    build = project.build()
    assert build.status == 1
    assert (
        f"page.md:{lines.index('See {ref}`nowhere`.') + 1}: WARNING: undefined label" in build.err
    )


def test_outputs_are_those_of_stock_myst_nb(project: Book) -> None:
    code = (
        "import torch, sys\nprint(torch.ones(2))\nprint('x', file=sys.stdout)\n{'a': torch.eye(2)}"
    )
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    alt = ("---", "mystnb:", "  image:", "    alt: a line", "---")
    bold = "from IPython.display import HTML\nHTML('<b>bold</b>')"
    titled(
        project,
        "page",
        *(cell(code), cell(bold), cell(plot, *alt)),
        cell("1 / 0", ":tags: [raises-exception, remove-output]"),
    )
    assert project.build().status == 0

    def outputs() -> list[str]:
        page = (project.html / "page.html").read_text()
        found = re.findall(OUTPUT, page, re.DOTALL)
        return [re.sub(r"</?span[^>]*>", "", output) for output in found]  # ours mark each line

    ours = outputs()
    shutil.rmtree(project.built)
    project.build(extensions=["myst_nb"], nb_execution_mode="force")
    assert ours == outputs()
    assert len(ours) == 3


def test_what_changed_runs_again_and_nothing_else(
    project: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After any change to `src/` the next build re-executes; after none, it starts no kernel."""
    titled(project, "one", USES_LIBRARY)
    titled(project, "two", cell("print('two')"))
    assert project.build().executed == ["one", "two"]

    with monkeypatch.context() as patch:
        patch.setattr(notebook_runner, "executing", None)
        assert project.build().status == 0
        titled(project, "two", "More prose.\n", cell("print('two')", ":tags: [hide-input]"))
        assert project.build().status == 0
    assert "More prose." in text_of(project, "two")

    titled(project, "two", cell("print('zwei')"))
    assert project.build().executed == ["two"]
    assert "\nzwei\n" in text_of(project, "two")

    # Of what is as long, Python does not see that it has changed within a second.
    (project.root / "src" / "library.py").write_text("ANSWER = 40 + 3\n")
    assert project.build().executed == ["one", "two"]
    assert "answer 43" in text_of(project, "one")

    (project.root / "src" / "library.py").write_text("ANSWER = 42\n")
    assert project.build().executed == []
    assert "answer 42" in text_of(project, "one")


def test_a_page_saved_while_it_is_built_is_shown_whole_and_then_anew(project: Book) -> None:
    titled(project, "page", cell("print('old')"))
    project.add(
        "conf.py",
        "def setup(app):\n"
        "    def save(app, env, docnames):\n"
        "        page = app.srcdir / 'page.md'\n"
        "        page.write_text(page.read_text().replace('old', 'new'))\n"
        "    app.connect('env-before-read-docs', save, priority=900)\n",
    )
    assert project.build().status == 0
    assert "\nold\n" in text_of(project, "page")
    assert "new" not in text_of(project, "page")
    assert project.build().executed == ["page"]
    assert "\nnew\n" in text_of(project, "page")
    assert "old" not in text_of(project, "page")


def test_the_device_is_part_of_the_key(project: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    titled(project, "page", cell("import os\nprint('on', os.environ.get('SOME_DEVICE'))"))
    project.build()
    monkeypatch.setenv("SOME_DEVICE", "meta")
    assert project.build().executed == ["page"]
    assert "on meta" in text_of(project, "page")


def test_two_cold_builds_give_the_same_bytes(book: tuple[Book, Build], tmp_path: Path) -> None:
    project, _ = book
    again = project.copied(tmp_path / "again")
    assert again.build(jobs=2).status == 0
    assert again.published() == project.published()
    svg = (project.folder / "line.svg").read_bytes()
    assert svg == (again.folder / "line.svg").read_bytes()


def test_an_edit_and_its_undoing_leave_the_same_bytes(project: Book) -> None:
    titled(project, "one", USES_LIBRARY)
    titled(project, "two", cell("print('two')"))
    project.build()
    before = project.published()
    titled(project, "two", cell("print('zwei')"))
    project.build()
    titled(project, "two", cell("print('two')"))
    project.build()
    after = project.published()
    for index in (before, after):
        del index["searchindex.js"]  # Sphinx keeps an empty entry for the word that was there
    assert after == before


def test_a_failing_cell_fails_three_builds_and_no_other_page(project: Book) -> None:
    titled(
        project,
        "bad",
        "Text.\n",
        cell("print('before')"),
        cell("{}['key']"),
        cell("print('after')"),
    )
    titled(project, "good", cell("print('good')"))
    line = project.cell_lines("bad")[1]
    for jobs in (1, 1, 2):
        build = project.build(jobs)
        assert build.status == 1
        assert f"bad.md:{line}: WARNING: this cell failed: KeyError: 'key'" in build.err
        assert "\nbefore\n" in text_of(project, "bad")
        assert "\nafter\n" not in text_of(project, "bad")
        assert "\ngood\n" in text_of(project, "good")
    titled(project, "bad", cell("print('mended')"))
    assert project.build().status == 0


def test_a_page_may_end_early_without_a_package_that_the_book_may_lack(project: Book) -> None:
    """Asked to, a build is green without it; not asked, or without another package, it is not."""
    without = cell("raise ModuleNotFoundError('no_such_model is not installed: install it')")
    titled(project, "page", cell("print('before')"), without, cell("print('after')"))
    project.write(
        "recorded/page.txt", ">>> print('before')\n    before\n\n>>> print('after')\n    after\n"
    )
    titled(project, "other", "See {numref}`fig-after`.\n")
    line = project.cell_lines("page")[1]

    def build(*may_lack: str) -> Build:
        return project.build(book_may_lack=[*may_lack], **settings_for("execution", "recorded"))

    for may_lack in ((), ("no_such",), ("another_model",)):
        refused = build(*may_lack)
        assert f"page.md:{line}: WARNING: this cell failed: ModuleNotFoundError" in refused.err
    for _ in range(2):
        green = build("another_model", "no_such_model")
        assert (green.status, green.err) == (0, "")
        assert "page ends early, without no_such_model" in green.said
    shown = text_of(project, "page")
    assert "\nbefore\n" in shown
    assert "ModuleNotFoundError: no_such_model is not installed: install it" in shown
    assert "Traceback" not in shown
    assert "See [not shown without no_such_model]." in text_of(project, "other")
    refused = build()
    assert refused.status == 1
    assert "undefined label: 'fig-after'" in refused.err


NOT_TO_BE_SEEN = {
    "noisy": ("import warnings\nwarnings.warn('mind')", (), "this cell wrote to stderr"),
    "calm": ("print('fine')", (":tags: [raises-exception]",), "but nothing was raised"),
    "placed": ("object()", (), "this cell prints a memory address"),
    "mute": (FIGURE.format(name="x").replace("alt", "other"), (), "figure has no alternative text"),
}


def test_what_a_reader_should_not_see_is_said_at_every_build(project: Book) -> None:
    for name, (code, options, _) in NOT_TO_BE_SEEN.items():
        titled(project, name, "Text.\n", cell("x = 1"), cell(code, *options))
    for _ in range(2):
        build = project.build()
        assert build.status == 1
        for name, (_, _, message) in NOT_TO_BE_SEEN.items():
            line = project.cell_lines(name)[1]
            assert re.search(rf"{name}.md:{line}: WARNING: .*{message}", build.err), build.err
    assert build.executed == []


def test_an_author_can_mean_to_write_to_stderr(project: Book) -> None:
    meant = ("---", "mystnb:", "  output_stderr: show", "---")
    titled(project, "page", cell("import sys\nprint('aside', file=sys.stderr)", *meant))
    assert project.build().status == 0
    assert "\naside\n" in text_of(project, "page")


def test_a_dead_or_endless_kernel_ends_its_page_only(project: Book) -> None:
    titled(project, "dead", cell("import os\nos._exit(7)"))
    titled(project, "endless", cell("import time\nwhile True:\n    time.sleep(1)"))
    titled(project, "good", cell("print('good')"))
    build = project.build(nb_execution_timeout=3)  # the good page has as long
    assert build.status == 1
    assert re.search(
        r"dead.md:\d+: WARNING: this cell failed: the kernel died \(exit 7\)", build.err
    )
    assert re.search(
        r"endless.md:\d+: WARNING: this cell failed: it ran longer than 3 s", build.err
    )
    assert "\ngood\n" in text_of(project, "good")
    assert "Traceback" not in build.err


def test_without_a_server_plain_kernels_take_over_with_one_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = book_with_kernels(tmp_path, kernels=LEAN)
    titled(project, "one", cell("print('one')"))
    titled(project, "two", cell("import os\nprint('two', os.environ['PYTHONHASHSEED'])"))
    monkeypatch.setenv(warm_server.ADDRESS, str(project.root / warm_server.identity(LEAN)))
    build = project.build()
    assert build.status == 0
    assert build.said.count("plain kernels take over") == 1
    assert build.executed == ["one", "two"]
    assert "two 0" in text_of(project, "two")


def test_the_slowest_cells_are_listed_on_request(project: Book) -> None:
    titled(project, "page", cell("x = 1"), cell("import time\ntime.sleep(1)"))
    titled(project, "other", *[cell(f"x = {n}") for n in range(10)])
    build = project.build(book_profile=True)
    line = project.cell_lines("page")[1]
    listed = re.findall(r"^ +([\d.]+) s  (\S+:\d+)$", build.said, re.MULTILINE)
    assert len(listed) == 10
    assert listed[0][1] == f"page:{line}"
    assert float(listed[0][0]) >= 0.1
    seconds = [json.loads(path.read_bytes())["metadata"]["seconds"] for path in project.stored]
    assert sorted(map(len, seconds)) == [2, 10]
