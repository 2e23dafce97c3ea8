"""After a build that was killed at any moment, the next one ends as if nothing had happened."""

from pathlib import Path

import pytest
from harness import killed_builds
from harness.books import PICTURE, Book, cell, make_book, unversioned

DRAWING = f"""
from nbformat.v4 import new_output
outputs = [new_output("display_data", {{"image/svg+xml": {PICTURE!r}}})]
"""


# Killed builds


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, list[str]]:
    """Return a book that was built once, and the kinds of changes of the disk that this took."""
    book = make_book(tmp_path_factory.mktemp("clean"), book_archive=True, project="A book")
    book.page("one", "# One\n", cell(DRAWING))
    book.page("two/deep", "# Deep\n", cell("print(6 * 7)"))
    book.page("three", "# Three\n\nSee {doc}`one`.\n", head="")
    changes = killed_builds.build(book)
    assert changes is not None
    return book, changes


def ends_as_clean(book: Book, clean: Book) -> None:
    """Build, and see that the result is that of a build that was not killed."""
    assert killed_builds.build(book)
    published, expected = book.published(), clean.published()
    assert [
        name
        for name in published.keys() | expected.keys()
        if unversioned(published.get(name, b"")) != unversioned(expected.get(name, b""))
    ] == []


def killed_everywhere(
    clean: tuple[Book, list[str]], folder: Path, moments: slice, *, torn: bool
) -> None:
    """Kill builds of a book at the first change of each kind, or of some kinds, and build each to its end."""
    book, changes = clean
    kinds = [*dict.fromkeys(changes)]
    assert len(kinds) > 30
    for number, kind in enumerate(kinds[moments]):
        victim = book.copied(folder / str(number))
        ended = killed_builds.build(victim, kill_at=kind, torn=torn)
        assert ended is None or kind not in ended
        ends_as_clean(victim, book)


def test_a_build_killed_at_some_moments_ends_as_one_that_was_not(
    clean: tuple[Book, list[str]], tmp_path: Path
) -> None:
    """One kill early and one late; below, at every kind of change."""
    killed_everywhere(clean, tmp_path / "early", slice(9, 10), torn=True)
    killed_everywhere(clean, tmp_path / "late", slice(-9, -8), torn=False)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("torn", "moments"),
    [
        pytest.param(True, slice(None), id="amid a change"),
        pytest.param(False, slice(0, None, 3), id="before a change"),
    ],
)
def test_a_build_killed_at_any_moment_ends_as_one_that_was_not(
    clean: tuple[Book, list[str]], tmp_path: Path, torn: bool, moments: slice
) -> None:
    killed_everywhere(clean, tmp_path, moments, torn=torn)


def test_kills_may_follow_each_other(clean: tuple[Book, list[str]], tmp_path: Path) -> None:
    """Also the build that starts anew may be killed, while it clears what the first one left."""
    book, changes = clean
    victim = book.copied(tmp_path / "victim")
    clears, writes = "os.rmdir docs/_build/html ", "open docs/_build/html .html"
    for kind in (changes[-3], clears, writes, clears, clears):
        assert killed_builds.build(victim, kill_at=kind) is None, kind
    ends_as_clean(victim, book)
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
