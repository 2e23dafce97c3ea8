"""`nox -s live`: what is saved is built, by a process that has built before, and shown."""

import os
import shutil
from pathlib import Path

import pytest
from harness.books import make_book
from harness.live_server import PATIENCE, hear, serving
from websockets.exceptions import ConnectionClosed

import executable_book

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


def save(path: Path, text: str) -> None:
    """Save a file at once: of one that is emptied and then written, a busy machine makes two changes."""
    beside = path.parents[1] / path.name  # in no folder that is watched
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def test_a_save_is_built_and_announced_once_until_the_command_ends(book: Path) -> None:
    page = book / "_build" / "html" / "index.html"
    with serving(book, book.parent / "src") as (browser, process):
        assert "first" in page.read_text()
        save(book / "index.md", PAGE % "'second'")
        assert hear(browser) == "refresh"
        assert "second" in page.read_text()
        save(book / "index.md", PAGE % "1 / 0")
        assert hear(browser) == "refresh"
        assert "ZeroDivisionError" in page.read_text()
        save(book.parent / "src" / "ours.py", OURS % "another title")
        assert hear(browser) == "refresh"
        assert "another title" in page.read_text()
        with pytest.raises(TimeoutError):  # what a build writes is no reason for another
            browser.recv(timeout=3)
        process.terminate()
        process.wait(timeout=PATIENCE)
        with pytest.raises(ConnectionClosed):
            browser.recv(timeout=PATIENCE)
    assert not (book / "_build" / "book.zip").exists()
