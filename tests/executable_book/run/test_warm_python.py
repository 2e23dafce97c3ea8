"""Programs run in forks of a server, end as they would have ended, and leave nothing behind."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.books import wait_until
from harness.kernels import alive

from executable_book.run.kernels import WARM_PYTHON, start_python, warm_server
from executable_book.run.warm_python import ADDRESS

Run = Callable[..., tuple[int, str, str]]


def run(*arguments: str) -> tuple[int, str, str]:
    """Run a program; return its exit code, and what it printed."""
    program = start_python(*arguments)
    output, errors = program.communicate()
    return program.returncode, output, errors


@pytest.fixture(params=["forked", "plain"])
def run_code(request: pytest.FixtureRequest, tmp_path: Path, warm: None) -> Run:
    """Return a function that runs some code: in a fork, and where there is no server."""
    if request.param == "plain":
        request.getfixturevalue("monkeypatch").setenv(ADDRESS, str(tmp_path / "nobody"))

    def run_file(code: str, *arguments: str) -> tuple[int, str, str]:
        path = tmp_path / "program.py"
        path.write_text(code)
        return run(str(path), *arguments)

    return run_file


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a server that may be killed."""
    monkeypatch.delenv(ADDRESS, raising=False)
    with warm_server([]):
        yield


def test_a_program_gets_its_arguments_folder_and_environment(
    run_code: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_DEVICE", "meta")
    monkeypatch.chdir("/")  # the server was started elsewhere
    code = "import os, sys\nprint(sys.argv[1:], os.getcwd(), os.environ['SOME_DEVICE'], __name__)"
    assert run_code(code, "a", "b c") == (0, f"['a', 'b c'] {os.getcwd()} meta __main__\n", "")


def test_a_program_ends_as_it_would_anywhere(run_code: Run) -> None:
    status, output, errors = run_code("print('half', end='')\nraise ValueError('no more')")
    assert (status, output) == (1, "half")
    assert errors.endswith("ValueError: no more\n")
    assert run_code("raise SystemExit(3)") == (3, "", "")
    assert run_code("raise SystemExit('why')") == (1, "", "why\n")
    assert run_code("print('done')") == (0, "done\n", "")


def test_modules_and_commands_run_too_and_have_what_the_server_has(warm: None) -> None:
    assert run("-c", "import sys; print(sys.argv)", "x")[1] == "['-c', 'x']\n"
    assert "usage" in run("-m", "json.tool", "--help")[1]
    assert run("-c", "import sys; print('torch' in sys.modules)")[1] == "True\n"


def test_a_fork_ends_with_its_client(warm: None, tmp_path: Path) -> None:
    client, fork = begun(tmp_path)
    assert alive(fork)
    client.kill()
    client.wait()
    wait_until(lambda: not alive(fork), seconds=50)


def test_a_fork_ends_with_the_server(server: None, tmp_path: Path) -> None:
    client, fork = begun(tmp_path)
    server = int(Path(f"/proc/{fork}/stat").read_text().split()[3])
    os.kill(server, signal.SIGKILL)
    assert client.wait(50) == 1


def begun(folder: Path) -> tuple["subprocess.Popen[bytes]", int]:
    """Return a client whose program sleeps, and the number of the process of its fork."""
    path = folder / "pid"
    code = f"import os, time; print(os.getpid(), file=open({str(path)!r}, 'w', 1)); time.sleep(100)"
    client = subprocess.Popen([*WARM_PYTHON, "-c", code])
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return client, int(path.read_text())


def test_a_server_ends_with_its_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)
    with warm_server([]):
        parent = int(run("-c", "import os; print(os.getppid())")[1])
        assert alive(parent)
        assert parent != os.getpid()
    assert not alive(parent)
    assert ADDRESS not in os.environ
