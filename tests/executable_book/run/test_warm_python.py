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


def run(*arguments):
    """Run a program; return its exit code, and what it printed."""
    program = start_python(*arguments)
    output, errors = program.communicate()
    return program.returncode, output, errors


@pytest.fixture(params=["forked", "plain"])
def run_code(request, tmp_path, warm):
    """Return a function that runs some code: in a fork, and where there is no server."""
    if request.param == "plain":
        request.getfixturevalue("monkeypatch").setenv(ADDRESS, str(tmp_path / "nobody"))

    def run_file(code, *arguments):
        path = tmp_path / "program.py"
        path.write_text(code)
        return run(str(path), *arguments)

    return run_file


def test_a_program_gets_its_arguments_folder_and_environment(run_code, monkeypatch) -> None:
    monkeypatch.setenv("SOME_DEVICE", "meta")
    monkeypatch.chdir("/")  # the server was started elsewhere
    code = "import os, sys\nprint(sys.argv[1:], os.getcwd(), os.environ['SOME_DEVICE'], __name__)"
    assert run_code(code, "a", "b c") == (0, f"['a', 'b c'] {os.getcwd()} meta __main__\n", "")


def test_a_program_ends_as_it_would_anywhere(run_code) -> None:
    status, output, errors = run_code("print('half', end='')\nraise ValueError('no more')")
    assert (status, output) == (1, "half")
    assert errors.endswith("ValueError: no more\n")
    assert run_code("raise SystemExit(3)") == (3, "", "")
    assert run_code("raise SystemExit('why')") == (1, "", "why\n")
    assert run_code("print('done')") == (0, "done\n", "")


def test_a_fork_ends_with_its_client(warm, tmp_path) -> None:
    client, fork = begun(tmp_path)
    assert alive(fork)
    client.kill()
    client.wait()
    wait_until(lambda: not alive(fork), seconds=50)


def test_a_client_ends_with_its_fork_whatever_ends_that(warm, tmp_path) -> None:
    client, fork = begun(tmp_path)
    os.kill(parent_of(fork), signal.SIGKILL)
    os.kill(fork, signal.SIGKILL)
    assert client.wait(50) == 1
    client, fork = begun(tmp_path)
    os.kill(fork, signal.SIGTERM)
    assert client.wait(50) == 256 - signal.SIGTERM


def begun(folder):
    """Return a client whose program sleeps, and the number of the process of its fork."""
    path = folder / "pid"
    path.unlink(missing_ok=True)
    code = f"import os, time; print(os.getpid(), file=open({str(path)!r}, 'w', 1)); time.sleep(100)"
    client = subprocess.Popen([*WARM_PYTHON, "-c", code])
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return client, int(path.read_text())


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().split()[3])


def test_a_server_and_its_forks_end_with_the_build(monkeypatch, tmp_path) -> None:
    """Also where the folder for temporary files has a name too long for sockets."""
    monkeypatch.delenv(ADDRESS, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / ("x" * 66)))
    with warm_server([]):
        client, fork = begun(tmp_path)
        server = parent_of(parent_of(fork))
        assert alive(server)
        assert parent_of(server) == os.getpid()
    assert not alive(server)
    assert client.wait(50) == 1
    wait_until(lambda: not alive(fork), seconds=50)
    assert ADDRESS not in os.environ


def test_what_cannot_be_imported_fails_in_the_program_alone(monkeypatch, tmp_path) -> None:
    """A library that is being changed may be wrong anywhere."""
    monkeypatch.delenv(ADDRESS, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "wrong.py").write_text("1 +")
    with warm_server(["wrong", "json.tool"]):
        code = "import sys; print('json.tool' in sys.modules)"
        assert run("-c", code) == (0, "True\n", "")
        assert "wrong.py" in run("-c", "import wrong")[2]


def test_forks_draw_numbers_of_their_own(monkeypatch) -> None:
    """Each would go on with the state of the server's generator, if that has been imported there."""
    monkeypatch.delenv(ADDRESS, raising=False)
    with warm_server(["numpy.random"]):
        code = "import sys; print(sys.modules['numpy.random'].random())"
        drawn = [run("-c", code) for _ in range(3)]
    assert [errors for *_, errors in drawn] == ["", "", ""]
    assert len({output for _, output, _ in drawn}) == 3
