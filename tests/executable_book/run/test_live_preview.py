"""`nox -s live`: what is saved is built, by a process that has built before, and shown."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness.books import make_book
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import executable_book
from executable_book.run import live_preview

PATIENCE = 300
"""Seconds in which a build ends, however busy the machine is."""
NEVER_HANDED_OUT = range(20_000, 32_000)
"""Ports that no system gives to whoever asks for any, as browsers and other tests do all the time."""

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
def book(tmp_path):
    """Return a book whose tool chain is a copy, with an extension of its own beside it.

    An editor has left what it leaves beside a file that is not saved: it looks like a module.
    """
    docs, source = tmp_path / "book" / "docs", tmp_path / "book" / "src"
    docs.mkdir(parents=True)
    tools, unfinished = Path(executable_book.__file__).parent, shutil.ignore_patterns("*.pyc.*")
    shutil.copytree(tools, source / "executable_book", ignore=unfinished)
    (source / "ours.py").write_text(OURS % "one title", encoding="utf-8")
    (source / ".#ours.py").symlink_to("somebody@somewhere.123")
    made = make_book(docs.parent, "ours", book_tools=None, project="Book")
    made.write("conf.py", made.text("conf.py").replace("book_tools = None\n", ""))
    (docs / "index.md").write_text(PAGE % "'first'", encoding="utf-8")
    return docs


@contextmanager
def serving(docs, port=None):
    """Serve a folder of pages by the modules beside it; yield what hears of builds, and the process."""
    port = port or random.SystemRandom().choice(NEVER_HANDED_OUT)
    built, source = docs / "_build", str(docs.parent / "src")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", live_preview.__name__, str(docs), str(built / "html")),
            *("-d", str(built / "doctrees"), "--port", str(port), "--watch", source),
        ],
        start_new_session=True,
        cwd=docs.parent,  # where it stands, no folder `.nox` is watched: tests may write in ours
        env=os.environ | {"PYTHONPATH": source},
    )
    try:
        with connected(port, process) as browser:
            yield browser, process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def connected(port, process):
    """Connect with a server, as soon as it listens."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(ConnectionError):
            address = f"ws://127.0.0.1:{port}/websocket-reload"
            return connect(address, open_timeout=PATIENCE, ping_interval=None)
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens on port {port}; the server ended with {process.poll()}")


def save(path, text) -> None:
    """Save a file at once: of one that is emptied and then written, a busy machine makes two changes."""
    beside = path.parents[1] / path.name  # in no folder that is watched
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def test_a_save_is_built_and_announced_once_until_the_command_ends(book) -> None:
    page = book / "_build" / "html" / "index.html"
    with serving(book) as (browser, process):
        assert "first" in page.read_text()
        save(book / "index.md", PAGE % "'second'")
        assert browser.recv(timeout=PATIENCE) == "refresh"
        assert "second" in page.read_text()
        save(book / "index.md", PAGE % "1 / 0")
        assert browser.recv(timeout=PATIENCE) == "refresh"
        assert "ZeroDivisionError" in page.read_text()
        save(book.parent / "src" / "ours.py", OURS % "another title")
        assert browser.recv(timeout=PATIENCE) == "refresh"
        assert "another title" in page.read_text()
        with pytest.raises(TimeoutError):  # what a build writes is no reason for another
            browser.recv(timeout=3)
        process.terminate()
        process.wait(timeout=PATIENCE)
        with pytest.raises(ConnectionClosed):
            browser.recv(timeout=PATIENCE)
