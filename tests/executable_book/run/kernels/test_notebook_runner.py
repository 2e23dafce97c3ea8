"""Notebooks run in kernels, whatever becomes of the server."""

import gc
import tempfile
import time
from pathlib import Path

import nbformat
import pytest
from harness.kernels import KERNELS, LEAN, printed, run

from executable_book.run.kernels import notebook_runner, warm_server

pytestmark = pytest.mark.usefixtures("warm")


def test_what_is_printed_in_pieces_is_one_text() -> None:
    """When a kernel sends what was printed so far is chance, and must not be seen on a page."""
    pieces = 'print("rows sum to:", end="", flush=True)\nprint(" 1")'
    (execution,) = run(pieces)
    assert [output.text for output in execution.notebook.cells[0].outputs] == ["rows sum to: 1\n"]


def test_where_no_socket_can_be_made_plain_kernels_do_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / ("far" * 40)
    far.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(far))
    monkeypatch.delenv(warm_server.ADDRESS)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('done')")])
    reasons: list[str] = []
    with notebook_runner.executing(
        {"page": notebook}, {"page": "/"}, LEAN, timeout=300, fell_back=reasons.append
    ) as finished:
        done = dict(finished)
    assert printed(done["page"]) == "done\n"
    assert reasons == ["AF_UNIX path too long"]


def test_a_page_that_forgets_what_it_runs_on_fails_alone() -> None:
    forgetful, good = run("del _executed_with", "print('good')")
    assert forgetful.failure == (0, "NameError: name '_executed_with' is not defined")
    assert printed(good) == "good\n"


@pytest.mark.parametrize("seconds", [0, 0.03, 0.1, 0.3])
def test_what_is_given_up_leaves_nothing_open(seconds: float) -> None:
    """At whatever moment: a kernel is asked for, starts, or runs."""
    cell = nbformat.v4.new_code_cell("import time\ntime.sleep(100)")
    notebooks = {name: nbformat.v4.new_notebook(cells=[cell]) for name in "abc"}
    begun = time.monotonic()
    with notebook_runner.executing(notebooks, dict.fromkeys("abc", "/"), KERNELS, timeout=300):
        time.sleep(seconds)
    gc.collect()  # what is open would complain
    assert time.monotonic() - begun < 50


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
    assert [printed(execution) for execution in run(code, settings=LEAN)] == ["done\n"]
