"""A fork of the server is a kernel like any other, only sooner; and it ends when nobody needs it."""

import dataclasses
import signal
from pathlib import Path

import pytest
from harness.books import cell, wait_until
from harness.kernels import LEAN, alive, book_with_kernels, printed, run, titled

from executable_book.run.kernels import warm_server

pytestmark = pytest.mark.usefixtures("warm")


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


def test_a_server_of_other_code_or_packages_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"import os; print({warm_server.ADDRESS!r} in os.environ, os.getppid())"
    others = dataclasses.replace(LEAN, preload=("fractions",))
    with warm_server.server(LEAN) as real:
        monkeypatch.setenv(warm_server.ADDRESS, real)
        asked, again = [printed(execution) for execution in run(code, code, settings=LEAN)]
        assert asked == again
        assert warm_server.running(LEAN) == real
        assert warm_server.running(others) is None
        monkeypatch.setenv(warm_server.ADDRESS, f"{real}-of-yesterday")
        (not_asked,) = [printed(execution) for execution in run(code, settings=LEAN)]
        assert not_asked != asked


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_build_that_is_stopped_leaves_no_process_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: signal.Signals
) -> None:
    monkeypatch.delenv(warm_server.ADDRESS)
    book, pids = book_with_kernels(tmp_path, kernels=LEAN), tmp_path / "pids"
    code = (
        f"import os, time\nopen({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}\\n')"
    )
    titled(book, "page", cell(f"{code}\ntime.sleep(100)"))
    build = book.start()
    wait_until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    kernel, server = map(int, pids.read_text().split())
    assert alive(kernel)
    assert alive(server)
    build.send_signal(stop)
    try:
        build.wait(timeout=50)  # the page takes longer
    finally:
        build.kill()
        build.wait()
    wait_until(lambda: not alive(kernel) and not alive(server))
