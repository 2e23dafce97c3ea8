"""`nox -s live`: what is saved is built, by a process that has built before, and shown."""

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

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

EXTENSIONS = Path(__file__).parents[1] / "docs" / "_ext"
PAGE = """---
file_format: mystnb
kernelspec:
  name: python3
---

# Page

```{code-cell}
print(%s)
```
"""
OURS = """
def setup(app):
    app.config.html_title = %r
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Return a book with an extension of its own, which it finds where the book's are."""
    docs = tmp_path / "book" / "docs"
    (docs / "_ext").mkdir(parents=True)
    for path in EXTENSIONS.glob("*.py"):
        (docs / "_ext" / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (docs / "_ext" / "ours.py").write_text(OURS % "one title", encoding="utf-8")
    (docs / "conf.py").write_text(
        "import sys\nfrom pathlib import Path\n"
        "sys.path.insert(0, str(Path(__file__).parent / '_ext'))\n"
        "extensions = ['myst_nb', 'archive', 'execution', 'ours']\n"
        "html_theme = 'basic'\nexclude_patterns = ['_build']\nnb_execution_mode = 'off'\n",
        encoding="utf-8",
    )
    (docs / "index.md").write_text(PAGE % "'first'", encoding="utf-8")
    return docs


@contextmanager
def live(docs: Path) -> Iterator[tuple[ClientConnection, "subprocess.Popen[str]"]]:
    """Serve a book as `nox -s live` does, and listen as an open page does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kept_warm = [sys.executable, str(docs / "_ext" / "kernels.py"), "run"]
    serve = [sys.executable, str(docs / "_ext" / "live.py"), "--port", str(port)]
    process = subprocess.Popen(
        [*kept_warm, *serve, str(docs), str(docs / "_build" / "html")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(port)
        with connect(f"ws://127.0.0.1:{port}/websocket-reload") as browser:
            yield browser, process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline, "nobody serves the book"
        time.sleep(0.1)


def test_a_save_is_built_and_announced_once(book: Path) -> None:
    page = book / "_build" / "html" / "index.html"
    with live(book) as (browser, _):
        assert "first" in page.read_text()
        (book / "index.md").write_text(PAGE % "'second'", encoding="utf-8")
        assert browser.recv(timeout=60) == "refresh"
        assert "second" in page.read_text()
        (book / "_ext" / "ours.py").write_text(OURS % "another title", encoding="utf-8")
        assert browser.recv(timeout=60) == "refresh"
        assert "another title" in page.read_text()
        (book / "index.md").write_text(PAGE % "1 / 0", encoding="utf-8")
        assert browser.recv(timeout=60) == "refresh"
        assert "ZeroDivisionError" in page.read_text()
        with pytest.raises(TimeoutError):
            browser.recv(timeout=3)  # what a build writes is no reason for another
    assert not (book / "_build" / "literate-attention.zip").exists()


def test_whoever_ends_the_command_ends_the_server(book: Path) -> None:
    with live(book) as (browser, process):
        process.terminate()
        process.wait(timeout=30)
        with pytest.raises(ConnectionClosed):
            browser.recv(timeout=30)
