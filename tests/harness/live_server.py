"""The book, served as `nox -s live` serves it, and a line to it as an open page has one."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from websockets.sync.client import ClientConnection, connect

from executable_book.run import live_preview

PATIENCE = 300
"""Seconds in which a build ends, however busy the machine is."""
NEVER_HANDED_OUT = range(20_000, 32_000)
"""Ports that no system gives to whoever asks for any, as browsers and other tests do all the time."""


@contextmanager
def serving(
    docs: Path, source: Path | None = None
) -> Iterator[tuple[ClientConnection, "subprocess.Popen[bytes]"]]:
    """Serve a folder of pages, by the modules in `source`; yield what hears of builds, and the process."""
    port = random.SystemRandom().choice(NEVER_HANDED_OUT)
    live = [sys.executable, "-m", live_preview.__name__, "--port", str(port)]
    watch = ["--watch", str(source)] if source else []
    built = docs / "_build"
    process = subprocess.Popen(
        [*live, *watch, "-d", str(built / "doctrees"), str(docs), str(built / "html")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=docs.parent,  # where it stands, no folder `.nox` is watched: tests may write in ours
        env=os.environ | ({"PYTHONPATH": str(source)} if source else {}),
    )
    try:
        with connected(port, process) as browser:
            yield browser, process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def connected(port: int, process: "subprocess.Popen[bytes]") -> ClientConnection:
    """Connect with a server, as soon as it listens."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(ConnectionError):
            address = f"ws://127.0.0.1:{port}/websocket-reload"
            return connect(address, open_timeout=PATIENCE, ping_interval=None)
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens on port {port}; the server ended with {process.poll()}")


def hear(browser: ClientConnection) -> str | bytes:
    """Return what an open page hears of the next build."""
    return browser.recv(timeout=PATIENCE)
