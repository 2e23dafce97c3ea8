"""After a build that was killed at any moment, the next one ends as if nothing had happened."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import killed_builds
from harness.books import Book, cell, make_book
from sphinx.errors import SphinxError

from executable_book.run import interrupted_builds

PICTURE = """
from nbformat.v4 import new_output
outputs = [new_output("display_data", {"image/svg+xml": "<svg/>"}, metadata={"alt": "nothing"})]
"""


@pytest.fixture
def project(new_book: Callable[..., Book]) -> Book:
    return new_book("execution")


def test_an_unwritable_build_folder_is_one_sentence(project: Book) -> None:
    project.built.write_text("in the way")
    build = project.run_forked()
    assert build.status == 2
    assert re.search(
        r"The build cannot write \S+_build/html: [A-Z][a-z ]+\.$", build.err, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("size", "largest"), [(50_000, 65_536), (5, 8_192)], ids=["ours", "of Sphinx"]
)
def test_a_full_disk_is_one_sentence(project: Book, size: int, largest: int) -> None:
    project.page("page", "# Page\n", cell(f"print('x\\n' * {size})"))
    build = project.run_forked(largest_file=largest)
    assert build.status == 2
    assert re.search(r"The build cannot write .*File too large\.$", build.err, re.MULTILINE)


# Killed builds


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, list[str]]:
    """Return a book that was built once, and the kinds of changes of the disk that this took."""
    book = make_book(tmp_path_factory.mktemp("clean"), book_archive=True, project="A book")
    book.page("one", "# One\n", cell(PICTURE))
    book.page("two/deep", "# Deep\n", cell("print(6 * 7)"))
    book.page("three", "# Three\n\nSee {doc}`one`.\n", head="")
    changes = killed_builds.build(book)
    assert changes is not None
    return book, changes


def ends_as_clean(book: Book, clean: Book, *, precious: bool) -> None:
    """Build, and see that the result is that of a build that was not killed."""
    assert killed_builds.build(book)
    published = book.published()
    if precious:
        assert published.pop("precious") == b"mine"
    different = [
        name
        for name in published.keys() | clean.published().keys()
        if published.get(name) != clean.published().get(name)
    ]
    assert different == []


def killed_everywhere(
    clean: tuple[Book, list[str]], folder: Path, moments: slice, *, precious: bool, torn: bool
) -> None:
    """Kill builds of a book at the first change of each kind, or of some kinds, and build each to its end."""
    book, changes = clean
    kinds = [*dict.fromkeys(changes)]
    assert len(kinds) > 30
    for number, kind in enumerate(kinds[moments]):
        victim = book.copied(folder / str(number))
        if precious:
            victim.html.mkdir(parents=True)
            (victim.html / "precious").write_text("mine")
        ended = killed_builds.build(victim, kill_at=kind, torn=torn)
        assert ended is None or kind not in ended
        ends_as_clean(victim, book, precious=precious)


def test_a_build_killed_at_some_moments_ends_as_one_that_was_not(
    clean: tuple[Book, list[str]], tmp_path: Path
) -> None:
    """One kill early and one late, in either folder; below, at every kind of change."""
    early, late = slice(9, 10), slice(-9, -8)
    killed_everywhere(clean, tmp_path / "own", early, precious=False, torn=True)
    killed_everywhere(clean, tmp_path / "shared", late, precious=True, torn=False)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("precious", "torn", "moments"),
    [
        pytest.param(True, True, slice(None), id="amid a change, folder of others"),
        pytest.param(True, False, slice(0, None, 6), id="before a change, folder of others"),
        pytest.param(False, True, slice(2, None, 6), id="amid a change, own folder"),
        pytest.param(False, False, slice(4, None, 6), id="before a change, own folder"),
    ],
)
def test_a_build_killed_at_any_moment_ends_as_one_that_was_not(
    clean: tuple[Book, list[str]], tmp_path: Path, precious: bool, torn: bool, moments: slice
) -> None:
    """After a kill at any moment, the next build equals a clean one.

    All kinds of change are tried where it is hardest: a file is half-written, in a folder that is never
    cleared as it holds something of others. Elsewhere, some are.
    """
    killed_everywhere(clean, tmp_path, moments, precious=precious, torn=torn)


def test_kills_may_follow_each_other(clean: tuple[Book, list[str]], tmp_path: Path) -> None:
    """Also the build that starts anew may be killed, while it clears what the first one left."""
    book, changes = clean
    victim = book.copied(tmp_path / "victim")
    clears, writes = "os.rmdir docs/_build/html ", "open docs/_build/html .html"
    for kind in (changes[-3], clears, writes, clears, clears):
        assert killed_builds.build(victim, kill_at=kind) is None, kind
    ends_as_clean(victim, book, precious=False)
    assert "cut short" in (victim.root / "said").read_text()


def test_a_build_after_a_whole_one_starts_nothing_anew(
    clean: tuple[Book, list[str]], tmp_path: Path
) -> None:
    book = clean[0].copied(tmp_path / "again")
    for _ in range(2):
        killed_builds.build(book)
        assert "cut short" not in (book.root / "said").read_text()


def test_what_others_keep_in_the_folder_stays(
    clean: tuple[Book, list[str]], tmp_path: Path
) -> None:
    """Neither the first build nor a later one makes the folder ours: after a kill, all stays."""
    book, _ = clean
    victim = book.copied(tmp_path / "victim")
    victim.html.mkdir(parents=True)
    (victim.html / "precious").write_text("mine")
    assert killed_builds.build(victim)
    victim.write("three.md", "# Three\n\nAnother text.\n")
    assert killed_builds.build(victim, kill_at="open docs/_build/html .html") is None
    assert killed_builds.build(victim)
    assert (victim.html / "precious").read_text() == "mine"
    assert "Another text." in (victim.html / "three.html").read_text()


def test_two_builds_never_write_one_folder_at_once(
    project: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interrupted_builds, "PATIENCE_SECONDS", 0)
    project.page("page", "# Page\n", head="")
    project.built.mkdir()
    hold = (
        "import fcntl, sys\n"
        "lock = open('docs/_build/.html.lock', 'w')\n"
        "fcntl.lockf(lock, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", hold], cwd=project.root, **pipes) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(
            SphinxError, match=r"^Another build is writing \S+/_build/html just now\.$"
        ):
            project.build()
        other.stdin.close()
    assert project.build().status == 0
