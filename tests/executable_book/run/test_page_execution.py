"""Pages are executed in warm kernels, side by side, once; and nothing stale, broken or half-done is shown."""

import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness.books import FRONT_MATTER, LEDGER, cell
from harness.kernels import book_with_kernels, titled
from sphinx.errors import ConfigError, SphinxError

from executable_book.run import page_execution

FIGURE = """
import matplotlib.pyplot as plt
from IPython.display import SVG
figure, axes = plt.subplots(figsize=(1, 1))
axes.plot([1, 2])
figure.savefig("{name}.svg", metadata={{"Title": "a rising line", "Date": None}})
plt.close()
SVG("{name}.svg")
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory, warm):
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
    return project, project.build()


def text_of(project, page):
    """Return the text of a page that was built."""
    return re.sub("<[^>]*>", "", (project.html / f"{page}.html").read_text())


USES_LIBRARY = cell(
    "import sys\nsys.path.insert(0, '../src')\nfrom library import ANSWER\nprint('answer', ANSWER)"
)


def test_each_page_runs_once(book) -> None:
    _, build = book
    assert build.status == 0, build.err
    assert build.executed == ["figure", "sub/error", "values"]


def test_a_figure_says_in_words_what_it_shows(book) -> None:
    project, _ = book
    assert 'alt="a rising line"' in (project.html / "figure.html").read_text()


def test_an_expected_error_is_shown_without_the_way_there(book) -> None:
    project, _ = book
    assert "IndexError: pop from empty list" in text_of(project, "sub/error")
    assert "Traceback" not in text_of(project, "sub/error")


def test_what_changed_runs_again_and_nothing_else(project) -> None:
    """After any change to `src/` the next build executes all pages; after none, it starts no kernel."""
    titled(project, "one", USES_LIBRARY)
    titled(project, "two", cell("print('two')"))
    assert project.build().executed == ["one", "two"]

    assert project.build().executed == []
    titled(project, "two", "More prose.\n", cell("print('two')"))
    build = project.build()
    assert (build.status, build.executed) == (0, [])
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


def test_two_cold_builds_give_the_same_bytes(book, tmp_path) -> None:
    project, _ = book
    again = project.copied(tmp_path / "again")
    assert again.build(jobs=2).status == 0
    assert again.published() == project.published()
    svg = (project.folder / "line.svg").read_bytes()
    assert svg == (again.folder / "line.svg").read_bytes()


def test_a_failing_cell_fails_three_builds_and_no_other_page(project) -> None:
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
        assert "bad" in build.executed
        assert f"bad.md:{line}: WARNING: this cell failed: KeyError: 'key'" in build.err
        assert "\nbefore\n" in text_of(project, "bad")
        assert "\nafter\n" not in text_of(project, "bad")
        assert "\ngood\n" in text_of(project, "good")
    titled(project, "bad", cell("print('mended')"))
    assert project.build().status == 0


def test_the_cell_that_failed_is_named_even_if_others_may_fail_or_are_not_shown(project) -> None:
    titled(project, "bad", cell("[].pop()", ":tags: [raises-exception]"), cell("assert False"))
    titled(project, "hidden", cell("{}['key']", ":tags: [remove-input, remove-output]"))
    build, line = project.build(), project.cell_lines("bad")[1]
    assert f"bad.md:{line}: WARNING: this cell failed: AssertionError" in build.err
    assert "hidden.md:1: WARNING: this cell failed" in build.err


NOT_TO_BE_SEEN = {
    "noisy": ("import warnings\nwarnings.warn('mind')", "this cell wrote to stderr"),
    "placed": ("object()", "this cell prints a memory address"),
    "mute": (
        FIGURE.format(name="x").replace("Title", "Source"),
        "figure has no alternative text",
    ),
}


def test_what_a_reader_should_not_see_is_said_at_every_build(project) -> None:
    for name, (code, _) in NOT_TO_BE_SEEN.items():
        titled(project, name, "Text.\n", cell("x = 1"), cell(code))
    for _ in range(2):
        build = project.build()
        assert build.status == 1
        for name, (_, message) in NOT_TO_BE_SEEN.items():
            line = project.cell_lines(name)[1]
            assert re.search(rf"{name}.md:{line}: WARNING: .*{message}", build.err), build.err


def test_an_endless_cell_fails_its_page_alone(project) -> None:
    titled(project, "endless", cell("x = 1"), cell("import time\nwhile True:\n    time.sleep(1)"))
    titled(project, "good", cell("print('good')"))
    build = project.build(nb_execution_timeout=3)  # the good page has as long
    line = project.cell_lines("endless")[1]
    assert f"endless.md:{line}: WARNING: this cell failed: CellTimeoutError" in build.err
    assert "\ngood\n" in text_of(project, "good")


def test_a_kernel_that_dies_fails_its_page_alone(project) -> None:
    titled(project, "dead", cell("import os"), cell("import os\nos._exit(7)"), cell("1"))
    titled(project, "gone", cell("1"), head=FRONT_MATTER.replace("python3", "gone"))
    titled(project, "good", cell("print('good')"))
    for _ in range(2):
        build = project.build()
        assert "cell failed: NoSuchKernel: No such kernel named gone" in build.err
        line = project.cell_lines("dead")[1]
        assert (
            f"dead.md:{line}: WARNING: this cell failed: DeadKernelError: its process" in build.err
        )
        assert "\ngood\n" in text_of(project, "good")
    titled(project, "dead", cell("print('alive')"))
    (project.folder / "gone.md").unlink()
    assert project.build().status == 0


def test_a_kernel_of_the_authors_own_is_found(project, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share"))
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Own", "language": "python"}
    project.write(tmp_path / "share/kernels/own/kernel.json", json.dumps(spec))
    titled(project, "page", cell("print('own')"), head=FRONT_MATTER.replace("python3", "own"))
    assert project.build().status == 0
    assert "\nown\n" in text_of(project, "page")


def test_a_damaged_output_is_computed_again(project) -> None:
    titled(project, "page", cell("print('right')"))
    project.build()
    for damage in (
        lambda stored: stored.write_text("{"),
        Path.unlink,
        lambda stored: (stored.parents[2] / "global.db").write_bytes(b"no database"),
    ):
        (stored,) = project.stored
        damage(stored)
        project.add("page.md", "\nMore.\n")
        assert project.build().executed == ["page"]
        assert "\nright\n" in text_of(project, "page")


def test_outputs_that_nobody_has_used_for_long_are_removed_and_nothing_else(project) -> None:
    titled(project, "page", cell("print('old')"))
    project.build()
    (cache,) = (caches := project.built / "executions").iterdir()
    others = caches / "2024-run" / "results.csv", caches / ".DS_Store"
    for path in others:
        project.write(path, "mine")
    for path in caches.iterdir():
        os.utime(path, (0, 0))
    (project.root / "src" / "library.py").write_text("ANSWER = 43\n")
    project.build()
    assert not cache.exists()
    assert [path.read_text() for path in others] == ["mine", "mine"]


# What outputs depend on


def test_settings_and_variables_change_the_digest(monkeypatch) -> None:
    def digest(**settings):
        names = ("book_variables", "book_versions", "book_kernel_preload")
        config = SimpleNamespace(**{name: [] for name in names} | settings)
        return page_execution.execution_digest(config, [])

    plain = digest(book_variables=["SOME_DEVICE"])
    assert digest(book_variables=["SOME_DEVICE"], book_kernel_preload=["torch.nn"]) != plain
    monkeypatch.setenv("SOME_DEVICE", "meta")
    assert digest(book_variables=["SOME_DEVICE"]) != plain
    before = digest()
    monkeypatch.setenv("BOOK_NOISE", "1 contextlib:nullcontext")
    assert digest() != before


NOISE = """import builtins
from contextlib import contextmanager

