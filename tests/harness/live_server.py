"""The book, served as `nox -s live` serves it, and a line to it as an open page has one."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from websockets.sync.client import ClientConnection, connect

from executable_book.run import live_preview

NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""What authors seldom set: with it, a build writes nothing beside the modules that it imports."""
PATIENCE = 300
"""Seconds in which a build ends, however busy the machine is."""
NEVER_HANDED_OUT = range(20_000, 32_000)
"""Ports that no system gives to whoever asks for any, as browsers and other tests do all the time."""


@contextmanager
def serving(
    docs: Path, source: Path | None = None
) -> Iterator[tuple[ClientConnection, "subprocess.Popen[bytes]"]]:
    """Serve a folder of pages, by the modules in `source`; yield what hears of builds, and the process."""
    port = free_port()
    live = [sys.executable, "-m", live_preview.__name__, "--port", str(port)]
    built = docs / "_build"
    watch = ["--watch", str(source)] if source else []
    environment = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    process = subprocess.Popen(
        [*live, *watch, "-d", str(built / "doctrees"), str(docs), str(built / "html")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=docs.parent,  # where it stands, no folder `.nox` is watched: tests may write in ours
        env=environment | ({"PYTHONPATH": str(source)} if source else {}),
    )
    try:
        wait_for(port, process)
        address = f"ws://127.0.0.1:{port}/websocket-reload"
        with connect(address, open_timeout=PATIENCE, ping_interval=None) as browser:
            yield browser, process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    """Return a port on which nobody listens, nor will before the server does, which builds first."""
    while True:
        port = random.SystemRandom().choice(NEVER_HANDED_OUT)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a process listens."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            raise ConnectionError(f"the server ended with {process.returncode} before it listened")
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody listens on port {port} after {PATIENCE} s")
        time.sleep(0.1)


def hear(browser: ClientConnection) -> str | bytes:
    """Return what an open page hears of the next build."""
    return browser.recv(timeout=PATIENCE)
