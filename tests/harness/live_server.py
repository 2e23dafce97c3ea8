"""The book, served as `nox -s live` serves it, and a line to it as an open page has one."""

import contextlib
import os
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
        wait_for(port)
        with connect(f"ws://127.0.0.1:{port}/websocket-reload") as browser:
            yield browser, process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def wait_for(port: int, seconds: float = 120) -> None:
    """Wait until somebody listens."""
    deadline = time.monotonic() + seconds
    while True:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody listens on port {port} after {seconds} s")
        time.sleep(0.1)