@contextmanager
def noise(seed):
    builtins.heard = seed
    yield
"""
HEARS = "import builtins\nprint(getattr(builtins, 'heard', 'nothing'))"


def test_what_a_page_says_on_another_machine_is_compared_with_the_records(
    tmp_path, warm, monkeypatch
) -> None:
    project = book_with_kernels(tmp_path, "recorded", "ledger", book_ledger="sources.toml")
    project.write("sources.toml", LEDGER)
    project.write("../src/noisy.py", NOISE)
    for name in ("moves", "spared"):
        titled(project, name, cell("print(3)", ":verifies: three"), cell(HEARS))
    assert project.build(book_record=True).status == 0
    monkeypatch.setenv("PYTHONPATH", str(project.root / "src"))
    monkeypatch.setenv("BOOK_NOISE", "7 noisy:noise")
    build = project.build(builder="dummy", book_not_executed=["spared"])
    assert build.executed == ["moves"]
    (found,) = re.findall(r"^/.*WARNING.*", build.err, re.MULTILINE)
    assert f"moves.md:{project.cell_lines('moves')[1]}: WARNING: the output of" in found
    assert "    - nothing\n    + 7" in re.sub(r" *\?.*\n", "", build.err)
    assert "spared" not in build.said.partition("Not as it should be")[2]
    monkeypatch.setenv("BOOK_NOISE", "7 noisy:silence")
    with pytest.raises(SphinxError, match=r"cannot be executed .*NOISE = '7 noisy:silence'"):
        project.build(builder="dummy")


def test_what_a_book_depends_on_is_there(project) -> None:
    with pytest.raises(ConfigError, match=r"book_depends names what is not there: .*/scr"):
        project.build(book_depends=["../src", "../scr"])
    titled(project, "page", "Text.\n", head="")
    assert project.build().status == 0  # and does not wait for the one that failed


@pytest.mark.parametrize("name", ["page.md", "data.txt"])
def test_an_older_file_that_is_copied_over_a_newer_one_is_read(project, name: str) -> None:
    text = "# {}\n\n```{{literalinclude}} data.txt\n```\n"
    project.write("page.md", text.format("New"))
    project.write("data.txt", "New")
    project.build()
    project.write(name, text.format("Old") if name == "page.md" else "Old")
    os.utime(project.folder / name, (0, 0))
    assert "Old" in project.build().text("page")
    assert project.build().written == []
