"""A host for the built book, and a browser to read it with."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness.paths import DOCS
from playwright.sync_api import sync_playwright

SITE = Path(os.environ.get("LITERATE_SITE") or DOCS / "_build" / "html")
BASE = "/literate-attention/"
"""Where the book stands on its host."""


def pages(site):
    """Return the pages of a site, in whatever room."""
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))


class Host(SimpleHTTPRequestHandler):
    """Serves a site under its path, text compressed, and the site's own page for what is not there."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path("/" + self.path.removeprefix(BASE)))
        path = path / "index.html" if path.is_dir() else path
        found = path.is_file() and self.path.startswith(BASE)
        path = path if found else Path(self.directory, "404.html")
        kind = self.guess_type(str(path))
        is_text = kind.startswith("text/") or kind.endswith(("json", "script", "xml"))
        content = compressed(path) if is_text else path.read_bytes()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if "/_static/" in self.path and found:  # as hosts of pages have it
            self.send_header("Cache-Control", "max-age=600")
        if is_text:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args) -> None:
        """Say nothing."""


@cache
def compressed(path):
    return gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)


@contextmanager
def serve(site):
    """Serve a site from this machine, and yield its address."""
    if not (site / "index.html").exists():
        raise FileNotFoundError("there is no built book to read: `nox -s docs` builds it")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Host, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{BASE}"
    server.shutdown()
    server.server_close()


@contextmanager
def chromium():
    """Start the Chromium of this machine."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "google-chrome", "chromium-browser")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        raise FileNotFoundError("no Chromium in the PATH, nor named by CHROMIUM: install one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
