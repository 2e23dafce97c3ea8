"""A program prints the same in a fork of the warm server and in an interpreter; none is left behind."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness.books import wait_until
from harness.kernels import KERNELS, LEAN, alive

from executable_book.run import programs
from executable_book.run.kernels import warm_server
from executable_book.run.kernels.kernel_settings import KernelSettings
from executable_book.run.programs import Program

ABOUT = """
import json, os, sys
about = {
    "arguments": sys.argv,
    "name": __name__,
    "path": sys.path,
    "folder": os.getcwd(),
    "environment": dict(os.environ),
}
forked = "torch" in sys.modules
print(json.dumps([about, forked]))
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Program]:
    """Return a function that begins to run some code."""

    def begin(code: str, *arguments: str, settings: KernelSettings = KERNELS) -> Program:
        (tmp_path / "program.py").write_text(code, encoding="utf-8")
        return Program(settings, tmp_path / "program.py", *arguments)

    return begin


@pytest.fixture(params=["forked", "started"])
def forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, warm: None) -> bool:
    """Have a warm server, or none."""
    if request.param == "started":
        monkeypatch.delenv(warm_server.ADDRESS)
    return bool(request.param == "forked")


def test_a_fork_and_an_interpreter_find_the_same(
    program: Callable[..., Program], monkeypatch: pytest.MonkeyPatch, warm: None
) -> None:
    forked, is_fork = json.loads(program(ABOUT, "one", "two").finish().output)
    monkeypatch.delenv(warm_server.ADDRESS)
    started, is_fork_too = json.loads(program(ABOUT, "one", "two").finish().output)
    assert (is_fork, is_fork_too) == (True, False)
    assert forked == started
    assert forked["arguments"][1:] == ["one", "two"]
    assert forked["environment"]["PYTHONHASHSEED"] == "0"


def test_how_a_program_ended_is_told(program: Callable[..., Program], forked: bool) -> None:
    ended = program("print('half', end='')\nraise ValueError('no more')").finish()
    assert (ended.status, ended.output) == (1, "half")
    assert ended.errors.endswith("ValueError: no more\n")
    assert program("raise SystemExit(3)").finish().status == 3
    assert program("raise SystemExit").finish().status == 0
    assert program("raise SystemExit('why')").finish() == (1, "", "why\n")
    assert program("print('done')").finish() == (0, "done\n", "")


def test_a_program_outlives_the_server(
    program: Callable[..., Program], tmp_path: Path, warm_server_of_its_own: None
) -> None:
    code = f"""
import os, time
if not os.path.exists({str(tmp_path / "shot")!r}):
    open({str(tmp_path / "shot")!r}, "w").close()
    os.kill(os.getppid(), {int(signal.SIGKILL)})
    time.sleep(0.3)
    print("orphaned", flush=True)
time.sleep(0.8)
print("done")
"""
    assert program(code, settings=LEAN).finish() == (0, "done\n", "")


@pytest.fixture
def warm_server_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have a server that may be killed."""
    with warm_server.server(LEAN) as address:
        monkeypatch.setenv(warm_server.ADDRESS, address)
        yield


def test_a_build_that_ends_leaves_no_program(
    program: Callable[..., Program], tmp_path: Path, forked: bool
) -> None:
    pid = tmp_path / "pid"
    begun = program(
        f"import os, time\nprint(os.getpid(), file=open({str(pid)!r}, 'w', 1))\ntime.sleep(100)"
    )
    wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"))
    folder = Path(begun._folder.name)
    programs.end(None, None)
    wait_until(lambda: not alive(int(pid.read_text())), seconds=50)
    assert not folder.exists()
