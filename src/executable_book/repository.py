"""Where the book comes from: its repository, and the commit that is being built.

git knows the commit. It is a setting, so that a new one writes every page again: none names an older one.
"""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

CHANGED = "+changes"


def repository_in(pyproject: Path) -> str:
    """Return the address of the repository that a project names, nothing if it names none."""
    return str(_project(pyproject).get("urls", {}).get("Repository", ""))


def commit_of(folder: Path) -> str:
    """Return the commit of a folder: with `+changes` if files differ from it, nothing if unknown."""
    if _git(folder, "rev-parse", "--show-prefix"):
        return ""  # the checkout is another project's
    return _git(folder, "rev-parse", "HEAD") + CHANGED * bool(_git(folder, "status", "--porcelain"))


def release_of(folder: Path) -> str:
    """Return the version of a project if its commit is tagged `v` and that version, nothing otherwise."""
    tags = _git(folder, "tag", "--points-at", "HEAD").split()
    if not tags or commit_of(folder).endswith(CHANGED):
        return ""
    version = str(_project(folder / "pyproject.toml").get("version", ""))
    return version if f"v{version}" in tags else ""


def date_of(folder: Path) -> str:
    """Return the day of a folder's commit, nothing if unknown."""
    return _git(folder, "show", "--no-patch", "--format=%cs", "HEAD")


def edition(config: Config) -> str:
    """Say which edition a book is: a release, or the commit that it was built from."""
    if config.book_release:
        return f"Edition {config.book_release}"
    commit, changed, _ = config.book_commit.partition(CHANGED)
    if not commit:
        return "Built from files of no known commit"
    return f"Built from commit {commit[:7]}{', and changes to it' if changed else ''}"


def add_edition(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Hand what the book's edition is called, its day and where it is, to the templates."""
    config = app.config
    commit = config.book_commit.removesuffix(CHANGED)
    place = f"releases/tag/v{config.book_release}" if config.book_release else f"commit/{commit}"
    context["edition"] = edition(config)
    context["edition_date"] = config.book_date
    if repository := config.book_repository:
        context["edition_address"] = f"{repository}/{place}" if commit else ""
        context["releases"] = f"{repository}/releases"


def source_link(config: Config, path: str, first: int, last: int) -> str:
    """Return the address of some lines of a file, as they are in the commit that is being built."""
    commit = config.book_commit.removesuffix(CHANGED) or "HEAD"
    return f"{config.book_repository}/blob/{commit}/{path}#L{first}-L{last}"


def _project(pyproject: Path) -> dict[str, Any]:
    """Return what a file says of its project; nothing where there is no file, or it names no project."""
    said = tomllib.loads(pyproject.read_text(encoding="utf-8")) if pyproject.exists() else {}
    found: dict[str, Any] = said.get("project", {})
    return found


def _git(folder: Path, *command: str) -> str:
    """Return what git says of a folder; nothing where it is missing, or knows nothing."""
    try:
        ran = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True)
    except OSError:
        return ""
    return "" if ran.returncode else ran.stdout.strip()
