"""Where the book comes from: a repository, a commit that git knows, and perhaps a release."""

import subprocess
from types import SimpleNamespace

import pytest

from executable_book.repository import commit_of, edition, release_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WHOEVER = ("-c", "user.name=a tester", "-c", "user.email=tester@example.org")
UNSIGNED = ("-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false")


def git(folder, *command):
    """Run git in a folder, and return what it prints."""
    ran = ["git", *WHOEVER, *UNSIGNED, *command]
    return subprocess.run(
        ran, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize(
    ("commit", "release", "said"),
    [
        (COMMIT, "0.1.0", "Edition 0.1.0"),
        (COMMIT, "", "Built from commit 0123456"),
        (f"{COMMIT}+changes", "", "Built from commit 0123456, and changes to it"),
        ("", "", "Built from files of no known commit"),
    ],
)
def test_a_page_says_of_which_edition_it_is(commit, release, said) -> None:
    assert edition(SimpleNamespace(book_commit=commit, book_release=release)) == said  # type: ignore[arg-type]


def test_the_commit_comes_from_git(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit_of(tmp_path) == ""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert commit_of(tmp_path) == head
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file").touch()
    assert commit_of(tmp_path) == f"{head}+changes"
    assert commit_of(tmp_path / "new") == ""  # an archive unpacked in the checkout of another


def test_a_release_is_a_tag_of_the_version_without_changes(tmp_path) -> None:
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text('[project]\nversion = "1.2.3"\n')
    assert release_of(tmp_path) == ""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    git(tmp_path, "tag", "v1.2.2")
    assert release_of(tmp_path) == ""
    git(tmp_path, "tag", "v1.2.3")
    assert release_of(tmp_path) == "1.2.3"
    pyproject.write_text('[project]\nversion = "1.2.3" # changed\n')
    assert release_of(tmp_path) == ""
