"""One build at a time in a folder; after one that was killed, the next ends as if nothing had happened."""

import fcntl
import os
import signal
import subprocess
import sys
import time

import pytest
from harness import forks
from harness.books import PICTURE, cell, execute_without_kernels, make_book, unversioned
from harness.kernels import alive
from sphinx.application import ENV_PICKLE_FILENAME
from sphinx.cmd.build import main

from executable_book.run.page_execution import CACHES

KILLED = 86
BEGINNING, READING, WRITING = "env-before-read-docs", "doctree-read", "html-page-context"
"""When a build is killed."""
DRAWING = f"""
from nbformat.v4 import new_output
outputs = [new_output("display_data", {{"image/svg+xml": {PICTURE!r}}})]
"""
KILLS_ITSELF = f"""
import os

def setup(app):
    if event := os.environ.get("KILL_AT"):
        app.connect(event, lambda *_: os._exit({KILLED}), priority=899)
"""


def build(book, *, kill_at=""):
    """Build in a process of its own, to the end or to an event; return what the build said."""
    status, said, complaints = forks.run(_build, book, kill_at)
    assert status == (KILLED if kill_at else 0), complaints
    return said


def _build(book, kill_at) -> None:
    os.chdir(book.root)
    os.environ |= {"KILL_AT": kill_at, "SOURCE_DATE_EPOCH": "0"}
    with pytest.MonkeyPatch.context() as monkeypatch:
        execute_without_kernels(monkeypatch.setattr)
        sys.exit(main(book.command()[3:]))


def tear(book) -> None:
    """Leave half of every file that a build has written, but for what a later build would take for right.

    That is what Sphinx knows of an earlier build, and the outputs of cells.
    """
    for path in book.built.rglob("*"):
        if path.is_file() and not {CACHES, ENV_PICKLE_FILENAME} & {*path.parts}:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Return a book that was built once."""
    book = make_book(tmp_path_factory.mktemp("clean"))
    book.add("conf.py", KILLS_ITSELF)
    book.page("one", "# One\n", cell(DRAWING))
    book.page("two/deep", "# Deep\n", cell("print(6 * 7)"))
    book.page("three", "# Three\n\nSee {doc}`one`.\n", head="")
    build(book)
    return book


@pytest.mark.parametrize("event", [READING, WRITING])
def test_a_build_that_was_killed_is_followed_by_one_that_begins_afresh(
    clean, tmp_path, event
) -> None:
    victim = clean.copied(tmp_path / "victim")
    build(victim)
    victim.change("three.md", "# Three", "# Thrice")
    for moment in (event, BEGINNING, event):  # the build that begins afresh may be killed as well
        build(victim, kill_at=moment)
        tear(victim)
    victim.put_back()
    (victim.html / ".precious").write_text("what others keep there stays")
    assert "cut short" in build(victim)
    published, expected = victim.published(), clean.published()
    assert [
        name
        for name in published.keys() | expected.keys()
        if unversioned(published.get(name, b"")) != unversioned(expected.get(name, b""))
    ] == []
    assert (victim.html / ".precious").exists()
    assert "cut short" not in build(victim)


def test_a_build_that_is_asked_to_end_leaves_nobody_behind(project) -> None:
    """Pages that are read side by side, by processes with kernels that would never end."""
    waits = "import os, time\nopen('{}.pid', 'w').write(str(os.getpid()))\ntime.sleep(1e6)"
    for name in ("one", "two"):
        project.page(name, f"# {name.title()}\n", cell(waits.format(name)))
    build = subprocess.Popen(project.command("-j", "2"), cwd=project.root)
    numbers = [project.root / "docs" / f"{name}.pid" for name in ("one", "two")]
    while not all(path.exists() and path.read_text() for path in numbers):
        assert build.poll() is None
        time.sleep(0.1)
    build.send_signal(signal.SIGTERM)
    assert build.wait() == 128 + signal.SIGTERM
    while any(alive(int(path.read_text())) for path in numbers):
        time.sleep(0.1)


def test_a_build_waits_until_another_has_ended(tmp_path) -> None:
    book = make_book(tmp_path, nb_execution_mode="off")
    book.page("page", "# Page\n")
    book.built.mkdir()
    other = os.open(book.built, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with subprocess.Popen(book.command(), cwd=tmp_path, stdout=subprocess.PIPE, text=True) as build:
        assert build.stdout is not None
        waits = any("waiting for its end" in line for line in build.stdout)
        before = book.published()
        os.close(other)
        build.communicate()
    assert (waits, before, build.returncode) == (True, {}, 0)
    assert book.published()
