"""`nox -s live`: what is saved is shown in the browser that is open, as the book's own policy allows."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from harness.books import make_book, wait_until
from harness.browser import chromium
from harness.paths import DOCS, ROOT


def answers(port):
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.browser
def test_a_browser_shows_what_is_saved(tmp_path) -> None:
    sessions = Path(ROOT, "noxfile.py").read_text(encoding="utf-8")
    (value,) = re.findall(r'"-A", "(\S+)"', sessions.partition("def live(")[2])
    layout = {"html_theme": "sphinx_book_theme", "templates_path": [str(DOCS / "_templates")]}
    book = make_book(tmp_path, **layout, nb_execution_mode="off", html_sidebars={"**": []})
    book.write("index.md", "# First\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serve = (sys.executable, "-m", "sphinx_autobuild", "docs", "docs/_build/html")
    command = [*serve, "--port", str(port), "-A", value]
    begun = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, **begun) as server:
        try:
            wait_until(lambda: answers(port))
            with chromium() as browser:
                page = browser.new_page()
                page.goto(f"http://127.0.0.1:{port}/", wait_until="networkidle")
                book.write("index.md", "# Second\n")
                wait_until(lambda: "Second" in page.locator("h1").first.inner_text(), seconds=60)
        finally:
            os.killpg(server.pid, signal.SIGKILL)  # it has children
